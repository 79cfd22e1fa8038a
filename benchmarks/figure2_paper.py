"""The column sketch of Figure 2 of Upadhyay (turnstile streams) as printed, for benchmarks and its attack only.

**It is not private**, whatever its epsilon says: `METHODS` has the event NonPrivate and the reason. What is released
is Y_c = (A | sigma_min I) Phi Omega / t with a random Phi of m columns and m x t normals Omega, and no other noise.
The proof needs the smallest singular value of (A | sigma_min I) Phi to be at least sqrt(1 - alpha) sigma_min (Claims 18
and 19), but Phi has only as many columns as the matrix has rows, and embeds no space of that dimension.

How the paper was read, where it leaves a choice:

- Case 1, m <= n. Phi is a plain count-sketch, the fastest of the input-sparsity embeddings that its Lemma 7 stands for:
  one random sign in a random place of every row. The product with a Hadamard transform was not attacked.
- sigma_min = 16 log(1/delta) sqrt(t (1 + alpha)/(1 - alpha) log(1/delta)) / epsilon, with natural logarithms.
- Updates (i, j, a) add a times row j of Phi Omega / t to row i.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.privacy.events import Event, NonPrivate

Array = NDArray[Any]
Update = tuple[int, int, float]

ALPHA = 0.25


def printed_sigma_min(t: int, epsilon: float, delta: float, alpha: float = ALPHA) -> float:
    """The multiple of the identity that is appended to the matrix."""
    log_term = math.log(1.0 / delta)
    return 16.0 * log_term * math.sqrt(t * (1.0 + alpha) / (1.0 - alpha) * log_term) / epsilon


def count_sketch(n_rows: int, n_columns: int, rng: np.random.Generator) -> Array:
    """A matrix with one random sign in every row, at a random place."""
    sketch = np.zeros((n_rows, n_columns))
    sketch[np.arange(n_rows), rng.integers(n_columns, size=n_rows)] = rng.choice([-1.0, 1.0], n_rows)
    return sketch


def column_sketch(
    updates: Iterable[Update], shape: tuple[int, int], t: int, epsilon: float, delta: float, rng: np.random.Generator
) -> Array:
    """Y_c of a matrix of this shape, m <= n, that is given by updates (row, column, change)."""
    m, n = shape
    embedding = count_sketch(m + n, m, rng) @ rng.standard_normal((m, t)) / t
    Y = printed_sigma_min(t, epsilon, delta) * embedding[n:]
    for i, j, change in updates:
        Y[i] += change * embedding[j]
    return Y


class Published(NamedTuple):
    """A published release, the event of its claim, and what stands between the claim and a guarantee."""

    release: Callable[[Iterable[Update], tuple[int, int], int, float, float, np.random.Generator], Array]
    event: Callable[[float, float], Event]
    words: str


def _not_private(epsilon: float, delta: float) -> Event:
    return NonPrivate()


METHODS: dict[str, Published] = {
    "Figure 2, column sketch as published": Published(
        column_sketch,
        _not_private,
        "not private: rows of an empty matrix coincide up to their signs where the count-sketch puts them into one "
        "place, which happens to the first row with probability 1 - (1 - 1/m)^(m-1), about 0.63; after one entry more "
        "it never does, so that no epsilon has a delta below 0.63",
    ),
}
