"""How good a private recommender is on ratings that were held out, beside simple references.

Two answers  for the data holder, without noise and at no charge: they must not be published. Or, on request, with noise
             that is paid for (`PrivateEvaluation`): they may be published, at the price that is stated.
Split        `hushrank.data.ratings.leave_out`: every user keeps a history and has some ratings held out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hushrank.data.ratings.leave_out import LeaveOut, history_of
from hushrank.data.ratings.rating_range import check_rating_range
from hushrank.data.ratings.reading import read_ratings
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.evaluation import PrivateEvaluation
from hushrank.estimators.completion.held_out_ratings import rating_width, read_for
from hushrank.estimators.completion.histories import join_blocks
from hushrank.evaluation.prepaid import Prepaid
from hushrank.evaluation.recommender_scores import measure, measure_reference
from hushrank.exceptions import InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import together
from hushrank.privacy.guarantee import Budget, Guarantee

NOT_PRIVATE = (
    "NOT PRIVATE: computed from the ratings without noise, for the data holder alone. Do not publish these numbers. "
    "Nothing was charged."
)
SEEN = (
    "The model was fitted before: if these ratings were among its data, so were those held out here, and the numbers "
    "are a little too good."
)
THROWN_AWAY = "The model was fitted without the held-out ratings, for this evaluation, and is not kept."

BY_RATING = (
    "A model of explicit feedback lists what a person would rate highest, which is not what most people choose: for "
    "recall, compare feedback 'implicit'."
)
PAID = "These numbers have noise that was paid for and may be published."
SEEDED = "MUST NOT BE PUBLISHED: anyone who knows the seed can remove the noise."

Interval = tuple[float, float]


class Score(NamedTuple):
    """Numbers of one of those who are compared.

    Attributes
    ----------
    name : str
    rmse : float or None
        Root mean squared error of held-out ratings; None for implicit feedback.
    recall : float or None
        Mean over users of the share of liked held-out items that are among k recommended; None for who lists nothing.
    rmse_interval, recall_interval : pair of floats or None
        Of a private number: what it is without noise, with 95 % confidence. One that begins at 0 is noise.
    """

    name: str
    rmse: float | None
    recall: float | None
    rmse_interval: Interval | None = None
    recall_interval: Interval | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Evaluation:
    """What `evaluate` found; print it.

    Attributes
    ----------
    scores : tuple of Score
        The model first.
    k : int
        Length of the lists of recommendations.
    private : bool
        Whether the numbers may be published: they have noise that was paid for, and it is not from a seed.
    guarantee : Guarantee or None
        Of the numbers alone.
    with_model : Guarantee or None
        Of the model and the numbers together.
    release : PrivateEvaluation or None
        What was paid for, with `save`.
    notes : tuple of str
        What must be known about the numbers.
    """

    scores: tuple[Score, ...]
    k: int
    private: bool
    guarantee: Guarantee | None
    with_model: Guarantee | None
    release: PrivateEvaluation | None
    notes: tuple[str, ...]

    def __str__(self) -> str:
        width = max(len(score.name) for score in self.scores)
        lines = [f"{'':<{width}}  {'RMSE':>24}  {f'Recall@{self.k}':>24}"]
        for score in self.scores:
            cells = [
                to_text(value, interval)
                for value, interval in ((score.rmse, score.rmse_interval), (score.recall, score.recall_interval))
            ]
            lines.append(f"{score.name:<{width}}  {cells[0]:>24}  {cells[1]:>24}")
        return "\n".join([*lines, *self.notes])

    def __repr__(self) -> str:
        """As printed: the warning goes wherever the numbers go."""
        return str(self)


def to_text(value: float | None, interval: Interval | None) -> str:
    """A number with its interval, for people."""
    if value is None:
        return "-"
    if interval is None:
        return f"{value:.4f}"
    low, high = interval
    return f"below the noise, <{high:.3g}" if low <= 0.0 else f"{value:.3f} [{low:.3f}, {high:.3f}]"


def evaluate(
    model: Any,
    ratings: Any,
    *,
    k: int = 10,
    held_out: float = 0.2,
    most_held_out: int = 5,
    split_seed: int = 0,
    reference: bool = False,
    pay_epsilon: float | None = None,
    pay_delta: float | None = None,
    baselines: bool = True,
    columns: Mapping[str, str] | None = None,
    ledger: Any = None,
    random_state: int | None = None,
) -> Evaluation:
    """How well a private recommender predicts and finds ratings that were held out.

    Parameters
    ----------
    model : PrivateCompletion
        One that is not fitted is fitted here, to what is left of the ratings, and not kept. One that is fitted is
        measured as it is.
    ratings : table, path, sparse matrix or array
        As `PrivateCompletion.fit` takes them.
    k, held_out, most_held_out, split_seed, baselines
        As in `PrivateEvaluation`. Users with one rating have none held out.
    reference : bool, default False
        Also fit a factorization without privacy, which takes longer: what could be had. Not for implicit feedback.
    pay_epsilon, pay_delta : float, optional
        Buy numbers that may be published, for this budget beside that of the model. The default of `pay_delta` is the
        delta of the model. Without `pay_epsilon` the numbers are exact and NOT private.
    columns : dict, optional
        What the columns user, item and rating of a table are called, as in `PrivateCompletion.fit`.
    ledger : account, optional
        Charged for what is released: the numbers, and the model if it is fitted here, both at once.
    random_state : int, optional
        Repeatable noise of the numbers, for tests and teaching.

    Examples
    --------
    >>> from hushrank.estimators.completion.estimator import PrivateCompletion
    >>> from hushrank.evaluation.synthetic import synthetic_ratings
    >>> table = synthetic_ratings(1000, 60, seed=1).table()
    >>> model = PrivateCompletion(4, epsilon=5.0, delta=1e-6, rating_range=(1, 5), items=60)
    >>> found = evaluate(model, table)
    >>> found.private, found.notes[0][:11]
    (False, 'NOT PRIVATE')
    >>> {score.name: bool(0.5 < score.rmse < 1.5) for score in found.scores[:2]}
    {'the model': True, 'its item means and popularity': True}
    """
    terms = _check_terms(model, pay_epsilon, pay_delta, ledger)
    choices: dict[str, Any] = {"k": k, "held_out": held_out, "most_held_out": most_held_out, "split_seed": split_seed}
    release = PrivateEvaluation(**terms, **choices, baselines=baselines, random_state=random_state, ledger=ledger)
    event = release.plan(n_users=1).event  # checks all parameters
    rule = LeaveOut(float(held_out), int(most_held_out), int(split_seed))
    is_fitted = hasattr(model, "privacy_")
    if is_fitted:
        source = read_for(model, ratings, None, "evaluate", columns)
    else:
        source = _read(model, ratings, columns)
    if is_fitted:
        fitted = model
    elif ledger is None:
        fitted = _fit_history(model, source, rule, None)
    else:
        events = (model.plan(n_users=1, n_items=source.n_items).event, event)
        release.ledger = Prepaid(ledger, events, model.neighbors, release._unit)
        fitted = _fit_history(model, source, rule, release.ledger)
    if pay_epsilon is not None:
        return _tell_paid(fitted, release.fit(source, fitted), is_fitted)
    return _tell_exact(fitted, source, rule, k, reference, is_fitted)


def _check_terms(model: Any, epsilon: float | None, delta: float | None, ledger: Any) -> dict[str, Any]:
    """Budget of the numbers, and what it shares with the model; of no use where nothing is paid for."""
    if not isinstance(model, PrivateCompletion):
        raise InvalidParameter("evaluate", "model", "a PrivateCompletion, fitted or not", type(model).__name__)
    if not hasattr(model, "privacy_") and model.ledger is not None:
        requirement = "without a ledger, which evaluate itself takes: it is charged for what is released, and no more"
        raise InvalidParameter("evaluate", "model", requirement, "one with a ledger")
    if epsilon is None and (ledger is not None or delta is not None):
        name, got = ("ledger", ledger) if ledger is not None else ("pay_delta", delta)
        raise InvalidParameter("evaluate", name, "None where pay_epsilon is None: nothing is charged", got)
    shared = {name: getattr(model, name) for name in ("feedback", "neighbors", "n_max", "engine", "verbose")}
    if not hasattr(model, "privacy_"):  # the number of users of an earlier fit may be another
        shared["n_users"] = model.n_users
    return {"epsilon": 1.0 if epsilon is None else epsilon, "delta": model.delta if delta is None else delta, **shared}


def _read(model: PrivateCompletion, ratings: Any, columns: Mapping[str, str] | None) -> Any:
    """Ratings as the fit of the model would read them."""
    is_implicit = model.feedback == "implicit"
    terms = {"items": model.items, "rating_range": None if is_implicit else model.rating_range, "columns": columns}
    return read_ratings(ratings, owner="evaluate", n_users=model.n_users, is_implicit=is_implicit, **terms)


def _fit_history(model: PrivateCompletion, source: Any, rule: LeaveOut, ledger: Any) -> PrivateCompletion:
    """A copy of the model, fitted to what is left of the ratings."""
    limits = None if model.feedback == "implicit" else check_rating_range(model.rating_range, "evaluate")
    history = history_of(source, rule, limits, getattr(source, "catalogue", None))
    return type(model)(**{**model.get_params(deep=False), "ledger": ledger}).fit(history)


def _tell_exact(model: Any, source: Any, rule: LeaveOut, k: int, reference: bool, is_fitted: bool) -> Evaluation:
    """Exact numbers, for the data holder."""
    history = join_blocks([rule.split(block)[0] for block in source.blocks()])
    numbers = measure(model, source, history, rule, k)
    if reference and model.feedback == "explicit":
        numbers.append(measure_reference(source, history, rule, model.rank, rating_width(model)))
    scores = tuple(Score(*line) for line in numbers)
    notes = (NOT_PRIVATE, *_common_notes(model, is_fitted))
    return Evaluation(scores, k, False, None, None, None, notes)


def _common_notes(model: Any, is_fitted: bool) -> tuple[str, ...]:
    return (SEEN if is_fitted else THROWN_AWAY, *((BY_RATING,) if model.feedback == "explicit" else ()))


def _tell_paid(model: Any, release: PrivateEvaluation, is_fitted: bool) -> Evaluation:
    """Private numbers, and what they cost together with the model."""
    both = add_guarantees(model.privacy_, release.privacy_)
    is_private = not (release.privacy_.reproducible or both.reproducible)
    notes = (PAID if is_private else SEEDED, *_common_notes(model, is_fitted))
    return Evaluation(paid_scores(release), release.k, is_private, release.privacy_, both, release, notes)


def paid_scores(release: PrivateEvaluation) -> tuple[Score, ...]:
    """The numbers of a release, with their intervals."""
    scores = []
    for name, rmse, recall in release.scores():
        error = (None, None) if rmse is None else (rmse.value, (rmse.low, rmse.high))
        scores.append(Score(name, error[0], recall.value, error[1], (recall.low, recall.high)))
    return tuple(scores)


def add_guarantees(model: Guarantee, numbers: Guarantee) -> Guarantee:
    """What a model and numbers about it promise together, at the larger delta."""
    if (model.neighbors, model.unit) != (numbers.neighbors, numbers.unit):
        requirement = f"numbers for neighbors={model.neighbors}, unit={model.unit}, as the model"
        raise InvalidParameter("evaluate", "model", requirement, f"{numbers.neighbors}, {numbers.unit}")
    budget = Budget(model.epsilon + numbers.epsilon, max(model.delta, numbers.delta), model.neighbors, model.unit)
    numerics = "exact" if model.numerics == numbers.numerics == "exact" else "idealized"
    event, is_seeded = together((model.event, numbers.event)), model.reproducible or numbers.reproducible
    return accountant.guarantee(event, budget, numerics=numerics, reproducible=is_seeded)
