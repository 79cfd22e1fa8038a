"""The law that every sampler of this package draws from, and what a draw returns.

Law        H = U diag(levels, 0, ..., 0) U^*, U orthogonal (real) or unitary (complex), with density proportional to
           exp(sum_i tilts_i H_ii) against the invariant measure; tilts_i = c times eigenvalue i of M, so that the
           coordinates are those of the eigenbasis of M.
Interface  `draw(law, stream, *, limit)` in each sampler's module returns a `Draw` of exactly this law, or raises
           `SamplingFailed` when `limit` is spent. Samplers never mix laws: which one served changes time, not the law.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter

# A coordinate of this cost is zero in float64, as one of any larger cost; samplers multiply costs by small factors.
_LARGEST_COST = 1e300

FloatArray = NDArray[np.float64]
Factor = NDArray[np.float64] | NDArray[np.complex128]


@dataclass(frozen=True, slots=True, eq=False)
class OrbitLaw:
    """Density exp(sum_i tilts_i H_ii) on the orbit of diag(levels, 0, ..., 0).

    Parameters
    ----------
    tilts : array-like of shape (d,)
        Finite, in falling order; ties are allowed.
    levels : array-like of shape (k,)
        The nonzero eigenvalues of H: positive, finite, in falling order, k <= d; ties are allowed.
    is_complex : bool
        Whether U is unitary (True) or real orthogonal (False).

    Examples
    --------
    >>> law = OrbitLaw([3.0, 1.0, 0.0], [1.0, 1.0], is_complex=True)
    >>> law.dimension, law.rank, law.is_projection
    (3, 2, True)
    >>> law.costs
    array([0., 2., 3.])
    """

    tilts: FloatArray
    levels: FloatArray
    is_complex: bool

    def __post_init__(self) -> None:
        for name in ("tilts", "levels"):
            given = np.asarray(getattr(self, name))
            value = given.astype(np.float64) if given.dtype.kind in "biuf" else np.empty(0)
            if value.ndim != 1 or not value.size or not np.isfinite(value).all() or (value[1:] > value[:-1]).any():
                requirement = "a vector of finite numbers in falling order"
                raise InvalidParameter("OrbitLaw", name, requirement, getattr(self, name))
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        if self.levels[-1] <= 0 or len(self.levels) > len(self.tilts):
            raise InvalidParameter("OrbitLaw", "levels", f"at most {len(self.tilts)} positive numbers", self.levels)

    @property
    def dimension(self) -> int:
        """d, the size of H."""
        return len(self.tilts)

    @property
    def rank(self) -> int:
        """k, the number of nonzero eigenvalues of H."""
        return len(self.levels)

    @property
    def is_projection(self) -> bool:
        """Whether all levels are equal: H is a multiple of a projection."""
        return bool(self.levels[0] == self.levels[-1])

    @property
    def costs(self) -> FloatArray:
        """For a projection, levels_1 (tilts_1 - tilts_i) >= 0: the density of P = H / levels_1 is exp(-<costs, P>)."""
        with np.errstate(over="ignore"):
            costs: FloatArray = self.levels[0] * (self.tilts[0] - self.tilts)
        return np.minimum(costs, _LARGEST_COST)


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One draw.

    Attributes
    ----------
    factor : ndarray of shape (d, k)
        H = factor factor^*. Only H has the law; which factor of it this is may depend on the tilts.
    tries : int
        Proposals, sweeps or rows that it took. It depends on the tilts: for the data holder only.
    """

    factor: Factor
    tries: int
