# SPDX-License-Identifier: Apache-2.0
"""What can go wrong with a rig. Each error is one clear line that says what is wrong and what mends it.

`exit_code` is what the shell sees (`docs/getting-started.md`, at its end): 2 usage or bad input, 5 rig fault.
"""

from __future__ import annotations


class RigError(Exception):
    """The rig, not the launcher, is at fault."""

    exit_code = 5


class BadRigError(RigError):
    """A rig URL that names no rig, or a parameter that it does not have."""

    exit_code = 2


class TwinUnavailableError(RigError):
    """The twin cannot be built or started on this machine."""


class NotOurBoardError(RigError):
    """Nothing on the link says BOOT."""


class ProtocolMismatchError(RigError):
    """The firmware speaks another protocol."""


class PortBusyError(RigError):
    """Another program holds the port."""


class PortDeniedError(RigError):
    """The user may not open the port."""


class LinkLostError(RigError):
    """The link fell silent or vanished."""


class ControllerResetError(RigError):
    """The board was reset while it was in use."""


class ResetLoopError(RigError):
    """The board resets again and again by itself, so that no conversation can last."""


class RigFaultError(RigError):
    """The board refuses to go on: a latched fault, or a command refused."""


class OperatorNeededError(RigError):
    """A person is needed and none is there."""

    exit_code = 3


class RefusedRequestError(RigError):
    """A trial that the bench, as it is, cannot make: nothing moves."""

    exit_code = 2


class StopAskedError(Exception):
    """The operator asked for the end: a signal, or Ctrl-C. Not a fault of anything."""
