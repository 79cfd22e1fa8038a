"""Spectra of noise against closed forms, and of matrices with noise against the matrices without it.

Generators have fixed seeds. With other seeds, all statistical assertions of this file together would fail by chance
with probability below 1e-6.
"""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import brentq

from hushrank.linalg.noise_spectra import (
    NoiseLaw,
    component_weights,
    count_significant,
    diagnose,
    spectral_edge,
)
from support import FALSE_ALARM, assert_plausible, normal_scale_p_value

KINDS = [(kind, is_complex) for kind in ("gaussian", "wishart") for is_complex in (False, True)]
each_kind = pytest.mark.parametrize(("kind", "is_complex"), KINDS)


def make_law(kind, is_complex, d, scale=1.0):
    return NoiseLaw(kind, scale, d if is_complex else d + 1, is_complex)


def normals(shape, is_complex, rng):
    """Standard normal entries, E|x|^2 = 1."""
    real = rng.standard_normal(shape)
    return (real + 1j * rng.standard_normal(shape)) / math.sqrt(2) if is_complex else real


def draw_noise(law, d, rng):
    """A matrix with the law, from its definition."""
    if law.kind == "gaussian":
        G = normals((d, d), law.is_complex, rng)
        return law.scale * (G + G.conj().T) / math.sqrt(2)
    plus, minus = (normals((d, law.degrees), law.is_complex, rng) for _ in range(2))
    return law.scale * (plus @ plus.conj().T - minus @ minus.conj().T)


def fall(M):
    values, vectors = np.linalg.eigh(M)
    return values[::-1], vectors[:, ::-1]


# The law


@each_kind
def test_the_diagonal_has_the_deviation_of_the_law(kind, is_complex):
    law, rng = make_law(kind, is_complex, 40, 0.3), np.random.default_rng(1)
    sample = np.concatenate([np.diagonal(draw_noise(law, 40, rng)).real for _ in range(30)])
    assert_plausible(normal_scale_p_value(sample, law.diagonal_deviation))
    assert normal_scale_p_value(sample, 0.7 * law.diagonal_deviation) < FALSE_ALARM
    assert normal_scale_p_value(sample, 1.3 * law.diagonal_deviation) < FALSE_ALARM


@pytest.mark.parametrize("kind", ["gaussian", "wishart"])
@pytest.mark.parametrize("h", [-0.4, 0.0, 0.3])
def test_slope_and_curvature_are_derivatives(kind, h):
    law, step = NoiseLaw(kind, 1.0, 7), 1e-5
    assert law.slope(h) == pytest.approx((law.energy(h + step) - law.energy(h - step)) / (2 * step), rel=1e-7)
    assert law.curvature(h) == pytest.approx((law.slope(h + step) - law.slope(h - step)) / (2 * step), rel=1e-7)


# The edge


@pytest.mark.parametrize("d", [1, 2, 10, 500])
def test_the_edge_of_gaussian_noise_is_that_of_the_semicircle(d):
    edge = spectral_edge(NoiseLaw("gaussian", 3.0), np.ones(d))
    assert edge.position == pytest.approx(6 * math.sqrt(d), rel=1e-12)
    assert edge.width == pytest.approx(3 * d ** (-1 / 6), rel=1e-12)
    assert edge.h == pytest.approx(math.sqrt(d), rel=1e-12)


def test_the_edge_of_square_wishart_noise_is_that_of_the_tetilla_law():
    edge = spectral_edge(NoiseLaw("wishart", 2.0, 10**6), np.ones(10**6))
    assert edge.position == pytest.approx(2e6 * math.sqrt((11 + 5 * math.sqrt(5)) / 2), rel=1e-12)
    assert edge.h == pytest.approx(math.sqrt(math.sqrt(5) - 2), rel=1e-12)
    assert edge.width == pytest.approx(2.508 * 2e6 / 1e4, rel=1e-3)


def solve_h(law, p, z):
    """h with h = sum_a p_a / (z - energy(h) p_a), the smaller solution, for z above the edge and scale 1."""
    return brentq(lambda h: h - np.sum(p / (z - law.energy(h) * p)), 0, spectral_edge(law, p).h, xtol=1e-15)


