"""Release of a second-moment matrix without its diagonal, in the memory of the total itself.

Statistic  entries above the diagonal of sum over people of y y^T, integer rows y with |y|_2^2 <= T.
Release    each of them + round(2^k N), N independent standard normals.
Privacy    docs/privacy/gaussian.md, Theorem 4: the same entries of the release of `symmetric`, whose noise off the
           diagonal is enough although its diagonal is published as well.
"""

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice, check_symmetric_lattice
from hushrank.privacy.mechanisms.totals import check_square_total
from hushrank.privacy.noise.deviates import Integers, add_normals
from hushrank.privacy.noise.source import NoiseSource


def release_hollow(total: Integers, lattice: SymmetricLattice, noise: NoiseSource) -> NDArray[np.float64]:
    """Release the upper triangle of `total` as a symmetric matrix with zeros on the diagonal.

    Parameters
    ----------
    total : int64 array of shape (n, n)
        Read above the diagonal. It is overwritten: the result lies in its memory.
    lattice : SymmetricLattice
        Of real rows.
    noise : NoiseSource
    """
    check_symmetric_lattice(lattice, Field.REAL, "release_hollow")
    secret = check_square_total(total, "release_hollow")
    if not secret.flags.writeable:
        raise InvalidParameter("release_hollow", "total", "writable: the result lies in its memory", "a read-only one")
    stream = noise.begin(lattice.event, lattice.neighbors)
    released = secret.view(np.float64)
    for i in range(len(secret)):  # a row at a time: a second matrix of this size may not fit
        row = secret[i, i + 1 :]
        add_normals(row, lattice.exponent, stream)
        released[i, i + 1 :] = row * lattice.unit
        released[i, : i + 1] = 0.0
    for i in range(len(secret)):
        released[i:, i] = released[i, i:]
    return released
