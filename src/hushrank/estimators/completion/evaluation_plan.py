"""Parameters and plan of `PrivateEvaluation`: one joint release of sums of errors, hits and counts.

Statistic  every user adds, for each of those compared, squared errors of at most `most_held_out` held-out ratings and a
           recall between 0 and 1; and beside them how many ratings and whether there was anything to find.
Release    the sums, each in shares of the most that one user can add and with a public weight, in one vector.
Privacy    docs/privacy/evaluation.md

The estimator and the command line both use this; nothing here needs numba or scikit-learn.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hushrank.base import Param, PrivateRelease, Sizes
from hushrank.estimators.user_budget import USER_PARAMS, check_user_count
from hushrank.privacy.calibration import event_for
from hushrank.privacy.guarantee import Budget, Neighbors, Unit
from hushrank.privacy.mechanisms.vector import GaussianLattice, VectorLattice, vector_lattice
from hushrank.privacy.planning import Step

FloatArray = NDArray[np.float64]

# A quotient takes the noise of its denominator times the quotient, which is far below 1: counts need less.
COUNT_WEIGHT = 0.25
# For forecasts: mean squared error in squared widths of the range (RMSE 1 of ratings 1 to 5), and recall.
TYPICAL_ERROR, TYPICAL_RECALL = 1 / 16, 1 / 8
MODEL, BASELINE = "model", "baseline"


def evaluation_sensitivity(weights: FloatArray, *, is_pure: bool) -> float:
    """Largest change of the weighted sums if one user is replaced, added or removed (evaluation.md, Lemma 1).

    Every entry of a user's vector lies between 0 and its weight, so none moves by more than that: in the L1 norm for a
    pure release, in the L2 norm for a Gaussian one.
    """
    return float(np.sum(weights)) if is_pure else float(np.sqrt(np.sum(weights**2)))


@dataclass(frozen=True, slots=True, eq=False)
class EvaluationRelease:
    """The public numbers of the release.

    Attributes
    ----------
    names : tuple of str
        What is summed.
    weights : ndarray of shape (n,)
        Most that one user adds to each of the weighted sums.
    most : ndarray of shape (n,)
        The same in the units of the numbers.
    lattice : VectorLattice
    """

    names: tuple[str, ...]
    weights: FloatArray
    most: FloatArray
    lattice: VectorLattice

    @property
    def rates(self) -> FloatArray:
        """From numbers to weighted ones."""
        return self.weights / self.most

    @property
    def center(self) -> FloatArray:
        """What is subtracted from every user's vector: the middle of where it lies, or nothing if n is secret."""
        return self.weights / 2.0 if self.lattice.neighbors == Neighbors.REPLACE else np.zeros_like(self.weights)

    @property
    def scales(self) -> FloatArray:
        """Standard deviation or Laplace scale of the noise of each sum, in the units of the numbers."""
        return self.lattice.scale / self.rates

    def steps(self) -> tuple[Step, ...]:
        """One joint release."""
        is_gaussian = isinstance(self.lattice, GaussianLattice)
        kind, law = ("standard deviation", "Gaussian") if is_gaussian else ("Laplace scale", "Laplace")
        scales = {f"{kind}: {name}": float(scale) for name, scale in zip(self.names, self.scales, strict=True)}
        return (Step("sums over users of errors, hits and counts", f"{law} noise", self.lattice.event, scales),)


class EvaluationPlanner(PrivateRelease):
    """Parameters and plan of `PrivateEvaluation`."""

    _unit: ClassVar[Unit] = Unit.USER
    _sizes: ClassVar[Mapping[str, Param]] = {
        "n_users": Param(int, minimum=1, option="users", help="Number of users, or a public guess of it.")
    }
    _schema: ClassVar[Mapping[str, str]] = {}
    _params: ClassVar[Mapping[str, Param]] = {
        "k": Param(int, minimum=1, maximum=10**6, default=10, help="Length of the lists that recall is about."),
        "held_out": Param(float, above=0, below=1, default=0.2, help="Share of every user's ratings that is held out."),
        "most_held_out": Param(
            int, minimum=1, maximum=10**6, default=5, help="Ratings of one user that are held out at most."
        ),
        "split_seed": Param(
            int, minimum=0, maximum=2**63 - 1, default=0, help="Another number holds out other ratings; public."
        ),
        "baselines": Param(
            bool, default=True, help="Compare with the released item means and popularity; without, less noise."
        ),
        "feedback": Param(
            words=("explicit", "implicit"), default="explicit", help="As that of the model: implicit has no errors."
        ),
        **USER_PARAMS,
    }

    k: int
    held_out: float
    most_held_out: int
    split_seed: int
    baselines: bool
    feedback: str
    n_users: int | None
    n_max: int

    @property
    def _compared(self) -> tuple[str, ...]:
        return (MODEL, BASELINE) if self.baselines else (MODEL,)

    def _known_sizes(self) -> dict[str, int]:
        return {} if self.n_users is None else {"n_users": int(self.n_users)}

    def _check_parameters(self) -> Budget:
        budget = super()._check_parameters()
        check_user_count(self.n_users, budget.neighbors, type(self).__name__)
        return budget

    def _plan(self, budget: Budget, sizes: Sizes) -> EvaluationRelease:
        return plan_evaluation(
            budget, self._compared, float(self.most_held_out), has_errors=self.feedback == "explicit", n_max=self.n_max
        )

    def _forecast(self, releases: EvaluationRelease, sizes: Sizes, **guesses: float) -> dict[str, float]:
        """Noise of the model's numbers, if everybody has as many ratings held out as can be, and likes one."""
        n, noise = sizes["n_users"], dict(zip(releases.names, releases.scales, strict=True))
        if not isinstance(releases.lattice, GaussianLattice):
            noise = {name: math.sqrt(2.0) * scale for name, scale in noise.items()}
        recall = math.hypot(noise[f"recall, {MODEL}"], TYPICAL_RECALL * noise["users with anything to find"]) / n
        forecast = {f"standard deviation of a recall of {TYPICAL_RECALL:g}": recall}
        if self.feedback == "explicit":
            errors, counts = noise[f"squared errors, {MODEL}"], noise["held-out ratings"]
            squared = math.hypot(errors, TYPICAL_ERROR * counts) / (n * self.most_held_out)
            root = math.sqrt(TYPICAL_ERROR)
            forecast[f"the same of an RMSE of {root:g} widths of the range"] = squared / (2.0 * root)
        return forecast


def plan_evaluation(
    budget: Budget, compared: tuple[str, ...], most_held_out: float, *, has_errors: bool, n_max: int
) -> EvaluationRelease:
    """The release of the sums of some who are compared, with all of a budget."""
    lines = [(f"recall, {name}", 1.0, 1.0) for name in compared]
    lines.append(("users with anything to find", COUNT_WEIGHT, 1.0))
    if has_errors:
        errors = [(f"squared errors, {name}", 1.0, most_held_out) for name in compared]
        lines = [*errors, ("held-out ratings", COUNT_WEIGHT, most_held_out), *lines]
    names, weights, most = zip(*lines, strict=True)
    bound = evaluation_sensitivity(np.array(weights), is_pure=budget.is_pure)
    if budget.neighbors == Neighbors.REPLACE:
        bound /= 2.0  # of vectors around their center, of which two differ by twice their norm
    lattice = vector_lattice(bound, event_for(budget), budget.neighbors, n_max=n_max)
    return EvaluationRelease(names, np.array(weights), np.array(most), lattice)
