"""Samples of measurements: records are picked whole, neighbors differ by one record or by one answer."""

import numpy as np
import pytest

from hushrank.checks.measurement_samples import AnswerSample, MeasurementSample

RNG = np.random.default_rng(4)
X, Y = RNG.standard_normal((20, 3, 2)), RNG.standard_normal(20)
ENTRIES = RNG.integers(0, 2, (20, 2))
SAMPLES = {
    "dense": MeasurementSample(X, Y),
    "rank_one": MeasurementSample(X.reshape(20, 6)[:, :5], Y, (3, 2)),
    "entry": MeasurementSample(ENTRIES, Y, (3, 2), is_entry=True),
    "answers": AnswerSample(X, Y),
    "answers of entries": AnswerSample(ENTRIES, Y, (3, 2), is_entry=True),
}


def records_of(sample):
    """Bytes of measurement and of answer, one pair a record."""
    return [(x.astype(float).tobytes(), np.float64(y).tobytes()) for x, y in zip(*sample.data, strict=True)]


@pytest.mark.parametrize("kind", SAMPLES)
def test_sizes_are_those_of_the_matrix_and_survive_every_change(kind):
    sample = SAMPLES[kind]
    changed = [sample.copy(), sample.spoiled(), sample.people(slice(3)), *sample.extreme_neighbors("replace")]
    for one in (sample, sample.other(), *changed):
        assert list(one.sizes) == ["n_samples", "n_rows", "n_columns"] and type(one) is type(sample)
        assert tuple(one.sizes.values()) == (len(one.data[1]), 3, 2) and one.is_entry == sample.is_entry
    assert changed[0].is_equal(sample) and changed[0].data[0] is not sample.data[0]


@pytest.mark.parametrize("kind", SAMPLES)
def test_records_are_picked_whole_and_in_order(kind):
    sample = SAMPLES[kind]
    assert records_of(sample.people(np.arange(20)[::-1])) == records_of(sample)[::-1]
    assert records_of(sample.people(slice(2, 5))) == records_of(sample)[2:5]
    assert sample.people(slice(0, 0)).n_people == 0


@pytest.mark.parametrize("kind", SAMPLES)
def test_four_records_are_spoiled_and_others_differ_and_the_sample_stays(kind):
    sample, before = SAMPLES[kind], SAMPLES[kind].copy()
    pairs = zip(records_of(sample), records_of(sample.spoiled()), strict=True)
    assert [one == other for one, other in pairs] == [False] * 4 + [True] * 16
    other = sample.other()
    if isinstance(sample, AnswerSample):  # measurements are public, and so is their number
        assert other.data[0] is sample.data[0] and np.isnan(other.data[1]).sum() == 7
    else:
        assert other.n_people == 13
    assert not np.intersect1d(other.data[1], Y).size
    assert sample.is_equal(before)


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_extreme_neighbors_differ_by_one_record_or_one_answer(kind, neighbors):
    with_person, without = SAMPLES[kind].extreme_neighbors(neighbors)
    ours, others = records_of(with_person), records_of(without)
    if neighbors == "add_remove" and not kind.startswith("answers"):
        assert others == ours[1:]
    else:
        assert others[1:] == ours[1:] and others[0][0] == ours[0][0] and others[0][1] != ours[0][1]
    (X, y), largest = with_person.data, 0.0 if with_person.is_entry else 1e9
    assert with_person.n_people >= 1000 and (X[0] == largest).all() and y[0] == 1e9
    assert np.abs(y).min() > 1e6 and X.max() < 1e11
