"""A built site taken apart: what its pages link to and load, and what of that is not there."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

LINKS = {"a": "href", "area": "href"}
LOADS = {
    "link": "href",
    "script": "src",
    "img": "src",
    "source": "src",
    "iframe": "src",
    "object": "data",
    "use": "href",
}
ELSEWHERE = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")  # in style sheets
GENERATED = {"search.html"}  # a form leads there, and no link


class Page(HTMLParser):
    """The links, ids, images and formulas of one page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.ids, self.images, self.math = [], [], set(), [], []
        self._depth = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        """Keep what matters of an element."""
        given = dict(attrs)
        self.ids.update(filter(None, (given.get("id"), given.get("name") if tag == "a" else None)))
        if given.get(LINKS.get(tag)) is not None:
            self.links.append(given[LINKS[tag]])
        if given.get(LOADS.get(tag)) is not None:
            self.loads.append(given[LOADS[tag]])
        if tag == "img":
            self.images.append((given.get("src"), given.get("alt")))
        self._depth += tag == "math"

    def handle_endtag(self, tag):
        """A formula may end here."""
        self._depth -= tag == "math"

    def handle_data(self, data):
        """Characters of formulas."""
        if self._depth:
            self.math.append(data)


@dataclass
class Site:
    """A folder of pages that link to each other."""

    folder: Path
    pages: dict[str, Page] = field(init=False)

    def __post_init__(self):
        found = sorted(self.folder.rglob("*.html"))
        self.pages = {str(path.relative_to(self.folder)): Page(path.read_text(encoding="utf-8")) for path in found}

    @cached_property
    def files(self):
        """Everything that can be linked to or loaded."""
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}

    def inside(self, page, address):
        """The file and the place in it that an address on a page leads to; None where it leads out."""
        if urlsplit(address).scheme or address.startswith("//"):
            return None
        path, place = urldefrag(address)
        path = unquote(path.partition("?")[0])
        target = (self.folder / page).parent / path if path else self.folder / page
        resolved = Path(re.sub(r"//+", "/", str(target))).resolve()
        if not resolved.is_relative_to(self.folder.resolve()):
            return f"outside: {address}", ""
        return str(resolved.relative_to(self.folder.resolve())), unquote(place)

    def addresses(self):
        """Every address on every page: where it stands, and what it is."""
        return [(name, address) for name, page in self.pages.items() for address in (*page.links, *page.loads)]

    def broken(self):
        """Links to files and places that are not there."""
        wrong = []
        for name, address in self.addresses():
            target = self.inside(name, address)
            if target is None:
                continue
            path, place = target
            if path not in self.files or (place and path in self.pages and place not in self.pages[path].ids):
                wrong.append((name, address))
        return wrong

    def external(self):
        """Links that lead out of the site."""
        return sorted({address for name, address in self.addresses() if self.inside(name, address) is None})

    def loaded_from_elsewhere(self):
        """What a page would ask somebody else for: elements, and addresses in style sheets."""
        wrong = [
            (name, address)
            for name, page in self.pages.items()
            for address in page.loads
            if self.inside(name, address) is None and not address.startswith("data:")
        ]
        for path in self.folder.rglob("*.css"):
            found = ELSEWHERE.findall(path.read_text(encoding="utf-8"))
            wrong += [(path.name, address) for address in found]
        return wrong

    def reached(self, start="index.html"):
        """Pages that one can come to from the first by links."""
        found, ahead = {start}, [start]
        while ahead:
            name = ahead.pop()
            for address in self.pages[name].links:
                target = (self.inside(name, address) or ("",))[0]
                if target in self.pages and target not in found:
                    found.add(target)
                    ahead.append(target)
        return found


def is_sound(address):
    """Whether an external address is one that a browser follows safely: https, with a host and without spaces."""
    parts = urlsplit(address)
    return parts.scheme == "https" and "." in (parts.hostname or "") and not re.search(r"[\s<>\"]", address)
