"""What private PCA, covariance and low-rank approximation release with a public radius: a count, a center, a matrix.

Release    1 under add_remove, the number of rows where it is needed;
           2 with center="private", the sum of the rows shortened to |x| <= center_norm;
           3 with the rest, by `mechanism`: A with Gaussian or two-sided Wishart noise, or a matrix drawn with
             density exp(rate <A, H>) (`orbit_plan`).
Shares     of the budget: `recipe`.
Privacy    docs/privacy/second_moment.md, Theorem 1; docs/privacy/orbit.md, Theorem 5.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.second_moment.orbit_plan import OrbitPlan
from hushrank.privacy.events import Event
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.gram import GramLattice
from hushrank.privacy.mechanisms.vector import VectorLattice
from hushrank.privacy.planning import Step, counts_step, gram_step, vector_step

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SecondMomentPlan:
    """Public numbers of all releases of one fit; None for a release that is not made."""

    neighbors: Neighbors
    n_features: int
    count: Event | None
    center: VectorLattice | None
    matrix: GramLattice | OrbitPlan
    public_center: FloatArray | None

    def steps(self) -> tuple[Step, ...]:
        """The releases in the order of their execution."""
        steps = []
        if self.count is not None:
            steps.append(counts_step("number of rows", 1, self.count, self.neighbors))
        if self.center is not None:
            steps.append(vector_step("sum of rows, for the center", self.center))
        if isinstance(self.matrix, OrbitPlan):
            return (*steps, *self.matrix.steps())
        return (*steps, gram_step("second moment", self.matrix, self.n_features))


@dataclass(frozen=True, slots=True)
class Spectrum:
    """What the exponential mechanism is asked for: the rank, public eigenvalues, or the share for private ones."""

    rank: int
    levels: FloatArray | None = None
    share: Fraction = Fraction(0)
