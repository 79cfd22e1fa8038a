"""What a page knows of a model: everything public that recommendations need, as JSON with arrays in base64.

Nothing in it is computed from ratings again: it is the released model, rounded, and public facts about items. Ids are
texts, because JavaScript has no 64-bit integers. Words of features are kept by item, numbers by column.
"""

import base64
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.ratings.feature_texts import WORD
from hushrank.data.ratings.item_features import ItemFeatures
from hushrank.estimators.completion.item_means import OWN_COLUMNS
from hushrank.estimators.completion.known_items import restore_features
from hushrank.estimators.completion.rounding import RoundedModel
from hushrank.report.rating_model import read_orders

MOST_KNOWN = 2000
"""Items in the order of their popularity that searches prefer and that visitors are offered first."""
_MOST_ROUNDS = 3
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_MOST_NUMBERS = 8  # columns of numbers, without squares: more are an embedding, which gives no reasons to people


def model_data(rounded: RoundedModel, titles: Sequence[str] | None) -> dict[str, Any]:
    """The data of a page, ready for JSON; `titles` are those of the items in their order."""
    model, columns = rounded.model, rounded.columns
    released = model._model()
    ids = [str(item) for item in model.items_.tolist()]
    is_used = np.any(columns.codes != 0, axis=0)
    if not released.ridge > 0.0:  # without a ridge a column of zeros makes every person's system unsolvable
        is_used[:] = True
    n_features = released.features.shape[1]
    return {
        "ids": ids,
        "titles": None if titles is None else _tell_apart(titles, ids),
        "range": None if model._is_implicit else [float(end) for end in model.rating_range],
        "ridge": float(released.ridge),
        "unobserved": float(released.unobserved),
        "newItems": [] if released.is_new is None else np.flatnonzero(released.is_new).tolist(),
        "base": to_base64(rounded.base, "<f4"),
        "columns": {
            "precision": str(columns.codes.dtype),
            "codes": to_base64(columns.codes[:, is_used], columns.codes.dtype.newbyteorder("<").str),
            "scales": columns.scales[is_used].tolist(),
        },
        "hasTastes": has_tastes(model),
        "order": np.argsort(-model.item_counts_, kind="stable")[:MOST_KNOWN].tolist(),
        "unsure": _unsure(model),
        "features": _features(model, is_used[:n_features]),
    }


def has_tastes(model: Any) -> bool:
    """Whether people can be told different things: by factors above the noise, or by slopes on public features."""
    n_own = 0 if model._is_implicit else OWN_COLUMNS
    return bool(model.item_features_[:, n_own:].any() or getattr(model, "n_significant_", model.n_factors_))


def to_plain(text: str) -> str:
    """A text without spaces around it, and without signs that turn the direction of what stands beside it."""
    return _TURNING.sub("", text).strip()


def to_base64(array: NDArray[Any], kind: str) -> str:
    """The bytes of an array as this little-endian type."""
    return base64.b64encode(np.ascontiguousarray(array, dtype=kind).tobytes()).decode("ascii")


def _tell_apart(titles: Sequence[str], ids: Sequence[str]) -> list[str]:
    """Titles, with the id behind one that several items have, also where that makes it the title of another one."""
    told = list(titles)
    for _ in range(_MOST_ROUNDS):
        shared = {title for title, n in Counter(told).items() if n > 1}
        told = [f"{title} ({own})" if title in shared else title for title, own in zip(told, ids, strict=True)]
    return told


def _unsure(model: Any) -> list[int]:
    """Items whose mean, or popularity, is mostly noise."""
    orders = {order.number: order.is_noise for order in read_orders(model)}
    is_noise = orders.get("mean", orders.get("weighted ratings"))
    return [] if is_noise is None else np.flatnonzero(is_noise).tolist()


def _features(model: Any, is_used: NDArray[np.bool_]) -> dict[str, Any] | None:
    """Public features that can be told to people, and the slopes of visitors on them; None where there are none."""
    features = restore_features(model._learned())
    if features is None:
        return None
    is_told = _told_columns(features)
    if not is_told.any():
        return None
    kinds = np.array([column.kind for column in features.columns])
    counts, words, values = _words_of_items(features, is_told & (kinds == WORD))
    n_own = 0 if model._is_implicit else OWN_COLUMNS
    used = np.flatnonzero(is_used)
    slopes = used[used >= n_own]
    along = model.feature_map_[1:, 1 + slopes]
    return {
        "names": [to_plain(name) for name in features.names],
        "kinds": kinds.tolist(),
        "typical": features.typical.tolist(),
        "counts": to_base64(counts, "<u2"),
        "words": to_base64(words, "<u2"),
        "values": None if (values == 1.0).all() else to_base64(values, "<f4"),
        "numbers": [
            {"column": int(j), "values": to_base64(features.values[:, j] - features.typical[j], "<f4")}
            for j in np.flatnonzero(is_told & (kinds != WORD))
        ],
        "firstSlope": int(np.count_nonzero(used < n_own)),
        "nSlopes": len(slopes),
        "along": to_base64(along, "<f4"),
    }


def _told_columns(features: ItemFeatures) -> NDArray[np.bool_]:
    """Columns with names that people can read: not those of an array, which has numbers, nor of an embedding."""
    sources = {column.source for column in features.columns if column.kind != WORD}
    has_few = len(sources) <= _MOST_NUMBERS
    told = [column.kind == WORD or (has_few and not column.source.isdecimal()) for column in features.columns]
    return np.array(told, np.bool_)


def _words_of_items(
    features: ItemFeatures, is_told: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """How many words each item has more of than is typical, which these are, and how much of them it has."""
    columns = np.flatnonzero(is_told)
    items, places = np.nonzero(features.values[:, columns] > features.typical[columns])
    words = columns[places]
    return np.bincount(items, minlength=len(features.values)), words, features.values[items, words]
