"""Release of integer counts, as integers.

Statistic  c in Z^m: every person adds 1 to at most `max_cells` of the m cells, nothing to the others.
Release    round(c + scale Z), Z independent standard normals (Gaussian event) or Laplace deviates (Pure).
Privacy    docs/privacy/gaussian.md, Lemma 5; docs/privacy/laplace.md, Lemma 2.
"""

import numpy as np

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer
from hushrank.privacy.events import Event
from hushrank.privacy.guarantee import Neighbors, parse_neighbors
from hushrank.privacy.mechanisms.scales import check_gaussian_or_pure, noise_law, scale_for
from hushrank.privacy.mechanisms.totals import check_total
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.extensible import ExtensibleDeviates
from hushrank.privacy.noise.linear import round_linear
from hushrank.privacy.noise.source import NoiseSource


def changed_cells(n_cells: int, max_cells: int, neighbors: Neighbors) -> int:
    """Most cells that differ, by one each, between neighbors: the L1 and the squared L2 sensitivity of the counts."""
    per_person = min(max_cells, n_cells)
    return per_person if neighbors == Neighbors.ADD_REMOVE else min(2 * per_person, n_cells)


def counts_scale(
    n_cells: int, event: Event, neighbors: Neighbors | str = Neighbors.REPLACE, *, max_cells: int = 1
) -> float:
    """Noise scale of `release_counts`, rounded up; reads nothing private."""
    owner = "counts_scale"
    cells = check_integer(n_cells, "n_cells", owner, minimum=1)
    most = check_integer(max_cells, "max_cells", owner, minimum=1)
    changed = changed_cells(cells, most, parse_neighbors(neighbors, owner))
    return scale_for(changed, changed, event, owner)


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
    if not secret.size:
        raise InvalidParameter("release_counts", "counts", "at least one count", f"shape {secret.shape}")
    scale = counts_scale(secret.size, event, neighbors, max_cells=max_cells)
    law = noise_law(check_gaussian_or_pure(event, "release_counts"))
    deviates = ExtensibleDeviates(law, secret.size, 1, noise.begin(event, neighbors))
    return round_linear(np.array([[scale]]), deviates, secret.reshape(1, -1)).reshape(secret.shape)
