"""Sketches as people use them: ways in, shards and their sum, checkpoints, and what is said when something is wrong."""

import logging
import stat
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse

import hushrank as hr
from hushrank.archive.seal_keys import make_key_file
from hushrank.data.updates.reading import read_updates
from hushrank.exceptions import CheckpointError, InvalidParameter, StateMisuse

SHAPE = (40, 25)
TERMS = {"shape": SHAPE, "rank": 2, "epsilon": 1.0, "delta": 1e-6}
RNG = np.random.default_rng(12)
ROWS, COLUMNS, DELTAS = RNG.integers(0, 40, 300), RNG.integers(0, 25, 300), RNG.normal(size=300)
USERS = RNG.integers(0, 150, 300)
KEY = bytes(range(32))
KINDS = {
    "plain": {},
    "core": {"kind": "three_sketch", "sketch_sizes": (8, 16)},
    "Hadamard": {"operator": "srht"},
    "Gaussian": {"unit": "frobenius"},
    "Gaussian core": {"unit": "row", "kind": "figure1", "sketch_sizes": (8, 16)},
    "full": {"kind": "full"},
    "narrow": {"integers": "int32", "kind": "figure3"},
    "pure": {"delta": 0.0},
}


def make(**changes):
    return hr.TurnstileSketch(**{**TERMS, "random_state": 7, **changes})


def state(sketch):
    totals = sketch._held.intake.totals
    arrays = [array.tobytes() for array in sketch._held.intake.state.arrays]
    if totals is None:
        return arrays
    return arrays, dict(zip(*(list(map(str, part.tolist())) for part in totals.content()), strict=True))


def assert_same_release(one, other):
    for mine, theirs in ((one.U, other.U), (one.s, other.s), (one.Vt, other.Vt), (one.levels_, other.levels_)):
        assert np.array_equal(mine, theirs)


# Ways in


def test_updates_come_in_many_forms(tmp_path):
    table = pd.DataFrame({"row": ROWS, "column": COLUMNS, "delta": DELTAS})
    table.to_csv(tmp_path / "updates.csv", index=False)
    table.to_parquet(tmp_path / "updates.parquet")
    chunk = next(iter(read_updates(ROWS, COLUMNS, DELTAS, shape=SHAPE, owner="test").chunks()))
    expected = make().update(ROWS, COLUMNS, DELTAS)
    ways = [
        make().update(ROWS.tolist(), cols=pa.array(COLUMNS), deltas=DELTAS.tolist()),
        make().update(table),
        make().update(tmp_path / "updates.csv"),
        make().update(str(tmp_path / "updates.parquet")),
        make().update(iter([(ROWS[:99], COLUMNS[:99], DELTAS[:99]), table[99:]])),
        make().update_chunk(chunk),
        make().update(scipy.sparse.coo_array((DELTAS, (ROWS, COLUMNS)), SHAPE)),
    ]
    assert all(isinstance(way, hr.TurnstileSketch) and state(way) == state(expected) for way in ways)


def test_a_sparse_matrix_is_a_stream_of_its_entries():
    matrix = scipy.sparse.coo_array((DELTAS, (ROWS, COLUMNS)), SHAPE).tocsr()
    sketch = hr.TurnstileSketch.from_csr(matrix, 2, epsilon=1.0, delta=1e-6, random_state=7)
    assert sketch.shape == SHAPE and state(sketch) == state(make().update(matrix))
    assert_same_release(sketch.factorize(), make().update(matrix).factorize())