@pytest.mark.parametrize("kind", ["gaussian", "wishart"])
@pytest.mark.parametrize("spread", [0.0, 1e-9, 3.0])
def test_edge_and_width_are_the_branch_point_of_the_trace_of_the_resolvent(kind, spread):
    d = 25
    law, p = NoiseLaw(kind, 1.0, 26), np.exp(spread * np.random.default_rng(2).uniform(-1, 1, d))
    edge = spectral_edge(law, p)
    lowest = min(brentq(lambda z, h=h: np.sum(p / (z - law.energy(h) * p)) - h, law.energy(h) * p.max() * 1.0001, 1e9)
                 for h in edge.h * np.linspace(0.9, 1.1, 41))  # fmt: skip
    assert edge.position == pytest.approx(lowest, rel=1e-9)
    above = edge.position + 1e-6 * edge.width * np.array([1.0, 4.0])
    traces = [np.sum(1 / (z - law.energy(solve_h(law, p, z)) * p)) for z in above]
    at_edge = np.sum(1 / (edge.position - law.energy(edge.h) * p))
    # A square root of coefficient width^(-3/2): four times the distance, twice the fall.
    fall_of_traces = (at_edge - traces) / np.sqrt(above - edge.position)
    assert fall_of_traces == pytest.approx(edge.width**-1.5, rel=1e-2)


def test_a_profile_of_equal_entries_is_a_scale():
    law = NoiseLaw("wishart", 2.0, 9)
    plain, scaled = spectral_edge(law, np.ones(8)), spectral_edge(law, np.full(8, 5.0))
    assert scaled == dataclasses.replace(plain, position=5 * plain.position, width=5 * plain.width)


# How many components


@each_kind
@pytest.mark.parametrize(("d", "draws"), [(1, 1000), (2, 1000), (5, 1000), (30, 300)])
def test_noise_alone_is_rarely_significant(kind, is_complex, d, draws):
    law, rng = make_law(kind, is_complex, d), np.random.default_rng(3)
    spectra = [fall(draw_noise(law, d, rng))[0] for _ in range(draws)]
    alarms = sum(count_significant(values, law) > 0 for values in spectra)
    assert stats.binom.sf(alarms - 1, draws, 0.05) >= FALSE_ALARM
    believed = dataclasses.replace(law, scale=law.scale / 2)  # planted: half of the noise is not known of
    assert stats.binom.sf(sum(count_significant(v, believed) > 0 for v in spectra) - 1, draws, 0.05) < FALSE_ALARM


@each_kind
def test_noise_with_a_profile_is_rarely_significant(kind, is_complex):
    d, draws, rng = 20, 300, np.random.default_rng(4)
    law, alarms, unaware = make_law(kind, is_complex, d), 0, 0
    for _ in range(draws):
        D = rng.uniform(0.3, 3, d)
        values, _ = fall(draw_noise(law, d, rng) / np.outer(D, D))
        alarms += count_significant(values, law, D**-2.0) > 0
        unaware += count_significant(values, law) > 0
    assert stats.binom.sf(alarms - 1, draws, 0.05) >= FALSE_ALARM
    assert stats.binom.sf(unaware - 1, draws, 0.05) < FALSE_ALARM


@each_kind
def test_spikes_are_found_on_any_level(kind, is_complex):
    d, rng = 40, np.random.default_rng(5)
    law = make_law(kind, is_complex, d)
    edge = spectral_edge(law, np.ones(d)).position
    A = np.diag(edge * (100 + np.r_[6.0, 4.0, np.zeros(d - 2)]))
    counts = [count_significant(fall(A + draw_noise(law, d, rng))[0], law) for _ in range(20)]
    assert min(counts) == 2 and np.mean(counts) < 3


def test_a_single_value_is_compared_with_zero_and_so_is_the_last():
    law = NoiseLaw("gaussian", 1.0)
    limit = 1.645 * math.sqrt(2)
    assert count_significant(np.array([limit + 0.01]), law) == 1
    assert count_significant(np.array([limit - 0.01]), law) == 0
    assert count_significant(np.array([20.0, limit + 0.01]), law) == 2
    assert count_significant(np.array([20.0, limit - 0.01]), law) == 1
    assert count_significant(np.array([20.0, 20.0]), law) == 0


# What components say: standardized errors have variance 1


def spiked_matrix(d, law, is_haar, rng):
    """Two spikes at 2.5 and 2 edges on a falling bulk, its eigenvectors, and a matrix with noise around it."""
    edge = spectral_edge(law, np.ones(d)).position
    spectrum = edge * np.r_[2.5, 2.0, np.linspace(0.3, 0.0, d - 2)]
    V = np.linalg.qr(normals((d, d), law.is_complex, rng))[0] if is_haar else np.eye(d)
    return spectrum, V, (V * spectrum) @ V.conj().T


