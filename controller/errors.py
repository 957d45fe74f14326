# SPDX-License-Identifier: Apache-2.0
"""The one base of what the controller refuses: a single line that says what is wrong, where, and what would be right."""

from __future__ import annotations


class RefusedError(Exception):
    """The input cannot be used as asked; the shell sees exit code 2."""