def test_rows_are_updates_of_their_entries():
    X = RNG.normal(size=(5, 25)) * (RNG.random((5, 25)) < 0.5)
    own, columns = np.nonzero(X)
    rows = np.array([3, 3, 0, 39, 7])
    by_entry = make().update(rows[own], columns, X[own, columns])
    for table in (X, scipy.sparse.csr_array(X), pd.DataFrame(X)):
        assert state(make().update_rows(rows, table)) == state(by_entry)
    users = np.array([f"user {i}" for i in range(5)])
    counted = make(unit="user").update_rows(rows, X, users=users)
    assert state(counted) == state(make(unit="user").update(rows[own], columns, X[own, columns], users=users[own]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.update([0], [0]), "deltas of TurnstileSketch must be"),
        (lambda one: one.update([0, 1], [0], [1.0]), "columns of TurnstileSketch must be a vector of 2 numbers"),
        (lambda one: one.update([0.5], [0], [1.0]), "rows of TurnstileSketch must be a vector of integers"),
        (lambda one: one.update([0], [0], [1j]), "deltas of TurnstileSketch must be"),
        (lambda one: one.update([0], [0], ["a"]), "deltas of TurnstileSketch must be"),
        (lambda one: one.update([0], [0], [1.0], users=["ann"]), "users of TurnstileSketch must be None"),
        (lambda one: one.update("no.csv"), "X of TurnstileSketch must be an existing file"),
        (lambda one: one.update(scipy.sparse.eye_array(3).tocsr()), r"rows of TurnstileSketch must be a matrix of sh"),
        (lambda one: one.update([40], [0], [1.0]), "rows of TurnstileSketch must be integers from 0 to 39, with col"),
        (lambda one: one.update([0], [0], [np.nan]), "deltas of TurnstileSketch must be finite; nothing was added"),
        (lambda one: one.update_rows([0.0], np.zeros((1, 25))), "rows of TurnstileSketch must be a vector of integer"),
        (lambda one: one.update_rows([0], np.zeros((1, 24))), "X of TurnstileSketch must be 1 rows of 25 columns"),
        (lambda one: one.update_rows([40], np.zeros((1, 25))), "rows of TurnstileSketch must be .* nothing was added"),
        (lambda one: one.update_rows([0], np.full((1, 25), np.inf)), "deltas of TurnstileSketch must be finite"),
        (lambda one: one.update_rows([0], np.zeros((1, 25)), users=["a"]), "users of TurnstileSketch must be None, be"),
        (lambda one: one.merge("a sketch"), "other of TurnstileSketch must be a TurnstileSketch; got 'str'"),
        (lambda one: one.merge(one), "other of TurnstileSketch must be another sketch: these updates are in this one"),
        (lambda one: one.merge(make(random_state=8)), "other of TurnstileSketch must be a sketch with the same oper"),
        (lambda one: one.merge(make(rank=3)), "rank of TurnstileSketch must be that of the other sketch, 3; got 2"),
    ],
)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_added(call, message):
    sketch = make().update(ROWS, COLUMNS, DELTAS)
    before = state(sketch)
    with pytest.raises(InvalidParameter, match=f"^{message}") as refusal:
        call(sketch)
    assert "\n" not in str(refusal.value) and state(sketch) == before and sketch._held.n_releases == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.update([0], [0], [1.0]), "ids, one for each update; got None"),
        (lambda one: one.update([0, 1], [0, 1], [1.0, 1.0], users=["a"]), "2 ids, one for each record; got '1 ids'"),
        (lambda one: one.update([0], [0], [1.0], users=[1.5]), "int64, uint64 or str ids"),
        (lambda one: one.update([0], [0], [1.0], users=[None]), "and a user for each; nothing was added"),
        (lambda one: one.update(scipy.sparse.csr_array(SHAPE)), "updates with users"),
        (lambda one: one.update_rows([0], np.ones((1, 25))), "given for each row; got 'NoneType'"),
        (lambda one: one.update_rows([0], np.ones((1, 25)), users=["a", "b"]), "1 ids, one for each record"),
    ],
)
def test_wrong_users_are_refused_and_nobody_is_counted(call, message):
    sketch = make(unit="user").update(ROWS, COLUMNS, DELTAS, users=USERS)
    before = state(sketch)
    with pytest.raises(InvalidParameter, match=message):
        call(sketch)
    assert state(sketch) == before


