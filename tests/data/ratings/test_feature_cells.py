"""Columns of objects: one type for all cells, the same in every order, and nothing that crashes Arrow."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.data.ratings.feature_cells import cells_to_arrow

TEXTS, LISTS = pa.large_string(), pa.large_list(pa.large_string())


@pytest.mark.parametrize(
    ("cells", "dtype", "expected"),
    [
        ([], pa.null(), []),
        ([None, None], pa.null(), [None, None]),
        (["a", None, np.str_("b")], TEXTS, ["a", None, "b"]),
        ([1, None, np.int8(-3)], pa.int64(), [1, None, -3]),
        ([2**64 - 1, 1], pa.uint64(), [2**64 - 1, 1]),
        ([2**70, 1], pa.float64(), [2.0**70, 1.0]),
        ([1, True], pa.float64(), [1.0, 1.0]),
        ([True, np.bool_(False), None], pa.float64(), [1.0, 0.0, None]),
        ([1, np.float32(2.5), Decimal("0.5")], pa.float64(), [1.0, 2.5, 0.5]),
        ([["a"], None, ("b", "c"), {"d"}], LISTS, [["a"], None, ["b", "c"], ["d"]]),
        ([np.array(["e", "f"]), np.array(["g"], object), []], LISTS, [["e", "f"], ["g"], []]),
        ([["a", None]], LISTS, [["a", None]]),
    ],
)  # fmt: skip
def test_cells_have_the_type_of_all_of_them(cells, dtype, expected):
    array = cells_to_arrow(cells)
    assert array.type == dtype and array.to_pylist() == expected


ODD = [
    1 + 2j, b"x", object(), int, datetime.date(2020, 1, 1), np.datetime64("2020"), {"a": 1}, [1], [["a"]], [b"a"],
    np.array([["a"]]), np.array([1.5]), range(3),
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD, ids=lambda value: type(value).__name__)
def test_other_cells_are_refused_alone_and_beside_others(odd):
    for others in ([], ["a"], [1], [np.int8(3)], [2.5], [["a"]]):
        for cells in ([odd, *others], [*others, odd], [None, *others, odd]):
            with pytest.raises(TypeError):
                cells_to_arrow(cells)


@pytest.mark.parametrize("cells", [["a", 1], ["a", ["a"]], [1, ["a"]], [1.5, "1.5"], [True, "a"]])
def test_cells_of_several_types_are_refused(cells):
    for order in (cells, cells[::-1]):
        with pytest.raises(TypeError):
            cells_to_arrow(order)


def test_integers_beyond_floats_and_text_that_is_none_are_refused():
    with pytest.raises(OverflowError):
        cells_to_arrow([10**400])
    with pytest.raises(UnicodeEncodeError):
        cells_to_arrow(["\ud800"])


@given(st.lists(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False))), st.randoms())
def test_numbers_do_not_depend_on_their_order(cells, chance):
    order = list(range(len(cells)))
    chance.shuffle(order)
    array, shuffled = cells_to_arrow(cells), cells_to_arrow([cells[k] for k in order])
    assert shuffled.type == array.type and shuffled.to_pylist() == [array[k].as_py() for k in order]
