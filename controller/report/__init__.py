# SPDX-License-Identifier: Apache-2.0
"""The report of a run: one HTML file, a pure function of what the store holds.

`html.render` is the door; `figures` and `tables` say what is shown, `svg` how a figure gets into the page.
"""
