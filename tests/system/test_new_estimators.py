"""A new estimator is its package, a line in the registry, its tests and its docs: shown with a toy of each kind."""

import numpy as np
import pytest

import hushrank as hr
import toys
from hushrank import registry
from hushrank.checks import conformance_checks
from hushrank.checks.samples import RatingSample, RowSample, UpdateSample, UserRecordSample
from hushrank.exceptions import ModelFileError

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
