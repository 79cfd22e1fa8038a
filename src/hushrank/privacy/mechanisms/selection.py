"""The exponential mechanism over a finite public list of candidates with integer scores: pure privacy, exact draws.

Statistic  s in Z^m: for each of m candidates the sum over people of integers in [0, integer_bound].
Release    the index c of one candidate, with probability proportional to exp(rate s_c).
Privacy    docs/privacy/selection.md: Lemma 1 (scores), Theorem 2 (event), Theorem 3 (the sampler has exactly this law).

The candidates may depend on everything that was released before, and on nothing else.
"""

import functools
import sys
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX, check_integer, check_real
from hushrank.privacy.events import Event, Pure
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.scales import check_lattice_kind, lattice_bits, rows_changed
from hushrank.privacy.mechanisms.totals import check_total
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.intervals import Interval, exp_neg
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.lazy import LazyUniform, is_below
from hushrank.privacy.noise.source import NoiseSource

Words = NDArray[np.uint64]

SCORE_BITS = 30  # a person's score is at most 2^30 units: int64 sums of more people than live on Earth do not wrap
_LARGEST_WORD = 2**64 - 1
_NEGLIGIBLE = 64  # exp(-64) < 2^-92: the first word of a coin decides nearly always
_MOST_PROPOSALS = 4096  # in one batch


def score_width(score_bound: int, neighbors: Neighbors) -> int:
    """Width of the interval in which all scores move between neighbors, each person's being in [0, score_bound].

    One person who comes moves every score up, by at most `score_bound`; one who is replaced moves it up or down by as
    much (selection.md, Lemma 1).
    """
    return rows_changed(neighbors) * score_bound


@dataclass(frozen=True, slots=True)
class SelectionLattice:
    """Public numbers of a choice: what the sum of scores and the mechanism must agree on.

    Attributes
    ----------
    event : Pure
        The event that will be executed; it may be of bounded range.
    neighbors : Neighbors
    range_bound : float
        Largest score of one person, in the units of the data; the smallest is 0.
    integer_bound : int
        The same bound in lattice units; the kernel that computes the scores checks it in integers.
    rate : Fraction
        Factor of the integer scores in the exponent.
    """

    event: Pure
    neighbors: Neighbors
    range_bound: float
    integer_bound: int
    rate: Fraction

    def __post_init__(self) -> None:
        owner = "selection_lattice"
        settled = {
            "event": _check_pure(self.event, owner),
            "neighbors": parse_neighbors(self.neighbors, owner),
            "range_bound": check_real(self.range_bound, "range_bound", owner, above=0),
            "integer_bound": check_integer(
                self.integer_bound, "integer_bound", owner, minimum=1, maximum=1 << SCORE_BITS
            ),
        }
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        if not isinstance(self.rate, Fraction) or self.rate <= 0:
            raise InvalidParameter(owner, "rate", "a Fraction above zero", self.rate)
        if self.rate * score_width(self.integer_bound, self.neighbors) > Fraction(self.event.epsilon):
            raise InvalidParameter(owner, "rate", f"small enough for {self.event}", self.rate)
        if not sys.float_info.min <= self.unit <= sys.float_info.max / 2.0**64:
            raise InvalidParameter(owner, "range_bound", "a bound whose lattice fits float64", self.range_bound)

    @property
    def unit(self) -> float:
        """Size of one lattice unit in the units of the data."""
        return self.range_bound / self.integer_bound


def selection_lattice(
    range_bound: float, event: Event, neighbors: Neighbors | str = Neighbors.REPLACE, *, n_max: int = DEFAULT_N_MAX
) -> SelectionLattice:
    """Plan a choice; reads nothing private.

    Parameters
    ----------
    range_bound : float > 0
        Largest score of one person for any candidate; the smallest is 0.
    event : Pure
        Best Pure(epsilon, bounded_range=True), which is what a choice executes.
    neighbors : "replace" or "add_remove"
    n_max : int, default 2**26
        Public bound on the number of people; if it is above 2**32, the lattice is coarser.

    Examples
    --------
    >>> lattice = selection_lattice(1.5, Pure(1.0, bounded_range=True), "replace")
    >>> lattice.rate * lattice.integer_bound
    Fraction(1, 2)
    """
    owner = "selection_lattice"
    pure, relation = _check_pure(event, owner), parse_neighbors(neighbors, owner)
    bound = 1 << lattice_bits(n_max, owner, most=SCORE_BITS, powers=1)
    rate = Fraction(pure.epsilon) / score_width(bound, relation)  # exact: epsilon is a binary fraction
    return SelectionLattice(pure, relation, range_bound, bound, rate)


def release_choice(total: Integers, lattice: SelectionLattice, noise: NoiseSource) -> int:
    """Release the index of one candidate, the better ones more often; `total` holds their scores in lattice units."""
    owner = "release_choice"
    check_lattice_kind(lattice, SelectionLattice, owner)
    scores = check_total(total, owner, ndim=1)
    if not scores.size:
        raise InvalidParameter(owner, "total", "the scores of at least one candidate", f"shape {scores.shape}")
    return _draw(scores, lattice.rate, noise.begin(lattice.event, lattice.neighbors))


def _draw(scores: Integers, rate: Fraction, stream: Keystream) -> int:
    """Index c with probability proportional to exp(rate scores[c]), exactly.

    Uniform proposals, each accepted by a coin of probability exp(-rate (top - score)). A candidate of the top score is
    accepted whenever it is proposed, so at most as many proposals are expected as there are candidates. Comparisons of
    words leave a decision open with probability 2^-60 or so; then further digits of the same coin are drawn.
    """
    top, n = int(scores.max()), len(scores)
    exponents = [rate * (top - score) for score in scores.tolist()]  # Python integers: a difference cannot wrap
    accepted_below, rejected_above = coin_bounds(exponents)
    last_fair = np.uint64(_LARGEST_WORD - 2**64 % n)  # words up to here hold every remainder equally often
    batch = min(2 * n + 64, _MOST_PROPOSALS)
    while True:
        proposals, coins = stream.words(2 * batch).reshape(2, batch)
        candidates = (proposals % np.uint64(n)).astype(np.int64)
        for p in np.flatnonzero((proposals <= last_fair) & (coins <= rejected_above[candidates])):
            c = int(candidates[p])
            coin = LazyUniform(stream.word, int(coins[p]), 64)
            if coins[p] < accepted_below[c] or is_below(coin, functools.partial(exp_neg, exponents[c])):
                return c


def coin_bounds(exponents: list[Fraction]) -> tuple[Words, Words]:
    """For each coin of probability exp(-t): it has fallen if its first word is below `low`, not if it is above `high`.

    In between it depends on further digits. t >= 0, and 2^64 exp(-t) lies in [low, high + 1].
    """
    bounds = [_enclose(t) for t in exponents]
    low = np.array([min(below, _LARGEST_WORD) for below, _ in bounds], np.uint64)
    high = np.array([min(above - 1, _LARGEST_WORD) for _, above in bounds], np.uint64)
    return low, high


def _enclose(t: Fraction) -> Interval:
    """Enclose 2^64 exp(-t)."""
    return (0, 1) if t >= _NEGLIGIBLE else exp_neg(t, 64)


def _check_pure(event: Event, owner: str) -> Pure:
    if not isinstance(event, Pure):
        raise InvalidParameter(owner, "event", "Pure(epsilon, bounded_range=True)", event)
    return event
