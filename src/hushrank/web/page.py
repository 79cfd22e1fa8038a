"""A recommender as one HTML file: visitors rate items, and their browsers compute what they are recommended.

What joint privacy means, made visible: the model in the page is released with a guarantee for everybody it was learned
from, and the visitor's own ratings never leave the page. Its policy allows no request and no other script; scripts and
styles are known by their hashes, and texts cannot become markup.
"""

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from hushrank.archive.atomic import replace_file
from hushrank.estimators.completion.rounding import RoundingError, measure_rounding, round_model
from hushrank.exceptions import InvalidParameter
from hushrank.report.markup import Markup, element
from hushrank.report.style import color_style
from hushrank.web.inlining import inline
from hushrank.web.layout import page_body
from hushrank.web.model_data import model_data, to_plain

_MODULES = files("hushrank.web") / "modules"
DEFAULT_NAME = "A private recommender"
MOST_CHARACTERS = 300
"""Of a title."""


class WebPage(NamedTuple):
    """A page and what was measured when it was made.

    Attributes
    ----------
    html : str
    rounding : RoundingError
        How far its predictions are from those of the model, for made-up visitors.
    model : PrivateCompletion
        The model with rounded parameters: its `recommend` says what the page says.
    """

    html: str
    rounding: RoundingError
    model: Any


def make_web_page(model: Any, *, titles: Any = None, name: str = DEFAULT_NAME, precision: str = "float16") -> WebPage:
    """A page with a fitted recommender inside.

    Parameters
    ----------
    model : PrivateCompletion
        Fitted without a seed: a page is made to be published.
    titles : mapping of id to str, sequence of str or None
        Public titles of the items: by id, where items without one keep their id, or of all items in their order.
    name : str
        Heading of the page.
    precision : {"float16", "int8"}
        Of item features and factors: two bytes a number, or one for a smaller page. The page says by how much this
        moves predictions.

    Examples
    --------
    >>> from hushrank.estimators.completion.estimator import PrivateCompletion
    >>> from hushrank.evaluation.synthetic import synthetic_ratings
    >>> ratings = synthetic_ratings(500, 20, seed=1)
    >>> model = PrivateCompletion(2, epsilon=5.0, delta=1e-6, rating_range=(1, 5), items=20).fit(ratings.table())
    >>> page = make_web_page(model, titles={3: "The Third Man"}, name="Films")
    >>> "The Third Man" in page.html, page.rounding.largest < 0.01
    (True, True)
    """
    _check(model, name)
    listed = _list_titles(titles, model)
    with np.errstate(over="ignore", invalid="ignore"):  # a stranger's numbers; what they give is looked at
        rounded = round_model(model, precision)
        rounding = measure_rounding(model, rounded.model)
        if not (np.isfinite(rounding).all() and np.isfinite(rounded.base).all()):
            requirement = "one whose predictions are numbers of ordinary size"
            raise InvalidParameter("export_web", "model", requirement, "one with numbers that are too large")
        data = model_data(rounded, listed)
        body = page_body(model, name, rounding, precision)
    return WebPage(_document(name, body, data), rounding, rounded.model)


def export_web(
    model: Any,
    path: str | PathLike[str],
    *,
    titles: Any = None,
    name: str = DEFAULT_NAME,
    precision: str = "float16",
) -> WebPage:
    """Write the page of `make_web_page` to a file, whole or not at all; a file that is there is replaced.

    Examples
    --------
    >>> import os, tempfile
    >>> from hushrank.estimators.completion.estimator import PrivateCompletion
    >>> from hushrank.evaluation.synthetic import synthetic_ratings
    >>> ratings = synthetic_ratings(500, 20, seed=1)
    >>> model = PrivateCompletion(2, epsilon=5.0, delta=1e-6, rating_range=(1, 5), items=20).fit(ratings.table())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = export_web(model, os.path.join(folder, "page.html"), name="Films")
    >>> page.model.recommend({3: 5.0}, n=2).items.shape
    (2,)
    """
    page = make_web_page(model, titles=titles, name=name, precision=precision)

    def fill(file: BinaryIO) -> None:
        file.write(to_bytes(page.html))

    replace_file(Path(path), fill)
    return page


def to_bytes(html: str) -> bytes:
    """A page as a file holds it; halves of surrogate pairs become escapes, which JSON reads as what they were."""
    return html.encode("utf-8", "backslashreplace")


def _check(model: Any, name: str) -> None:
    if type(model).__name__ != "PrivateCompletion":
        raise InvalidParameter("export_web", "model", "a fitted PrivateCompletion", type(model).__name__)
    given = model._learned()["privacy_"]
    if given.reproducible or given.epsilon == math.inf:
        got = "one made with a seed, whose noise can be removed" if given.reproducible else "one that is not private"
        raise InvalidParameter("export_web", "model", "one that may be released: fitted without random_state", got)
    if not isinstance(name, str) or not name.strip() or len(name) > MOST_CHARACTERS:
        raise InvalidParameter("export_web", "name", f"a text of 1 to {MOST_CHARACTERS} characters", name)


def _list_titles(titles: Any, model: Any) -> list[str] | None:
    """A title of every item, in the order of the items."""
    if titles is None:
        return None
    ids = model.items_.tolist()
    if isinstance(titles, Mapping):
        if titles and not any(item in titles for item in ids):
            requirement = f"by ids of items, which are of type {type(ids[0]).__name__}"
            raise InvalidParameter("export_web", "titles", requirement, next(iter(titles)))
        listed: Iterable[Any] = (titles.get(item, str(item)) for item in ids)
    elif isinstance(titles, Sequence) and not isinstance(titles, str) and len(titles) == len(ids):
        listed = titles
    else:
        requirement = f"a dict of texts by id, or a list of {len(ids)} texts"
        raise InvalidParameter("export_web", "titles", requirement, type(titles).__name__)
    found = list(listed)
    wrong = [title for title in found if not isinstance(title, str)]
    if wrong:
        raise InvalidParameter("export_web", "titles", "texts", type(wrong[0]).__name__)
    shown = (to_plain(title)[:MOST_CHARACTERS] for title in found)
    return [title if _is_seen(title) else str(item) for title, item in zip(shown, ids, strict=True)]


def _is_seen(title: str) -> bool:
    """Whether there is a sign in it that leaves something on the page."""
    return any(sign.isprintable() and not sign.isspace() for sign in title)


def _document(name: str, body: Markup, data: Mapping[str, Any]) -> str:
    """The whole page: policy, style, body, data and script."""
    style = color_style() + _read("page.css")
    script = _script()
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("link", rel="icon", href="data:,"),
        element("title", name),
        element("style", Markup(style)),
    )
    content = element("script", Markup(_to_json(data)), id="model", type="application/json")
    whole = element("body", body, content, element("script", Markup(script)))
    return f"<!DOCTYPE html>\n{element('html', head, whole, lang='en')}\n"


def _script() -> str:
    """All modules and the line that starts the page."""
    modules = inline("page", lambda name: _read(f"{name}.mjs"))
    start = 'new _page.Page(JSON.parse(document.getElementById("model").textContent)).start();'
    return f'\n"use strict";\n{{\n{modules}{start}\n}}\n'


def _read(name: str) -> str:
    return (_MODULES / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """How a policy names a script or style that may run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _to_json(data: Mapping[str, Any]) -> str:
    """JSON inside an element: no text in it can end the element or begin a comment."""
    return json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
