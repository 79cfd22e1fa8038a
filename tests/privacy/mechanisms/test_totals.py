"""Schema checks of secret totals."""

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.mechanisms.totals import check_square_total, check_total


@pytest.mark.parametrize(
    "total", [np.zeros(3), np.array([1], np.uint64), np.array([2**70], object), np.array([True]), np.array(["1"])]
)
def test_anything_but_lattice_integers_is_refused(total):
    with pytest.raises(InvalidParameter, match=r"^total of release must be an array of lattice integers \(int64\)"):
        check_total(total, "release")


def test_the_error_shows_the_type_and_never_the_values():
    with pytest.raises(InvalidParameter) as error:
        check_total(np.array([123.456]), "release")
    assert "123" not in str(error.value) and "float64 array of shape (1,)" in str(error.value)


def test_integers_of_any_width_become_contiguous_int64():
    for total in (np.arange(6, dtype=np.int8), np.arange(6, dtype=np.uint32), np.arange(12)[::2], [0, 1, 2]):
        checked = check_total(total, "release", ndim=1)
        assert checked.dtype == np.int64 and checked.flags.c_contiguous
        assert checked.tolist() == np.asarray(total).tolist()
    assert check_total(np.int64(5), "release").shape == ()


@pytest.mark.parametrize("shape", [(2, 3), (4,), (0, 0), (2, 2, 2)])
def test_square_means_square(shape):
    with pytest.raises(InvalidParameter, match="total of release"):
        check_square_total(np.zeros(shape, np.int64), "release")
