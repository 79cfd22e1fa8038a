"""The exact record of one release: back from its objects, true by itself, and never about a seed."""

from dataclasses import replace

import pytest

from hushrank.exceptions import InvalidParameter, StatementError
from hushrank.privacy.accountant import mu
from hushrank.privacy.events import Composed, Gaussian, Mixture, NonPrivate, Pure, Repeated
from hushrank.privacy.guarantee import Guarantee, Unit
from hushrank.report.statement_record import ModelRecord, model_record, parameters_of, rho_of
from statement_support import SMALL, seeded, small

RECORD = model_record(small("PrivateCovariance"), "ab" * 32)


@pytest.mark.parametrize("name", SMALL)
def test_event_guarantee_and_budget_come_back(name):
    model = small(name)
    record = model_record(model)
    back = ModelRecord.from_objects(record.objects())
    assert back == record and (back.event, back.promise) == (model.privacy_.event, model.privacy_)
    assert back.budget == model._check_parameters() and back.budget.delta == model.delta
    assert record.words() == back.words() and record.head is None
    back.check()


def test_the_words_have_the_numbers():
    assert RECORD.words() == [
        "epsilon = 2, delta = 1e-06: the chance of any result changes by at most a factor of 7.39 (e^2), and beyond "
        "that factor by at most 1e-06.",
        "As Gaussian noise: mu = 0.448335 of Gaussian, rho = 0.100503 of zero-concentrated differential privacy.",
        "Unit: row. Neighbors: replace. Arithmetic: exact.",
        "Event: Gaussian(noise_multiplier=2.23047).",
        "Asked for: epsilon = 2, delta = 1e-06.",
        f"SHA-256 of the model file: {'ab' * 32}",
    ]
    promised = model_record(small("promised")).words()
    assert any(line.startswith("Provided that the caller keeps") for line in promised)
    assert any("Mixture(" in line for line in model_record(small("Factorization")).words())


def test_a_seed_or_no_privacy_gets_no_statement():
    with pytest.raises(StatementError, match="MUST NOT BE RELEASED, and gets no statement: it was made with a seed"):
        model_record(seeded())
    model = small("PrivateCovariance")

    class Unprotected:
        privacy_ = replace(model.privacy_, epsilon=float("inf"), event=NonPrivate())

    with pytest.raises(StatementError, match="Unprotected is NOT private"):
        model_record(Unprotected())
    with pytest.raises(ValueError, match="made with a seed and MUST NOT BE RELEASED"):
        replace(RECORD, promise=replace(RECORD.promise, reproducible=True)).check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": 1.9}, "promises more than its event gives"),
        ({"delta": 0.0}, "promises more than its event gives"),
        ({"event": Gaussian(1.0)}, "promises more than its event gives"),
        ({"epsilon": 2.1}, "weaker than its parameters ask for"),
        ({"unit": "user"}, "another relation or unit"),
        ({"premise": "nobody looks"}, "takes something else for granted"),
        ({"event": Composed([Gaussian(9.0), NonPrivate()])}, "its event is not private"),
        ({"event": Composed([Pure(1e-3 + i * 1e-9) for i in range(2000)])}, "too large to account for"),
    ],
)
def test_a_guarantee_that_its_event_does_not_bear_out_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        replace(RECORD, promise=replace(RECORD.promise, **changes)).check()


@pytest.mark.parametrize(
    "change",
    [
        lambda record: [record, record],
        lambda record: [{**record, "seed": 3}],
        lambda record: [{**record, "release": 3}],
        lambda record: [{**record, "budget": "large"}],
        lambda record: [{**record, "budget": {**record["budget"], "mu": 3.0}}],
        lambda record: [{**record, "budget": {**record["budget"], "epsilon": -1.0}}],
        lambda record: [{**record, "guarantee": {**record["guarantee"], "color": "red"}}],
        lambda record: [{**record, "guarantee": {**record["guarantee"], "event": {"type": "Magic"}}}],
    ],
)
def test_other_objects_are_refused(change):
    with pytest.raises(ValueError):
        ModelRecord.from_objects(change(RECORD.objects()[0]))


def test_the_hash_of_a_file_is_one():
    with pytest.raises(ValueError, match="the hash of its model file is none"):
        replace(RECORD, file_sha256="xyz").check()
    with pytest.raises(StatementError, match="hash of its model file"):
        model_record(small("PrivateCovariance"), "XYZ")


def test_rho_is_that_of_gaussian_releases_alone():
    assert rho_of(Gaussian(2.0)) == 0.125
    assert rho_of(Composed([Gaussian(2.0), Repeated(Gaussian(4.0), 4)])) == pytest.approx(0.25)
    for event in (Pure(1.0), Composed([Gaussian(2.0), Pure(1.0)]), Composed([]), Mixture([0.0], [0.1])):
        assert rho_of(event) is None
    assert rho_of(RECORD.event) == mu(RECORD.event) ** 2 / 2


def test_numbers_are_rounded_up_to_six_digits():
    assert RECORD.promise.epsilon < 2.0
    assert parameters_of(RECORD.promise) == {"epsilon": 2.0, "delta": 1e-6, "rho": 0.100503}
    assert 0.100502 < rho_of(RECORD.event) <= 0.100503
    pure = Guarantee(1.0, 0.0, "replace", "row", Pure(1.0), "exact")
    assert parameters_of(pure) == {"epsilon": 1.0, "delta": 0.0}
    with pytest.raises(InvalidParameter):
        Guarantee(1.0, 2.0, "replace", "row", Pure(1.0), "exact")


def test_the_size_of_a_change_is_a_part_of_the_record():
    model = small("Factorization")
    record = model_record(model)
    assert record.promise.bound == record.budget.bound == model.bound == 1.0
    assert any(line.startswith("Unit: frobenius. Bound: 1. Neighbors: ") for line in record.words())
    assert record.objects()[0]["guarantee"]["bound"] == 1.0
    with pytest.raises(ValueError, match="hides changes of another size"):
        replace(record, promise=replace(record.promise, bound=5.0)).check()


def test_a_cost_is_not_rounded_down_to_nothing():
    assert rho_of(Gaussian(1e200)) > 0.0 == rho_of(Gaussian(1e200)) * 0.5


@pytest.mark.parametrize(
    ("release", "unit", "bound", "message"),
    [
        ("Factorization", "row", None, "does not say how large a change it hides"),
        ("TurnstileSketch", "user", None, "does not say how large a change it hides"),
        ("Factorization", "entry", None, "does not say how large a change it hides"),
        ("Somebody", "frobenius", None, "does not say how large a change it hides"),
        ("PrivatePCA", "row", 9.0, "its guarantee says how large a change it hides"),
        ("PrivateCompletion", "user", 9.0, "its guarantee says how large a change it hides"),
    ],
)
def test_a_bound_is_there_where_there_must_be_one_and_nowhere_else(release, unit, bound, message):
    changes = {"unit": Unit(unit), "bound": bound}
    promise, budget = replace(RECORD.promise, **changes), replace(RECORD.budget, **changes)
    with pytest.raises(ValueError, match=message):
        ModelRecord(release, promise, budget).check()
