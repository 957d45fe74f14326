# SPDX-License-Identifier: Apache-2.0
"""The blaster's model: at which insert of a round it releases, which of three rivals explains that, and what flies then."""
