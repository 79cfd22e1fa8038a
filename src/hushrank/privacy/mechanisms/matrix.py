"""Release of a sum of per-person matrices of bounded Frobenius norm (Gaussian event) or entrywise L1 norm (Pure).

Statistic  S = sum over people of integer matrices Y with |Y|_F^2 <= T, or sum |Y_ij| <= T.
Release    S + round(2^k Z), Z independent; a matrix is a vector of its entries.
Privacy    docs/privacy/gaussian.md, Corollary 2.
"""

import numpy as np
from numpy.typing import NDArray

from hushrank.privacy.mechanisms.totals import check_total
from hushrank.privacy.mechanisms.vector import VectorLattice, release_vector
from hushrank.privacy.noise.deviates import Integers
from hushrank.privacy.noise.source import NoiseSource


def release_matrix(total: Integers, lattice: VectorLattice, noise: NoiseSource) -> NDArray[np.float64]:
    """Release a sum of matrices whose norm, as vectors of entries, `vector_lattice` bounds."""
    return release_vector(check_total(total, "release_matrix", ndim=2), lattice, noise)
