# SPDX-License-Identifier: Apache-2.0
"""The page of the blaster: at which insert of a round it releases, and what flies then."""

from controller.report.blast.page import PAGE

__all__ = ["PAGE"]
