"""Doors of turnstile sketches: copies, forks, threads, merges of copies and strangers' checkpoints."""

import copy
import json
import os
import pickle
import threading
import time

import numpy as np
import pytest

import hushrank as hr
from fork_support import fork, in_child, outcome_of, start_child
from hushrank.archive.seal_keys import load_key
from hushrank.archive.sealed import read_sealed
from hushrank.exceptions import CheckpointError, InvalidParameter, ModelFileError, StateMisuse
from hushrank.privacy.events import Repeated

TERMS = {"shape": (40, 25), "rank": 2, "epsilon": 1.0, "delta": 1e-6}
RNG = np.random.default_rng(3)
ROWS, COLUMNS, DELTAS = RNG.integers(0, 40, 400), RNG.integers(0, 25, 400), RNG.normal(size=400)
KEY = b"a key for tests, of 32 bytes ..."
PATIENCE = 60


def make(**changes):
    return hr.TurnstileSketch(**{**TERMS, **changes})


def filled(**changes):
    return make(**changes).update(ROWS, COLUMNS, DELTAS)


def state(sketch):
    return [array.copy() for array in sketch._held.intake.state.arrays]


def assert_same(one, other):
    assert all(np.array_equal(mine, theirs) for mine, theirs in zip(one, other, strict=True))


def at_once(*works):
    """Results of functions that threads run at the same time; a thread that waits for ever fails the test."""
    results, barrier = [None] * len(works), threading.Barrier(len(works))

    def run(number, work):
        barrier.wait()
        results[number] = work()

    threads = [threading.Thread(target=run, args=item, daemon=True) for item in enumerate(works)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    return results


# Copies


@pytest.mark.parametrize("sketch", [make(), filled(), filled(pan_private=True)], ids=["new", "open", "pan-private"])
@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps, lambda it: copy.deepcopy([it, {1: it}])])
def test_a_sketch_is_never_copied(sketch, duplicate):
    with pytest.raises(StateMisuse, match="a turnstile sketch cannot be copied or pickled: its updates would count tw"):
        duplicate(sketch)


# Forks

