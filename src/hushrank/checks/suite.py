"""The conformance suite: what every private release must do, whoever wrote it.

    for name, check in conformance_checks(MyEstimator(epsilon=1.0, ...), X):
        check()                      # AssertionError, or the error itself, if the estimator does not conform

An estimator is given with parameters that fit the data, without ledger and seed. Checks work on copies. They need no
test framework; with pytest, parametrize over the pairs.
"""

import inspect
import math
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hushrank.base import NEVER_SAVED, PrivateRelease
from hushrank.checks.noise import NOISE_CHECKS, contents
from hushrank.checks.samples import Sample, to_sample
from hushrank.checks.subjects import fresh, unreadable
from hushrank.engine.local import LocalEngine
from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from hushrank.privacy import accountant
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.ledger import Ledger

__all__ = ["conformance_checks"]

Check = Callable[[PrivateRelease, Sample], None]


def conformance_checks(estimator: PrivateRelease, data: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Pairs of a name and a function without arguments that raises unless the estimator conforms.

    Parameters
    ----------
    estimator : PrivateRelease
        Not fitted; its parameters suit the data.
    data : ndarray of shape (n_samples, n_features), or Sample
        At least 20 rows, a number that no other dimension of the model has; `hushrank.checks.samples` has samples of
        other kinds of data.
    """
    sample = to_sample(data)
    for check in CHECKS:
        if sample.reads_late or check not in CHECKS_OF_FITS:
            yield check.__name__, partial(check, estimator, sample)


def check_fit_changes_no_parameter(estimator: PrivateRelease, sample: Sample) -> None:
    """The constructor stores, `fit` reads; both leave every parameter the very object that was given."""
    model = fresh(estimator)
    before = model._parameters()
    sample.learn(model)
    after = model._parameters()
    assert all(after[name] is before[name] for name in before)


def check_fit_leaves_the_data_alone(estimator: PrivateRelease, sample: Sample) -> None:
    """The caller's arrays have the same bits afterwards."""
    copy = sample.copy()
    sample.learn(fresh(estimator))
    assert sample.is_equal(copy)


def check_executed_events_are_the_planned_ones(estimator: PrivateRelease, sample: Sample) -> None:
    """The guarantee states the planned event and is within the budget."""
    plan = fresh(estimator).plan(**sample.sizes)
    given = sample.learn(fresh(estimator)).privacy_
    assert given == plan.guarantee
    assert given.event == plan.event
    assert (str(given.neighbors), given.unit) == (str(estimator.neighbors), estimator._unit)
    assert given.epsilon <= estimator.epsilon and given.delta <= estimator.delta
    assert accountant.epsilon(given.event, given.delta) <= estimator.epsilon


def check_plan_states_an_error(estimator: PrivateRelease, sample: Sample) -> None:
    """Forecast and scales are positive numbers, and the forecast falls with the number of people."""
    people, *_ = sample.sizes
    more = {**sample.sizes, people: 100 * sample.n_people}
    few, many = (fresh(estimator).plan(**sizes) for sizes in (sample.sizes, more))
    assert few.forecast and few.forecast.keys() == many.forecast.keys()
    assert all(0 < many.forecast[name] < few.forecast[name] < math.inf for name in few.forecast)
    assert all(0 < scale < math.inf for step in few.steps for scale in step.scales.values())


def check_two_fits_charge_twice(estimator: PrivateRelease, sample: Sample) -> None:
    """Every fit is a release of its own, charged with the planned event."""
    with _account(estimator, factor=3) as (account, _):
        model = fresh(estimator, ledger=account)
        event = model.plan(**sample.sizes).event
        for count in (1, 2):
            sample.learn(model)
            charges = account.history()[1:]
            assert [charge.event for charge in charges] == sample.charges(event, count)


def check_a_second_release_is_charged_too(estimator: PrivateRelease, sample: Sample) -> None:
    """Also where nothing new was read since the first: the noise is another, and two of them tell more than one."""
    with _account(estimator, factor=3) as (account, _):
        model = fresh(estimator, ledger=account)
        event = model.plan(**sample.sizes).event
        sample.learn(model)
        sample.release_again(model)
        assert [charge.event for charge in account.history()[1:]] == sample.charges(event, 2)


def check_an_empty_budget_refuses_before_the_data_are_read(estimator: PrivateRelease, sample: Sample) -> None:
    """BudgetExceeded; no value was read, nothing was charged, nothing was learned."""
    with _account(estimator, factor=0.5) as (account, _):
        model = fresh(estimator, ledger=account)
        _refused(BudgetExceeded, _learning(model, sample))
        assert len(account.history()) == 1 and not hasattr(model, "privacy_")


def check_a_ledger_of_another_relation_refuses(estimator: PrivateRelease, sample: Sample) -> None:
    """The relation of the estimator must be that of the ledger; so must the unit."""
    other = next(relation for relation in Neighbors if relation != estimator.neighbors)
    for changed in ({"neighbors": other}, {"unit": "frobenius" if estimator._unit != "frobenius" else "row"}):
        with _account(estimator, factor=3, **changed) as (account, _):
            _refused(InvalidParameter, _learning(fresh(estimator, ledger=account), sample))
            assert len(account.history()) == 1


def check_a_closed_ledger_refuses(estimator: PrivateRelease, sample: Sample) -> None:
    """Nothing is read or learned."""
    with _account(estimator, factor=3) as (account, ledger):
        ledger.close()
        model = fresh(estimator, ledger=account)
        _refused(LedgerError, _learning(model, sample))
        assert not hasattr(model, "privacy_")


def check_a_seed_and_a_ledger_exclude_each_other(estimator: PrivateRelease, sample: Sample) -> None:
    """Noise from a seed can be subtracted, so no budget is spent on it."""
    with _account(estimator, factor=3) as (account, _):
        model = fresh(estimator, ledger=account, random_state=1)
        _refused(InvalidParameter, _learning(model, sample))
        assert len(account.history()) == 1


def check_parameter_table(estimator: PrivateRelease, sample: Sample) -> None:
    """Each wrong value of each parameter is refused by name before data are read; `plan` refuses it as well."""
    table = estimator.parameter_table()
    if "__init__" in vars(type(estimator)):  # else it stores what the table says
        given = inspect.signature(type(estimator)).parameters.values()
        defaults = {one.name: ... if one.default is one.empty else one.default for one in given}
        assert {name: line.default for name, line in table.items()} == defaults, "constructor and table differ"
    for name, line in table.items():
        for value in line.wrong_values():
            model = fresh(estimator, **{name: value})
            for call in (_learning(model, sample, reads_as=estimator), partial(model.plan, **sample.sizes)):
                error = _refused(InvalidParameter, call)
                assert error.name == name and error.owner == type(estimator).__name__, (name, value)


def check_no_attribute_is_about_single_rows(estimator: PrivateRelease, sample: Sample) -> None:
    """Nothing that the model holds, under whatever name, has a dimension equal to the number of rows."""
    model = sample.learn(fresh(estimator))
    for name, value in contents(model):
        assert sample.n_people not in np.shape(value), name


def check_values_never_raise(estimator: PrivateRelease, sample: Sample) -> None:
    """NaN, infinities and huge numbers in some rows change no shape and stop nothing."""
    clean, dirty = sample.learn(fresh(estimator)), sample.spoiled().learn(fresh(estimator))
    for name, value in clean._learned().items():
        assert np.shape(getattr(dirty, name)) == np.shape(value)
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            assert np.isfinite(getattr(dirty, name)).all(), name


def check_empty_data_release_noise_under_add_remove(estimator: PrivateRelease, sample: Sample) -> None:
    """Where the number of rows is secret, no rows are as good as any."""
    model = sample.people(slice(0, 0)).learn(fresh(estimator, neighbors="add_remove"))
    assert model.privacy_.neighbors == Neighbors.ADD_REMOVE


def check_empty_data_are_refused_or_released_under_replace(estimator: PrivateRelease, sample: Sample) -> None:
    """Nobody is as public as any other number of people: a refusal by name, or a model like any other."""
    model = fresh(estimator, neighbors="replace")
    try:
        learned = sample.people(slice(0, 0)).learn(model)
    except InvalidParameter:
        return
    with tempfile.TemporaryDirectory() as folder:
        learned.save(Path(folder, "model"))  # checks every attribute


def check_same_bits_in_any_order(estimator: PrivateRelease, sample: Sample) -> None:
    """With a fixed key, rows in another order, other blocks and other threads give the same bits."""
    reverse = sample.people(np.arange(sample.n_people)[::-1])
    model = sample.learn(fresh(estimator, random_state=5, **_engine(estimator, threads=1)))
    for terms in ({"threads": 2, "block_rows": 7}, {"threads": 3, "block_rows": 1}):
        other = reverse.learn(fresh(estimator, random_state=5, **_engine(estimator, **terms)))
        _assert_equal_models(model, other)


def check_seeds(estimator: PrivateRelease, sample: Sample) -> None:
    """Same seed, same model, marked as such; another seed or none, other models: of 30, not all are the same choice."""
    seeded = [sample.learn(fresh(estimator, random_state=3)) for _ in range(2)]
    _assert_equal_models(seeded[0], seeded[1])
    assert seeded[0].privacy_.reproducible and "MUST NOT BE RELEASED" in repr(seeded[0])
    unseeded = sample.learn(fresh(estimator))
    assert not unseeded.privacy_.reproducible
    for one, seeds in ((seeded[0], range(4, 34)), (unseeded, [None] * 30)):
        assert any(_differ(one, sample.learn(fresh(estimator, random_state=seed))) for seed in seeds)


def check_a_second_fit_forgets_the_first(estimator: PrivateRelease, sample: Sample) -> None:
    """Refitting gives what a new estimator gives."""
    model = fresh(estimator, random_state=9)
    sample.people(slice(None, sample.n_people // 2)).learn(model)
    setattr(model, "stale_", 1.0)  # noqa: B010  # no class declares it
    _assert_equal_models(sample.learn(model), sample.learn(fresh(model)))


def check_pickle(estimator: PrivateRelease, sample: Sample) -> None:
    """A model survives a round trip in memory."""
    model = sample.learn(fresh(estimator))
    _assert_equal_models(model, pickle.loads(pickle.dumps(model)))


def check_save_and_load(estimator: PrivateRelease, sample: Sample) -> None:
    """The file gives back the same model, without seed and without pickle; saving twice gives the same bytes."""
    model = sample.learn(fresh(estimator, random_state=2**70 + 12345))
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        model.save(first)
        model.save(second)
        assert (content := first.read_bytes()) == second.read_bytes()
        assert str(model.random_state).encode() not in content
        loaded = type(model).load(first)
    _assert_equal_models(model, loaded)
    others = (*NEVER_SAVED, *model._told_parameters(model._learned()))
    kept = {name: value for name, value in model._parameters().items() if name not in others}
    assert all(np.array_equal(getattr(loaded, name), value) for name, value in kept.items())


def check_repr_shows_the_guarantee(estimator: PrivateRelease, sample: Sample) -> None:
    """Epsilon, delta, relation and unit are printed with the model."""
    model = sample.learn(fresh(estimator))
    assert str(model.privacy_) in repr(model)
    assert type(estimator).__name__ in repr(model)


CHECKS_OF_FITS: tuple[Check, ...] = (check_a_second_fit_forgets_the_first,)
CHECKS: tuple[Check, ...] = (
    *(check for name, check in globals().items() if name.startswith("check_") and callable(check)),
    *NOISE_CHECKS,
)


@contextmanager
def _account(estimator: PrivateRelease, *, factor: float, **changed: Any) -> Iterator[tuple[Any, Ledger]]:
    """An account with `factor` times the epsilon of the estimator, in a throwaway ledger."""
    terms = {"neighbors": estimator.neighbors, "unit": estimator._unit, "delta": estimator.delta, **changed}
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder, "budget.db")) as ledger:
        ledger.create("data", epsilon=factor * estimator.epsilon, **terms)
        yield ledger["data"], ledger


def _learning(model: Any, sample: Sample, reads_as: Any = None) -> Callable[[], Any]:
    """What must be refused: a fit of data that cannot be read, or a release of data that were read before."""
    if not sample.reads_late:
        return partial(sample.learn, model)
    return partial(model.fit, unreadable((model if reads_as is None else reads_as)._read(*sample.data)))


def _engine(estimator: PrivateRelease, **terms: int) -> dict[str, Any]:
    """An engine with these terms, for estimators that have one."""
    return {"engine": LocalEngine(**terms)} if "engine" in estimator.parameter_table() else {}


def _refused(kind: type[Exception], call: Callable[..., Any], *arguments: Any) -> Any:
    """The error of this kind that the call raises."""
    try:
        call(*arguments)
    except AssertionError:
        raise
    except kind as error:
        return error
    raise AssertionError(f"{call} was not refused with {kind.__name__}")


def _differ(one: PrivateRelease, other: PrivateRelease) -> bool:
    pairs = [(value, getattr(other, name)) for name, value in one._learned().items() if name != "privacy_"]
    return any(not np.array_equal(a, b) for a, b in pairs)


def _assert_equal_models(one: PrivateRelease, other: PrivateRelease) -> None:
    """Same learned attributes, bit for bit."""
    mine, yours = one._learned(), other._learned()
    assert mine.keys() == yours.keys()
    for name, value in mine.items():
        assert np.array_equal(value, yours[name]) and type(value) is type(yours[name]), name
