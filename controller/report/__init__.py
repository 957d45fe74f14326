# SPDX-License-Identifier: Apache-2.0
"""The report of a run: one HTML file, a pure function of what the store holds.

`html.render` is the door. What a page shows is a table per launcher (`roller.page`, `blast.page`), made of the pieces in `page`;
`figures` and `tables` hold what every launcher has, `svg` how a figure gets into the page.
"""
