# SPDX-License-Identifier: Apache-2.0
"""The calibrated model as a file that game software can trust: its schema, its content, its writing."""