USES = {
    "update": lambda one, tmp: one.update([0], [0], [1.0]),
    "update_rows": lambda one, tmp: one.update_rows([0], np.ones((1, 25))),
    "factorize": lambda one, tmp: one.factorize(),
    "save": lambda one, tmp: one.save(tmp / "child", key=KEY),
    "new_shard": lambda one, tmp: one.new_shard(),
    "merge": lambda one, tmp: one.merge(make()),
    "be merged": lambda one, tmp: make().merge(one),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("seed", [None, 7])
def test_a_forked_child_uses_no_sketch_of_its_parent(use, seed, tmp_path):
    new, opened = make(random_state=seed), filled(random_state=seed)
    before = state(opened)
    for sketch in (new, opened):
        outcome = in_child(lambda sketch=sketch: USES[use](sketch, tmp_path))
        assert outcome.startswith("StateMisuse: this turnstile sketch was made before a fork"), outcome
    assert not (tmp_path / "child").exists()
    assert_same(state(opened), before)
    assert opened.factorize().release_ == 1


@pytest.mark.parametrize("use", ["update", "factorize", "merge", "be merged"])
def test_a_child_does_not_wait_for_a_lock_that_was_held_when_it_was_made(use, tmp_path):
    sketch, is_held, is_done = filled(), threading.Event(), threading.Event()

    def blocks():
        yield [0], [0], [1.0]
        is_held.set()
        is_done.wait(PATIENCE)
        yield [0], [0], [1.0]

    thread = threading.Thread(target=sketch.update, args=(blocks(),))
    thread.start()
    try:
        assert is_held.wait(PATIENCE)
        outcome = outcome_of(*start_child(lambda: USES[use](sketch, tmp_path)))
    finally:
        is_done.set()
        thread.join()
    assert outcome.startswith("StateMisuse: this turnstile sketch was made before a fork"), outcome


def test_updates_that_fork_on_their_way_are_released_in_the_parent_alone():
    sketch, parent, report, children = make(), os.getpid(), os.pipe(), []

    def blocks():
        yield ROWS[:9], COLUMNS[:9], DELTAS[:9]
        children.append(fork())
        yield ROWS[9:], COLUMNS[9:], DELTAS[9:]

    try:
        found = sketch.update(blocks()).factorize()
    except StateMisuse:
        os.write(report[1], b"refused")
    finally:
        if os.getpid() != parent:
            os._exit(0)
    os.close(report[1])
    assert outcome_of(children[0], report[0]) == "refused"
    assert found.release_ == 1 and sketch._held.n_releases == 1
    assert_same(state(sketch), state(sketch.new_shard().update(ROWS, COLUMNS, DELTAS)))


# Threads


@pytest.mark.parametrize("changes", [{}, {"unit": "frobenius"}, {"kind": "three_sketch", "sketch_sizes": (8, 12)}])
def test_eight_threads_give_the_bits_of_one(changes):
    whole, shared = filled(**changes, random_state=2), make(**changes, random_state=2)
    parts = np.array_split(np.arange(400), 32)

    def work(number):
        for part in parts[number::8]:
            shared.update(ROWS[part], COLUMNS[part], DELTAS[part])

    at_once(*[lambda number=number: work(number) for number in range(8)])
    assert_same(state(shared), state(whole))


def test_threads_that_count_users_never_exceed_a_bound():
    shared = make(unit="user", kind="full")
    at_once(*[lambda: [shared.update([0], [0], [0.125], users=["ann"]) for _ in range(20)]] * 8)
    assert shared._held.intake.state.arrays[0][0, 0] == shared._held.plan.lattice.units
    assert shared._held.intake.totals.content()[1].tolist() == [shared._held.plan.lattice.units]


def test_threads_that_release_are_counted_and_charged_one_by_one(tmp_path):
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("data", epsilon=30.0, delta=1e-6, unit="entry", neighbors="add_remove")
        sketch = filled(ledger=account)
        found = at_once(*[sketch.factorize] * 6)
        assert sorted(one.release_ for one in found) == [1, 2, 3, 4, 5, 6]
        assert len({one.s.tobytes() + one.levels_.tobytes() for one in found}) == 6
        events = {one.release_: one.privacy_.event for one in found}
        assert events[6] == Repeated(events[1], 6) and len(account.history()) == 7


def test_a_sketch_that_threads_open_is_charged_for_one_start(tmp_path):
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("data", epsilon=30.0, delta=1e-6, unit="entry", neighbors="add_remove")
        sketch = make(pan_private=True, ledger=account)
        at_once(*[lambda: sketch.update([0], [0], [1.0])] * 8)
        assert len(account.history()) == 2 and sketch._held.n_starts == 1


class SlowLock:
    """A lock whose holder dawdles, so that others come in between."""

    def __init__(self):
        self._lock = threading.RLock()

    def __enter__(self):
        self._lock.acquire()
        time.sleep(0.02)

    def __exit__(self, *_):
        self._lock.release()


def test_sketches_that_merge_each_other_do_not_wait_for_each_other():
    mine, theirs = make(random_state=1).update([0], [0], [1.0]), filled(random_state=1)
    mine._lock, theirs._lock = SlowLock(), SlowLock()

    def merge(one, other):
        try:
            return one.merge(other)
        except StateMisuse as error:
            return str(error)

    results = at_once(lambda: merge(mine, theirs), lambda: merge(theirs, mine))
    assert sum(result is mine or result is theirs for result in results) == 1
    assert sum("was merged into another" in str(result) for result in results) == 1


def test_a_checkpoint_is_written_between_updates_and_not_inside_one(tmp_path):
    sketch, paths = make(kind="full"), [tmp_path / f"sketch {k}" for k in range(20)]

    def add():
        for _ in range(60):
            sketch.update([0, 1, 2], [0, 1, 2], [1.0, 1.0, 1.0])

    at_once(add, add, lambda: [sketch.save(path, key=KEY) for path in paths])
    counts = [np.diag(read_sealed(path, load_key(KEY))[1]["matrix"])[:3] for path in paths]
    assert all(len(set(three.tolist())) == 1 for three in counts)


# Copies that come back


def test_no_updates_count_twice(tmp_path):
    sketch = filled()
    sketch.save(tmp_path / "sketch", key=KEY)
    first, second = (hr.TurnstileSketch.load(tmp_path / "sketch", key=KEY) for _ in range(2))
    first.update([0], [0], [1.0])
    shard = sketch.new_shard().update([1], [1], [1.0])
    shard.save(tmp_path / "shard", key=KEY)
    merged = sketch.new_shard().merge(hr.TurnstileSketch.load(tmp_path / "shard", key=KEY))
    before = state(sketch)
    for other in (first, second, sketch):
        with pytest.raises(InvalidParameter, match="other of TurnstileSketch must be"):
            sketch.merge(other)
    assert_same(state(sketch), before)
    sketch.merge(shard)
    for other in (merged, hr.TurnstileSketch.load(tmp_path / "shard", key=KEY)):
        with pytest.raises(InvalidParameter, match="a sketch of other updates; the same ones would count twice"):
            sketch.merge(other)
    with pytest.raises(StateMisuse, match="this TurnstileSketch was merged into another, which has its updates"):
        sketch.merge(shard)


# Strangers' files


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    filled().save(folder / "sketch", key=KEY, position={"line": 7})
    filled().factorize().save(folder / "model")
    return folder


def refused(path, key=KEY):
    with pytest.raises(CheckpointError) as refusal:
        hr.TurnstileSketch.load(path, key=key)
    assert "\n" not in str(refusal.value)


def test_changed_files_are_refused(files, tmp_path):
    honest, path = (files / "sketch").read_bytes(), tmp_path / "changed"
    header = honest.index(b"{")
    places = {*range(header + 40), *RNG.integers(0, len(honest), 300).tolist(), *range(len(honest) - 40, len(honest))}
    for place in sorted(places):
        data = bytearray(honest)
        data[place] ^= 1 << int(RNG.integers(8))
        path.write_bytes(data)
        refused(path)
    for data in (
        b"",
        honest[:1],
        honest[:-1],
        honest[: len(honest) // 2],
        honest + b"\0",
        honest * 2,
        os.urandom(9999),
    ):
        path.write_bytes(data)
        refused(path)
    path.write_bytes(honest.replace(b'"n_releases": 0', b'"n_releases": 9'))
    refused(path)


def test_files_of_others_are_refused(files, tmp_path):
    refused(files / "sketch", key=b"another key, that of somebody else")
    os.mkfifo(tmp_path / "pipe")
    for path in (files / "model", tmp_path, tmp_path / "nothing", tmp_path / "pipe"):
        refused(path)
    for data in (b"\x80\x04.", b"PK\x03\x04", json.dumps({"class": "TurnstileSketch"}).encode()):
        (tmp_path / "file").write_bytes(data)
        refused(tmp_path / "file")


def test_a_checkpoint_is_no_model(files):
    for load in (hr.load, hr.Factorization.load):
        with pytest.raises(ModelFileError):
            load(files / "sketch")
    assert hr.load(files / "model").release_ == 1
