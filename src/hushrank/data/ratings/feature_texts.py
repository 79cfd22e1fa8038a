"""Columns of encoded features: what each stands for, its name, and the text that a model file keeps of it.

A file may be a stranger's. So columns and numbers are made of what a fit writes, or not at all.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import count, groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from hushrank.data.ratings.feature_words import words_of

ITEM = "item"
MOST_COLUMNS = 4096
MOST_NUMBERS = 2**27
MOST_WORDS = 1024
"""Of one column of a table: titles and descriptions are no categories."""
LARGEST = 1e100
"""Size of a number: squares of so large ones can still be added up."""

NUMBER, SQUARE, WORD = "number", "square", "word"

_THREE_TEXTS = re.compile(r'\["[^"\\]*+(?:\\.[^"\\]*+)*+","[a-z]+","[^"\\]*+(?:\\.[^"\\]*+)*+"\]', re.DOTALL)
_WORDLESS = ((NUMBER, ""), (SQUARE, ""))


class FeatureColumn(NamedTuple):
    """What a column of the encoded features stands for.

    Attributes
    ----------
    source : str
        Name of the column of the table; its number, from 0 on, in an array.
    kind : str
        "number", "square" (of the number before, less its typical value) or "word".
    word : str
        The word whose items have a one; "" for the others.
    """

    source: str
    kind: str
    word: str


def names_of(columns: Sequence[FeatureColumn]) -> list[str]:
    """Readable names, all different: a word alone where it is the only one of its name, else after its source."""
    shorts = [column.word or column.source + " squared" * (column.kind == SQUARE) for column in columns]
    n_named = Counter(shorts)
    named = [
        f"{column.source}: {column.word}" if column.kind == WORD and n_named[short] > 1 else short
        for column, short in zip(columns, shorts, strict=True)
    ]
    return _make_different(named)


def _make_different(names: Sequence[str]) -> list[str]:
    """The names, with a number after those that are there already."""
    given, taken = set(names), dict.fromkeys(names[:0])
    for name in names:
        numbered = (f"{name} ({k})" for k in count(2))
        shown = name if name not in taken else next(one for one in numbered if one not in given and one not in taken)
        taken[shown] = None
    return list(taken)


def is_unicode(text: str) -> bool:
    """Whether it can be written to a file: not so halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_text(column: FeatureColumn) -> str:
    """The column as JSON."""
    return json.dumps(list(column), ensure_ascii=False, separators=(",", ":"))


def to_columns(texts: Any) -> tuple[FeatureColumn, ...]:
    """The columns of texts that `to_text` made for one set of features, else ValueError."""
    if not isinstance(texts, list | tuple | np.ndarray) or np.ndim(texts) != 1:
        raise ValueError("the columns of its item features are no list of texts")
    columns = tuple(_to_column(text) for text in texts)
    _check_order(columns)
    return columns


def _to_column(text: Any) -> FeatureColumn:
    """The column of a text that `to_text` may have made, else ValueError."""
    is_plain = isinstance(text, str) and _THREE_TEXTS.fullmatch(text) is not None  # others need not be parsed
    try:
        parts = json.loads(text) if is_plain else None
    except (ValueError, RecursionError):
        parts = None
    if not isinstance(parts, list) or len(parts) != 3 or not all(isinstance(part, str) for part in parts):
        raise ValueError("a text about a column of its item features does not have three parts")
    column = FeatureColumn(*parts)
    is_word = column.kind == WORD and words_of(column.word) == {column.word}
    is_named = bool(column.source.strip()) and column.source != ITEM
    if not is_unicode(text) or to_text(column) != text or not is_named or not (is_word or column[1:] in _WORDLESS):
        raise ValueError("a text about a column of its item features is one that no fit writes")
    return column


def _check_order(columns: Sequence[FeatureColumn]) -> None:
    """Refuse no or too many columns, and parts of one source that are apart, of two kinds, repeated or not sorted."""
    if not 1 <= len(columns) <= MOST_COLUMNS:
        raise ValueError(f"it has {len(columns)} columns of item features, not 1 to {MOST_COLUMNS}")
    groups = [list(group) for _, group in groupby(columns, key=lambda column: column.source)]
    is_apart = len({group[0].source for group in groups}) < len(groups)
    is_alone = all(group[0].kind != SQUARE for group in groups)
    rises = all((a.kind, a.word) < (b.kind, b.word) for group in groups for a, b in pairwise(group))
    is_mixed = any(len({column.kind == WORD for column in group}) > 1 for group in groups)
    if is_apart or is_mixed or not (rises and is_alone) or max(map(len, groups)) > MOST_WORDS:
        raise ValueError("the columns of its item features are in an order that no fit gives")


def check_numbers(columns: Sequence[FeatureColumn], values: Any, typical: Any) -> None:
    """Raise ValueError for numbers that no features have."""
    for name, array, ndim in (("values", values, 2), ("typical values", typical, 1)):
        if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.ndim != ndim:
            raise ValueError(f"the {name} of its item features are no array of float64 in {ndim} dimensions")
        if array.shape[-1] != len(columns) or len(array) == 0 or array.size > MOST_NUMBERS:
            raise ValueError(f"the {name} of its item features have the shape {array.shape}")
        if not (np.abs(array) <= LARGEST).all():
            raise ValueError(f"the {name} of its item features are not all finite and of size <= {LARGEST:g}")
    is_word = np.array([column.kind == WORD for column in columns])
    if ((values[:, is_word] < 0) | (values[:, is_word] > 1)).any():
        raise ValueError("its item features have words with values outside of [0, 1]")
    if ((typical < values.min(axis=0)) | (typical > values.max(axis=0))).any():
        raise ValueError("the typical values of its item features are outside of their values")
