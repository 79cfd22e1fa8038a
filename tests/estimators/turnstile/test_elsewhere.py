"""Updates that workers add up: the state of one machine, totals of users that hold across workers, all or nothing."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

import hushrank as hr
from cluster_support import write_parts
from hushrank.engine.dask import DaskEngine
from hushrank.engine.local import LocalEngine
from hushrank.estimators.turnstile import elsewhere
from hushrank.estimators.turnstile.intake import STEEP_BITS
from hushrank.exceptions import HushrankError, InvalidParameter
from seeded_fits import updates

TERMS = {"shape": (48, 36), "rank": 3, "epsilon": 4.0, "delta": 1e-6, "random_state": 3}


@pytest.fixture
def engine(cluster):
    return DaskEngine(cluster, piece_rows=100, place_rows=100)


@pytest.fixture
def table():
    rows, columns, deltas = updates()
    return pa.table({"row": rows, "column": columns, "delta": deltas, "user": rows * 7 % 31})


@pytest.fixture
def folder(tmp_path, table):
    return write_parts(tmp_path / "updates", table)


def arrays(sketch):
    return sketch._held.intake.state.arrays


def assert_same(one, other):
    assert all(np.array_equal(a, b) for a, b in zip(arrays(one), arrays(other), strict=True))
    totals = [sketch._held.intake.totals for sketch in (one, other)]
    if totals[0] is not None:
        found = [
            dict(zip(ids.to_pylist(), spent.tolist(), strict=True)) for ids, spent in (t.content() for t in totals)
        ]
        assert found[0] == found[1]


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"unit": "user", "bound": 8.0},
        {"unit": "user", "user_totals": "promised"},
        {"kind": "three_sketch", "operator": "srht", "sketch_sizes": (12, 24)},
        {"integers": "int32", "kind": "full"},
        {"unit": "frobenius"},
    ],
    ids=str,
)
@pytest.mark.parametrize("state_bytes", [0, 2**26])
def test_the_state_has_the_bits_of_one_machine(engine, folder, parameters, state_bytes, monkeypatch):
    monkeypatch.setattr(elsewhere, "SMALL_STATE_BYTES", state_bytes)
    here, there = (hr.TurnstileSketch(**TERMS, **parameters) for _ in range(2))
    for _ in range(2):  # users begin the second call with what they have left
        here.update(folder)
        there.update(folder, engine=engine)
    assert_same(here, there)
    assert np.array_equal(here.factorize().U, there.factorize().U)


def test_a_dask_frame_is_read_by_workers(engine, table):
    import dask.dataframe as dd

    frame = dd.from_pandas(table.to_pandas(), npartitions=4)
    for parameters in ({}, {"unit": "user"}):
        here = hr.TurnstileSketch(**TERMS, **parameters).update(table)
        assert_same(here, hr.TurnstileSketch(**TERMS, **parameters).update(frame, engine=engine))
        assert_same(here, hr.TurnstileSketch(**TERMS, **parameters).update(frame))


def test_what_only_this_process_has_it_adds_itself(engine, table):
    here = hr.TurnstileSketch(**TERMS).update(table)
    for given in (engine, LocalEngine(), None):
        assert_same(here, hr.TurnstileSketch(**TERMS).update(*updates(), engine=given))


def test_a_user_with_ten_thousand_updates_in_many_files_counts_once(engine, tmp_path):
    rng = np.random.default_rng(1)
    users = np.where(rng.random(10_000) < 0.9, 7, rng.integers(0, 500, 10_000))
    data = {"row": rng.integers(0, 48, 10_000), "column": rng.integers(0, 36, 10_000), "user": users}
    folder = write_parts(tmp_path / "many", pa.table({**data, "delta": rng.standard_normal(10_000)}), 7, 300)
    here, there = (hr.TurnstileSketch(**TERMS, unit="user") for _ in range(2))
    assert_same(here.update(folder), there.update(folder, engine=engine))
    ids, spent = there._held.intake.totals.content()
    assert spent.max() == there._held.plan.lattice.units and len(ids) == len(np.unique(users))


# All or nothing.


def add_invalid(folder, **cells):
    row = {"row": 0, "column": 0, "delta": 1.0, "user": 1, **cells}
    pq.write_table(pa.Table.from_pandas(pd.DataFrame([row])), f"{folder}/3.parquet")


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ({"row": 99}, "rows of TurnstileSketch must be integers from 0 to 47.*nothing was added; got '1 others'"),
        ({"delta": np.inf}, "deltas of TurnstileSketch must be finite; nothing was added"),
    ],
)
@pytest.mark.parametrize("unit", ["entry", "user"])
def test_an_invalid_update_refuses_all(engine, folder, cells, message, unit):
    add_invalid(folder, **cells)
    sketch = hr.TurnstileSketch(**TERMS, unit=unit)
    with pytest.raises(InvalidParameter, match=message):
        sketch.update(folder, engine=engine)
    assert not any(array.any() for array in arrays(sketch))
    skipping = {"on_invalid": "skip", "unit": unit}
    here, there = (hr.TurnstileSketch(**TERMS, **skipping) for _ in range(2))
    assert_same(here.update(folder), there.update(folder, engine=engine))


def test_an_update_of_nobody_refuses_all(engine, folder):
    add_invalid(folder, user=pd.NA)
    sketch = hr.TurnstileSketch(**TERMS, unit="user")
    with pytest.raises(InvalidParameter, match=r"and a user for each; nothing was added; got '1 others'"):
        sketch.update(folder, engine=engine)
    here, there = (hr.TurnstileSketch(**TERMS, unit="user", on_invalid="skip") for _ in range(2))
    assert_same(here.update(folder), there.update(folder, engine=engine))


def test_an_overflow_refuses_all(engine, tmp_path):
    zeros = np.zeros(12_000, int)
    data = pa.table({"row": zeros, "column": zeros, "delta": np.full(12_000, 250.0)})
    folder = write_parts(tmp_path / "large", data, 4, 1000)
    terms = {**TERMS, "kind": "full", "integers": "int32", "clip": 250.0}
    sketch = hr.TurnstileSketch(**terms)
    with pytest.raises(InvalidParameter, match="sums fit the int32 of the state; nothing was added; got 'an overflow'"):
        sketch.update(folder, engine=engine)
    assert not any(array.any() for array in arrays(sketch)) and sketch.update([0], [0], [1.0]) is sketch
    here, there = (hr.TurnstileSketch(**terms, on_invalid="skip") for _ in range(2))
    assert_same(here.update(folder), there.update(folder, engine=engine))


def test_sums_of_int64_that_may_have_wrapped_are_refused():
    sketch = hr.TurnstileSketch(**TERMS).update([0], [0], [1.0])
    intake, before = sketch._held.intake, [array.copy() for array in arrays(sketch)]
    zeros = [np.zeros(array.shape, np.int64) for array in before]
    with pytest.raises(InvalidParameter, match="an overflow"):
        intake.take(zeros, np.array([0, 0, 0, 2 ** (62 - STEEP_BITS)]), [])
    intake.take(zeros, np.array([0, 0, 0, 2 ** (62 - STEEP_BITS) - 1]), [])
    assert all(np.array_equal(a, b) for a, b in zip(arrays(sketch), before, strict=True))


def test_a_pan_private_sketch_has_no_noise_elsewhere_and_is_refused(engine, folder):
    sketch = hr.TurnstileSketch(**TERMS, pan_private=True)
    with pytest.raises(InvalidParameter, match="engine of TurnstileSketch must be None for a pan-private sketch"):
        sketch.update(folder, engine=engine)


def test_what_is_booked_is_what_was_added(cluster, folder):
    """Files that change between two readings, of which the second finds another user."""

    class Changing(DaskEngine):
        def each(self, source, work, state):
            return [(pa.array(["bob"], pa.large_string()), np.array([1]))]

    sketch = hr.TurnstileSketch(**TERMS, unit="user")
    with pytest.raises(HushrankError, match="updates were others when they were read again: nothing was added"):
        sketch.update(folder, engine=Changing(cluster))
    assert not any(array.any() for array in arrays(sketch)) and len(sketch._held.intake.totals) == 0


def test_digests_tell_who_used_how_much_in_any_order():
    def digest(*users, n=1):
        return elsewhere.digest_of(pa.array(users, pa.large_binary()), np.arange(n, n + len(users)))

    assert np.array_equal(digest(b"a", b"\xff"), digest(b"\xff", n=2) + digest(b"a"))
    assert len({int(one[0]) for one in (digest(b"a"), digest(b"b"), digest(b"a", n=2), digest())}) == 4


def test_no_updates_change_nothing(engine, tmp_path, table):
    folder = write_parts(tmp_path / "none", table[:0])
    for unit in ("entry", "user"):
        sketch = hr.TurnstileSketch(**TERMS, unit=unit).update(folder, engine=engine)
        assert not any(array.any() for array in arrays(sketch))


def test_terms_print_nothing():
    sketch = hr.TurnstileSketch(**TERMS).update([0], [0], [1.0])
    held = sketch._held
    terms = elsewhere.IntakeTerms(
        held.plan.lattice, held.plan.layout, held.key, np.dtype(np.int64), (48, 36), 1.0, False, None
    )
    assert "key" not in repr(terms)