def standardized_errors(law, believed, d, draws, rng, divided=False):
    """For the first component: error of its value and of its variance in deviations, estimated and true alignment."""
    rows = []
    for _ in range(draws):
        spectrum, V, A = spiked_matrix(d, law, divided, rng)
        D = rng.uniform(0.6, 1.6, d) if divided else np.ones(d)
        values, vectors = fall(A + draw_noise(law, d, rng) / np.outer(D, D))
        weights = component_weights(vectors, D**-2.0) if divided else None
        found = diagnose(values, believed, 1, weights)
        u = vectors[:, 0]
        error = (u.conj() @ A @ u).real - found.variances[0]
        aligned = abs(V[:, 0].conj() @ u) ** 2
        rows.append([(found.values[0] - spectrum[0]), error, found.deviations[0], found.alignment[0], aligned])
    table = np.array(rows)
    return table[:, 0] / table[:, 2], table[:, 1] / table[:, 2], table[:, 3], table[:, 4]


def is_calibrated(errors):
    """Whether 400 errors in deviations have mean 0 and mean square 1, up to what finite d and chance add.

    In 8000 draws of each case means were within 0.04 of 0 and mean squares between 0.86 and 0.98: limits are seven
    standard errors from there.
    """
    return bool(abs(np.mean(errors)) <= 0.4 and 0.45 <= np.mean(errors**2) <= 1.5)


@each_kind
@pytest.mark.parametrize("divided", [False, True])
def test_intervals_alignment_and_variances_are_calibrated(kind, is_complex, divided):
    d, draws = 25, 400
    law = make_law(kind, is_complex, d)
    of_values, of_variances, estimated, true = standardized_errors(
        law, law, d, draws, np.random.default_rng(6), divided
    )
    assert is_calibrated(of_values)
    assert np.mean(estimated) >= 0.8
    # Six standard errors, and what is left of finite d.
    assert abs(np.mean(estimated - true)) <= 6 * np.std(estimated - true) / math.sqrt(draws) + 0.01
    assert abs(np.mean(of_variances)) <= 6 * np.std(of_variances) / math.sqrt(draws) + 0.1


@each_kind
@pytest.mark.parametrize("wrong", [0.5, 2.0])
def test_a_wrong_scale_is_noticed(kind, is_complex, wrong):
    law = make_law(kind, is_complex, 25)
    believed = dataclasses.replace(law, scale=wrong * law.scale)
    of_values, *_ = standardized_errors(law, believed, 25, 400, np.random.default_rng(6))
    assert not is_calibrated(of_values)


# Limits and identities

falling = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12).map(lambda v: np.sort(v)[::-1])
round_falling = st.lists(st.integers(-(10**6), 10**6), min_size=1, max_size=12).map(lambda v: np.sort(v)[::-1] / 8)
laws = st.builds(
    NoiseLaw, st.sampled_from(["gaussian", "wishart"]), st.sampled_from([0.0, 1e-150, 1e-3, 1.0, 1e4, 1e150]),
    st.integers(1, 20), st.booleans(),
)  # fmt: skip


@given(falling, laws)
def test_without_noise_nothing_changes(values, law):
    found = diagnose(values, dataclasses.replace(law, scale=0.0), len(values))
    assert np.array_equal(found.values, values) and np.array_equal(found.variances, values)
    assert (found.alignment == 1).all() and (found.deviations == 0).all()


@given(falling, laws, st.sampled_from([1e-150, 1e-20, 1.0, 1e100]), st.booleans())
def test_answers_are_numbers_for_all_spectra_and_scales(values, law, unit, is_weighted):
    d = len(values)
    weights = np.linspace(0.1, 10, d) if is_weighted else None
    found = diagnose(unit * values, law, d, weights)
    assert all(not np.isnan(part).any() for part in (found.variances, found.values, found.alignment, found.deviations))
    assert (found.alignment >= 0).all() and (found.alignment <= 1).all() and (found.deviations >= 0).all()
    assert found.variances[0] <= found.values[0] <= unit * values[0]
    assert 0 <= count_significant(unit * values, law, weights) <= d


