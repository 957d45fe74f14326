# SPDX-License-Identifier: Apache-2.0
"""The wire: messages, frames and the session. Bytes in, messages out; does no I/O and imports nothing of the project."""
