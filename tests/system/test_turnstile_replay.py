"""Streams that differ by one update, row or user, through every door: states differ by that contribution and no more.

Integers are compared exactly. A contribution is what a sketch holds that was told nothing else.
"""

import csv
import functools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

import hushrank as hr
from hushrank.data.updates.reading import read_updates
from hushrank.estimators.turnstile import batches
from hushrank.estimators.turnstile import state as state_module

SHAPE, SEED, KEY = (12, 9), 4, bytes(range(32))
CORE = {"kind": "three_sketch", "sketch_sizes": (6, 8)}
CONFIGS = {
    "entry": {},
    "entry, core": CORE,
    "entry, Hadamard": {"operator": "srht"},
    "entry, Hadamard core": {**CORE, "operator": "srht"},
    "entry, full, int32": {"kind": "full", "integers": "int32"},
    "entry, pure": {"delta": 0.0, "kind": "figure3"},
    "row, signs": {"unit": "row", "operator": "sparse_sign"},
    "rank1": {"unit": "rank1", "clip": 1.0, "bound": 2.0},
    "frobenius, core": {**CORE, "unit": "frobenius", "clip": 1.0},
    "user": {"unit": "user", "bound": 2.0},
    "user, core": {**CORE, "unit": "user", "bound": 2.0},
}
RANDOM = ("row, signs", "rank1", "frobenius, core")
RNG = np.random.default_rng(6)
N = 40
PEOPLE = ["ann", 'quo"ted, name', "two\nlines", "日本 語", "7", "-8", "18446744073709551615"]
STREAM = list(
    zip(
        RNG.integers(0, 12, N).tolist(),
        RNG.integers(0, 9, N).tolist(),
        (1.5 * RNG.normal(size=N)).tolist(),
        [PEOPLE[k] for k in RNG.integers(0, len(PEOPLE), N)],
        strict=True,
    )
)


def make(config):
    terms = {"shape": SHAPE, "rank": 2, "epsilon": 1.0, "delta": 1e-6, "random_state": SEED, "on_invalid": "skip"}
    return hr.TurnstileSketch(**{**terms, **CONFIGS[config]})


def vectors(stream, *, with_users):
    rows, columns, deltas, users = ([one[k] for one in stream] for k in range(4))
    parts = (np.array(rows, np.int64), np.array(columns, np.int64), np.array(deltas, float))
    return (*parts, pa.array(users, pa.large_string())) if with_users else parts


# Doors: each tells a stream to a sketch, and returns the sketch that holds it


def by_vectors(sketch, stream, folder):
    rows, columns, deltas, *users = vectors(stream, with_users=sketch._counts_users)
    return sketch.update(rows, columns, deltas, users=users[0] if users else None)


def by_csv(sketch, stream, folder):
    path = folder / "updates.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(["note", "row", "user", "delta", "column"])
        for k, (row, column, delta, user) in enumerate(stream):
            writer.writerow([f'line {k}\n"quoted", 3,3,3\n' * (k % 3), row, user, repr(delta), column])
    return sketch.update(path)


def by_parquet(sketch, stream, folder):
    names = ("row", "column", "delta", "user")
    table = pa.table(dict(zip(names, vectors(stream, with_users=True), strict=True)))
    pq.write_table(table, folder / "updates.parquet", row_group_size=7)
    return sketch.update(folder / "updates.parquet")


def by_iterator(sketch, stream, folder):
    starts = range(0, max(len(stream), 1), 3)
    return sketch.update(vectors(stream[k : k + 3], with_users=sketch._counts_users) for k in starts)


def by_matrix(sketch, stream, folder):
    inside = [one for one in stream if 0 <= one[0] < 12 and 0 <= one[1] < 9]  # others have no place in a matrix
    rows, columns, deltas = vectors(inside, with_users=False)
    return sketch.update(scipy.sparse.coo_array((deltas, (rows, columns)), SHAPE))


def by_rows(sketch, stream, folder):
    inside = [one for one in stream if 0 <= one[1] < 9]
    X, rows = np.zeros((len(inside), 9)), np.array([one[0] for one in inside], np.int64)
    X[range(len(inside)), [one[1] for one in inside]] = [one[2] for one in inside]
    users = [one[3] for one in inside] if sketch._counts_users else None
    return sketch.update_rows(rows, X, users=users)


def by_shards(sketch, stream, folder):
    """Updates of a user stay in one shard."""
    shards = [sketch.new_shard() for _ in range(3)]
    for number, shard in enumerate(shards):
        by_vectors(shard, [one for one in stream if PEOPLE.index(one[3]) % 3 == number], folder)
    return sketch.merge(shards[2]).merge(shards[0].merge(shards[1]))


