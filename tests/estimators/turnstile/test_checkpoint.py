"""Checkpoints give back what was there, bit for bit: arrays, keys, counters of users, releases and the position."""

import errno
import json
import os
import stat

import numpy as np
import pyarrow as pa
import pytest

import hushrank as hr
from hushrank.archive.seal_keys import load_key
from hushrank.archive.sealed import read_sealed
from hushrank.data.updates.reading import read_updates
from hushrank.estimators.turnstile.checkpoint import describe_sketch, restore_held, restore_parameters
from hushrank.estimators.turnstile.held import hold
from hushrank.exceptions import BudgetExceeded, CheckpointError

TERMS = {"shape": (30, 20), "rank": 2, "epsilon": 1.0, "delta": 1e-6}
KEY = bytes(range(32))
KINDS = {
    "plain": {},
    "core": {"kind": "three_sketch", "sketch_sizes": [8, 12]},
    "Gaussian": {"unit": "frobenius", "bound": 2.5, "clip": 7.0},
    "full": {"kind": "full", "neighbors": "replace"},
    "narrow": {"integers": "int32", "operator": "srht", "on_invalid": "skip"},
    "pan-private": {"pan_private": True},
    "pure": {"delta": 0.0, "kind": "figure3"},
    "seeded": {"random_state": 2**70},
    "promised": {"unit": "user", "user_totals": "promised", "memory": 10**6},
}
ODD_IDS = ["ann", "日本語", "a,b", 'quo"ted', "two\nlines", "\0", "", "7", "-8", str(2**64 - 1), "x" * 5000, "\ud800"]


def content(held):
    totals = held.intake.totals
    counters = None if totals is None else {bytes(cell.as_buffer()): int(count) for cell, count in
                                            zip(*totals.content(), strict=True)}  # fmt: skip
    arrays = [(array.dtype.name, array.tobytes()) for array in held.intake.state.arrays]
    return arrays, counters, held.key, held.shards, held.n_starts, held.n_releases, held.parameters


def round_trip(sketch, position=None):
    """The sketch after a way through JSON, as a file has it."""
    described, arrays = describe_sketch(sketch, sketch._held, position)
    described = json.loads(json.dumps(described))
    copy = hr.TurnstileSketch(**restore_parameters(hr.TurnstileSketch, described, "file"))
    return copy, restore_held(copy, described, {name: array.copy() for name, array in arrays.items()})


@pytest.mark.parametrize("kind", KINDS)
def test_everything_comes_back(kind):
    sketch = hr.TurnstileSketch(**{**TERMS, **KINDS[kind]}).update([1, 2, 29], [3, 4, 19], [0.5, -1.0, 0.25])
    sketch.merge(sketch.new_shard().update([9], [9], [1.0]))
    sketch.factorize()
    position = {"file": "a.csv", "offset": 2**53, "more": [1, None, {"x": 0.5}]}
    copy, held = round_trip(sketch, position)
    assert content(held) == content(sketch._held) and held.n_releases == 1 and len(held.shards) == 2
    assert held.position == position
    given, kept = sketch._parameters(), copy._parameters()
    assert all(kept[name] == (tuple(value) if isinstance(value, list) else value) for name, value in given.items())


@pytest.mark.parametrize("kind", KINDS)
def test_the_stream_goes_on_with_the_same_bits(kind):
    sketch = hr.TurnstileSketch(**{**TERMS, **KINDS[kind]}).update([1, 2], [3, 4], [0.5, -1.0])
    copy, copy._held = round_trip(sketch)
    for one in (sketch, copy):
        one.update([7, 7], [7, 8], [1.0, 1.0])
    assert content(copy._held)[0] == content(sketch._held)[0]


@pytest.mark.parametrize(
    "users",
    [
        [user for user in ODD_IDS if user],
        list(range(-5, 6)),
        np.array([0, 2**63, 2**64 - 1], np.uint64),
        pa.array([b"\xff\xfe", b"\xc3", b"ok"], pa.large_binary()).view(pa.large_string()),  # as a CSV file may have it
    ],
    ids=["texts", "integers", "unsigned", "no Unicode"],
)
def test_counters_come_back_and_go_on(users):
    n = len(users)
    sketch = hr.TurnstileSketch(**TERMS, unit="user")
    sketch.update(range(n), [0] * n, np.linspace(0.1, 0.6, n), users=users)
    copy, copy._held = round_trip(sketch)
    assert content(copy._held) == content(sketch._held) and len(copy._held.intake.totals) == n
    for one in (sketch, copy):
        one.update(range(n), [1] * n, [0.7] * n, users=users)  # more than most have left
    assert content(copy._held) == content(sketch._held)
    assert max(copy._held.intake.totals.content()[1]) == copy._held.plan.lattice.units


