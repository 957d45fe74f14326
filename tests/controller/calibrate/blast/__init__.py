# SPDX-License-Identifier: Apache-2.0
"""Tests, mirroring the tree."""
