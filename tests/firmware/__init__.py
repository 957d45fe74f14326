# SPDX-License-Identifier: Apache-2.0
"""Tests of the firmware: its core on the host, the built image on the simulated AVR."""
