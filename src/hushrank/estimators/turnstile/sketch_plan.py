"""What a factorization of a sketch will release, and what somebody who plans it should know."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from hushrank.bounds.turnstile import predicted_error, smallest_recoverable
from hushrank.estimators.turnstile.layout import Layout
from hushrank.privacy.events import Pure
from hushrank.privacy.mechanisms.sketch import SketchLattice
from hushrank.privacy.planning import Step

HOPELESS = (
    "HOPELESS unless entries add up: the norm of so many distinct updates is below the smallest singular value above "
    "the noise; the result would be close to zero"
)


@dataclass(frozen=True, slots=True)
class SketchPlan:
    """One factorization of a sketch.

    Attributes
    ----------
    layout : Layout
    lattice : SketchLattice
    looks : int
        How many times noise is added for the budget: twice where the state itself is private.
    rank : int
    """

    layout: Layout
    lattice: SketchLattice
    looks: int
    rank: int

    def steps(self) -> tuple[Step, ...]:
        """One release, of all arrays at once."""
        arrays = " and ".join(f"{array.name} {array.shape[0]} x {array.shape[1]}" for array in self.layout.arrays)
        law = "Laplace" if self.is_pure else "Gaussian"
        twice = ", once in the state and once in the output" if self.looks > 1 else ""
        scales = {
            "standard deviation of an entry": self.noise,
            "step to which updates are rounded": self.lattice.bound / self.lattice.units,
            "smallest singular value above the noise": self.smallest_value,
        }
        return (Step(f"sketch ({arrays})", f"{law} noise{twice}", self.lattice.total(self.looks), scales),)

    @property
    def is_pure(self) -> bool:
        """Whether delta = 0."""
        return isinstance(self.lattice.event, Pure)

    @property
    def noise(self) -> float:
        """Standard deviation of what a release adds to the first array, where columns of operators have norm 1."""
        return self.lattice.deviation(0) * math.sqrt(self.looks)

    @property
    def smallest_value(self) -> float:
        """Singular values of the matrix above this come out clearly; below about half of it they are lost."""
        first, *others = self.layout.arrays
        shape = (first.shape[0], others[0].shape[0]) if others else first.shape
        return smallest_value(self.noise, shape, is_full=not others)


def smallest_value(noise: float, shape: tuple[int, int], *, is_full: bool) -> float:
    """Singular values above this come out clearly, of a matrix of this shape and with noise of this deviation."""
    n_rows, n_columns = shape
    if is_full:  # the edge of the singular values of noise alone
        return noise * (math.sqrt(n_rows) + math.sqrt(n_columns))
    return smallest_recoverable(noise, n_rows, n_columns)


def notes_on_space(plan: SketchPlan, n_bytes: int) -> Iterator[str]:
    """Memory of the state, in integers of so many bytes, and of operators."""
    layout = plan.layout
    stored = f", its operators {layout.stored_bytes}" if layout.stored_bytes else ""
    yield f"the state takes {n_bytes * layout.n_cells} bytes{stored}"


def notes_on_error(plan: SketchPlan, shape: tuple[int, int], n_bytes: int, memory: int) -> Iterator[str]:
    """What sketching costs beside the noise, and whether the matrix itself would fit."""
    if len(plan.layout.arrays) == 1:
        return
    rank, widths = plan.rank, (plan.layout.arrays[0].shape[1], plan.layout.arrays[-1].shape[1])
    factor = predicted_error(1.0, 0.0, *shape, rank, widths)
    if math.isfinite(factor):
        yield f"beside the noise, expect about {factor:.3g} times the error of the best matrix of rank {rank}"
    full_bytes = n_bytes * shape[0] * shape[1]
    if full_bytes <= memory:
        yield f"kind='full' takes {full_bytes} bytes, fits the memory, and is more accurate"
