"""Release of the length of a sum of per-person vectors: one number, for the price of one.

Statistic  floor(|S|_2), S = sum over people of integer vectors y with |y|_2^2 <= T.
Release    round(floor(|S|) + scale Z), Z a standard normal (Gaussian event) or a Laplace deviate (Pure).
Privacy    docs/privacy/length.md, Theorem 1: a length changes by no more than the sum does, whatever the number of
           people and the number of entries.
"""

import math

import numpy as np

from hushrank.parameters import check_integer
from hushrank.privacy.events import Event
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.scales import check_gaussian_or_pure, noise_law, rows_changed, scale_for
from hushrank.privacy.mechanisms.totals import check_total
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.extensible import ExtensibleDeviates
from hushrank.privacy.noise.linear import round_linear
from hushrank.privacy.noise.source import NoiseSource

LENGTH_BITS = 12
LARGEST_LENGTH_BOUND = 4**LENGTH_BITS
"""Of one person's squared norm: a total of 2^51 people does not wrap around, which a length must not."""


def length_sensitivity(squared_bound: int, neighbors: Neighbors) -> int:
    """Largest change of floor(|S|) between neighbors (length.md, Lemma 1): that of |S|, rounded up, and one more."""
    changed = rows_changed(neighbors)
    root = math.isqrt(changed * changed * squared_bound)
    exact = root * root == changed * changed * squared_bound
    return root + (1 if exact else 2)


def length_scale(squared_bound: int, event: Event, neighbors: Neighbors | str = Neighbors.REPLACE) -> float:
    """Noise scale of `release_length` in lattice units, rounded up; reads nothing private."""
    owner = "length_scale"
    bound = check_integer(squared_bound, "squared_bound", owner, minimum=1, maximum=LARGEST_LENGTH_BOUND)
    change = length_sensitivity(bound, parse_neighbors(neighbors, owner))
    return scale_for(change * change, change, event, owner)


def release_length(
    total: Integers,
    squared_bound: int,
    event: Event,
    noise: NoiseSource,
    neighbors: Neighbors | str = Neighbors.REPLACE,
) -> int:
    """Release the length of an integer vector, in its lattice units; it may come out negative.

    Parameters
    ----------
    total : int64 vector
        The sum over people.
    squared_bound : int
        Bound T on the squared norm of one person's integer vector, at most 4^12.
    event : Gaussian or Pure
    noise : NoiseSource
    neighbors : "replace" or "add_remove"
    """
    owner = "release_length"
    secret = check_total(total, owner, ndim=1)
    scale = length_scale(squared_bound, event, neighbors)
    law = noise_law(check_gaussian_or_pure(event, owner))
    # Python integers: squares of totals pass 2^63.
    length = math.isqrt(sum(entry * entry for entry in secret.tolist()))
    deviates = ExtensibleDeviates(law, 1, 1, noise.begin(event, neighbors))
    return int(round_linear(np.array([[scale]]), deviates, np.array([[length]], np.int64))[0, 0])
