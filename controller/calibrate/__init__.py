# SPDX-License-Identifier: Apache-2.0
"""Statistics of a launcher: pure functions of arrays, which know no database, no rig and no plot."""
