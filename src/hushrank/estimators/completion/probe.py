"""Ratings on which a private recommender shows the noise of some of its releases.

Reading with offsets and for implicit feedback, the counts of the items, which are published as they were released
        (`item_means`); for implicit feedback with all of the budget, since on these data no factor has a chance
        (`implicit_counts`). Without them the default method publishes, as ridge, the mean square of a rating, a
        quotient of two noisy sums, if it finds no factors (`spectral_matrix`). The other methods mix all of their noise
        into factors: nothing is read.
Data    for counts, one rating of every user, of the items in turn. For squares, two ratings +-v of every user, with all
        signs equally often, so that no two items go together. Nobody is clipped.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse

from hushrank.estimators.completion.implicit_recipe import IMPLICIT
from hushrank.estimators.completion.options import Spectral
from hushrank.estimators.completion.recipes import ITEM_MEANS, MATRIX
from hushrank.privacy.adaptive import COUNT_SHARE
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.vector import vector_lattice
from hushrank.privacy.probes import NoiseProbe, normal_level

ToRatings = Callable[[Any], Any]

_COUNT_FITS = 192  # each shows as many numbers as there are items
_NORM = 0.5  # of a user's two ratings, about, in units where a rating lies in [-1, 1]


def completion_probe(
    options: Any,
    event: Gaussian,
    neighbors: Neighbors,
    n_items: int,
    to_ratings: ToRatings,
    *,
    has_counts: bool,
    n_users: int | None,
) -> NoiseProbe | None:
    """The probe of a fit with this budget, or None if nothing can be read.

    `options` are those of the method; `to_ratings` takes numbers in [-1, 1] to ratings; `n_users` is a number that was
    stated, which squares are divided by and the data do not have.
    """
    if has_counts:
        return _counts_probe(event, neighbors, n_items, to_ratings)
    if isinstance(options, Spectral) and n_users is None and n_items > 2:
        return _squares_probe(event, n_items, to_ratings)
    return None


def _counts_probe(event: Gaussian, neighbors: Neighbors, n_items: int, to_ratings: ToRatings) -> NoiseProbe:
    # So many users that a noisy search finds their one rating, and that no count comes near zero: 1e-10 a fit.
    n_users = n_items * math.ceil(max(240.0 / n_items, 45.0) * event.noise_multiplier)

    def levels(model: Any) -> dict[str, float]:
        lattice = vector_lattice(1.0, _share(event, _counts_share(model, neighbors)), neighbors, nonnegative=True)
        return {"counts of items": normal_level(model.item_counts_ - n_users / n_items, lattice.scale)}

    users = np.arange(n_users)
    data = (to_ratings(np.full(n_users, _NORM)), (users, users % n_items))
    return NoiseProbe(scipy.sparse.csr_array(data, shape=(n_users, n_items)), levels, _COUNT_FITS)


def _counts_share(model: Any, neighbors: Neighbors) -> float:
    """Share of the budget that a fitted model has spent on its counts."""
    if model.feedback != "implicit":
        return ITEM_MEANS.counts_share
    before = ITEM_MEANS.quantile_share + (COUNT_SHARE if neighbors is Neighbors.ADD_REMOVE else 0.0)
    return 1.0 - before - (0.0 if model.item_features is None else IMPLICIT.check_share)


def _squares_probe(event: Gaussian, n_items: int, to_ratings: ToRatings) -> NoiseProbe:
    grid = MATRIX.norm_grid(n_items)
    norm = float(grid[np.searchsorted(grid, _NORM)])
    value = 0.999 * norm / math.sqrt(2)  # the noisy search finds this point of the grid
    n_users = 4 * n_items * _users_of_a_sign(event.noise_multiplier, n_items)
    # Numbers in [0, 1] change by 1 at most, under either relation.
    squares, fraction = (
        vector_lattice(1.0, _share(event, share), Neighbors.ADD_REMOVE).scale
        for share in (MATRIX.squares_share, MATRIX.fraction_share)
    )
    relative = math.hypot(squares * 2 * (norm / value) ** 2, fraction * n_items / 2) / n_users

    def levels(model: Any) -> dict[str, float]:
        return {"mean square of ratings": normal_level(math.log(model.ridge_ / value**2), relative)}

    users, signs = np.arange(n_users), np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    first = users // 4 % n_items
    items = np.column_stack([first, (first + 1) % n_items])
    data = (to_ratings(value * signs[users % 4]).ravel(), (np.repeat(users, 2), items.ravel()))
    return NoiseProbe(scipy.sparse.csr_array(data, shape=(n_users, n_items)), levels, 256)


def _users_of_a_sign(noise: float, n_items: int) -> int:
    """A fourth of the users of a pair of items, as the noise multiplier of the whole asks for."""
    small = 120.0 * noise  # relative noise of the quotient: 3 %
    sure = 120.0 * noise / n_items  # of the noisy search
    # Sampling errors, which the method reckons with and these data do not have, are five times the noise of the second
    # moment: nothing looks like a factor.
    flat = n_items * noise**2
    return math.ceil(max(small, sure, flat))


def _share(event: Gaussian, share: float) -> Gaussian:
    return Gaussian(event.noise_multiplier / math.sqrt(share))
