"""Release of integer counts, as integers.

Statistic  c in Z^m: every person adds 1 to at most `max_cells` of the m cells, nothing to the others.
Release    round(c + scale Z), Z independent standard normals (Gaussian event) or Laplace deviates (Pure).
Privacy    docs/privacy/gaussian.md, Lemma 5; docs/privacy/laplace.md, Lemma 2.
"""

import math
from fractions import Fraction

import numpy as np

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Event, Gaussian
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.totals import check_gaussian_or_pure, check_total
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.extensible import ExtensibleDeviates
from hushrank.privacy.noise.laws import exponential_law, normal_law
from hushrank.privacy.noise.linear import MAX_COEFFICIENT, round_linear
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.parameters import check_integer
from hushrank.privacy.rational import float_at_least, sqrt_at_least


def changed_cells(n_cells: int, max_cells: int, neighbors: Neighbors) -> int:
    """Most cells that differ, by one each, between neighbors: the L1 and the squared L2 sensitivity of the counts."""
    per_person = min(max_cells, n_cells)
    return per_person if neighbors is Neighbors.ADD_REMOVE else min(2 * per_person, n_cells)


def counts_scale(
    n_cells: int, event: Event, neighbors: Neighbors | str = Neighbors.REPLACE, *, max_cells: int = 1
) -> float:
    """Noise scale of `release_counts`, rounded up; reads nothing private."""
    owner = "counts_scale"
    cells = check_integer(n_cells, "n_cells", owner, minimum=1)
    most = check_integer(max_cells, "max_cells", owner, minimum=1)
    changed = changed_cells(cells, most, parse_neighbors(neighbors, owner))
    return scale_for(changed, changed, event, owner)


def scale_for(squared_l2: int | Fraction, l1: int | Fraction, event: Event, owner: str) -> float:
    """Noise scale of a statistic with these sensitivities under a Gaussian or a pure event, rounded up."""
    executable = check_gaussian_or_pure(event, owner)
    if isinstance(executable, Gaussian):
        exact = squared_l2 * Fraction(executable.noise_multiplier) ** 2
        too_large = exact > Fraction(MAX_COEFFICIENT) ** 2
        scale = math.inf if too_large else sqrt_at_least(exact)
    else:
        exact = l1 / Fraction(executable.epsilon)
        scale = math.inf if exact > MAX_COEFFICIENT else float_at_least(exact)
    if scale > MAX_COEFFICIENT:
        raise InvalidParameter(owner, "event", f"an event with noise scale below {MAX_COEFFICIENT:.3g}", event)
    return scale


def release_counts(
    counts: Integers,
    event: Event,
    noise: NoiseSource,
    neighbors: Neighbors | str = Neighbors.REPLACE,
    *,
    max_cells: int = 1,
) -> Integers:
    """Release integer counts (any shape) as integers; negative results are left to the caller."""
    secret = check_total(counts, "release_counts", name="counts")
    scale = counts_scale(secret.size, event, neighbors, max_cells=max_cells)
    stream = noise.begin(event)
    law = normal_law() if isinstance(event, Gaussian) else exponential_law()
    deviates = ExtensibleDeviates(law, secret.size, 1, stream)
    return round_linear(np.array([[scale]]), deviates, secret.reshape(1, -1)).reshape(secret.shape)
