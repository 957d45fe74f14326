# SPDX-License-Identifier: Apache-2.0
"""The simulated bench: the real firmware in an AVR simulator, wired to a physical model of the launcher."""
