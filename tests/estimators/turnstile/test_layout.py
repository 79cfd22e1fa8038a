"""Layouts: which arrays every kind has, how far a unit of privacy moves them, and that real operators move them so."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.estimators.turnstile.layout import (
    KINDS,
    MOST_WIDTH,
    OPERATORS,
    SMALLEST_GAIN,
    THREE,
    build_layout,
    default_sizes,
)
from hushrank.estimators.turnstile.normal_columns import NormalColumns
from hushrank.estimators.turnstile.state import SketchState
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Unit
from hushrank.privacy.mechanisms.sketch import FIXED, SketchPart
from hushrank.privacy.noise.sketch_draws import ROUNDING, fresh_key, normal_matrix
from hushrank.privacy.sketched import Shift

SHAPE, SIZES, PER_COLUMN = (30, 20), (6, 12), 4
L1, L2 = (Unit.ENTRY, Unit.USER), (Unit.ROW, Unit.RANK1, Unit.FROBENIUS)
SIGNED = ("sparse_sign", "srht")
TWO = tuple(kind for kind in KINDS if kind not in (*THREE, "full"))


def layout(kind="two_sketch", operator="sparse_sign", unit=Unit.ENTRY, shape=SHAPE, sizes=SIZES, per_column=PER_COLUMN):
    return build_layout(shape, kind, operator, per_column, sizes, unit)


def parts(*arguments, **options):
    return [array.part for array in layout(*arguments, **options).arrays]


# Arrays


@pytest.mark.parametrize("operator", OPERATORS)
def test_kinds_have_their_arrays(operator):
    def described(kind):
        return [(a.name, a.shape, [(o.label, o.n_inputs, o.width) for o in a.operators])
                for a in layout(kind, operator).arrays]  # fmt: skip

    columns = ("columns", (30, 6), [("columns", 20, 6)])
    for kind in TWO:
        assert described(kind) == [columns, ("rows", (20, 12), [("rows", 30, 12)])]
    core = ("core", (12, 12), [("core rows", 30, 12), ("core columns", 20, 12)])
    for kind in THREE:
        assert described(kind) == [columns, ("rows", (20, 6), [("rows", 30, 6)]), core]
    assert described("full") == [("matrix", SHAPE, [])]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_the_memory_are_those_of_the_state(kind, operator):
    chosen = layout(kind, operator)
    state = SketchState(chosen, fresh_key(), np.int64)
    assert chosen.n_cells == sum(array.size for array in state.arrays)
    kept = [one._columns.nbytes for one in state._operators.values() if isinstance(one, NormalColumns)]
    assert chosen.stored_bytes == sum(kept)
    assert (chosen.stored_bytes > 0) == (operator == "gaussian" and kind != "full")


@pytest.mark.parametrize(
    ("shape", "rank", "kind", "expected"),
    [
        ((10**6, 10**5), 5, "two_sketch", (25, 50)),
        ((10**6, 10**5), 5, "figure3", (25, 50)),
        ((10**6, 10**5), 100, "two_sketch", (400, 800)),
        ((10**6, 10**5), 5, "three_sketch", (25, 100)),
        ((30, 10), 5, "two_sketch", (10, 30)),
        ((10, 30), 5, "two_sketch", (25, 10)),
        ((10, 30), 5, "figure1", (10, 100)),
    ],
)
def test_default_sizes(shape, rank, kind, expected):
    assert default_sizes(shape, rank, kind) == expected


# Laws: Table 1 of docs/privacy/turnstile.md


@pytest.mark.parametrize("unit", Unit)
def test_a_matrix_that_is_kept_moves_by_the_change_itself(unit):
    (part,) = parts("full", unit=unit)
    assert part == SketchPart(1, 1 if unit in L1 else None) and part.shifts == FIXED


@pytest.mark.parametrize("unit", L1)
@pytest.mark.parametrize("kind", KINDS[:-1])
def test_signs_move_by_a_certain_norm_where_magnitudes_are_bounded(kind, unit):
    gains = {"sparse_sign": (4, 4, 16), "srht": (6, 6 if kind in THREE else 12, 144)}
    for operator, (columns, rows, core) in gains.items():
        expected = [columns, rows, core][: 3 if kind in THREE else 2]
        found = parts(kind, operator, unit)
        assert [part.squared_gain for part in found] == [part.l1_gain for part in found] == expected
        assert all(part.shifts == FIXED for part in found)


@pytest.mark.parametrize("operator", SIGNED)
@pytest.mark.parametrize("unit", L2)
def test_signs_have_a_law_for_other_units(operator, unit):
    law = Shift("signs", 1.0, (1 if operator == "srht" else 4,))
    for kind in TWO:
        columns, rows = parts(kind, operator, unit)
        assert columns.shifts == (law,)
        assert rows.shifts == (FIXED if unit is Unit.ROW else (law,))
        assert columns.l1_gain is rows.l1_gain is None
        assert columns.squared_gain == (6 if operator == "srht" else 4)
    for kind in THREE:
        if unit is not Unit.ROW:
            with pytest.raises(InvalidParameter, match=r"^operator of TurnstileSketch must be 'gaussian' for a core"):
                layout(kind, operator, unit)
            continue
        columns, rows, core = parts(kind, operator, unit)
        assert (columns.shifts, rows.shifts, core.shifts) == ((law,), FIXED, (law,))
        assert core.squared_gain == (144 if operator == "srht" else 16) and core.l1_gain is None


@pytest.mark.parametrize("unit", Unit)
@pytest.mark.parametrize("kind", KINDS[:-1])
def test_gaussian_columns_have_one_law_for_every_unit(kind, unit):
    for array in layout(kind, "gaussian", unit).arrays:
        gains = [one.gain for one in array.operators]
        (shift,) = array.part.shifts
        etas = [ROUNDING * math.sqrt(one.n_inputs * one.width) / one.gain for one in array.operators]
        assert array.part.squared_gain == math.prod(gains) ** 2 and array.part.l1_gain is None
        assert shift.law == ("product" if array.name == "core" else "chi_square")
        assert shift.sizes == tuple(one.width for one in array.operators)
        assert (1 + max(etas)) ** (2 * len(etas)) <= shift.weight * (1 + 1e-12) < 1.01


# Gains and rounding

counts, widths = st.integers(1, 10**7), st.integers(1, MOST_WIDTH)


@given(counts, counts, widths, widths, st.sampled_from(KINDS[:-1]))
def test_gains_are_powers_of_two_that_make_rounding_small(n_rows, n_columns, t, v, kind):
    chosen = layout(kind, "gaussian", Unit.FROBENIUS, (n_rows, n_columns), (t, max(t, v)))
    first, second = (array.operators[0].gain for array in chosen.arrays[:2])
    assert first == second  # one noise fits both
    for array in chosen.arrays:
        for one in array.operators:
            assert one.gain >= SMALLEST_GAIN and one.gain & (one.gain - 1) == 0
            eta = ROUNDING * math.sqrt(one.n_inputs * one.width) / one.gain
            assert eta <= 2.0 ** (-9 if array.name == "core" else -10)
        assert array.part.coarser >= 0


@pytest.mark.parametrize(("n_inputs", "width"), [(5000, 40), (300, 300), (7, 1)])
def test_what_rounding_adds_to_an_operator_is_within_the_law(n_inputs, width):
    """Against the same normal numbers to ten more binary digits: the norm of the difference is paid for."""
    chosen = layout("two_sketch", "gaussian", Unit.FROBENIUS, (8, n_inputs), (width, 1))
    (one,), key = chosen.arrays[0].operators, fresh_key()
    rounded = normal_matrix(key, "columns", n_inputs, width, one.gain / math.sqrt(width))
    exact = normal_matrix(key, "columns", n_inputs, width, 1024 * one.gain / math.sqrt(width)) / 1024
    eta = math.sqrt(chosen.arrays[0].part.shifts[0].weight) - 1.0
    assert 0.0 < np.linalg.norm(rounded - exact, 2) <= eta * one.gain


@pytest.mark.parametrize("operator", SIGNED)
def test_noise_of_all_arrays_is_alike_relative_to_their_columns(operator):
    """To a factor of two, and twice that for the core."""
    for kind, sizes in ((kind, sizes) for kind in KINDS[:-1] for sizes in ((5, 5), (6, 12), (20, 150), (4, 64))):
        found = parts(kind, operator, Unit.ENTRY, sizes=sizes)
        relative = [2.0**part.coarser / math.sqrt(part.squared_gain) for part in found]
        assert relative[1] / relative[0] == pytest.approx(1.0, rel=0.42)
        if kind in THREE:
            assert relative[2] / relative[0] == pytest.approx(2.0, rel=0.42)


# Real operators move arrays as their layout says


@pytest.mark.parametrize("per_column", [1, 3, 4, 6])
@pytest.mark.parametrize("operator", SIGNED)
@pytest.mark.parametrize("kind", KINDS)
def test_one_unit_in_one_entry_moves_arrays_by_exactly_their_gains(kind, operator, per_column):
    chosen = layout(kind, operator, Unit.ENTRY, per_column=per_column)
    state = SketchState(chosen, fresh_key(), np.int64)
    for row, column in ((0, 0), (29, 19), (7, 3)):
        update = np.array([row]), np.array([column]), np.array([1])
        state.add(*update)
        for array, part in zip(state.arrays, (array.part for array in chosen.arrays), strict=True):
            assert (np.sum(array**2), np.abs(array).sum()) == (part.squared_gain, part.l1_gain)
        state.add(*update[:2], -update[2])


@pytest.mark.parametrize("operator", SIGNED)
def test_a_row_moves_the_other_side_by_exactly_its_norm(operator):
    chosen = layout("two_sketch", operator, Unit.ROW)
    state = SketchState(chosen, fresh_key(), np.int64)
    row = np.random.default_rng(0).integers(-9, 10, 20)
    state.add(np.full(20, 5), np.arange(20), row)
    assert np.sum(state.arrays[1] ** 2) == chosen.arrays[1].part.squared_gain * np.sum(row**2)
