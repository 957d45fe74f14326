# SPDX-License-Identifier: Apache-2.0
"""What the host does with a bench: campaigns, the store, statistics, odds and reports."""
