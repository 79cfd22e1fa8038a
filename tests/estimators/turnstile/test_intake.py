"""The way into a state: what is refused leaves no trace, what is left out is left out alone, batches are no borders."""

import logging

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse

from hushrank.data.updates.reading import read_updates
from hushrank.data.updates.source import UpdateChunk
from hushrank.estimators.turnstile.batches import Rounding
from hushrank.estimators.turnstile.intake import LARGEST_UPDATE, Intake
from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.estimators.turnstile.state import SketchState
from hushrank.exceptions import InvalidParameter

SHAPE = (30, 20)
RNG = np.random.default_rng(8)
ROWS, COLUMNS, DELTAS = RNG.integers(0, 30, 200), RNG.integers(0, 20, 200), RNG.normal(size=200)
USERS = [f"user {i}" for i in RNG.integers(0, 9, 200)]


def make_intake(*, unit="entry", skips=False, integers="int64", **changes):
    terms = {"shape": SHAPE, "rank": 2, "epsilon": 1.0, "delta": 1e-6, "unit": unit, "integers": integers}
    planner = TurnstilePlanner(**{**terms, **changes})
    plan = planner._plan(planner._check_parameters(), {})
    state = SketchState(plan.layout, bytes(32), np.dtype(integers))
    counts = planner._counts_users
    return Intake(plan.lattice, state, SHAPE, clip=planner._clip, counts_users=counts, skips=skips)


def updates(rows=ROWS, columns=COLUMNS, deltas=DELTAS, users=None):
    needs_users = users is not None
    return read_updates(rows, columns, deltas, users, shape=SHAPE, owner="test", needs_users=needs_users)


def content(intake):
    """All that an intake holds, as something that can be compared."""
    held = [array.tobytes() for array in intake.state.arrays]
    if intake.totals is None:
        return held
    ids, spent = intake.totals.content()
    return held, {user: count for user, count in zip(ids.to_pylist(), spent.tolist(), strict=True) if count}


def after(*sources, **terms):
    intake = make_intake(**terms)
    for source in sources:
        intake.add_all(source)
    return content(intake)


# Batches

WAYS = {
    "vectors": lambda: updates(),
    "lists": lambda: updates(ROWS.tolist(), COLUMNS.tolist(), DELTAS.tolist()),
    "a table": lambda: updates(pa.table({"delta": DELTAS, "row": ROWS, "column": COLUMNS}), None, None),
    "a matrix": lambda: updates(scipy.sparse.coo_array((DELTAS, (ROWS, COLUMNS)), SHAPE), None, None),
    "a stream": lambda: updates(
        iter([(ROWS[k : k + 7], COLUMNS[k : k + 7], DELTAS[k : k + 7]) for k in range(0, 200, 7)]), None, None
    ),
}


@pytest.mark.parametrize("most", [1, 3, 199, 10**6])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_and_every_batch_gives_the_same_bits(way, most):
    intake = make_intake()
    intake.add_all(WAYS[way](), most)
    assert content(intake) == after(updates())


@pytest.mark.parametrize("most", [1, 3, 64])
def test_users_are_limited_over_all_batches(most):
    intake, whole = make_intake(unit="user"), make_intake(unit="user")
    intake.add_all(updates(users=USERS), most)
    whole.add_all(updates(users=USERS))
    assert content(intake) == content(whole)
    assert len(intake.totals) == 9 and set(intake.totals.content()[1]) == {intake.totals._bound}  # all are at it


def test_updates_are_clipped_one_by_one_and_to_the_clip():
    single = make_intake(kind="full")
    units = round(single._rounding.per_unit)  # the bound is 1
    single.add_all(updates([0, 1, 1], [0, 0, 0], [5.0, 0.75, 0.75]))
    assert single.state.arrays[0][:2, 0].tolist() == [units, 2 * round(0.75 * units)]
    half = make_intake(kind="full", clip=0.5)
    half.add_all(updates([0, 1], [0, 0], [5.0, -5.0]))
    assert half.state.arrays[0][:2, 0].tolist() == [round(units / 2), -round(units / 2)]
    free = make_intake(kind="full", unit="frobenius")
    assert free._rounding == Rounding(free._rounding.per_unit, LARGEST_UPDATE)
    free.add_all(updates([0], [0], [100.0]))
    assert free.state.arrays[0][0, 0] == round(100 * free._rounding.per_unit)


# Refusals: one line, and nothing was added

