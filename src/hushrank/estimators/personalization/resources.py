"""Memory and time of a shared representation, for who holds the records, whose number no plan knows.

Lines through fits of 1000 to 4000 users with 8 to 32 records of 8 to 60 features, and 1 to 4 components; of 50 to 1000
users for the choice among candidates by labels.
"""

from dataclasses import dataclass

from hushrank.estimators.fit_times import MICRO, NUMBER_BYTES, tell_resources
from hushrank.estimators.personalization.exponential_options import ExponentialSelection
from hushrank.estimators.personalization.options import AlternatingMinimization, GradientSteps, MethodOptions

_NANO = 1e-9
_FEW_BYTES = 5e5
_BLOCK_RECORDS = 2**16
_PASSES, _STEP_PASSES = 6, 3  # over the records, beside the steps and in each of them


@dataclass(frozen=True, slots=True)
class RecordWork:
    """What a fit computes.

    Attributes
    ----------
    n_users, n_features, n_records, n_components : int
    options : MethodOptions
    is_logistic : bool
    """

    n_users: int
    n_features: int
    n_records: int
    n_components: int
    options: MethodOptions
    is_logistic: bool = False

    @property
    def n_unknowns(self) -> int:
        """Numbers of the subspace."""
        return self.n_features * self.n_components


def fit_resources(work: RecordWork) -> dict[str, float]:
    """What `check` states; nothing where nobody measured the method."""
    if not isinstance(work.options, GradientSteps | AlternatingMinimization | ExponentialSelection):
        return {}
    return tell_resources(seconds=_seconds(work), n_bytes=_bytes(work))


def _seconds(work: RecordWork) -> float:
    """CPU time of a fit."""
    if isinstance(work.options, ExponentialSelection):
        return _choice_seconds(work, work.options)
    if isinstance(work.options, AlternatingMinimization):
        steps = work.options.steps
        a_record = MICRO * (4.2 + 0.075 * work.n_features) + 0.5 * _NANO * work.n_unknowns**2
        solved = 0.3 * _NANO * steps * work.n_unknowns**3
        return 0.05 + _passes(steps, AlternatingMinimization().steps) * a_record * work.n_records + solved
    assert isinstance(work.options, GradientSteps)
    a_user, a_record = (75.0, 2.7) if work.is_logistic else (65.0, 1.2)
    a_record += 0.08 * work.n_features
    passes = _passes(work.options.steps, GradientSteps().steps)
    return 0.02 + passes * MICRO * (a_user * work.n_users + a_record * work.n_records)


def _passes(steps: int, usual: int) -> float:
    """Passes over the records, against those with which the lines were measured."""
    return (_PASSES + _STEP_PASSES * steps) / (_PASSES + _STEP_PASSES * usual)


def _choice_seconds(work: RecordWork, options: ExponentialSelection) -> float:
    """Every user scores every candidate of every round, which must be made first."""
    k, n_scored = work.n_components, options.rounds * options.candidates
    made = MICRO * 25.0 * n_scored
    if work.is_logistic:  # steps of Newton's method, until each has converged
        a_user = 1.6 * work.n_users + (0.1 + 0.02 * k) * work.n_records
        return made + n_scored * MICRO * a_user
    # Records of a user who has more of them than there are features come as a matrix of features x features.
    rows = min(work.n_records, work.n_users * work.n_features)
    return made + n_scored * _NANO * (3.3 * k * k * work.n_users + 0.2 * work.n_unknowns * rows)


def _bytes(work: RecordWork) -> float:
    """Peak memory beyond the records as they were given: a copy by user, the order of it, and what the method sums."""
    records = 2.0 * NUMBER_BYTES * work.n_records * (work.n_features + 1)
    numbers = 0.0
    if isinstance(work.options, ExponentialSelection):
        numbers = 4.0 * work.options.candidates * work.n_unknowns
    elif isinstance(work.options, AlternatingMinimization):  # the normal equations, and a block of their rows
        numbers = 8.0 * work.n_unknowns**2 + min(work.n_records, _BLOCK_RECORDS) * work.n_unknowns
    return _FEW_BYTES + max(records, records / 2.0 + NUMBER_BYTES * numbers)
