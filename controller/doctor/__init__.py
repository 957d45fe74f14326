# SPDX-License-Identifier: Apache-2.0
"""`launchrig doctor`: what is wrong with machine, port and board, each with the command or the deed that mends it."""
