"""Sphinx configuration; `make docs` builds build/docs, a site that needs no server and no network."""

import re
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "_extensions"))

project = "hushrank"
author = "The hushrank developers"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml", "repository_pages"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build"]

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = ["Privacy"]
smartquotes = False  # options have two dashes, and quotes belong to values, such as radius="public"
default_role = "py:obj"
nitpicky = True
# Types in docstrings are words for people ("float > 0"), and names in them may be those of parameters.
nitpick_ignore_regex = [("py:class", r".*"), ("py:obj", r".*"), ("py:exc", r".*")]

html_theme = "furo"
html_title = "hushrank"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_domain_indices = False
html_show_copyright = False
html_math_renderer = "mathml"
html_theme_options = {
    "top_of_page_buttons": [],
    "light_css_variables": {"color-brand-primary": "#0b62c4", "color-brand-content": "#0b62c4"},
    "dark_css_variables": {"color-brand-primary": "#6fb1ff", "color-brand-content": "#6fb1ff"},
}


def show_as_written(app, what, name, obj, options, lines):
    """Docstrings are plain text: module docstrings are shown verbatim, and norms |x| are not substitutions."""
    if what == "module":
        lines[:] = ["::", "", *(f"   {line}" for line in lines), ""]
    else:
        lines[:] = [line.replace("|", r"\|") for line in lines]


def show_without_last_line(app, docname, source):
    """Examples end with an empty line, which ends what they print; pages need none."""
    source[0] = re.sub(r"\n\n```$", "\n```", source[0], flags=re.MULTILINE)


def leave_words_alone(app, doctree):
    """Words of a type, such as n_features in "array of shape (n_features, 2)", are no names of classes."""
    from sphinx.addnodes import pending_xref

    for node in list(doctree.findall(pending_xref)):
        if node.get("reftype") == "class" and not re.search(r"(^|\.)[A-Z]", node["reftarget"]):
            node.replace_self(node.children)


def make_accessible(app, pagename, templatename, context, doctree):
    """What scrolls can be reached by keyboard, and headings of the navigation have a level."""
    if "body" in context:  # a chart is small on a phone: a tap shows it alone
        picture = r'<img [^>]*src="([^"]*_images/[^"]+)"[^>]*/?>'
        context["body"] = re.sub(picture, r'<a href="\1">\g<0></a>', context["body"])
    for name in ("body", "furo_navigation_tree"):
        text = context.get(name, "").replace('role="heading"', 'role="heading" aria-level="2"')
        context[name] = text.replace("<pre>", '<pre tabindex="0">').replace(
            '<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'
        )


def setup(app):
    """Called by Sphinx."""
    app.connect("html-page-context", make_accessible, priority=900)  # after the theme
    app.connect("doctree-read", leave_words_alone)
    app.connect("autodoc-process-docstring", show_as_written)
    app.connect("source-read", show_without_last_line)
    # Excerpts of search results are fetched, which browsers refuse for files; there results are shown without them.
    app.add_js_file(None, body='if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;')
