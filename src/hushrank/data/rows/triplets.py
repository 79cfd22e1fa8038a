"""Tables that list the entries of a matrix, (user, item, rating) or (doc, term, count), and not a row a person."""

import re
from collections.abc import Hashable, Sequence

import numpy as np

from hushrank.data.findings import Finding
from hushrank.data.source import Block

SAMPLE_ROWS = 20_000
MOST_COLUMNS = 4  # two ids, a number, and maybe a time
_FEWEST = 20  # rows that tell anything
_DIFFERENT, _REPEATED, _FEW = 0.98, 0.6, 0.25  # pairs that differ, ids that come again, numbers of which there are few
_RATED = re.compile(r"user|item|movie|rating|stars|product|book|song|track|artist", re.IGNORECASE)
_WRITTEN = re.compile(  # whole words: an account, a discount or a country is no count
    r"(?<![a-z])(?:docs?|documents?|terms?|words?|tokens?|(?:word)?counts?|freq|frequency)(?:id|no)?(?![a-z])",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")


class Sample:
    """The first rows of blocks, as many as a guess needs."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._n_rows = 0

    def add(self, block: Block) -> None:
        """Keep what is missing."""
        part = block[: SAMPLE_ROWS - self._n_rows]
        if len(part) and block.shape[1] <= MOST_COLUMNS and not np.iscomplexobj(block):
            self._blocks.append(np.array(part, np.float64))
            self._n_rows += len(part)

    def rows(self) -> Block:
        """What was kept."""
        return np.vstack(self._blocks) if self._blocks else np.empty((0, 0))


def looks_like_triplets(X: Block, names: Sequence[Hashable]) -> bool:
    """Whether two columns are ids, each pair of which comes once, and one is a number of which there are few.

    A column without any number may be one of texts, or of numbers that nobody can read. Few numbers alone are no
    evidence, so the names must say so as well, unless every id is a number and comes many times.

    Examples
    --------
    >>> words = np.array([[doc, term, 1 + doc % 3] for doc in range(10) for term in range(10)], float)
    >>> looks_like_triplets(words, ["doc", "term", "count"]), looks_like_triplets(words[:, :2], ["doc", "term"])
    (True, False)
    """
    n_rows, n_columns = X.shape
    if not 3 <= n_columns <= MOST_COLUMNS or n_rows < _FEWEST:
        return False
    first, second, number = X[:, 0], X[:, 1], X[:, 2]
    is_small = len(np.unique(number[np.isfinite(number)])) <= max(_FEW * n_rows, 10)
    is_text = [bool(np.isnan(column).all()) for column in (first, second)]
    if not is_small or not np.isfinite(number).any():
        return False
    is_named = sum(map(_is_telling, names[:3])) >= 2
    if any(is_text):
        return is_named and all(text or _is_id(one) for text, one in zip(is_text, (first, second), strict=True))
    if not (_is_id(first) and _is_id(second)):
        return False
    n_pairs = len(np.unique(X[:, :2], axis=0))
    if n_pairs < _DIFFERENT * n_rows:
        return False
    n_ids = max(len(np.unique(first)), len(np.unique(second)))
    return n_ids <= _REPEATED * n_rows and (is_named or (n_columns == 3 and n_ids <= n_rows / 4 and _is_grouped(X)))


def _is_telling(name: Hashable) -> bool:
    return bool(_RATED.search(str(name)) or _is_written(str(name)))


def _is_written(text: str) -> bool:
    return bool(_WRITTEN.search(_CAMEL.sub("_", text)))


def are_counts(names: Sequence[Hashable]) -> bool:
    """Whether names are those of documents, words and counts, and of nobody's ratings."""
    text = " ".join(map(str, names))
    return _is_written(text) and not _RATED.search(text)


def _is_id(column: Block) -> bool:
    """Whether all numbers are integers from 0 on."""
    with np.errstate(all="ignore"):
        return bool((np.isfinite(column) & (column >= 0) & (column == np.rint(column))).all())


def _is_grouped(X: Block) -> bool:
    """Whether the first or second column is sorted, as exports of matrices are."""
    return bool((np.diff(X[:, 0]) >= 0).all() or (np.diff(X[:, 1]) >= 0).all())


def advice(names: Sequence[Hashable]) -> str:
    """What to do with such a table, as far as its names tell."""
    text = " ".join(map(str, names))
    complete = "hushrank complete (PrivateCompletion) learns from ratings of users"
    pivot = "pivot counts to a sparse matrix, a row a person (scipy.sparse, .npz), and use hushrank pca on that"
    if _RATED.search(text) and not _is_written(text):
        return complete
    return pivot if are_counts(names) else f"{complete}; {pivot}"


def find_triplets(sample: Sample, names: Sequence[Hashable]) -> list[Finding]:
    """That rows are entries of a matrix and not people."""
    X = sample.rows()
    if not looks_like_triplets(X, names):
        return []
    shown = ", ".join(map(str, names[:3]))
    text = f"this looks like a list of the entries of a matrix ({shown}), not like a row a person: {advice(names)}"
    return [Finding("problem", "triplets", text, {"columns": list(names[:3])})]
