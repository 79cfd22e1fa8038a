"""HTML read back, for tests of reports."""

from html.parser import HTMLParser

VOID = {"meta", "link", "input"}


class Document(HTMLParser):
    """Elements and texts of a document whose tags are balanced; anything else fails."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self._open = [], [], []
        self.feed(text)
        self.close()
        assert self._open == [], f"never closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        assert len({name for name, _ in attrs}) == len(attrs)
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open and self._open[-1] == tag, f"{tag} closed inside {self._open}"
        self._open.pop()

    def handle_data(self, data):
        if not (self._open and self._open[-1] == "style"):
            self.texts.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())

    def all(self, tag, style=None):
        """Attributes of all elements of a kind, if asked of those of a class."""
        return [
            a for name, a in self.elements if name == tag and (style is None or style in a.get("class", "").split())
        ]
