"""Parameters and plans of `PrivatePCA`, `PrivateCovariance` and `PrivateLowRank`, apart from what learns.

The estimator classes and the command line both use them; nothing here needs numba or scikit-learn.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np

from hushrank.base import Param, Sizes
from hushrank.estimators.second_moment.expectations import (
    CAPTURED,
    GUESSES,
    Noise,
    captured_share,
    count_components,
)
from hushrank.estimators.second_moment.forecast import radius_lattice
from hushrank.estimators.second_moment.parameters import COLUMN_PARAMS, SCALE_PARAMS, FloatArray
from hushrank.estimators.second_moment.plan import MomentPlan, SecondMomentPlanner
from hushrank.estimators.second_moment.public_plan import Spectrum
from hushrank.estimators.second_moment.radius_plan import RadiusBudget
from hushrank.estimators.second_moment.recipe import CLIPPED_FOR_COMPONENTS, RECIPE
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_vector
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.guesses import Guess
from hushrank.privacy.mechanisms.gram import GramLattice


class ExpectingPlanner(SecondMomentPlanner):
    """What components to expect of a released second moment, for guessed variances of the directions."""

    _guesses: ClassVar[Mapping[str, Guess]] = GUESSES
    _counted: ClassVar[str] = "components"

    def _default_guesses(self, sizes: Sizes) -> dict[str, float]:
        return {} if self._is_exponential else super()._default_guesses(sizes)  # a draw releases no matrix

    def _expect_count(self, releases: MomentPlan, sizes: Sizes, **guesses: float) -> float | None:
        if self._is_exponential:
            return None
        noise, d = self._noise(releases, sizes)
        return min(count_components(noise, d, guesses), float(self._spectrum(d).rank))

    def _expected(self, releases: MomentPlan, sizes: Sizes, **guesses: float) -> dict[str, float]:
        expected = super()._expected(releases, sizes, **guesses)
        if expected:
            noise, d = self._noise(releases, sizes)
            rank = self._spectrum(d).rank
            expected |= {CAPTURED: captured_share(noise, d, rank, guesses)} if rank < d else {}
        return expected

    def _noise(self, releases: MomentPlan, sizes: Sizes) -> tuple[Noise, int]:
        """Noise over the radius squared, and the columns of the matrix."""
        if isinstance(releases, RadiusBudget):
            setting, spending = self._spending(releases, sizes)
            wanted = self._wanted()
            lattice = radius_lattice(setting, spending, has_mean=wanted.center and wanted.mean)
            return Noise.of(lattice, sizes["n_samples"], setting.n_features, 1.0), setting.n_features
        lattice, d = cast(GramLattice, releases.matrix), sizes["n_features"]
        return Noise.of(lattice, sizes["n_samples"], d, lattice.row_norm), d


class PCAPlanner(ExpectingPlanner):
    """Parameters and plan of `PrivatePCA`."""

    _params: ClassVar[Mapping[str, Param]] = {
        "n_components": Param(int, minimum=1, option="components", help="Number of components."),
        **SecondMomentPlanner._params,
        **SCALE_PARAMS,
        **COLUMN_PARAMS,
    }
    _clipped: ClassVar[float] = CLIPPED_FOR_COMPONENTS

    n_components: int

    @property
    def _needs_count(self) -> bool:
        return not self._is_exponential

    def _spectrum(self, n_features: int) -> Spectrum:
        return Spectrum(self.n_components, levels=np.ones(self.n_components))

    def _plan(self, budget: Budget, sizes: Sizes) -> MomentPlan:
        if self.n_components > sizes["n_features"]:
            requirement = f"at most the number of columns, {sizes['n_features']}"
            raise InvalidParameter(type(self).__name__, "n_components", requirement, self.n_components)
        return super()._plan(budget, sizes)


class CovariancePlanner(ExpectingPlanner):
    """Parameters and plan of `PrivateCovariance`."""

    _params: ClassVar[Mapping[str, Param]] = {
        "rank": Param(int, minimum=1, optional=True, default=None, help="Rank of the matrix. Default: full."),
        **SecondMomentPlanner._params,
        **SCALE_PARAMS,
    }

    rank: int | None

    def _spectrum(self, n_features: int) -> Spectrum:
        return Spectrum(n_features if self.rank is None else self.rank, share=RECIPE.eigenvalues)

    def _plan(self, budget: Budget, sizes: Sizes) -> MomentPlan:
        if self.rank is not None and self.rank > sizes["n_features"]:
            requirement = f"at most the number of columns, {sizes['n_features']}"
            raise InvalidParameter(type(self).__name__, "rank", requirement, self.rank)
        return super()._plan(budget, sizes)


class LowRankPlanner(ExpectingPlanner):
    """Parameters and plan of `PrivateLowRank`."""

    _params: ClassVar[Mapping[str, Param]] = {
        "rank": Param(
            int,
            minimum=1,
            optional=True,
            default=None,
            help="Rank of the approximation. Default: as many as --eigenvalues.",
        ),
        "eigenvalues": Param(
            np.ndarray,
            optional=True,
            default=None,
            help="Public eigenvalues of the approximation: numbers separated by commas, or an .npy file. "
            "Default: private.",
        ),
        "share": Param(
            float,
            above=0,
            below=1,
            optional=True,
            default=None,
            help="With --mechanism exponential: part of the budget for private eigenvalues. Default: one half.",
        ),
        **SecondMomentPlanner._params,
    }

    rank: int | None
    eigenvalues: Any
    share: float | None

    @property
    def _needs_count(self) -> bool:
        return False

    def _spectrum(self, n_features: int) -> Spectrum:
        levels = self._public_levels()
        if levels is not None:
            return Spectrum(len(levels), levels=levels)
        assert self.rank is not None  # checked by `_plan`
        share = RECIPE.eigenvalues if self.share is None else Fraction(float(self.share))
        return Spectrum(self.rank, share=share)

    def _public_levels(self) -> FloatArray | None:
        return None if self.eigenvalues is None else np.sort(np.asarray(self.eigenvalues, np.float64))[::-1]

    def _plan(self, budget: Budget, sizes: Sizes) -> MomentPlan:
        owner, n_features = type(self).__name__, sizes["n_features"]
        if self.eigenvalues is not None:
            levels = check_vector(self.eigenvalues, "eigenvalues", owner)
            if not 1 <= len(levels) <= n_features or levels.min() < 0 or levels.max() == 0:
                requirement = f"1 to {n_features} numbers >= 0, not all of them 0"
                raise InvalidParameter(owner, "eigenvalues", requirement, self.eigenvalues)
            if self.rank not in (None, len(levels)):
                raise InvalidParameter(owner, "rank", f"None or {len(levels)}, as many as eigenvalues", self.rank)
        elif self.rank is None or self.rank > n_features:
            requirement = f"an integer from 1 to {n_features}, the number of columns, where eigenvalues is None"
            raise InvalidParameter(owner, "rank", requirement, self.rank)
        if self.share is not None and not (self._is_exponential and self.eigenvalues is None):
            requirement = "None unless mechanism='exponential' releases eigenvalues, which it serves"
            raise InvalidParameter(owner, "share", requirement, self.share)
        return super()._plan(budget, sizes)
