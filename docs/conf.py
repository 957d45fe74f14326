# SPDX-License-Identifier: Apache-2.0
"""The documentation site: Sphinx, MyST, furo. `./dev docs` builds it, warnings are errors.

Drawings and everything that the code knows better are made here at every build, into `_build/made`, and included.
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import from_code  # noqa: E402
import schematics  # noqa: E402

project = "launchrig"
author = "the launchrig authors"
copyright = "the launchrig authors, Apache-2.0"
extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "launchrig"
html_copy_source = False
html_show_sphinx = False
nitpicky = True

MADE = HERE / "_build" / "made"
from_code.write_all(MADE)
schematics.draw_all(MADE)
