"""Cells and arrays become numbers, whatever they hold."""

import numpy as np
import pytest

from hushrank.data.numbers import convert, to_complex, to_number
from hushrank.data.rows.arrays import read_array
from hushrank.exceptions import InvalidParameter


def test_signaling_entries_are_converted_in_silence():
    signaling = np.array([[0x7F800001, 0x3F800000]], np.uint32).view(np.float32)
    for dtype in (np.float64, np.complex128):
        converted = convert(signaling, dtype)
        assert converted.dtype == dtype and np.isnan(converted[0, 0]) and converted[0, 1] == 1


def test_cells_become_numbers_or_nan():
    for cell, number in ((3, 3.0), ("3.5", 3.5), (True, 1.0), (np.float32(0.5), 0.5)):
        assert to_number(cell) == to_complex(cell) == number
        assert isinstance(to_number(cell), float) and isinstance(to_complex(cell), complex)
    for cell in (None, "oops", 10**400, [1.0], object()):
        assert np.isnan(to_number(cell)) and np.isnan(to_complex(cell))
    for cell in (2j, 1 + 2j, np.complex128(2j), np.complex64(2j)):
        assert np.isnan(to_number(cell)) and to_complex(cell) == cell
    for cell in (2 + 0j, np.complex128(2), np.complex64(2)):
        assert to_number(cell) == to_complex(cell) == 2.0
    assert to_complex("1+2j") == 1 + 2j


def test_extended_precision_is_refused():
    if np.dtype(np.longdouble).itemsize > 8:
        for dtype, name in ((np.longdouble, "float128"), (np.clongdouble, "complex256")):
            with pytest.raises(InvalidParameter, match=f"must be numbers of at most double precision; got '{name}'"):
                read_array(np.ones((1, 1), dtype), "PCA")