@pytest.mark.parametrize("changes", [{"integers": "int32"}, {"integers": "int32", "kind": "full"}, {"unit": "rank1"}])
def test_overflows_are_refused_and_taken_back(changes):
    """Of an update, and of a merge of sketches that both fit."""
    sketch = make(**changes, clip="none").update(ROWS, COLUMNS, DELTAS)
    other = make(**changes, clip="none").update(ROWS, COLUMNS, DELTAS)
    before, largest = state(sketch), np.iinfo(changes.get("integers", "int64")).max
    with pytest.raises(InvalidParameter, match="deltas of TurnstileSketch must be updates whose sums fit the int"):
        sketch.update(np.repeat(np.arange(40), 2**13), np.zeros(40 * 2**13, np.int64), np.full(40 * 2**13, 1e300))
    assert state(sketch) == before
    other._held.intake.state.arrays[0][:] = largest
    with pytest.raises(InvalidParameter, match="other of TurnstileSketch must be a sketch whose sums"):
        sketch.merge(other)
    assert state(sketch) == before


# Shards


@pytest.mark.parametrize("kind", KINDS)
def test_shards_add_up_to_the_stream_in_any_order(kind):
    whole = make(**KINDS[kind]).update(ROWS, COLUMNS, DELTAS)
    sketch = make(**KINDS[kind])
    shards = [sketch.new_shard(), make(**KINDS[kind]), sketch.new_shard()]
    order = RNG.permutation(300)
    for part, shard in zip(np.array_split(order, 4), [sketch, *shards], strict=True):
        shard.update(ROWS[part], COLUMNS[part], DELTAS[part])
    shards[0].merge(shards[2])
    sketch.merge(shards[1]).merge(shards[0])
    assert state(sketch) == state(whole)
    assert_same_release(sketch.factorize(), whole.factorize())


def test_a_shard_is_empty_and_has_the_parameters():
    sketch = hr.TurnstileSketch(**TERMS, bound=2.0, on_invalid="skip").update(ROWS, COLUMNS, DELTAS)
    shard = sketch.new_shard()
    assert shard._parameters() == sketch._parameters() and shard._held.key == sketch._held.key
    assert not any(array.any() for array in shard._held.intake.state.arrays)
    assert shard._held.shards.isdisjoint(sketch._held.shards)


def test_releases_of_both_count_after_a_merge_and_the_other_is_closed():
    sketch = hr.TurnstileSketch(**TERMS)
    shard = sketch.new_shard().update(ROWS, COLUMNS, DELTAS)
    sketch.factorize(), shard.factorize(), shard.factorize()
    found = sketch.merge(shard).factorize()
    assert found.release_ == 4 and found.privacy_.event == sketch._held.plan.lattice.total(4)
    for use in (shard.factorize, shard.new_shard, lambda: shard.update([0], [0], [1.0]), lambda: sketch.merge(shard)):
        with pytest.raises(StateMisuse, match=r"^this TurnstileSketch was merged into another, which has its updates"):
            use()
    assert sketch.factorize().release_ == 5


# Checkpoints


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_goes_on_after_a_checkpoint(kind, tmp_path):
    sketch = make(**KINDS[kind]).update(ROWS[:100], COLUMNS[:100], DELTAS[:100])
    sketch.save(tmp_path / "sketch", key=KEY, position={"line": 101})
    loaded = hr.TurnstileSketch.load(tmp_path / "sketch", key=KEY).update(ROWS[100:], COLUMNS[100:], DELTAS[100:])
    whole = make(**KINDS[kind]).update(ROWS, COLUMNS, DELTAS)
    assert state(loaded) == state(whole) and loaded.position == {"line": 101} and sketch.position is None
    assert_same_release(loaded.factorize(), whole.factorize())
    assert stat.S_IMODE((tmp_path / "sketch").stat().st_mode) == 0o600


def test_releases_and_users_survive_a_checkpoint(tmp_path):
    sketch = hr.TurnstileSketch(**TERMS, unit="user").update(ROWS, COLUMNS, DELTAS, users=USERS)
    sketch.factorize()
    sketch.save(tmp_path / "sketch", key=KEY)
    loaded = hr.TurnstileSketch.load(tmp_path / "sketch", key=KEY)
    for one in (sketch, loaded):
        one.update(ROWS, COLUMNS, DELTAS, users=USERS)
    assert state(loaded) == state(sketch)
    found = loaded.factorize()
    assert found.release_ == 2 and found.privacy_.event == loaded._held.plan.lattice.total(2)


