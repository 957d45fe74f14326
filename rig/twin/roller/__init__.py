# SPDX-License-Identifier: Apache-2.0
"""The roller launcher's own part of the twin: motor, feed, toy and truth."""
