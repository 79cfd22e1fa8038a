"""HTML and SVG as nested calls: whatever is not markup already is escaped, so that no text can become markup."""

from html import escape


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


VOID = ("meta", "link", "input")  # of HTML, those that we use


def element(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element with its attributes and children.

    Parameters
    ----------
    name : str
        Of the element.
    *children : Markup or anything that has a str, which is escaped
    **attributes
        Underscores stand for hyphens, one at the end is dropped (`class_`); floats are written with two digits, and
        None leaves an attribute out.

    Examples
    --------
    >>> element("p", "a < b, ", element("em", "c"), class_="note")
    '<p class="note">a &lt; b, <em>c</em></p>'
    """
    listed = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_to_text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{listed}>")
    return Markup(f"<{name}{listed}>{join(*children)}</{name}>")


def join(*children: object) -> Markup:
    """Markup and escaped text, one after the other."""
    return Markup("".join(child if isinstance(child, Markup) else escape(str(child)) for child in children))


def _to_text(value: object) -> str:
    return escape(f"{value:.2f}" if isinstance(value, float) else str(value))
