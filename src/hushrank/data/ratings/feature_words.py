"""Words of items out of columns of text: categories, words joined by "|", and lists of texts.

White space around a word does not count, and a word of nothing else is none. A "|" separates words wherever it stands,
also in a list or a category, so that a column means the same in every form.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hushrank.data.id_arrays import as_text, id_kind, to_ids

Integers = NDArray[np.int64]

SEPARATOR = "|"

# What people join words by elsewhere. A third of the texts must look joined: many items have one word only.
_OTHER_SEPARATORS = (", ", "; ", " / ", ",", ";", "/")
_JOINED_SHARE = 1 / 3

_LIST_TYPES = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


class RowWords(NamedTuple):
    """Words of rows: the row `rows[k]` has the word `words[codes[k]]`, once. Words are sorted."""

    words: tuple[str, ...]
    rows: Integers
    codes: Integers


def is_text(dtype: pa.DataType) -> bool:
    """Whether a column of this Arrow type holds texts, categories (texts or integers) or lists of texts."""
    if _is_list(dtype):
        return id_kind(dtype.value_type) in ("str", "null")
    return id_kind(dtype) == "str" or (pa.types.is_dictionary(dtype) and id_kind(dtype) is not None)


def _is_list(dtype: pa.DataType) -> bool:
    return any(is_one(dtype) for is_one in _LIST_TYPES)


def split_column(column: pa.Array | pa.ChunkedArray, is_wanted: NDArray[np.bool_]) -> RowWords:
    """Words of the wanted rows of a valid column of which `is_text` is true.

    Examples
    --------
    >>> found = split_column(pa.array(["Drama | Comedy", None, "Drama"]), np.array([True, True, True]))
    >>> found.words, found.rows.tolist(), found.codes.tolist()
    (('Comedy', 'Drama'), [0, 0, 2], [0, 1, 1])
    """
    texts, rows = _texts_of(column)
    wanted = is_wanted[rows]
    return _split(texts.filter(pa.array(wanted)), rows[wanted])


def _texts_of(column: pa.Array | pa.ChunkedArray) -> tuple[pa.Array, Integers]:
    """All texts as a large_string array without nulls, and the row of each; a row of a list may have many."""
    if _is_list(column.type):
        chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
        lengths = [np.asarray(pc.list_value_length(chunk).fill_null(0)) for chunk in chunks]
        rows = np.repeat(np.arange(len(column)), np.concatenate([np.empty(0, np.int64), *lengths]).astype(np.int64))
        column = pa.chunked_array([chunk.flatten() for chunk in chunks], column.type.value_type)
    else:
        rows = np.arange(len(column))
    texts: Any = to_ids(column)
    texts = texts.cast(pa.large_string()) if pa.types.is_null(texts.type) else as_text(texts)
    is_set = np.asarray(texts.is_valid().to_numpy(zero_copy_only=False))
    return texts.drop_null(), rows[is_set]


def _split(texts: pa.Array, rows: Integers) -> RowWords:
    """Words of texts that stand in these rows; a text that occurs often is split once."""
    encoded = texts.dictionary_encode()
    pieces = [words_of(text) for text in encoded.dictionary.to_pylist()]
    words = sorted(set().union(*pieces))
    place = {word: code for code, word in enumerate(words)}
    codes = np.array([place[word] for piece in pieces for word in piece], np.int64)
    lengths = np.array([len(piece) for piece in pieces], np.int64)
    starts, kinds = np.cumsum(lengths) - lengths, np.asarray(encoded.indices).astype(np.int64)
    counts = lengths[kinds]
    steps = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.repeat(rows, counts) * len(words) + codes[np.repeat(starts[kinds], counts) + steps]
    places = np.unique(places)  # a list may name a word twice
    return RowWords(tuple(words), places // max(len(words), 1), places % max(len(words), 1))


def guess_separator(words: Sequence[str], codes: Integers) -> str | None:
    """By what the words of a column seem to be joined, if not by "|"; None if they do not look joined.

    `words[codes[k]]` is the one word of an item. Words look joined if many have a separator, and what it separates are
    fewer different texts: those of titles and descriptions are more.

    Examples
    --------
    >>> guess_separator(["Comedy, Drama", "Comedy", "Drama, War", "Comedy, War"], np.arange(4))
    ', '
    """
    for separator in _OTHER_SEPARATORS:
        is_joined = np.array([separator in word for word in words], np.bool_)
        parts = {part.strip() for word in words for part in word.split(separator)} - {""}
        if len(codes) and is_joined[codes].mean() >= _JOINED_SHARE and len(parts) < len(words):
            return separator
    return None


def words_of(text: str) -> set[str]:
    """The words of one text."""
    return {word for part in text.split(SEPARATOR) if (word := part.strip())}
