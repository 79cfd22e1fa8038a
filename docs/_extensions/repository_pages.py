"""Pages that are files of the repository, such as the changelog: their links are made to lead to pages of the site.

A page whose whole text is an `include` of a file outside of the folder of the site becomes that file.
"""

import os
import re
from pathlib import Path

WHOLE = re.compile(r"```\{include\} (\S+)\n```\s*")
LINK = re.compile(r"(?<=\]\()(?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?(?=\))")


def included(text, folder):
    """The file that a page is, if it is one."""
    found = WHOLE.fullmatch(text)
    return (folder / found[1]).resolve() if found else None


def page_of(path, folder):
    """Where a file or folder of the repository is in the site: a page, or a file to download."""
    for page in sorted(folder.glob("*.md")):
        if included(page.read_text(), folder) == path:
            return page
    if path.is_dir():
        return path / "index.md" if (path / "index.md").exists() else folder / "index.md"
    return path


def rewrite(text, path, folder):
    """The text of a file with its links as a page at the top of the site needs them."""

    def link(match):
        target = page_of((path.parent / match[1]).resolve(), folder)
        return f"{os.path.relpath(target, folder)}{match[2] or ''}"

    return LINK.sub(link, text)


def read(app, docname, source):
    """Put the file in place of the page."""
    folder = Path(app.srcdir).resolve()
    path = included(source[0], folder)
    if path is not None:
        app.env.note_dependency(str(path))
        source[0] = rewrite(path.read_text(), path, folder)


def setup(app):
    """Called by Sphinx."""
    app.connect("source-read", read)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
