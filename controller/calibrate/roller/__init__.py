# SPDX-License-Identifier: Apache-2.0
"""The roller's model: does a press fire, and how many cards come then."""