BAD = {
    "a row below": ([-1], [0], [1.0], "1 others"),
    "a row beyond": ([30], [0], [1.0], "1 others"),
    "a column beyond": ([0, 0], [19, 20], [1.0, 1.0], "1 others"),
    "no column": ([0], [None], [1.0], "1 others"),
    "beyond int64": (np.array([2**63], np.uint64), [0], [1.0], "1 others"),
    "NaN": ([0, 1], [0, 0], [1.0, np.nan], "1 that are not"),
    "infinite": ([0, 1], [0, 0], [np.inf, -np.inf], "2 that are not"),
    "both": ([0, 99], [0, 0], [np.nan, np.nan], "1 others"),
}


@pytest.mark.parametrize("most", [1, 3, 10**6])
@pytest.mark.parametrize("bad", BAD)
def test_an_invalid_update_refuses_all_of_them(bad, most):
    rows, columns, deltas, got = BAD[bad]
    intake = make_intake()
    intake.add_all(updates())
    before = content(intake)
    good = (ROWS.tolist(), COLUMNS.tolist(), DELTAS.tolist())
    mixed = [own + list(more) + own for own, more in zip(good, (rows, columns, deltas), strict=True)]
    with pytest.raises(InvalidParameter, match=r"nothing was added; got '\d+ (others|that are not)'\.$") as refusal:
        intake.add_all(updates(*mixed), most)
    assert most < len(mixed[0]) or refusal.value.got == got  # of the first bad batch
    assert "\n" not in str(refusal.value)
    assert content(intake) == before


@pytest.mark.parametrize("bad", BAD)
def test_where_they_are_skipped_the_others_are_added(bad, caplog):
    rows, columns, deltas, _ = BAD[bad]
    intake = make_intake(skips=True)
    with caplog.at_level(logging.DEBUG):
        intake.add_all(updates())
        assert caplog.records == []
        intake.add_all(updates(rows, columns, deltas))
    given = [(i, j, d) for i, j, d in zip(rows, columns, deltas, strict=True) if j is not None and np.isfinite(d)]
    kept = [(i, j, d) for i, j, d in given if 0 <= i < 30 and 0 <= j < 20]
    kept = [np.array([one[k] for one in kept], kind) for k, kind in enumerate((np.int64, np.int64, float))]
    assert content(intake) == after(updates(), updates(*kept))
    [record] = caplog.records
    assert record.levelno == logging.INFO and record.getMessage().startswith("Not private: ")


def test_blocks_of_an_iterator_before_a_bad_one_stay():
    """They cannot be read twice, and `update` says so."""
    blocks = [(ROWS, COLUMNS, DELTAS), ([0], [20], [1.0]), (ROWS, COLUMNS, DELTAS)]
    intake, again = make_intake(), make_intake()
    for source, sink in ((iter(blocks), intake), (lambda: iter(blocks), again)):
        with pytest.raises(InvalidParameter, match="rows of TurnstileSketch"):
            sink.add_all(updates(source, None, None))
    assert content(intake) == after(updates())
    assert content(again) == after()  # a function is asked twice


def test_an_overflow_refuses_the_batch_and_restores_the_state():
    intake = make_intake(integers="int32", kind="full")
    units = round(intake._rounding.per_unit)
    intake.state.arrays[0][3, 4] = 2**31 - 1 - 2 * units
    intake.add_all(updates([3], [4], [1.0]))
    before = content(intake)
    with pytest.raises(InvalidParameter, match="fit the int32 of the state; this batch was not added; got 'an overf"):
        intake.add_all(updates([0, 3, 3, 9], [0, 4, 4, 9], [1.0, 1.0, 1.0, 1.0]))
    assert content(intake) == before
    intake.add_all(updates([3, 3], [4, 4], [1.0, -1.0]))  # up to the largest integer and back
    assert content(intake) == before


def test_a_batch_that_overflows_is_not_booked_on_its_users():
    intake = make_intake(unit="user", kind="full")
    intake.add_all(updates([0], [0], [0.5], ["ann"]))
    intake.state.arrays[0][1, 1] = 2**63 - 1
    before = content(intake)
    with pytest.raises(InvalidParameter, match="int64 of the state"):
        intake.add_all(updates([2, 1], [2, 1], [0.5, 0.5], ["ann", "bob"]))
    assert content(intake) == before


# Users


