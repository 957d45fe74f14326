# SPDX-License-Identifier: Apache-2.0
"""Campaigns: N trials with pace, bursts and reloads. `shared` is what all have in common, one room per launcher has the rest,
and `plan` is the one table that chooses."""