def test_keys_are_bytes_files_or_the_users_own(tmp_path, monkeypatch):
    make_key_file(tmp_path / "own.key")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HUSHRANK_CHECKPOINT_KEY", raising=False)
    for key in (KEY, tmp_path / "own.key", None):
        make().update(ROWS, COLUMNS, DELTAS).save(tmp_path / "sketch", key=key)
        assert state(hr.TurnstileSketch.load(tmp_path / "sketch", key=key)) == state(
            make().update(ROWS, COLUMNS, DELTAS)
        )
        with pytest.raises(CheckpointError, match="was not sealed with this key, or it is damaged"):
            hr.TurnstileSketch.load(tmp_path / "sketch", key=b"another key of somebody")


@pytest.mark.parametrize("position", [{1: 2}, {"x": np.int64(1)}, {"x": float("nan")}, {"x": {1, 2}}])
def test_a_position_that_would_not_come_back_is_refused_and_the_old_file_stays(position, tmp_path):
    make().save(tmp_path / "sketch", key=KEY, position={"line": 1})
    with pytest.raises(CheckpointError):
        make().save(tmp_path / "sketch", key=KEY, position=position)
    assert hr.TurnstileSketch.load(tmp_path / "sketch", key=KEY).position == {"line": 1}
    assert [path.name for path in tmp_path.iterdir()] == ["sketch"]


# What is printed

SECRETS = {"row": 987_654_321, "delta": 123_456.789, "user": "Zoe Secret", "count": 4019}
QUIET = f"""
import numpy as np, hushrank as hr
terms = dict(shape=(40, 25), rank=2, epsilon=1.0, delta=1e-6, on_invalid="skip")
n = {SECRETS["count"]}
rows = np.where(np.arange(n) % 2, {SECRETS["row"]}, 3)
for changes in (dict(), dict(unit="row"), dict(kind="full"), dict(pan_private=True), dict(unit="user")):
    users = dict(users=["{SECRETS["user"]}"] * n) if changes == dict(unit="user") else dict()
    sketch = hr.TurnstileSketch(**terms, **changes)
    sketch.update(rows, np.zeros(n, int), np.where(np.arange(n) % 3, np.nan, {SECRETS["delta"]}), **users)
    shard = sketch.new_shard()
    sketch.merge(shard).save("sketch", key=bytes(32))
    hr.TurnstileSketch.load("sketch", key=bytes(32)).factorize().save("model")
"""


def test_nothing_is_printed_unasked(tmp_path):
    done = subprocess.run([sys.executable, "-c", QUIET], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_errors_show_nothing_of_the_data(caplog):
    row, delta, user = SECRETS["row"], SECRETS["delta"], SECRETS["user"]
    plain, counted, narrow = make(), make(unit="user"), make(integers="int32", kind="full", clip="none")
    counted.update([0], [0], [1.0], users=[user])
    shard = counted.new_shard().update([0], [0], [1.0], users=[user])
    calls = [
        lambda: plain.update([row], [0], [delta]),
        lambda: plain.update([0], [0], [np.nan]),
        lambda: plain.update([0], [0], [user]),
        lambda: plain.update([row + 0.5], [0], [delta]),
        lambda: plain.update_rows([row], np.full((1, 25), delta)),
        lambda: plain.update_rows([0], np.full((1, 24), delta)),
        lambda: plain.update([0], [0], [delta], users=[user]),
        lambda: counted.update([row], [0], [delta], users=[user]),
        lambda: counted.update([0], [0], [delta], users=[user, user]),
        lambda: counted.update([0], [0], [delta], users=[(user,)]),
        lambda: counted.merge(shard),
        lambda: narrow.update([0], [0], [1e15 * delta]),
    ]
    with caplog.at_level(logging.DEBUG):
        for call in calls:
            with pytest.raises(InvalidParameter) as refusal:
                call()
            error, told = refusal.value, []
            while error is not None:
                told.append(str(error))
                error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
            assert not any(str(secret) in text for secret in (row, int(delta), "Secret") for text in told), told
    assert caplog.records == []
