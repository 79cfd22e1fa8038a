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


def show_as_written(app, what, name, obj, options, lines):
    """Docstrings are plain text: module docstrings are shown verbatim, and norms |x| are not substitutions."""
    if what == "module":
        lines[:] = ["::", "", *(f"   {line}" for line in lines), ""]
    else:
        lines[:] = [line.replace("|", r"\|") for line in lines]


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", show_as_written)
