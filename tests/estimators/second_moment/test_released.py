"""Released second moments: the law of the noise, and numbers for coordinates as numbers for columns."""

import math

import numpy as np
import pytest

from hushrank.estimators.second_moment.released import SecondMoment, noise_law_of
from hushrank.linalg.row_frames import Frame
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import gram_lattice, release_gram
from hushrank.privacy.noise.source import NoiseSource
from support import assert_plausible, normal_scale_p_value


def moment(frame=None, d=3):
    return SecondMoment(np.eye(d), 10, np.zeros(d), None, frame)


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("field", Field)
def test_gaussian_law_has_the_scale_of_an_entry(field, neighbors):
    lattice = gram_lattice(2.0, Gaussian(1.5), neighbors, field=field)
    law = noise_law_of(lattice, 40)
    assert law.kind == "gaussian" and law.is_complex == (field is Field.COMPLEX)
    zeros = np.zeros((40, 40), np.int64)
    noise = release_gram(zeros if field is Field.REAL else (zeros, zeros), lattice, NoiseSource())
    off = noise[np.triu_indices(40, 1)]
    parts = np.concatenate([off.real, off.imag]) if law.is_complex else off
    assert_plausible(normal_scale_p_value(parts, law.scale / math.sqrt(1 + law.is_complex)))
    assert normal_scale_p_value(parts, 0.7 * law.scale / math.sqrt(1 + law.is_complex)) < 1e-9
    assert_plausible(normal_scale_p_value(np.diagonal(noise).real, law.diagonal_deviation))


@pytest.mark.parametrize("neighbors", Neighbors)
@pytest.mark.parametrize("field", Field)
def test_wishart_law_has_the_degrees_of_the_whole_row(field, neighbors):
    """An augmented row of d + 1 entries has d + 2 degrees of freedom, and so has the noise of its first d."""
    lattice, width = gram_lattice(2.0, Pure(1.5), neighbors, field=field), 6
    law = noise_law_of(lattice, width)
    assert law.kind == "wishart" and law.scale == lattice.scale
    assert law.degrees == (width if field is Field.COMPLEX else width + 1)
    zeros = np.zeros((width, width), np.int64)
    total = zeros if field is Field.REAL else (zeros, zeros)
    corners = [release_gram(total, lattice, NoiseSource())[0, 0].real for _ in range(3000)]
    # A diagonal entry is C times the difference of two chi-square variables: kurtosis below 6, 12 deviations of its
    # mean square are 3000^-1/2 12 sqrt(5) = 0.49, and the bound fails by chance with probability far below 1e-9.
    assert np.mean(np.square(corners)) == pytest.approx(law.diagonal_deviation**2, rel=0.49)
    assert lattice.entry_deviation(width) == pytest.approx(
        law.diagonal_deviation / math.sqrt(1 if field is Field.REAL and False else 2), rel=1e-12
    )


def test_numbers_of_coordinates_become_numbers_of_columns():
    values = np.array([[1.0, 2.0]])
    assert moment().to_columns(values, 5) is values
    kept = moment(Frame(5).keeping(np.array([3, 0])), 2)
    assert kept.to_columns(values, 5).tolist() == [[2.0, 0.0, 0.0, 1.0, 0.0]]
    assert kept.to_columns(values[0], 5, rest=7.0).tolist() == [2.0, 7.0, 7.0, 1.0, 7.0]
    assert kept.to_columns(values * 1j, 5).dtype == np.complex128


def test_gains_are_ones_unless_the_frame_has_others():
    assert moment().gains().tolist() == [1.0] * 3
    assert moment(Frame(3).moved(np.ones(3))).gains().tolist() == [1.0] * 3
    assert moment(Frame(3).scaled(np.array([1.0, 2.0, 4.0]))).gains().tolist() == [1.0, 2.0, 4.0]


def test_the_number_of_rows_is_the_count():
    assert moment().n_samples == 10
