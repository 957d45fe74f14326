# SPDX-License-Identifier: Apache-2.0
"""The blaster's own part of the twin: slots, toy, sprung ejector and truth."""