def by_checkpoint(sketch, stream, folder):
    by_vectors(sketch, stream[:17], folder).save(folder / "sketch", key=KEY)
    return by_vectors(hr.TurnstileSketch.load(folder / "sketch", key=KEY), stream[17:], folder)


def source_of(sketch, stream):
    needs_users = sketch._counts_users
    return read_updates(*vectors(stream, with_users=needs_users), shape=SHAPE, owner="test", needs_users=needs_users)


def by_chunks(sketch, stream, folder):
    for chunk in source_of(sketch, stream).chunks(5):
        sketch.update_chunk(chunk)
    return sketch


def by_small_batches(sketch, stream, folder):
    """Batches of three, sorted into many buckets of places."""
    with pytest.MonkeyPatch.context() as patch, sketch._open() as held:
        patch.setattr(batches, "BUCKET_BYTES", 64)
        patch.setattr(state_module, "_LEAST_SORTED", 1)
        patch.setattr(held.intake.state, "_cached_bytes", 0)
        held.intake.add_all(source_of(sketch, stream), most=3)
    return sketch


DOORS = {name.removeprefix("by_"): door for name, door in list(globals().items()) if name.startswith("by_")}
IS_OF_USERS = {config: changes.get("unit") == "user" for config, changes in CONFIGS.items()}
CASES = [(config, door) for config in CONFIGS for door in DOORS if door != "matrix" or not IS_OF_USERS[config]]


def state_of(config, stream, folder, door="vectors"):
    sketch = DOORS[door](make(config), stream, folder)
    return [array.astype(object) for array in sketch._held.intake.state.arrays]  # integers of any size


@functools.cache
def contribution(config, *updates):
    """What a sketch holds that was told these updates alone."""
    return state_of(config, updates, None)


def minus(one, other):
    return [mine - theirs for mine, theirs in zip(one, other, strict=True)]


def plus(one, other):
    return [mine + theirs for mine, theirs in zip(one, other, strict=True)]


def assert_same(one, other):
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))


def assert_within_sensitivity(config, moved, n_changes):
    """Of a lattice whose arrays move by a bounded norm, in exact arithmetic."""
    one = make(config)
    lattice = one._plan(one._check_parameters(), {}).lattice
    weights = [Fraction(1, 4**part.coarser) for part in lattice.parts]
    squared = sum(weight * int((array**2).sum()) for weight, array in zip(weights, moved, strict=True))
    gains = sum(weight * part.squared_gain for weight, part in zip(weights, lattice.parts, strict=True))
    assert squared <= (n_changes * lattice.units) ** 2 * gains
    if lattice.parts[0].l1_gain is not None and config not in RANDOM:
        for array, part in zip(moved, lattice.parts, strict=True):
            assert np.abs(array).sum() <= n_changes * lattice.units * part.l1_gain
    return squared / ((n_changes * lattice.units) ** 2 * gains)


# One update


def neighbors(stream, place):
    """Changes of one update: the stream, and what was there before and after."""
    old, (row, column, _, user) = stream[place], stream[place]
    yield [*stream[:place], *stream[place + 1 :]], [old], []
    replaced = [(row, column, delta, user) for delta in (1e300, 1e-300, np.nan, -np.inf)]
    replaced += [(i, j, -5.0, user) for i, j in ((11, 0), (12, 0), (-1, 0), (3, 2**62))]
    for new in replaced:
        yield [*stream[:place], new, *stream[place + 1 :]], [old], [new]
    for new in replaced[0], replaced[4]:
        yield [*stream[:place], new, *stream[place:]], [], [new]


@pytest.mark.parametrize(("config", "door"), [case for case in CASES if not IS_OF_USERS[case[0]]])
def test_one_update_moves_a_state_by_its_contribution(config, door, tmp_path):
    before = state_of(config, STREAM, tmp_path, door)
    assert_same(before, contribution(config, *STREAM))
    for place in (0, 19, N - 1):
        for stream, old, new in neighbors(STREAM, place):
            moved = minus(state_of(config, stream, tmp_path, door), before)
            assert_same(moved, minus(contribution(config, *new), contribution(config, *old)))
            if config not in RANDOM:
                assert_within_sensitivity(config, moved, len(old) + len(new))


