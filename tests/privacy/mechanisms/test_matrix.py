"""Matrix releases are vector releases of the entries."""

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.mechanisms.matrix import release_matrix
from hushrank.privacy.mechanisms.vector import release_vector, vector_lattice
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, four_squares, normal_scale_p_value


@pytest.mark.parametrize("event", [Gaussian(1.0), Pure(1.0)])
def test_same_release_as_the_vector_of_entries(event):
    lattice, total = vector_lattice(1.0, event), np.arange(-6, 6).reshape(3, 4)
    matrix = release_matrix(total, lattice, NoiseSource(seed=1))
    vector = release_vector(total.ravel(), lattice, NoiseSource(seed=1))
    assert matrix.shape == (3, 4) and np.array_equal(matrix.ravel(), vector)


def test_frobenius_sensitivity_is_attained_by_opposite_matrices():
    lattice = vector_lattice(1.5, Gaussian(2.0))
    Y = np.array(four_squares(lattice.squared_bound)).reshape(2, 2)
    assert np.linalg.norm(2 * Y * lattice.unit) / lattice.scale == pytest.approx(1 / 2.0, rel=1e-9)


def test_noise_has_the_right_scale_from_both_sides():
    lattice = vector_lattice(1.5, Gaussian(2.0))
    noise = release_matrix(np.zeros((300, 200), np.int64), lattice, NoiseSource())
    assert_plausible(normal_scale_p_value(noise, lattice.scale))
    for wrong in (0.7, 1.3):
        assert normal_scale_p_value(noise, wrong * lattice.scale) < FALSE_ALARM


@pytest.mark.parametrize("shape", [(4,), (2, 2, 2)])
def test_only_matrices_are_released(shape):
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match="total of release_matrix must be an array with 2 dimension"):
        release_matrix(np.zeros(shape, np.int64), vector_lattice(1.0, Pure(1.0)), noise)
    assert noise.executed == ()