def test_users_are_given_where_they_are_counted_and_nowhere_else():
    """A chunk without users once passed by the counters."""
    own = (np.zeros(3, np.int64), np.zeros(3, np.int64), np.ones(3))
    counted, plain = make_intake(unit="user"), make_intake()
    wrong = [
        (counted, None, "None"),
        (counted, pa.array(["a", "", "b"]), "'string'"),
        (counted, pa.array([1.0, 2.0, 3.0]), "'double'"),
        (plain, pa.array(["a", "b", "c"], pa.large_string()), "'ids'"),
    ]
    for intake, users, got in wrong:
        with pytest.raises(InvalidParameter, match=f"^users of TurnstileSketch must be .*; got {got}"):
            intake.add(UpdateChunk(*own, users))
        assert not any(array.any() for array in intake.state.arrays)


@pytest.mark.parametrize("most", [1, 10])
def test_nobody_is_refused_or_left_out(most):
    users = ["ann", "", "  ", None, "bob"]
    source = updates([0, 1, 2, 3, 4], [0] * 5, [0.5] * 5, users)
    strict, loose = make_intake(unit="user"), make_intake(unit="user", skips=True)
    with pytest.raises(InvalidParameter, match="and a user for each; nothing was added; got"):
        strict.add_all(source, most)
    assert content(strict) == content(make_intake(unit="user"))
    loose.add_all(source, most)
    assert content(loose) == after(updates([0, 4], [0, 0], [0.5, 0.5], ["ann", "bob"]), unit="user")


def test_an_id_of_another_type_stops_nobody():
    """The type of a list depends on every id in it: integers, texts and both are one kind of ids here."""
    intake = make_intake(unit="user", skips=True)
    for users in ([7, 8], ["7", "ann"], [7, "ann"], [None, None], [2**63 + 5, 7], np.array([7, 9], np.uint64)):
        intake.add_all(updates([0, 1], [0, 1], [0.125, 0.125], users))
    _, counts = content(intake)
    eighths = {user: round(8 * count / intake.totals._bound) for user, count in counts.items()}
    assert eighths == {"7": 5, "8": 1, "ann": 2, str(2**63 + 5): 1, "9": 1}


# Rows


def test_rows_are_shortened_as_wholes_or_entry_by_entry():
    X = np.zeros((3, 20))
    X[0, :4], X[1, 5], X[2, :2] = 3.0, 0.5, (0.6, -0.8)
    rows = np.array([4, 4, 29])
    whole, single = make_intake(unit="row", kind="full"), make_intake(kind="full")
    whole.add_rows(rows, X, None, as_wholes=True)
    single.add_rows(rows, X, None, as_wholes=False)
    units = round(whole._rounding.per_unit)
    found = whole.state.arrays[0]
    assert found[4, :6].tolist() == [units // 2] * 4 + [0, round(units / 2)]
    assert np.sum(found[29].astype(float) ** 2) <= units**2 and found[29, 1] == pytest.approx(-0.8 * units, abs=1)
    assert single.state.arrays[0][4, :6].tolist() == [round(single._rounding.per_unit)] * 4 + [0, round(units / 2)]


@pytest.mark.parametrize("n_rows", [5, 3000])
@pytest.mark.parametrize("bad", ["outside", "not finite", "nobody"])
def test_a_bad_row_refuses_all_rows(bad, n_rows):
    """Also where the rows before it are in earlier blocks."""
    unit = "user" if bad == "nobody" else "row"
    rows, X, users = np.zeros(n_rows, np.int64), np.full((n_rows, 20), 0.01), pa.array(["ann"] * n_rows)
    if bad == "outside":
        rows[-1] = 30
    elif bad == "not finite":
        X[-1, 3] = np.inf
    else:
        users = pa.array(["ann"] * (n_rows - 1) + [None], pa.large_string())
    given = users if unit == "user" else None
    strict, loose, fewer = make_intake(unit=unit), make_intake(unit=unit, skips=True), make_intake(unit=unit)
    with pytest.raises(InvalidParameter, match="nothing was added; got '1 "):
        strict.add_rows(rows, X, given, as_wholes=unit == "row")
    assert not any(array.any() for array in strict.state.arrays)
    loose.add_rows(rows, X, given, as_wholes=unit == "row")
    fewer.add_rows(rows[:-1], X[:-1], None if given is None else given[:-1], as_wholes=unit == "row")
    assert content(loose) == content(fewer) and any(array.any() for array in fewer.state.arrays)


def test_rows_of_another_form_are_refused():
    for X in (np.zeros((2, 19)), np.zeros((3, 20)), iter([np.zeros((2, 20))])):
        with pytest.raises(InvalidParameter, match="X of TurnstileSketch must be 2 rows of 20 columns, one for each"):
            make_intake().add_rows(np.array([0, 1]), X, None, as_wholes=True)
