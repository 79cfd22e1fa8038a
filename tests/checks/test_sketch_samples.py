"""Samples for sketches: users are picked with all their updates, neighbors differ by one user, charges are told."""

import numpy as np
import pytest

from hushrank.checks.samples import UpdateSample
from hushrank.checks.sketch_samples import SketchSample, UserSketchSample
from hushrank.privacy.events import Gaussian, Repeated

RNG = np.random.default_rng(4)
USERS = np.repeat(list("abcdefghij"), 3)
UPDATES = (np.arange(30) % 5, np.arange(30) % 3, RNG.standard_normal(30), np.array([5, 3]))
SAMPLE = UserSketchSample(*UPDATES, USERS)


class Recorder:
    """Remembers how it was called."""

    def update(self, rows, columns, deltas, users=None):
        self.told = (rows, columns, deltas, users)

    def factorize(self):
        return self.told


def updates_of(sample):
    """Updates of each user in their order."""
    rows, columns, deltas, _, users = sample.data
    table = np.nan_to_num(np.column_stack([rows, columns, deltas]), nan=7.0)
    return {str(user): table[users == user].tolist() for user in np.unique(users)}


def test_sketches_are_told_and_factorized():
    rows, columns, deltas, users = SAMPLE.learn(Recorder())
    assert users is USERS and rows is UPDATES[0] and columns is UPDATES[1] and deltas is UPDATES[2]
    assert SketchSample(*UPDATES).learn(Recorder())[3] is None
    probe = SAMPLE.run(Recorder(), np.zeros(5, int), np.zeros(5, int), np.zeros(5))
    assert len(set(probe[3].tolist())) == 5  # a probe tells no users: all are different


def test_a_private_state_is_charged_once_more():
    sample, other = SketchSample(*UPDATES), UpdateSample(*UPDATES)
    once, twice = Gaussian(3.0), Repeated(Gaussian(3.0), 2)
    assert sample.charges(once, 2) == other.charges(once, 2) == [once, once]
    assert sample.charges(twice, 2) == [once, once, once] and other.charges(twice, 2) == [twice, twice]


def test_users_are_picked_whole_and_in_order():
    assert SAMPLE.n_people == 10 and SAMPLE.sizes == {"n_updates": 30, "n_rows": 5, "n_columns": 3}
    reverse = SAMPLE.people(np.arange(10)[::-1])
    assert updates_of(reverse) == updates_of(SAMPLE) and not reverse.is_equal(SAMPLE)
    assert reverse.data[4][0] == "j" and SAMPLE.people(slice(None)).is_equal(SAMPLE)
    assert SAMPLE.people(slice(0, 0)).sizes["n_updates"] == 0
    other = SAMPLE.other()
    assert other.n_people == 3 and not set(other.data[2]) & set(UPDATES[2])


def test_four_users_are_spoiled_and_the_sample_stays():
    before, spoiled = SAMPLE.copy(), updates_of(SAMPLE.spoiled())
    assert sum(spoiled[user] != held for user, held in updates_of(SAMPLE).items()) == 4
    assert SAMPLE.is_equal(before)


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_extreme_neighbors_differ_by_one_user(neighbors):
    busy, quiet = (updates_of(one) for one in SAMPLE.extreme_neighbors(neighbors))
    extreme, calm = busy.pop("a"), quiet.pop("a", [])
    assert busy == quiet == {user: held for user, held in updates_of(SAMPLE).items() if user != "a"}
    assert len(extreme) == 300 and all(delta == 1e9 for _, _, delta in extreme)
    assert len(calm) == (neighbors == "replace") and all(abs(delta) < 1e-6 for _, _, delta in calm)
