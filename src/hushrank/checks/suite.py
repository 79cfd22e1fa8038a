"""The conformance suite: what every private estimator must do, whoever wrote it.

    for name, check in conformance_checks(MyEstimator(epsilon=1.0, ...), X):
        check()                      # AssertionError, or the error itself, if the estimator does not conform

An estimator is given with parameters that fit `X`, without ledger and seed. Checks work on clones and on copies. They
need no test framework; with pytest, parametrize over the pairs.
"""

import math
import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hushrank.base import NEVER_SAVED, PrivateEstimator, clone
from hushrank.checks.noise import NOISE_CHECKS, contents
from hushrank.data.rows.arrays import Rows
from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.exceptions import BudgetExceeded, InvalidParameter, LedgerError
from hushrank.privacy import accountant
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.ledger import Ledger

__all__ = ["conformance_checks"]

Check = Callable[[PrivateEstimator, Any], None]


def conformance_checks(estimator: PrivateEstimator, X: Any) -> Iterator[tuple[str, Callable[[], None]]]:
    """Pairs of a name and a function without arguments that raises unless the estimator conforms.

    Parameters
    ----------
    estimator : PrivateEstimator
        Not fitted; its parameters suit `X`.
    X : ndarray of shape (n_samples, n_features)
        At least 20 rows, a number that no other dimension of the model has.
    """
    for check in CHECKS:
        yield check.__name__, partial(check, estimator, X)


class Unreadable(Rows):
    """Rows with a schema and no values: reading one fails the check."""

    def __init__(self, X: Any) -> None:
        rows = read_rows(X, owner="Unreadable")
        super().__init__(rows.n_features, rows.n_samples)

    def blocks(self, max_rows: int = 1) -> Iterator[Any]:
        """Never called by an estimator that is refused its budget."""
        raise AssertionError("the data were read although the budget was refused")

    @property
    def n_users(self) -> int:
        """Of ratings; as secret as they are until they are paid for."""
        raise AssertionError("the users were counted although the budget was refused")


def check_fit_changes_no_parameter(estimator: PrivateEstimator, X: Any) -> None:
    """The constructor stores, `fit` reads; both leave every parameter the very object that was given."""
    model = clone(estimator)
    before = model.get_params()
    assert model.fit(X) is model
    after = model.get_params()
    assert all(after[name] is before[name] for name in before)


def check_fit_leaves_the_data_alone(estimator: PrivateEstimator, X: Any) -> None:
    """The caller's array has the same bits afterwards."""
    copy = X.copy()
    clone(estimator).fit(X)
    assert np.array_equal(copy, X, equal_nan=True)


def check_executed_events_are_the_planned_ones(estimator: PrivateEstimator, X: Any) -> None:
    """The guarantee states the planned event and is within the budget."""
    plan = clone(estimator).plan(X.shape)
    given = clone(estimator).fit(X).privacy_
    assert given == plan.guarantee
    assert given.event == plan.event
    assert (str(given.neighbors), given.unit) == (str(estimator.neighbors), estimator._unit)
    assert given.epsilon <= estimator.epsilon and given.delta <= estimator.delta
    assert accountant.epsilon(given.event, given.delta) <= estimator.epsilon


def check_plan_states_an_error(estimator: PrivateEstimator, X: Any) -> None:
    """Forecast and scales are positive numbers, and the forecast falls with the number of people."""
    n_samples, n_features = X.shape
    few, many = (clone(estimator).plan((n, n_features)) for n in (n_samples, 100 * n_samples))
    assert few.forecast and few.forecast.keys() == many.forecast.keys()
    assert all(0 < many.forecast[name] < few.forecast[name] < math.inf for name in few.forecast)
    assert all(0 < scale < math.inf for step in few.steps for scale in step.scales.values())


def check_two_fits_charge_twice(estimator: PrivateEstimator, X: Any) -> None:
    """Every fit is a release of its own, charged with the planned event."""
    with _account(estimator, factor=3) as (account, _):
        model = clone(estimator).set_params(ledger=account)
        event = model.plan(X.shape).event
        for count in (1, 2):
            model.fit(X)
            charges = account.history()[1:]
            assert [charge.event for charge in charges] == [event] * count


