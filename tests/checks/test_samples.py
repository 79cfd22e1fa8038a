"""Samples of every kind: people are picked whole, neighbors differ by one person, and nothing is changed in place."""

import numpy as np
import pytest

from hushrank.checks.samples import RatingSample, RecordSample, RowSample, UpdateSample, UserRecordSample, to_sample

RNG = np.random.default_rng(4)
X, Y, USERS = RNG.standard_normal((20, 3)), RNG.standard_normal(20), np.repeat(list("abcdefghij"), 2)
SAMPLES = {
    "rows": RowSample(X),
    "ratings": RatingSample(X),
    "records": RecordSample(X, Y),
    "records of users": UserRecordSample(X, Y, USERS),
    "updates": UpdateSample(np.arange(20) % 5, np.arange(20) % 3, Y, np.array([5, 3])),
}


def people_of(sample):
    """What each person holds, as something that can be compared."""
    if isinstance(sample, UserRecordSample):
        rows, y, users = sample.data
        keys = users
    else:
        rows, y = sample.data[0], sample.data[2] if isinstance(sample, UpdateSample) else sample.data[-1]
        keys = np.arange(len(rows))
    numbers = np.column_stack([rows.reshape(len(rows), -1), np.reshape(y, (len(rows), -1))])
    return {key: np.nan_to_num(numbers[keys == key], nan=7.0).tobytes() for key in np.unique(keys)}


@pytest.mark.parametrize("kind", SAMPLES)
def test_people_are_picked_whole_and_in_order(kind):
    sample = SAMPLES[kind]
    everybody, nobody = sample.people(slice(None)), sample.people(slice(0, 0))
    assert everybody.is_equal(sample) and all(len(part) == 0 for part in nobody.data[:3])
    reverse = sample.people(np.arange(sample.n_people)[::-1])
    assert sorted(people_of(reverse).values()) == sorted(people_of(sample).values())
    assert not reverse.is_equal(sample)
    assert sample.people(slice(3)).n_people == 3 and sample.other().n_people == sample.n_people - 7


@pytest.mark.parametrize("kind", SAMPLES)
def test_four_people_are_spoiled_and_the_sample_stays(kind):
    sample, before = SAMPLES[kind], SAMPLES[kind].copy()
    spoiled = people_of(sample.spoiled())
    assert sum(spoiled[key] != held for key, held in people_of(sample).items()) == 4
    assert sample.is_equal(before)


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_extreme_neighbors_differ_by_one_person(kind, neighbors):
    with_person, without = SAMPLES[kind].extreme_neighbors(neighbors)
    assert without.n_people == with_person.n_people - (neighbors == "add_remove")
    ours, others = list(people_of(with_person).values()), list(people_of(without).values())
    assert ours[1:] == (others if neighbors == "add_remove" else others[1:])
    assert neighbors == "add_remove" or ours[0] != others[0]


def test_arrays_are_samples_of_rows():
    assert isinstance(to_sample(X), RowSample) and to_sample(SAMPLES["ratings"]) is SAMPLES["ratings"]
    assert SAMPLES["ratings"].sizes == {"n_users": 20, "n_items": 3}
