"""Riemannian steps of full length on matrices of fixed rank, each by as much as its noise allows.

Look       a clip bound for the gradients, the quantile of their norms in the tangent space, and a change of the
           intercept, the middle of the residuals: noisy searches in one pass.
Step       the sum of the shortened gradients with noise in r (d1 + d2) coordinates of the tangent space, over level n.
           For Gaussian measurements and noise that is symmetric, its mean is the whole way to the matrix of least
           squares whatever the bound (Stein's lemma). The step is shortened by what the noise adds to it (James and
           Stein), or by the gain of a Kalman filter where the step before left more open, so that the last steps
           average what they were told.
Guard      a step after which the bound is larger than before is taken back and tried at a quarter of its length; that
           costs a look and no gradient.
Privacy    docs/privacy/trace.md, Lemmas 1 (searches) and 3 (tangent sums).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from hushrank.estimators.searches import Searches, octaves
from hushrank.estimators.trace.answers import find_medians, find_quartiles, signed_grid
from hushrank.estimators.trace.coordinates import Whitening, tangent_at
from hushrank.estimators.trace.designs import Design
from hushrank.estimators.trace.recipe import Spending
from hushrank.estimators.trace.record_sums import LookState, count_look, sum_gradients
from hushrank.estimators.trace.start import ABOVE, BELOW, measurement_size
from hushrank.linalg.fixed_rank import FixedRank, step_along
from hushrank.linalg.quantize import FloatArray
from hushrank.linalg.threads import one_blas_thread
from hushrank.privacy.adaptive import AdaptiveReleases

_SHIFT_OCTAVES = 8.0  # that a change of the intercept is searched for below the spread of the answers
_CLEAR_SHIFT = 3.0  # spreads of the residuals times the deviation of a search: a smaller change is noise
_SHORTER = 0.25  # a step that harmed
_CLEAR = 4.0  # times the noise: a gradient of that energy tells the curvature
_LONGEST, _LEAST_CURVED = 4.0, 0.1  # step, and its inverse shortest; curvature of a whole step
_TINY = np.finfo(float).tiny


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A matrix, and what a look at it has told.

    Attributes
    ----------
    point : FixedRank
        In whitened coordinates.
    intercept : float
    bound : float
        Clip bound of gradients there.
    """

    point: FixedRank
    intercept: float
    bound: float


@dataclass(frozen=True, slots=True, eq=False)
class Direction:
    """A step that was released: P of shape (r, d2) and Q of shape (d1, r), to be subtracted."""

    P: FloatArray
    Q: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Gradient:
    """A released gradient.

    Attributes
    ----------
    G : ndarray of shape (d1, d2)
    noise : float
        Mean of the squared norm of its noise.
    taken : float
        The multiple of it that was subtracted.
    """

    G: FloatArray
    noise: float
    taken: float

    @property
    def energy(self) -> float:
        """Squared norm."""
        return float(np.sum(self.G * self.G))


