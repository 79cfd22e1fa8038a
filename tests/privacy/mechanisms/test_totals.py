"""Schema checks of secret totals and public lattice sizes."""

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Composed, Gaussian, NonPrivate, Pure
from hushrank.privacy.mechanisms.totals import check_gaussian_or_pure, check_square_total, check_total, lattice_bits


@pytest.mark.parametrize(
    "total", [np.zeros(3), np.array([2**63], np.uint64), np.array([2**70], object), np.array([True]), np.array(["1"])]
)
def test_anything_but_lattice_integers_is_refused(total):
    with pytest.raises(InvalidParameter, match=r"^total of release must be an array of lattice integers \(int64\)"):
        check_total(total, "release")


def test_the_error_shows_the_type_and_never_the_values():
    with pytest.raises(InvalidParameter) as error:
        check_total(np.array([123.456]), "release")
    assert "123" not in str(error.value) and "float64 array of shape (1,)" in str(error.value)


def test_integers_of_any_width_become_contiguous_int64():
    for total in (np.arange(6, dtype=np.int8), np.arange(6, dtype=np.uint64), np.arange(12)[::2], [0, 1, 2]):
        checked = check_total(total, "release", ndim=1)
        assert checked.dtype == np.int64 and checked.flags.c_contiguous
        assert checked.tolist() == np.asarray(total).tolist()


@pytest.mark.parametrize("shape", [(2, 3), (4,), (0, 0), (2, 2, 2)])
def test_square_means_square(shape):
    with pytest.raises(InvalidParameter, match="total of release"):
        check_square_total(np.zeros(shape, np.int64), "release")


@pytest.mark.parametrize(
    "event", [Composed([Gaussian(1.0)]), NonPrivate(), Pure(1.0, bounded_range=True), "Gaussian", None]
)
def test_additive_noise_executes_gaussian_and_pure_events_only(event):
    with pytest.raises(InvalidParameter, match=r"^event of release must be Gaussian"):
        check_gaussian_or_pure(event, "release")
    assert check_gaussian_or_pure(Pure(1.0), "release") == Pure(1.0)


def test_lattice_bits_keep_the_largest_total_inside_62_bits():
    for n_max in (1, 1000, 2**26, 2**26 + 1, 2**40):
        for powers in (1, 2):
            bits = lattice_bits(n_max, "plan", most=18, powers=powers)
            assert bits <= 18 and n_max * 2 ** (powers * bits) <= 2**62
            assert bits == 18 or n_max * 2 ** (powers * (bits + 1)) > 2**61
    with pytest.raises(InvalidParameter, match="n_max of plan"):
        lattice_bits(0, "plan", most=18, powers=1)
