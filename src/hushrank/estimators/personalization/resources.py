"""Memory and time of a shared representation, for who holds the records, whose number no plan knows.

Lines through fits of 1000 to 4000 users with 8 to 32 records of 8 to 60 features, and 1 to 4 components; of 50 to 1000
users for the choice among candidates by labels.
"""

from dataclasses import dataclass

from hushrank.estimators.cluster_times import ClusterWork, Grouped
from hushrank.estimators.fit_times import MICRO, NUMBER_BYTES, tell_resources
from hushrank.estimators.personalization.exponential_options import ExponentialSelection
from hushrank.estimators.personalization.options import AlternatingMinimization, GradientSteps, MethodOptions

_NANO = 1e-9
_FEW_BYTES = 5e5
_BLOCK_RECORDS = 2**16
_PASSES, _STEP_PASSES = 6, 3  # over the records, beside the steps and in each of them
_MORE_PASSES = 2  # that look at users' own models, and take little
_JOINING_COPIES = 4.0  # of records, while they are brought together
_ID_BYTES = 8.0


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
    return tell_resources(seconds=sum(_seconds(work)), n_bytes=_bytes(work))


def cluster_work(work: RecordWork) -> ClusterWork | None:
    """What workers share, where records lie with them by user; None where nobody measured the method."""
    if not isinstance(work.options, GradientSteps | AlternatingMinimization | ExponentialSelection):
        return None
    shared, alone = _seconds(work)
    numbers = NUMBER_BYTES * (work.n_features + 1)
    if isinstance(work.options, ExponentialSelection):
        passes, n_summed = work.options.rounds, work.options.candidates
        n_told = n_summed * work.n_unknowns
    else:
        passes, n_told = _PASSES + _MORE_PASSES + _STEP_PASSES * work.options.steps, work.n_unknowns
        n_summed = work.n_unknowns**2 if isinstance(work.options, AlternatingMinimization) else work.n_features**2
    totals = NUMBER_BYTES * n_summed
    return ClusterWork(
        n_rows=work.n_records,
        n_numbers=work.n_features + 2,
        passes=passes,
        shared=shared,
        alone=alone,
        totals=totals,
        summed=totals * passes,
        state=NUMBER_BYTES * n_told * passes,
        block=NUMBER_BYTES * _block_numbers(work),
        caller=_FEW_BYTES + NUMBER_BYTES * _held_numbers(work),
        grouped=Grouped(moved=_ID_BYTES + numbers, joined=_JOINING_COPIES * numbers, held=numbers + _ID_BYTES),
    )


def _seconds(work: RecordWork) -> tuple[float, float]:
    """CPU time of a fit: of sums over users, and of what follows from them."""
    if isinstance(work.options, ExponentialSelection):
        return _choice_seconds(work, work.options)
    if isinstance(work.options, AlternatingMinimization):
        steps = work.options.steps
        a_record = MICRO * (4.2 + 0.075 * work.n_features) + 0.5 * _NANO * work.n_unknowns**2
        solved = 0.3 * _NANO * steps * work.n_unknowns**3
        return _passes(steps, AlternatingMinimization().steps) * a_record * work.n_records, 0.05 + solved
    assert isinstance(work.options, GradientSteps)
    a_user, a_record = (75.0, 2.7) if work.is_logistic else (65.0, 1.2)
    a_record += 0.08 * work.n_features
    passes = _passes(work.options.steps, GradientSteps().steps)
    return passes * MICRO * (a_user * work.n_users + a_record * work.n_records), 0.02


def _passes(steps: int, usual: int) -> float:
    """Passes over the records, against those with which the lines were measured."""
    return (_PASSES + _STEP_PASSES * steps) / (_PASSES + _STEP_PASSES * usual)


def _choice_seconds(work: RecordWork, options: ExponentialSelection) -> tuple[float, float]:
    """Every user scores every candidate of every round, which must be made first."""
    k, n_scored = work.n_components, options.rounds * options.candidates
    made = MICRO * 25.0 * n_scored
    if work.is_logistic:  # steps of Newton's method, until each has converged
        a_user = 1.6 * work.n_users + (0.1 + 0.02 * k) * work.n_records
        return n_scored * MICRO * a_user, made
    # Records of a user who has more of them than there are features come as a matrix of features x features.
    rows = min(work.n_records, work.n_users * work.n_features)
    return n_scored * _NANO * (3.3 * k * k * work.n_users + 0.2 * work.n_unknowns * rows), made


def _bytes(work: RecordWork) -> float:
    """Peak memory beyond the records as they were given: a copy by user, the order of it, and what the method sums."""
    records = 2.0 * NUMBER_BYTES * work.n_records * (work.n_features + 1)
    numbers = _held_numbers(work) + _block_numbers(work)
    return _FEW_BYTES + max(records, records / 2.0 + NUMBER_BYTES * numbers)


def _held_numbers(work: RecordWork) -> float:
    """Of candidates, or of the normal equations."""
    if isinstance(work.options, ExponentialSelection):
        return 4.0 * work.options.candidates * work.n_unknowns
    return 8.0 * work.n_unknowns**2 if isinstance(work.options, AlternatingMinimization) else 0.0


def _block_numbers(work: RecordWork) -> float:
    """Of a block of rows of the normal equations."""
    is_wide = isinstance(work.options, AlternatingMinimization)
    return float(min(work.n_records, _BLOCK_RECORDS) * work.n_unknowns) if is_wide else 0.0
