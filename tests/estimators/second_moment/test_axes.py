"""Axes of a release: those of noise_spectra, weights of units, how many are significant, correlations."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from hushrank.estimators.second_moment.axes import (
    column_units,
    find_axes,
    shrunk_eigenvalues,
    shrunk_matrix,
    sureness,
    to_correlations,
)
from hushrank.estimators.second_moment.released import SecondMoment, noise_law_of
from hushrank.linalg.noise_spectra import component_weights, count_significant, diagnose
from hushrank.linalg.shrinkage import shrink_eigenvalues
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.gram import gram_lattice, release_gram
from hushrank.privacy.noise.source import NoiseSource

N, D = 1000, 8
EVENTS = {"gaussian": Gaussian(2.0), "wishart": Pure(0.5)}
CASES = [(name, field) for name in EVENTS for field in Field]
cases = pytest.mark.parametrize(("kind", "field"), CASES)


def release(signal, kind, field=Field.REAL, mean=None, noise=None):
    """A + noise for a matrix A, as a fit releases it."""
    lattice = gram_lattice(1.0, EVENTS[kind], field=field)
    unit = lattice.unit / 2.0 ** getattr(lattice, "shift", 0)
    real, imaginary = (np.rint(np.asarray(part) / unit).astype(np.int64) for part in (np.real(signal), np.imag(signal)))
    total = real if field is Field.REAL else (real, imaginary)
    matrix = release_gram(total, lattice, NoiseSource() if noise is None else noise)
    law = noise_law_of(lattice, len(real))
    return SecondMoment(matrix, N, np.zeros(len(real)), law, mean=mean, mean_variance=0.01 if mean is not None else 0.0)


def strong(k=3, d=D):
    """A few directions far above the noise."""
    deviation = release(np.zeros((d, d)), "wishart").law.diagonal_deviation
    return np.diag(np.append(200.0 * deviation * np.arange(k, 0, -1), np.zeros(d - k)))


# What is computed is what noise_spectra says


@cases
@pytest.mark.parametrize("divisor", [1.0, 1000.0])
def test_axes_are_those_of_the_diagnosis(kind, field, divisor):
    moment = release(strong(), kind, field)
    axes = find_axes(moment, 4, divisor)
    law = replace(moment.law, scale=moment.law.scale / divisor)
    values, columns = np.linalg.eigh(moment.matrix / divisor)
    values, columns = values[::-1], columns[:, ::-1]
    found = diagnose(values, law, 4)
    assert axes.values == pytest.approx(values[:4]) and axes.alignment == pytest.approx(found.alignment)
    low, high = axes.intervals.T
    assert low == pytest.approx(np.maximum(found.values - 1.96 * found.deviations, 0.0))
    assert high == pytest.approx(np.maximum(found.values + 1.96 * found.deviations, 0.0))
    falling = isotonic_regression(found.variances, increasing=False).x
    assert axes.variances == pytest.approx(np.maximum(falling, 0.0))
    assert np.all(np.diff(axes.variances) <= 1e-12) and np.all(low <= high)
    assert axes.n_significant == min(count_significant(values, law), 4) == 3
    overlaps = np.abs(np.einsum("ij,ji->i", axes.vectors.conj(), columns[:, :4]))
    assert overlaps[:3] == pytest.approx(np.ones(3), abs=1e-6)
    assert axes.vectors @ axes.vectors.conj().T == pytest.approx(np.eye(4), abs=1e-9)


@cases
def test_units_weigh_the_noise_of_their_columns(kind, field):
    moment, units = release(strong(), kind, field), np.linspace(0.5, 3.0, D)
    axes = find_axes(moment, 3, N, units)
    matrix = moment.matrix / N / np.outer(units, units)
    values, columns = np.linalg.eigh(matrix)
    values, columns = values[::-1], columns[:, ::-1]
    law = replace(moment.law, scale=moment.law.scale / N)
    found = diagnose(values, law, 3, weights=component_weights(columns, 1 / units**2))
    assert axes.values == pytest.approx(values[:3]) and axes.alignment == pytest.approx(found.alignment)
    assert axes.intervals[:, 1] == pytest.approx(found.values + 1.96 * found.deviations)
    assert axes.n_significant == min(count_significant(values, law, 1 / units**2), 3)


@cases
def test_units_of_one_change_nothing(kind, field):
    moment = release(strong(), kind, field)
    one, other = find_axes(moment, 4, N), find_axes(moment, 4, N, np.ones(D))
    for name in ("values", "variances", "intervals", "alignment"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=1e-6), name
    assert np.abs(np.sum(one.vectors[:3] * other.vectors[:3].conj(), axis=1)) == pytest.approx(np.ones(3), abs=1e-9)
    assert one.n_significant == other.n_significant


@pytest.mark.parametrize("units", [None, np.linspace(0.5, 3.0, D)])
def test_the_error_of_a_mean_widens_intervals(units):
    """Along the mean m by 2 n <u, m> times its error along u."""
    noise = NoiseSource(seed=3)
    plain = release(strong(1), "gaussian", noise=noise)
    mean = np.zeros(D)
    mean[0] = 0.7
    wider = replace(plain, mean=mean, mean_variance=0.01)
    narrow, wide = (find_axes(moment, 1, N, units) for moment in (plain, wider))
    widths = [float(axes.intervals[0, 1] - axes.intervals[0, 0]) / (2 * 1.96) for axes in (narrow, wide)]
    scale = 1.0 if units is None else units[0] ** 2
    added = 2 * 0.7 * 0.1 / scale / math.sqrt(narrow.alignment[0])
    assert widths[1] == pytest.approx(math.hypot(widths[0], added), rel=1e-2)
    assert wide.alignment == pytest.approx(narrow.alignment)


@cases
def test_shrunk_eigenvalues_are_those_of_the_matrix(kind, field):
    moment = release(strong(), kind, field)
    values = shrunk_eigenvalues(moment, N)
    law = replace(moment.law, scale=moment.law.scale / N)
    released = np.linalg.eigvalsh(moment.matrix / N)[::-1]
    assert values == pytest.approx(shrink_eigenvalues(released, law), abs=1e-9 * released[0])
    for rank in (None, 2):
        matrix = shrunk_matrix(moment, rank, N)
        found = np.linalg.eigvalsh(matrix)[::-1]
        kept = D if rank is None else rank
        assert found[:kept] == pytest.approx(values[:kept], abs=1e-6 * values[0])
        assert found[kept:] == pytest.approx(np.zeros(D - kept), abs=1e-9 * values[0])
        assert matrix == pytest.approx(matrix.conj().T)


# How many are significant


@cases
def test_noise_alone_shows_nothing_in_nine_of_ten_releases(kind, field):
    """At most .05 show something; 100 or more of 1000 would by chance with probability below 1e-10."""
    noise, zeros = NoiseSource(), np.zeros((D, D))
    shown = [find_axes(release(zeros, kind, field, noise=noise), 1, N).n_significant for _ in range(1000)]
    assert sum(number > 0 for number in shown) < 100


@cases
@pytest.mark.parametrize("k", [1, 3, 5])
def test_strong_directions_are_all_significant_and_no_others_mostly(kind, field, k):
    """The k are beyond 100 deviations; one more shows with probability .05 or so: 19 of 40 is below 1e-12."""
    noise = NoiseSource()
    found = [find_axes(release(strong(k), kind, field, noise=noise), D, N).n_significant for _ in range(40)]
    assert min(found) >= k and sum(number > k for number in found) < 19


def test_no_more_are_significant_than_are_asked_for():
    assert find_axes(release(strong(5), "gaussian"), 2, N).n_significant == 2


@cases
def test_intervals_hold_the_truth_and_alignment_is_near_one_for_strong_directions(kind, field):
    """95 % of them; with a deviation of at most 1.5 % for 200 releases, 85 % is beyond 6.4 of them."""
    noise, signal = NoiseSource(), strong(3)
    axes = [find_axes(release(signal, kind, field, noise=noise), 3, 1.0) for _ in range(200)]
    truth = np.diagonal(signal)[:3]
    held = [(one.intervals[:, 0] <= truth) & (truth <= one.intervals[:, 1]) for one in axes]
    assert np.mean(held) > 0.85
    assert min(one.alignment.min() for one in axes) > 0.99


# Units and correlations


@cases
def test_units_of_columns_are_root_mean_squares_and_not_below_the_noise(kind, field):
    signal = np.diag(np.append([400.0 * N], np.zeros(D - 1)))
    moment = release(signal, kind, field)
    units = column_units(moment)
    least = math.sqrt(moment.law.diagonal_deviation / N)
    assert units[0] == pytest.approx(20.0, rel=0.05)
    assert np.all(units >= least * (1 - 1e-12)) and np.all(units[1:] <= 10 * least)


@pytest.mark.parametrize("is_complex", [False, True])
def test_correlations_have_ones_on_the_diagonal_but_for_empty_columns(is_complex):
    rng = np.random.default_rng(0)
    Y = rng.standard_normal((50, 4)) + (1j * rng.standard_normal((50, 4)) if is_complex else 0)
    Y[:, 2] = 0.0
    matrix = Y.T @ Y.conj()
    correlations = to_correlations(matrix)
    assert np.diagonal(correlations).tolist() == [1.0, 1.0, 0.0, 1.0]
    kept = [0, 1, 3]
    deviations = np.sqrt(np.diagonal(matrix).real[kept])
    assert correlations[np.ix_(kept, kept)] == pytest.approx(
        matrix[np.ix_(kept, kept)] / np.outer(deviations, deviations)
    )
    assert np.abs(correlations).max() <= 1 + 1e-12 and not correlations[2].any()
    assert to_correlations(np.zeros((2, 2))).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_attributes_of_sureness_have_names_and_sizes():
    table = sureness("n_components", "interval_")
    assert list(table) == ["alignment_", "interval_", "n_significant_"]
