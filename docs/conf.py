"""How Sphinx makes these pages: `./dev docs`."""

project = "Headrace"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Headrace"
exclude_patterns = ["requirements.txt"]
myst_heading_anchors = 3
suppress_warnings = ["myst.xref_missing"]  # links out of docs/, to files of the tree