@given(round_falling, laws.filter(lambda law: 1e-100 < law.scale < 1e100), st.integers(-40, 40))
def test_units_do_not_matter(values, law, exponent):
    unit = 2.0**exponent
    scaled = dataclasses.replace(law, scale=unit * law.scale)
    one, other = diagnose(values, law, len(values)), diagnose(unit * values, scaled, len(values))
    assert np.array_equal(one.alignment, other.alignment)
    assert np.allclose(unit * one.values, other.values, rtol=1e-12)
    assert np.allclose(unit * one.variances, other.variances, rtol=1e-12)
    assert np.allclose(unit * one.deviations, other.deviations, rtol=1e-12)
    assert count_significant(values, law) == count_significant(unit * values, scaled)


@each_kind
def test_equal_weights_are_a_scale_of_the_noise(kind, is_complex):
    law, values = make_law(kind, is_complex, 6), np.array([90.0, 50.0, 20.0, 3.0, -1.0, -9.0])
    by_weights = diagnose(values, law, 3, np.full(6, 1.7))
    by_scale = diagnose(values, dataclasses.replace(law, scale=1.7), 3)
    for name in ("values", "variances", "alignment", "deviations"):
        assert getattr(by_weights, name) == pytest.approx(getattr(by_scale, name), rel=1e-12)


def test_an_extra_deviation_adds_to_that_of_the_noise():
    values, law = np.array([30.0, 5.0, 0.0, -4.0]), NoiseLaw("gaussian", 1.0)
    without, extra = diagnose(values, law, 2), np.array([3.0, 0.0])
    found = diagnose(values, law, 2, extra=extra)
    assert found.deviations**2 == pytest.approx(without.deviations**2 + extra**2 / without.alignment)
    assert np.array_equal(found.values, without.values)


def test_equal_eigenvalues_have_no_vectors_of_their_own():
    found = diagnose(np.array([5.0, 5.0, 0.0]), NoiseLaw("gaussian", 0.1), 3)
    assert (found.alignment[:2] < 1e-100).all() and found.alignment[2] > 0.99


def test_weights_of_components_are_means_of_the_profile():
    profile = np.array([4.0, 1.0, 0.25])
    vectors = np.linalg.qr(normals((3, 3), True, np.random.default_rng(7)))[0]
    weights = component_weights(vectors, profile)
    assert weights == pytest.approx(np.diagonal(vectors.conj().T @ np.diag(profile) @ vectors).real)


# Refusals


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (("laplace", 1.0), 'kind of NoiseLaw must be "gaussian" or "wishart"; got \'laplace\''),
        (("gaussian", -1.0), "scale of NoiseLaw must be a finite float >= 0; got -1.0"),
        (("gaussian", math.nan), "scale of NoiseLaw must be a finite float >= 0; got nan"),
        (("wishart", 1.0), "degrees of NoiseLaw must be an integer >= 1; got 0"),
    ],
)
def test_impossible_laws_are_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        NoiseLaw(*fields)


@pytest.mark.parametrize("values", [[], [1.0, 2.0], [math.nan], [math.inf, 0.0], [[1.0]]])
def test_values_must_be_finite_and_falling(values):
    with pytest.raises(ValueError, match="values of diagnose must be finite eigenvalues in falling order"):
        diagnose(np.array(values), NoiseLaw("gaussian", 1.0), 1)


@pytest.mark.parametrize("n_components", [0, 3])
def test_impossible_numbers_of_components_are_refused(n_components):
    with pytest.raises(ValueError, match=f"n_components of diagnose must be between 1 and 2; got {n_components}"):
        diagnose(np.array([1.0, 0.0]), NoiseLaw("gaussian", 1.0), n_components)


@pytest.mark.parametrize("numbers", [[1.0], [1.0, 0.0], [1.0, math.inf]])
def test_weights_and_profiles_must_be_positive_and_complete(numbers):
    values, law = np.array([1.0, 0.0]), NoiseLaw("gaussian", 1.0)
    with pytest.raises(ValueError, match="weights of diagnose must be a vector of 2 finite numbers > 0"):
        diagnose(values, law, 1, np.array(numbers))
    with pytest.raises(ValueError, match="profile of count_significant must be a vector of 2 finite numbers > 0"):
        count_significant(values, law, np.array(numbers))


@pytest.mark.parametrize("extra", [[1.0], [1.0, -1.0], [1.0, math.nan], 1.0])
def test_extra_deviations_must_be_complete_and_not_negative(extra):
    with pytest.raises(ValueError, match="extra of diagnose must be a vector of 2 numbers >= 0"):
        diagnose(np.array([2.0, 1.0, 0.0]), NoiseLaw("gaussian", 1.0), 2, extra=np.array(extra))
