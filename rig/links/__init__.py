# SPDX-License-Identifier: Apache-2.0
"""How bytes travel: a serial port, the twin. Every link keeps the contract of `rig.links.base.Link`."""
