"""How much of the budget counts need: how good a list by popularity is, and whether factors could be seen at all.

Statistic  counts of the items once more, over users weighted as in `item_means`.
Post       counts are bought until a list by popularity is nearly as good as all of the budget would make it. If enough
           is left for a second moment whose first eigenvalue stands out, there may be factors.
Recipe     `implicit_recipe.IMPLICIT`.
Privacy    docs/privacy/completion.md, Lemma 2; which counts are bought is decided by released ones.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.item_means import Census, positive_counts
from hushrank.estimators.completion.recipes import ITEM_MEANS
from hushrank.estimators.completion.releases import RatingReleases
from hushrank.estimators.completion.user_sums import sum_counts
from hushrank.privacy.events import Gaussian
from hushrank.privacy.mechanisms.symmetric import symmetric_lattice

FloatArray = NDArray[np.float64]

_BISECTIONS, _EM_STEPS = 60, 200
_SURE = 8.0  # deviations
_MOST_SURE = 4096  # items that are looked at one by one; no list reaches further


def count_again(releases: RatingReleases, census: Census, share: float | None = None) -> Census:
    """Counts bought again, by default with all that is left, and averaged with those before by their precisions."""
    lattice = releases.vector_lattice(census.count_norm, share, nonnegative=True)
    again = releases.release(releases.total(sum_counts, (releases.n_items, lattice)), lattice)
    old, new = census.deviation**-2, lattice.scale**-2
    released, deviation = (old * census.released + new * again) / (old + new), (old + new) ** -0.5
    counts = positive_counts(released, deviation, census.items)
    return replace(census, counts=counts, released=released, deviation=deviation)


def count_for_factors(releases: RatingReleases, census: Census, top: int) -> Census | None:
    """Counts as far as they are needed, if what they leave is enough for factors of `top` items; else None.

    `census` is the one that was released first. With None nothing was bought.
    """
    more = enough_share(releases, census)
    if more is None or not is_visible(releases, census, top, releases.left - more - IMPLICIT.check_share):
        return None
    return count_again(releases, census, more) if more > 0.0 else census


def enough_share(releases: RatingReleases, census: Census) -> float | None:
    """Share for more counts by which lists are nearly as good as by all that is left; None if there is none.

    `census` is the one that was released first.
    """
    first, spectrum = ITEM_MEANS.counts_share, find_spectrum(census.released, census.deviation)
    total = max(float(spectrum.n_items @ spectrum.counts), np.finfo(float).tiny)

    def lost(more: float, reach: float) -> float:
        part, whole = (
            listed_counts(spectrum, census.deviation * math.sqrt(first / (first + share)), reach)
            for share in (more, releases.left)
        )
        return (whole - part) / total

    limits = IMPLICIT.limits_of_lists(releases.n_items, census.items.n_slopes > 0)
    shares = IMPLICIT.more_counts_shares
    return next((more for more in shares if all(lost(more, reach) <= most for reach, most in limits)), None)


class Spectrum(NamedTuple):
    """How many items have which true count."""

    counts: FloatArray
    n_items: FloatArray


def find_spectrum(released: FloatArray, deviation: float) -> Spectrum:
    """Which true counts there are, by the EM algorithm for counts in normal noise of this deviation.

    Released counts that stand far out of the noise are taken for true. Single ones of the others tell next to nothing,
    but many of them together tell how many items there are that less noise would show.
    """
    is_sure = released > _SURE * deviation
    sure = np.sort(released[is_sure])[-_MOST_SURE:]
    edges = deviation * np.concatenate([[-math.inf], np.arange(-4.0, _SURE, 0.25), [math.inf]])
    cells, _ = np.histogram(released[~is_sure], bins=edges)
    counts = deviation * np.arange(0.0, _SURE + 1.0, 0.25)
    chances = np.diff(ndtr((edges - counts[:, None]) / deviation), axis=1)
    shares = np.full(len(counts), 1.0 / len(counts))
    for _ in range(_EM_STEPS):
        shares *= chances @ (cells / np.maximum(shares @ chances, np.finfo(float).tiny))
        shares /= max(float(shares.sum()), np.finfo(float).tiny)
    return Spectrum(np.concatenate([counts, sure]), np.concatenate([shares * cells.sum(), np.ones(len(sure))]))


def listed_counts(spectrum: Spectrum, deviation: float, length: float) -> float:
    """Sum of the true counts on a list of so many items that are best by counts in noise of this deviation.

    That is what to expect if an item is on the list where its noisy count is above a level, the same for all.
    """
    counts, n_items = spectrum
    low, high = -10 * deviation, float(counts.max()) + 10 * deviation
    for _ in range(_BISECTIONS):
        level = (low + high) / 2
        if n_items @ ndtr((counts - level) / deviation) > length:
            low = level
        else:
            high = level
    return float((n_items * counts) @ ndtr((counts - high) / deviation))


def is_visible(releases: RatingReleases, census: Census, top: int, share: float) -> bool:
    """Whether the first eigenvalue of the second moment of `top` items, bought with this share, is sure to stand out.

    Counts c over the bound k of a user's counts are sums of rows of norm at most 1, so by Cauchy and Schwarz the first
    eigenvalue is at least |c|^2 / (k^2 n), if the diagonal is not left out. With as many items for every user, it has
    n c_j / sum(c), the mean of which over the direction c is subtracted.
    """
    if share <= 0.0:
        return False
    lattice = symmetric_lattice(1.0, Gaussian(1.0 / (releases.mu * math.sqrt(share))), releases.neighbors)
    edge = 2.0 * lattice.scale * math.sqrt(top)
    c, s, n = census.released, census.deviation, len(census.released)
    total, squares = float(c.sum()), float(c @ c) - n * s**2  # of noise, c @ c has n s^2
    if total <= 0.0 or squares <= 0.0:
        return False
    diagonal = releases.n_people * max(float((c**3).sum()) - 3 * s**2 * total, 0.0) / (squares * total)
    lowest = squares - IMPLICIT.visible_deviations * (2 * s * math.sqrt(squares) + s**2 * math.sqrt(2 * n))
    return lowest / (census.count_norm**2 * releases.n_people) - diagonal >= edge
