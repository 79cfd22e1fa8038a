"""What a sketch releases: a factorization U diag(s) Vt of the matrix, with its guarantee; it holds no secret."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushrank.archive.attributes import Attribute
from hushrank.data.vectors import read_vector
from hushrank.estimators.turnstile.layout import AS_PRINTED
from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.estimators.turnstile.value_strength import value_strength
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Guarantee

FloatArray = NDArray[np.float64]

_ROUNDED = 0.01


class Factorization(TurnstilePlanner):
    """A private low-rank factorization of a matrix that was known by its updates alone.

    `TurnstileSketch.factorize` makes it, and `hushrank.load` reads it from a file. Its parameters are those of the
    sketch, but for epsilon, which is that of `privacy_`: a later factorization of one sketch pays for all before it.

    Attributes
    ----------
    U : ndarray of shape (n_rows, rank)
        Orthonormal columns.
    s : ndarray of shape (rank,)
        In falling order; zero for components that the decoder did not keep, whose vectors mean nothing.
    Vt : ndarray of shape (rank, n_columns)
        Orthonormal rows.
    privacy_ : Guarantee
        Of all releases of the sketch so far, this one among them.
    release_ : int
        Which release of its sketch this is, counted from 1.
    noise_ : float
        Standard deviation of the noise in an entry of the first sketch, of columns of norm 1.
    strength_ : ndarray of shape (rank,)
        How far each component stands above the noise of the sketch in which directions are found, which is privacy
        noise and, in a sketch much narrower than the matrix, what collisions make of its rest: 1 is what privacy noise
        alone exceeds in 5 % of the releases, 0 a component that was not kept. Collisions are counted by a rule that was
        measured, not proved. All are 0 for kinds "figure1" and "figure3", which do not tell.
    n_significant_ : int
        Components with a strength above 1: the findings. Both follow from the others.
    levels_ : ndarray
        Root mean square of every released array in the same units; about its noise where there is no signal.

    Examples
    --------
    >>> import hushrank as hr
    >>> sketch = hr.TurnstileSketch(shape=(30, 20), rank=2, epsilon=50.0, delta=1e-6, kind="full", random_state=0)
    >>> found = sketch.update([3, 4, 3], [5, 6, 5], [40.0, 1.0, 0.5]).factorize()
    >>> found.U.shape, found.s.shape, found.Vt.shape, found.n_significant_
    ((30, 2), (2,), (2, 20), 0)
    """

    U_: FloatArray
    s_: FloatArray
    Vt_: FloatArray
    levels_: FloatArray
    noise_: float
    release_: int
    privacy_: Guarantee

    def __repr__(self) -> str:
        return super().__repr__().replace("Factorization(", "Factorization of a TurnstileSketch(", 1)

    @property
    def _learns(self) -> Mapping[str, Attribute]:
        return learned_by(self)

    @property
    def U(self) -> FloatArray:
        """Left singular vectors as columns."""
        self._learned()  # or NotFitted
        return self.U_

    @property
    def s(self) -> FloatArray:
        """Singular values, in falling order."""
        self._learned()
        return self.s_

    @property
    def Vt(self) -> FloatArray:
        """Right singular vectors as rows."""
        self._learned()
        return self.Vt_

    @property
    def n_above_noise(self) -> int:
        """Components whose singular value is not zero: what the decoder kept, which is not yet a finding.

        The decoder asks what the privacy noise explains, keeps the rest, and shrinks it. In a narrow sketch of a matrix
        of many weak components it keeps some that mean nothing. `n_significant_` counts those that are findings.
        """
        return int(np.count_nonzero(self.s))

    @property
    def strength_(self) -> FloatArray:
        """How far each component stands above the noise."""
        self._learned()
        if self.kind in AS_PRINTED:
            return np.zeros(len(self.s_))
        first = self._plan(self._check_parameters(), {}).layout.arrays[0]
        shape, is_full = (first.shape[0], first.shape[1]), self.kind == "full"
        return value_strength(self.s_, self.noise_, float(self.levels_[0]), shape, is_full=is_full)

    @property
    def n_significant_(self) -> int:
        """Components that stand above the noise, with a strength above 1."""
        return int(np.count_nonzero(self.strength_ > 1.0))

    def entries(self, rows: ArrayLike, cols: ArrayLike) -> FloatArray:
        """Entries of U diag(s) Vt, one for each pair of a row and a column."""
        places = []
        for name, given, size in (("rows", rows, self._shape[0]), ("cols", cols, self._shape[1])):
            vector = read_vector(given, name, "Factorization")
            if vector.dtype.kind not in "iu" or np.any((vector < 0) | (vector >= size)):
                raise InvalidParameter("Factorization", name, f"integers from 0 to {size - 1}", "others")
            places.append(vector.astype(np.int64))
        if len(places[0]) != len(places[1]):
            requirement = f"as many as rows, {len(places[0])}"
            raise InvalidParameter("Factorization", "cols", requirement, f"{len(places[1])} columns")
        found: FloatArray = np.einsum("ek,k,ke->e", self.U[places[0]], self.s, self.Vt[:, places[1]])
        return found

    def _check_learned(self, learned: Mapping[str, Any]) -> None:
        if np.any(np.diff(learned["s_"]) > 0.0):
            raise ValueError("its singular values are not in falling order")
        if not self._is_expected(learned["noise_"], learned["release_"]):
            raise ValueError("its noise is not that of its guarantee and number of releases")

    def _is_expected(self, noise: float, n_releases: int) -> bool:
        """Whether so many releases with this noise cost what the parameters say, up to how lattices round.

        A state that has noise of its own is left out: how much depends on how many were merged.
        """
        plan = self._plan(self._check_parameters(), {})
        if self.pan_private:
            return bool(noise >= plan.noise * (1.0 - _ROUNDED) / math.sqrt(plan.looks))
        expected = plan.noise * (n_releases if plan.is_pure else math.sqrt(n_releases))
        room = _ROUNDED + 4.0 * n_releases / plan.lattice.units
        return bool(abs(noise - expected) <= room * expected)


def learned_by(release: TurnstilePlanner) -> dict[str, Attribute]:
    """What a factorization has learned, given the parameters of its sketch."""
    n_rows, n_columns = release._shape
    return {
        "U_": Attribute(float, (n_rows, "rank")),
        "s_": Attribute(float, ("rank",), minimum=0),
        "Vt_": Attribute(float, ("rank", n_columns)),
        "levels_": Attribute(float, (range(1, 4),), minimum=0),
        "noise_": Attribute(float, above=0),
        "release_": Attribute(int, minimum=1),
    }
