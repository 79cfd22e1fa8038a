"""Sphinx configuration; `make docs` builds build/docs."""

project = "hushrank"
author = "The hushrank developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
html_theme = "alabaster"
html_theme_options = {"description": "Private low-rank matrix learning with exact guarantees"}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
exclude_patterns = ["_build"]