def check_an_empty_budget_refuses_before_the_data_are_read(estimator: PrivateEstimator, X: Any) -> None:
    """BudgetExceeded; no value was read, nothing was charged, nothing was learned."""
    with _account(estimator, factor=0.5) as (account, _):
        model = clone(estimator).set_params(ledger=account)
        _refused(BudgetExceeded, model.fit, Unreadable(X))
        assert len(account.history()) == 1 and not hasattr(model, "privacy_")


def check_a_ledger_of_another_relation_refuses(estimator: PrivateEstimator, X: Any) -> None:
    """The relation of the estimator must be that of the ledger; so must the unit."""
    other = next(relation for relation in Neighbors if relation != estimator.neighbors)
    for changed in ({"neighbors": other}, {"unit": "frobenius" if estimator._unit != "frobenius" else "row"}):
        with _account(estimator, factor=3, **changed) as (account, _):
            _refused(InvalidParameter, clone(estimator).set_params(ledger=account).fit, Unreadable(X))
            assert len(account.history()) == 1


def check_a_closed_ledger_refuses(estimator: PrivateEstimator, X: Any) -> None:
    """Nothing is read or learned."""
    with _account(estimator, factor=3) as (account, ledger):
        ledger.close()
        model = clone(estimator).set_params(ledger=account)
        _refused(LedgerError, model.fit, Unreadable(X))
        assert not hasattr(model, "privacy_")


def check_a_seed_and_a_ledger_exclude_each_other(estimator: PrivateEstimator, X: Any) -> None:
    """Noise from a seed can be subtracted, so no budget is spent on it."""
    with _account(estimator, factor=3) as (account, _):
        model = clone(estimator).set_params(ledger=account, random_state=1)
        _refused(InvalidParameter, model.fit, Unreadable(X))
        assert len(account.history()) == 1


def check_parameter_table(estimator: PrivateEstimator, X: Any) -> None:
    """Each wrong value of each parameter is refused by name before data are read; `plan` refuses it as well."""
    table = estimator.parameter_table()
    assert set(table) == set(estimator.get_params())
    for name, line in table.items():
        for value in line.wrong_values():
            model = clone(estimator).set_params(**{name: value})
            for call in (partial(model.fit, Unreadable(X)), partial(model.plan, X.shape)):
                error = _refused(InvalidParameter, call)
                assert error.name == name and error.owner == type(estimator).__name__, (name, value)


def check_no_attribute_is_about_single_rows(estimator: PrivateEstimator, X: Any) -> None:
    """Nothing that the model holds, under whatever name, has a dimension equal to the number of rows."""
    model = clone(estimator).fit(X)
    for name, value in contents(model):
        assert len(X) not in np.shape(value), name


def check_values_never_raise(estimator: PrivateEstimator, X: Any) -> None:
    """NaN, infinities and huge numbers in some rows change no shape and stop nothing."""
    spoiled = X.astype(np.float64)
    spoiled[0], spoiled[1], spoiled[2], spoiled[3] = math.nan, math.inf, -1.7e308, 5e-324
    clean, dirty = clone(estimator).fit(X), clone(estimator).fit(spoiled)
    for name, value in clean._learned().items():
        assert np.shape(getattr(dirty, name)) == np.shape(value)
        if isinstance(value, np.ndarray) and value.dtype == np.float64:
            assert np.isfinite(getattr(dirty, name)).all(), name


def check_empty_data_release_noise_under_add_remove(estimator: PrivateEstimator, X: Any) -> None:
    """Where the number of rows is secret, no rows are as good as any."""
    model = clone(estimator).set_params(neighbors="add_remove").fit(X[:0])
    assert model.privacy_.neighbors == Neighbors.ADD_REMOVE


def check_same_bits_in_any_order(estimator: PrivateEstimator, X: Any) -> None:
    """With a fixed key, rows in another order, other blocks and other threads give the same bits."""
    model = clone(estimator).set_params(random_state=5, engine=LocalEngine(threads=1)).fit(X)
    for engine in (LocalEngine(threads=2, block_rows=7), LocalEngine(threads=3, block_rows=1)):
        other = clone(estimator).set_params(random_state=5, engine=engine).fit(X[::-1])
        _assert_equal_models(model, other)