@pytest.mark.parametrize("config", [config for config in CONFIGS if not IS_OF_USERS[config]])
def test_a_contribution_is_a_column_times_at_most_the_units_of_the_bound(config):
    """Also where columns have random norms: of one place, an update is a multiple of the same column."""
    one = make(config)
    units, clip = one._plan(one._check_parameters(), {}).lattice.units, min(one._clip, one.bound)
    column, largest = contribution(config, (5, 6, clip, "ann")), round(units * clip / one.bound)
    for delta in (1e300, -1e300, 0.3, -0.3, 0.75, 1e-9, 0.0):
        found = contribution(config, (5, 6, delta, "ann"))
        expected = int(np.clip(np.rint(delta * units / one.bound), -largest, largest))
        assert_same([largest * array for array in found], [expected * array for array in column])
        assert any(array.any() for array in found) == (expected != 0)


def test_the_bound_of_a_lattice_is_attained():
    """A bound that no update reaches would be noise for nothing."""
    for config in ("entry", "entry, core", "entry, Hadamard core", "entry, full, int32"):
        assert assert_within_sensitivity(config, contribution(config, (5, 6, 9.0, "ann")), 1) == 1


# One row


@pytest.mark.parametrize("config", ["row, signs", "rank1", "frobenius, core", "entry"])
def test_one_row_moves_a_state_by_its_contribution(config):
    X, rows = RNG.normal(size=(30, 9)), RNG.integers(0, 12, 30)
    X[3], X[7, 2], X[11] = 1e200, np.nan, 1e-200

    def state(rows, X):
        return [array.astype(object) for array in make(config).update_rows(rows, X)._held.intake.state.arrays]

    whole, other = state(rows, X), np.full((1, 9), -7.0)
    for place in (0, 3, 7, 11, 29):
        own = state(rows[place : place + 1], X[place : place + 1])
        assert_same(minus(whole, own), state(np.delete(rows, place), np.delete(X, place, axis=0)))
        replaced = X.copy()
        replaced[place] = other
        assert_same(minus(state(rows, replaced), whole), minus(state(rows[place : place + 1], other), own))


def test_a_row_of_integers_is_within_the_units_of_the_bound():
    for seed in range(50):
        row = np.random.default_rng(seed).normal(size=(1, 9)) * 10.0 ** np.random.default_rng(seed).integers(-3, 9)
        terms = {"shape": SHAPE, "rank": 2, "epsilon": 1.0, "delta": 1e-6, "unit": "row", "kind": "full"}
        sketch = hr.TurnstileSketch(**terms).update_rows([4], row)
        held = sketch._held.intake.state.arrays[0].astype(object)
        assert (held**2).sum() <= sketch._held.plan.lattice.units**2
        assert not np.delete(held, 4, axis=0).any()


# One user


def lives(user):
    """What one user may do, in any places of the stream."""
    many = RNG.normal(size=(60, 3)) * 1e6
    yield []
    yield [(0, 0, 0.01, user)]
    yield [(int(abs(a)) % 12, int(abs(b)) % 9, c, user) for a, b, c in many.tolist()]
    yield [(k % 12, k % 9, (-1.0) ** k * 0.125, user) for k in range(60)]
    yield [(5, 5, np.nan, user), (99, 0, 1.0, user), (5, 5, 1e308, user), (5, 5, -1e308, user)]


def scattered(others, own, seed):
    stream, places = list(others), np.sort(np.random.default_rng(seed).integers(0, len(others) + 1, len(own)))
    for place, one in reversed(list(zip(places.tolist(), own, strict=True))):
        stream.insert(place, one)
    return stream


@pytest.mark.parametrize(("config", "door"), [case for case in CASES if IS_OF_USERS[case[0]]])
def test_one_user_moves_a_state_by_that_users_contribution(config, door, tmp_path):
    for user in PEOPLE[1:4]:
        others = [one for one in STREAM if one[3] != user]
        theirs = contribution(config, *others)
        assert_same(state_of(config, others, tmp_path, door), theirs)
        earlier = None
        for seed, own in enumerate(lives(user)):
            whole = state_of(config, scattered(others, own, seed), tmp_path, door)
            alone = contribution(config, *own)
            assert_same(whole, plus(theirs, alone))  # nobody else's contribution has moved
            assert_within_sensitivity(config, alone, 1)
            if earlier is not None:
                assert_within_sensitivity(config, minus(whole, earlier), 2)
            earlier = whole


@pytest.mark.parametrize("config", ["user", "user, core"])
def test_a_busy_user_uses_all_of_the_bound_and_no_more(config):
    own = [(5, 6, 0.125, "ann")] * 100
    assert assert_within_sensitivity(config, contribution(config, *own), 1) == 1
