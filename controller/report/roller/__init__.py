# SPDX-License-Identifier: Apache-2.0
"""The page of the roller launcher: does a press fire, and how many cards come."""

from controller.report.roller.page import PAGE

__all__ = ["PAGE"]