def check_seeds(estimator: PrivateEstimator, X: Any) -> None:
    """Same seed, same model, marked as such; no seed, another model each time."""
    seeded = [clone(estimator).set_params(random_state=seed).fit(X) for seed in (3, 3, 4)]
    _assert_equal_models(seeded[0], seeded[1])
    assert seeded[0].privacy_.reproducible and "MUST NOT BE RELEASED" in repr(seeded[0])
    fresh = [clone(estimator).fit(X) for _ in range(2)]
    assert not fresh[0].privacy_.reproducible
    for one, other in (seeded[1:], fresh):
        assert _differ(one, other)


def check_a_second_fit_forgets_the_first(estimator: PrivateEstimator, X: Any) -> None:
    """Refitting gives what a new estimator gives."""
    model = clone(estimator).set_params(random_state=9)
    model.fit(X[: len(X) // 2])
    model.stale_ = 1.0
    _assert_equal_models(model.fit(X), clone(model).fit(X))


def check_pickle(estimator: PrivateEstimator, X: Any) -> None:
    """A model survives a round trip in memory."""
    model = clone(estimator).fit(X)
    _assert_equal_models(model, pickle.loads(pickle.dumps(model)))


def check_save_and_load(estimator: PrivateEstimator, X: Any) -> None:
    """The file gives back the same model, without seed and without pickle; saving twice gives the same bytes."""
    model = clone(estimator).set_params(random_state=2**70 + 12345).fit(X)
    with tempfile.TemporaryDirectory() as folder:
        first, second = Path(folder, "first"), Path(folder, "second")
        model.save(first)
        model.save(second)
        content = first.read_bytes()
        assert content == second.read_bytes()
        assert str(model.random_state).encode() not in content
        loaded = type(model).load(first)
    _assert_equal_models(model, loaded)
    kept = {name: value for name, value in estimator.get_params().items() if name not in NEVER_SAVED}
    assert all(np.array_equal(loaded.get_params()[name], value) for name, value in kept.items())


def check_repr_shows_the_guarantee(estimator: PrivateEstimator, X: Any) -> None:
    """Epsilon, delta, relation and unit are printed with the model."""
    model = clone(estimator).fit(X)
    assert str(model.privacy_) in repr(model)
    assert type(estimator).__name__ in repr(model)


CHECKS: tuple[Check, ...] = (
    *(check for name, check in globals().items() if name.startswith("check_") and callable(check)),
    *NOISE_CHECKS,
)


@contextmanager
def _account(estimator: PrivateEstimator, *, factor: float, **changed: Any) -> Iterator[tuple[Any, Ledger]]:
    """An account with `factor` times the epsilon of the estimator, in a throwaway ledger."""
    terms = {"neighbors": estimator.neighbors, "unit": estimator._unit, "delta": estimator.delta, **changed}
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder, "budget.db")) as ledger:
        ledger.create("data", epsilon=factor * estimator.epsilon, **terms)
        yield ledger["data"], ledger


def _refused(kind: type[Exception], call: Callable[..., Any], *arguments: Any) -> Any:
    """The error of this kind that the call raises."""
    try:
        call(*arguments)
    except AssertionError:
        raise
    except kind as error:
        return error
    raise AssertionError(f"{call} was not refused with {kind.__name__}")


def _differ(one: PrivateEstimator, other: PrivateEstimator) -> bool:
    pairs = [(value, getattr(other, name)) for name, value in one._learned().items() if name != "privacy_"]
    return any(not np.array_equal(a, b) for a, b in pairs)


def _assert_equal_models(one: PrivateEstimator, other: PrivateEstimator) -> None:
    """Same learned attributes, bit for bit."""
    mine, yours = one._learned(), other._learned()
    assert mine.keys() == yours.keys()
    for name, value in mine.items():
        assert np.array_equal(value, yours[name]) and type(value) is type(yours[name]), name
