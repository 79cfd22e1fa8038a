"""A new estimator is its package, a line in the registry, its tests and its docs: shown with a toy of each kind."""

import numpy as np
import pytest

import hushrank as hr
import toys
from hushrank import registry
from hushrank.archive.attributes import Attribute
from hushrank.checks import conformance_checks
from hushrank.checks.samples import RatingSample, RecordSample, RowSample, UpdateSample, UserRecordSample
from hushrank.data.records.reading import read_records
from hushrank.exceptions import ModelFileError
from hushrank.linalg.integer_sums import integer_sum

RNG = np.random.default_rng(3)
X = RNG.standard_normal((37, 5))
USERS = np.repeat([f"user {i}" for i in range(29)], 3)
TERMS = {"norm": 1.0, "epsilon": 1.0}

# Toy, the line of the registry, and data: all that a new kind of estimator adds.
TOYS = {
    "ToySum": (registry.Entry("toys", "toys:ToyPlanner"), RowSample(X)),
    "ToyItemCounts": (registry.Entry("toys", "toys:ToyItemCountsPlanner"), RatingSample(X)),
    "ToyMeanAnswer": (
        registry.Entry("toys", "toys:ToyMeanAnswerPlanner"),
        UserRecordSample(RNG.standard_normal((87, 4)), RNG.standard_normal(87), USERS),
    ),
    "ToyColumnTotals": (
        registry.Entry("toys", "toys:ToyColumnTotals"),
        UpdateSample(RNG.integers(0, 6, 41), RNG.integers(0, 4, 41), RNG.standard_normal(41), np.array([6, 4])),
    ),
}


def toy(name, **parameters):
    shape = {"n_rows": 6, "n_columns": 4} if name == "ToyColumnTotals" else {}
    return getattr(toys, name)(**TERMS, **shape, **parameters)


CASES = [
    pytest.param(check, id=f"{name}-{neighbors}-{what}")
    for name, (_, sample) in TOYS.items()
    for neighbors in ("replace", "add_remove")
    for what, check in conformance_checks(toy(name, neighbors=neighbors), sample)
]


@pytest.mark.parametrize("check", CASES)
def test_toys_conform(check):
    check()


@pytest.fixture
def registered(monkeypatch):
    for name, (entry, _) in TOYS.items():
        monkeypatch.setitem(registry.PUBLIC, name, entry)
        monkeypatch.setitem(registry.RELEASES, name, entry)


@pytest.mark.parametrize("name", TOYS)
def test_a_line_in_the_registry_makes_it_public(registered, name, tmp_path):
    _, sample = TOYS[name]
    assert getattr(hr, name) is getattr(toys, name)
    planner = registry.planner(name)(**toy(name)._parameters() if name == "ToyColumnTotals" else TERMS)
    assert planner.plan(**sample.sizes) == toy(name).plan(**sample.sizes)
    sample.learn(toy(name)).save(tmp_path / "model")
    assert type(hr.load(tmp_path / "model")) is getattr(toys, name)


def test_without_its_line_a_file_is_refused(tmp_path):
    RowSample(X).learn(toy("ToySum")).save(tmp_path / "model")
    with pytest.raises(ModelFileError, match="holds a model of class 'ToySum', which is not one of PrivatePCA"):
        hr.load(tmp_path / "model")


def test_sketches_are_updated_merged_and_released_later():
    _, sample = TOYS["ToyColumnTotals"]
    whole = sample.learn(toy("ToyColumnTotals", random_state=1))
    parts = [toy("ToyColumnTotals", random_state=1).update(*sample.people(half).data[:3]) for half in HALVES]
    assert np.array_equal(parts[0].merge(parts[1]).release().totals_, whole.totals_)
    assert not hasattr(parts[0], "privacy_") and not hasattr(whole, "_secret")


HALVES = (slice(None, 20), slice(20, None))


# Toys that break a promise in the way of their kind of data.


class BoundsRecordsNotUsers(toys.ToyMeanAnswer):
    _kernel = staticmethod(lambda block, lattice: integer_sum(block.y.reshape(-1, 1), lattice))


class TrustsAnswers(toys.ToyEstimator):
    _learns = {"sum_": Attribute(float, (1,))}  # noqa: RUF012

    def fit(self, X, y=None):
        return self._fit_data(X, y)

    def _read(self, *data):
        return read_records(*data, owner="TrustsAnswers")

    @staticmethod
    def _kernel(block, lattice):
        finite = np.nan_to_num(np.clip(block.y, -1e12, 1e12))
        return np.array([round(float(number) / lattice.unit) for number in finite], np.int64).sum(keepdims=True)


class ReleasesTwiceForOneCharge(toys.ToyColumnTotals):
    def release(self):
        ledger = self.ledger
        self.ledger = None if getattr(self, "_is_paid", False) else ledger
        try:
            return super().release()
        finally:
            self.ledger, self._is_paid = ledger, True


BROKEN = [
    (BoundsRecordsNotUsers(**TERMS), TOYS["ToyMeanAnswer"][1], "check_one_person_is_hidden"),
    (TrustsAnswers(**TERMS), RecordSample(X, RNG.standard_normal(37)), "check_one_person_is_hidden"),
    (
        ReleasesTwiceForOneCharge(**TERMS, n_rows=6, n_columns=4),
        TOYS["ToyColumnTotals"][1],
        "check_a_second_release_is_charged_too",
    ),
]


@pytest.mark.parametrize(("broken", "sample", "name"), BROKEN, ids=[type(toy).__name__ for toy, *_ in BROKEN])
def test_a_promise_that_is_broken_in_the_way_of_its_data_is_noticed(broken, sample, name):
    check = dict(conformance_checks(broken, sample))[name]
    with pytest.raises(AssertionError):
        check()