def test_no_users_are_no_counters():
    sketch = hr.TurnstileSketch(**TERMS, unit="user").update([], [], [], users=[])
    _, held = round_trip(sketch)
    assert len(held.intake.totals) == 0


def test_a_ledger_stays_behind(tmp_path):
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("data", epsilon=9.0, delta=1e-6, unit="entry", neighbors="add_remove")
        sketch = hr.TurnstileSketch(**TERMS, ledger=account).update([0], [0], [1.0])
        described, _ = describe_sketch(sketch, sketch._held, None)
        assert "ledger" not in described["parameters"] and round_trip(sketch)[0].ledger is None


# What was not written here


def described():
    sketch = hr.TurnstileSketch(**TERMS).update([1], [2], [1.0])
    return describe_sketch(sketch, sketch._held, None)


@pytest.mark.parametrize("kind", ["Factorization", "PrivatePCA", None, ["TurnstileSketch"], {}])
def test_another_class_is_refused(kind):
    content, _ = described()
    with pytest.raises(CheckpointError, match=r"^a\.ck holds a .*, not a TurnstileSketch\.$"):
        restore_parameters(hr.TurnstileSketch, {**content, "class": kind}, "a.ck")


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(more=1),
        lambda content: content.pop("n_releases"),
        lambda content: content.update(format=2),
        lambda content: content.update(parameters=[1]),
        lambda content: content["parameters"].update(new_parameter=1),
    ],
)
def test_another_version_is_refused(change):
    content, _ = described()
    content = {**content, "parameters": dict(content["parameters"])}
    change(content)
    with pytest.raises(CheckpointError, match=r"^a\.ck was written by another version of hushrank, in format \d\.$"):
        restore_parameters(hr.TurnstileSketch, content, "a.ck")


@pytest.mark.parametrize("wrong", [np.zeros((30, 21), np.int64), np.zeros((30, 20), np.int32), np.zeros(600, np.int64)])
def test_arrays_that_are_not_those_of_the_parameters_are_refused(wrong):
    content, arrays = described()
    assert arrays["columns"].shape == (30, 20)
    sketch = hr.TurnstileSketch(**restore_parameters(hr.TurnstileSketch, content, "a.ck"))
    with pytest.raises(CheckpointError, match="the checkpoint has columns of another shape than its parameters say"):
        restore_held(sketch, content, {**arrays, "columns": wrong})


# Files


def test_only_its_owner_reads_a_checkpoint_and_a_failure_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "sketch"
    path.write_bytes(b"old")
    path.chmod(0o644)
    hr.TurnstileSketch(**TERMS).update([1], [2], [1.0]).save(path, key=KEY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    honest = path.read_bytes()

    def fail(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    for name in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, fail)
            with pytest.raises(CheckpointError, match="No space left on device"):
                hr.TurnstileSketch(**TERMS).save(path, key=KEY)
        assert path.read_bytes() == honest and [one.name for one in tmp_path.iterdir()] == ["sketch"]


def test_the_file_of_a_private_state_holds_the_data_and_noise_that_was_there_before(tmp_path):
    sketch = hr.TurnstileSketch(**TERMS, pan_private=True)
    rows, columns, deltas = np.arange(30), np.arange(30) % 20, np.linspace(-1.0, 1.0, 30)
    sketch.save(tmp_path / "first", key=KEY)
    sketch.update(rows, columns, deltas).save(tmp_path / "second", key=KEY)
    exact = hold(sketch, sketch._held.key)  # without noise, under the same key
    exact.intake.add_all(read_updates(rows, columns, deltas, shape=(30, 20), owner="test"))
    first, second = (read_sealed(tmp_path / name, load_key(KEY))[1] for name in ("first", "second"))
    for name, true in zip(("columns", "rows"), exact.intake.state.arrays, strict=True):
        assert first[name].all() and np.array_equal(second[name] - true, first[name])
        # Two looks are not covered: what came between them is seen without noise (docs/privacy/turnstile.md).
        assert np.array_equal(second[name] - first[name], true) and true.any()


def test_a_ledger_counts_what_an_old_checkpoint_does_not_know(tmp_path):
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("data", epsilon=1.6, delta=1e-6, unit="entry", neighbors="add_remove")
        sketch = hr.TurnstileSketch(**TERMS, ledger=account).update([1], [2], [1.0])
        sketch.save(tmp_path / "sketch", key=KEY)
        sketch.factorize()
        old, older = (hr.TurnstileSketch.load(tmp_path / "sketch", key=KEY) for _ in range(2))
        assert old.ledger is None and old._held.n_releases == 0
        old.ledger = older.ledger = account
        old.factorize()
        with pytest.raises(BudgetExceeded):
            older.factorize()
        assert len(account.history()) == 3