class Descent:
    """Steps of one fit, and what they tell each other.

    Parameters
    ----------
    releases : AdaptiveReleases
    searches : Searches
    design : Design
    whitening : Whitening
    spending : Spending
    spread : float
        Of the answers.
    shifts : bool
        Whether the intercept is learned.
    """

    def __init__(
        self,
        releases: AdaptiveReleases,
        searches: Searches,
        design: Design,
        whitening: Whitening,
        spending: Spending,
        *,
        spread: float,
        shifts: bool,
    ) -> None:
        self._releases, self._searches, self._design = releases, searches, design
        self._whitening, self._spending, self._spread, self._shifts = whitening, spending, spread, shifts
        self._retries = spending.recipe.retries
        self._open: float | None = None  # squared norm of the error that the noise of the steps so far has left
        self._last: Gradient | None = None
        self._length = 1.0

    def run(self, point: FixedRank, intercept: float) -> Place:
        """The matrix after all steps; the budget of the check is left."""
        recipe, spending = self._spending.recipe, self._spending
        place = self._look(point, intercept, None)
        for taken in range(1, spending.most_steps + 1):
            bound = place.bound
            place = self._step(place, spending.rest * recipe.first_share)
            if taken >= recipe.first_steps and place.bound > recipe.helps * bound:
                break
        kept = spending.rest * spending.check_share + 3.0 * spending.comparison * spending.searches.long
        left = self._releases.spendable(
            self._releases.left - kept - spending.look * (len(recipe.last_shares) + self._retries)
        )
        for share in recipe.last_shares[:-1]:
            place = self._step(place, left * share)
        direction = self._direct(place, left * recipe.last_shares[-1])
        return Place(_moved(place, direction, 1.0), place.intercept, place.bound)

    def open_variance(self, point: FixedRank) -> float:
        """Variance of the noise that all steps have left in a coordinate of the tangent space."""
        return (self._open or 0.0) / self._n_parameters(point)

    def _step(self, place: Place, share: float) -> Place:
        """The next place: the whole step, or what of it does no harm."""
        direction, length = self._direct(place, share), 1.0
        while True:
            trial = self._look(_moved(place, direction, length), place.intercept, place.bound)
            if trial.bound <= self._spending.recipe.harms * place.bound:
                return trial
            if not self._retries:
                return place
            self._retries -= 1
            length *= _SHORTER

    def _look(self, point: FixedRank, intercept: float, bound: float | None) -> Place:
        """What is released about a matrix before a step; `bound` is that of the place before."""
        tangent = tangent_at(point, self._whitening, intercept)
        rank, (d1, d2) = len(point.s), self._design.shape
        size = self._spread * measurement_size(self._design) * math.sqrt(rank * (d1 + d2) / (d1 * d2))
        window = octaves(size, BELOW, ABOVE) if bound is None else octaves(bound, 3, 1)
        grid = self._searches.grid(window, is_long=bound is None)
        low, high = octaves(self._spread, _SHIFT_OCTAVES, 1)
        shifts = signed_grid(low, high, 2**self._spending.answers.residuals)
        norms, residuals = self._releases.total(count_look, LookState(self._design, tangent, grid, shifts))
        found = self._searches.read(norms, grid, self._spending.recipe.level)
        if self._shifts:
            find = find_medians if self._spending.is_rough else find_quartiles
            shift, size = find(residuals, shifts, self._searches.read)
            intercept += shift if abs(shift) > _CLEAR_SHIFT * self._spending.deviation * size else 0.0
        return Place(point, intercept, found)

    def _direct(self, place: Place, share: float) -> Direction:
        """A step, for this share of the whole budget."""
        point, design, releases = place.point, self._design, self._releases
        tangent = tangent_at(point, self._whitening, place.intercept)
        lattice = releases.vector_lattice(place.bound, share)
        total = releases.total(sum_gradients, (design, tangent, lattice))
        people = self._spending.recipe.level * releases.n_people
        P, Q = design.parts(releases.release(total, lattice) / people)
        with one_blas_thread():  # with more threads products are rounded otherwise
            Q = Q - point.U @ (point.U.T @ Q)
            G: FloatArray = point.U @ P + Q @ point.V.T
        found = Gradient(G, (lattice.scale / people) ** 2 * self._n_parameters(point), 1.0)
        self._adapt_length(found)
        taken = self._length * self._gain(found, self._length)
        self._last = replace(found, taken=taken)
        return Direction(taken * P, taken * Q)

    def _n_parameters(self, point: FixedRank) -> int:
        return len(point.s) * (sum(self._design.shape) - len(point.s))

    def _adapt_length(self, found: "Gradient") -> None:
        """Set the length of a whole step by what the last one left of its gradient (a secant).

        With curvature h along the gradient a step of length t leaves 1 - t h of it, so that 1 / h is t over 1 less what
        is left. Measurements that are isotropic have h = 1; entries that are seen rarely, less.
        """
        last = self._last
        if last is None or last.energy <= _CLEAR * last.noise or last.taken == 0.0:
            return
        left = float(np.sum(found.G * last.G)) / (last.energy - last.noise)
        self._length = min(max(last.taken / max(1.0 - left, _LEAST_CURVED), 1.0 / _LONGEST), _LONGEST)

    def _gain(self, found: "Gradient", length: float) -> float:
        """How much of a step is taken, given the noise of its gradient."""
        gain = max(0.0, found.energy - found.noise) / max(found.energy, _TINY)
        noise = length * length * found.noise
        if self._open is not None:
            gain = max(gain, self._open / max(self._open + noise, _TINY))
        self._open = gain * noise
        return gain


def _moved(place: Place, direction: Direction, length: float) -> FixedRank:
    return step_along(place.point, -length * direction.P, -length * direction.Q)
