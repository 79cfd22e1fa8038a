"""Why the catalogue does not know the items of ratings: ids that start at 1, texts, another spelling. NOT PRIVATE."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.id_arrays import to_ids
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.text_values import to_integers

MOST_KEPT = 1000  # different unknown ids that are looked at
MOST_IDS = 1_000_000  # of a catalogue of texts that is compared in other spellings
_DIGITS = re.compile(r"\d+")


class WatchedCatalogue(Catalogue):
    """A catalogue that notices which ids it is asked for in vain.

    Attributes
    ----------
    n_texts : int
        Unknown ids that are no integers, where the catalogue has integers.
    smallest, largest : int or None
        Of the unknown ids that are integers.
    has_first : bool
        Whether the first item of the catalogue was asked for.
    kept : dict
        Some of the unknown ids, as texts.
    """

    __slots__ = ("has_first", "kept", "largest", "n_texts", "smallest")

    def __init__(self, catalogue: Catalogue) -> None:
        self._ids, self._table = catalogue._ids, catalogue._table
        self.n_texts, self.has_first = 0, False
        self.smallest: int | None = None
        self.largest: int | None = None
        self.kept: dict[str, None] = {}

    def positions(self, ids: Any) -> NDArray[np.int64]:
        """As of every catalogue."""
        found = super().positions(ids)
        self._notice(found, to_ids(ids))
        return found

    def positions_of_texts(self, texts: pa.Array) -> NDArray[np.int64]:
        """As of every catalogue."""
        found = super().positions_of_texts(texts)
        self._notice(found, texts)
        return found

    def _notice(self, found: NDArray[np.int64], ids: pa.Array) -> None:
        self.has_first |= bool((found == 0).any())
        unknown = ids.filter(pa.array(found < 0)).drop_null()
        if not len(unknown):
            return
        if self.kind == "int":
            integers = unknown if pa.types.is_integer(unknown.type) else to_integers(unknown, pa.int64())
            self.n_texts += integers.null_count
            numbers = integers.drop_null().to_numpy(zero_copy_only=False)
            if len(numbers):
                low, high = int(numbers.min()), int(numbers.max())
                self.smallest = low if self.smallest is None else min(low, self.smallest)
                self.largest = high if self.largest is None else max(high, self.largest)
        for one in unknown.slice(0, MOST_KEPT):
            if len(self.kept) < MOST_KEPT:
                self.kept[_to_text(one)] = None

    @property
    def is_count(self) -> bool:
        """Whether the ids are 0, 1, ... in this order."""
        return self.kind == "int" and np.array_equal(self._ids.to_numpy(zero_copy_only=False), np.arange(len(self)))


def _to_text(one: pa.Scalar) -> str:
    """An id as text; bytes that are none keep a readable form."""
    if pa.types.is_integer(one.type):
        return str(one.as_py())
    return bytes(one.cast(pa.large_binary()).as_py()).decode("utf-8", "backslashreplace").strip()


def say_cause(seen: WatchedCatalogue) -> tuple[str, str]:
    """A name and a sentence for the likely cause; both empty where nothing tells."""
    n_items = len(seen)
    if seen.kind == "str":
        return _compare_spellings(seen)
    if seen.n_texts and seen.largest is None:
        return "text_ids", "the file has ids that are no integers: give the list of ids, --items FILE, items=[...]"
    if seen.is_count and seen.largest is not None and seen.smallest is not None:
        if seen.smallest >= n_items and seen.largest == n_items and not seen.has_first:
            told = f"ids start at 1: --items {n_items} knows 0..{n_items - 1}"
            return "ids_from_1", f"{told}, item {n_items} is left out, and item 0 never occurs; give the ids in a file"
        between = f"unknown ids lie between {seen.smallest} and {seen.largest}"
        return "ids_beyond_count", f"{between}, and --items {n_items} knows 0..{n_items - 1}; give the ids in a file"
    return "", ""


def _compare_spellings(seen: WatchedCatalogue) -> tuple[str, str]:
    """Whether unknown ids are those of a catalogue of texts in another spelling."""
    if len(seen) > MOST_IDS or not seen.kept:
        return "", ""
    known = [_to_text(one) for one in seen.ids]
    ways: dict[str, tuple[Callable[[str], str], str]] = {
        "other_case": (str.casefold, "the catalogue writes ids with other capitals"),
        "zero_padded": (_without_zeros, "the catalogue pads ids with zeros, or the file does"),
        "prefixed": (_digits_alone, "the catalogue writes ids with other letters around the same digits"),
    }
    for name, (simplify, text) in ways.items():
        if _are_mostly(map(simplify, seen.kept), {simplify(one) for one in known}):
            example = next(iter(seen.kept))
            match = next(one for one in known if simplify(one) in set(map(simplify, seen.kept)))
            return name, f"{text}: {match!r} there, {example!r} here"
    return "", ""


def _are_mostly(found: Iterable[str], known: set[str]) -> bool:
    hits = [one in known for one in found if one]
    return bool(hits) and sum(hits) > len(hits) / 2


def _without_zeros(text: str) -> str:
    return _DIGITS.sub(lambda digits: digits[0].lstrip("0") or "0", text)


def _digits_alone(text: str) -> str:
    return "".join(_DIGITS.findall(_without_zeros(text)))
