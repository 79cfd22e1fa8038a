"""The plan of releases by the exponential mechanism on orbits: eigenvalues, then one joint draw or several draws."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.second_moment.recipe import RECIPE
from hushrank.privacy.events import Event, Pure, Repeated
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.exponential import ScoreLattice, score_lattice
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.planning import Step, draw_step, eigenvalues_step
from hushrank.privacy.rational import float_at_most

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OrbitPlan:
    """Public numbers of the releases.

    Attributes
    ----------
    rank : int
    levels : ndarray of shape (rank,) or None
        Public eigenvalues of H; None if they are released.
    eigenvalues : ScoreLattice or None
        Of the release of eigenvalues.
    draws : ScoreLattice
        Of the draw, or of all draws.
    is_joint : bool
        Whether all directions are drawn at once.
    """

    rank: int
    levels: FloatArray | None
    eigenvalues: ScoreLattice | None
    draws: ScoreLattice
    is_joint: bool

    @property
    def field(self) -> Field:
        """Of the result."""
        return self.draws.field

    @property
    def keeps_real_part(self) -> bool:
        """Whether a complex H is drawn and its real part kept."""
        return self.is_joint and self.rank > 1 and self.field is Field.REAL

    @property
    def is_complex(self) -> bool:
        """Whether what is drawn is complex."""
        return self.keeps_real_part or self.field is Field.COMPLEX

    def steps(self) -> tuple[Step, ...]:
        """The releases in the order of their execution."""
        way = "one joint draw" if self.is_joint else f"{self.rank} draws one after the other"
        draw = draw_step("directions", f"exponential mechanism, {way}", self.draws, self.rank if self.is_joint else 1)
        if self.eigenvalues is None:
            return (draw,)
        return eigenvalues_step("eigenvalues", self.eigenvalues, self.rank), draw


def has_joint_draw(rank: int, n_features: int, strategy: str) -> bool:
    """Whether several directions are drawn at once; how long that takes depends on the data."""
    is_fast = rank * n_features**3 <= RECIPE.joint_work
    return rank > 1 and (strategy == "joint" or (strategy == "auto" and is_fast))


def plan_orbit(
    events: Mapping[str, Event],
    *,
    levels: FloatArray | None,
    rank: int,
    strategy: str,
    field: Field,
    row_norm: float,
    neighbors: Neighbors,
    n_features: int,
    n_max: int,
) -> OrbitPlan:
    """Public numbers of all releases.

    `events` has a pure one for "vectors", and one for "eigenvalues" unless they are public; `strategy` is "joint",
    "sequential" or "auto" (joint where rank times columns^3 is at most 10^9).
    """
    vectors = events["vectors"]
    assert isinstance(vectors, Pure)
    is_joint = rank == 1 or has_joint_draw(rank, n_features, strategy)
    event: Pure | Repeated = Pure(vectors.epsilon, bounded_range=True)
    if not is_joint:
        event = Repeated(Pure(float_at_most(Fraction(vectors.epsilon) / rank), bounded_range=True), rank)
    make = partial(score_lattice, field=field, n_features=n_features, n_max=n_max)
    draws = make(row_norm, event, neighbors, rank=rank if is_joint else 1)
    spectrum = make(row_norm, events["eigenvalues"], neighbors, rank=rank) if "eigenvalues" in events else None
    return OrbitPlan(rank, levels, spectrum, draws, is_joint)
