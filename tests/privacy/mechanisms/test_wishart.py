"""Two-sided Wishart releases: sensitivity attained, scale minimal, law, audits that notice halved noise."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hushrank.evaluation.audit import epsilon_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms import wishart
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.symmetric import symmetric_lattice
from hushrank.privacy.mechanisms.wishart import (
    release_wishart,
    second_moment_nuclear_sensitivity,
    wishart_lattice,
)
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, chi2_p_value, plant

RELATIONS, FIELDS = list(Neighbors), list(Field)


def zeros(d, field="real"):
    total = np.zeros((d, d), np.int64)
    return total if field == "real" else (total, total)


# Sensitivity and scale


@given(st.floats(1e-3, 1e3), st.sampled_from(RELATIONS), st.sampled_from(FIELDS))
def test_multiplier_is_the_smallest_private_one(epsilon, neighbors, field):
    lattice = wishart_lattice(3.0, Pure(epsilon), neighbors, field=field)
    nuclear = (2 if neighbors is Neighbors.REPLACE else 1) * lattice.squared_bound

    def loss(multiplier):  # |D|_* / 2C for real, |D|_* / C for complex matrices, in data lattice units
        return Fraction(nuclear, (2 if field == "real" else 1) * multiplier * 2**lattice.shift)

    assert loss(lattice.multiplier) <= Fraction(epsilon)
    assert lattice.multiplier == 1 or loss(lattice.multiplier - 1) > Fraction(epsilon)
    assert lattice.multiplier <= 2**20 and (lattice.multiplier >= 2**19 or lattice.shift == 0)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_worst_pair_attains_the_nuclear_norm(neighbors):
    lattice = wishart_lattice(2.5, Pure(0.8), neighbors)
    top = math.isqrt(lattice.squared_bound)
    step = lattice.row_norm**2 / lattice.squared_bound
    change = np.diag([top**2, -(top**2) if neighbors is Neighbors.REPLACE else 0, 0]) * step
    nuclear = np.abs(np.linalg.eigvalsh(change)).sum()
    assert nuclear == pytest.approx(second_moment_nuclear_sensitivity(2.5, neighbors), rel=1e-12)
    assert nuclear / (2 * lattice.scale) == pytest.approx(0.8, rel=1e-5)  # C is rounded up to a lattice multiple


def test_stated_scale_is_that_of_the_design():
    for neighbors, field, expected in [
        ("replace", "real", 4.0 / 0.5),
        ("add_remove", "real", 4.0 / (2 * 0.5)),
        ("replace", "complex", 2 * 4.0 / 0.5),
        ("add_remove", "complex", 4.0 / 0.5),
    ]:
        scale = wishart_lattice(2.0, Pure(0.5), neighbors, field=field).scale
        assert expected <= scale <= expected * (1 + 2**-18)


# Law


def one_dimensional_law(R, scale, lattice):
    """P-value of integers against a rounded Laplace law."""
    points = np.arange(-40, 41)
    edges = stats.laplace.cdf(np.arange(-40.5, 41.5), scale=scale)
    inside = np.diff(edges)
    units = np.rint(np.asarray(R) / lattice.unit).astype(int)
    counts = np.array([(units == k).sum() for k in points])
    return chi2_p_value(np.append(counts, len(units) - counts.sum()), np.append(inside, 1 - inside.sum()))


@pytest.mark.parametrize(("field", "factor"), [("real", 2), ("complex", 1)])
def test_one_dimension_is_a_rounded_laplace_law(field, factor):
    lattice = plant(wishart_lattice(1.0, Pure(1.0), field=field), multiplier=4)
    noise = NoiseSource()
    R = [release_wishart(zeros(1, field), lattice, noise).real[0, 0] for _ in range(6000)]
    assert_plausible(one_dimensional_law(R, 4 * factor, lattice))
    for wrong in (0.7, 1.3):
        assert one_dimensional_law(R, wrong * 4 * factor, lattice) < FALSE_ALARM


def features(N):
    """What the laws are compared on: top eigenvalue, an entry off and on the diagonal, Re times Im."""
    return np.linalg.eigvalsh(N)[-1], N[0, 1].real, N[2, 2].real, N[0, 1].imag, N[0, 1].real * N[0, 1].imag


def float_noise(d, field, rng):
    """W1 - W2 from its definition, in floating point."""
    shape = (2, d, d + 1) if field == "real" else (2, d, d)
    G = rng.standard_normal(shape)
    if field == "complex":
        G = (G + 1j * rng.standard_normal(shape)) / math.sqrt(2)
    W = G @ G.conj().transpose(0, 2, 1)
    return W[0] - W[1]


@pytest.mark.parametrize("field", FIELDS)
def test_law_equals_the_difference_of_two_wishart_matrices(field):
    d, n = 6, 2500
    lattice, noise, rng = wishart_lattice(1.0, Pure(1.0), field=field), NoiseSource(), np.random.default_rng()
    ours = [features(release_wishart(zeros(d, field), lattice, noise) / lattice.scale) for _ in range(n)]
    theirs = [features(float_noise(d, field, rng)) for _ in range(n)]
    ours, theirs = np.array(ours), np.array(theirs)
    for k in range(3 if field == "real" else 5):
        assert_plausible(stats.ks_2samp(ours[:, k], theirs[:, k]).pvalue)
    for wrong in (0.7, 1.3):
        assert stats.ks_2samp(ours[:, 0], wrong * theirs[:, 0]).pvalue < FALSE_ALARM


@pytest.mark.parametrize("field", FIELDS)
def test_entry_deviation_is_right_from_both_sides(field):
    d = 200
    lattice = wishart_lattice(1.0, Pure(0.3), field=field)
    noise = release_wishart(zeros(d, field), lattice, NoiseSource())
    above, diagonal = noise[np.triu_indices(d, 1)], np.diag(noise).real
    # 19900 uncorrelated entries: the second moment varies by about 1.5 %, ten times less than the margins below.
    for sample, stated in (
        (above.real, lattice.entry_deviation(d)),
        (above.imag, lattice.entry_deviation(d) if field == "complex" else 0.0),
        (diagonal, math.sqrt(2) * lattice.entry_deviation(d)),
    ):
        margin = 0.15 if sample.size > d else 0.9  # 200 diagonal entries: 10 %, nine times less
        assert np.mean(sample**2) == pytest.approx(stated**2, rel=margin)
    for wrong in (0.7, 1.3):
        assert np.mean(above.real**2) != pytest.approx((wrong * lattice.entry_deviation(d)) ** 2, rel=0.15)


# Audits


@pytest.mark.parametrize("halvings", [0, 1])
def test_audit_in_one_dimension_notices_halved_noise(halvings):
    """Add one row of full norm to an empty data set: the loss is epsilon exactly, everywhere beyond the change."""
    lattice = wishart_lattice(1.0, Pure(1.0), "add_remove")
    planted = plant(lattice, multiplier=lattice.multiplier >> halvings)
    noise, n, hits = NoiseSource(), 5000, []
    for total in (lattice.squared_bound, 0):
        secret = np.array([[total]])
        hits.append(sum(release_wishart(secret, planted, noise)[0, 0] > 1.0 for _ in range(n)))
    bound = epsilon_lower_bound(hits[0], n, hits[1], n, confidence=1 - FALSE_ALARM)
    assert bound > 1.3 if halvings else 0.55 < bound < 1.0


def float_outcomes(C, draws):
    """(N11, N22) of the law in two dimensions, by floating-point normals."""
    A, B = np.random.default_rng().standard_normal((2, draws, 2, 3))
    return 2 * C * (A * B).sum(2)


def two_dimensional_bound(outcomes, C):
    """Audit of replacing e2 by e1, row norm 1, from two samples of noise: event {N11 >= t, N22 <= -t}, t = 4C."""
    hits = []
    for change, N in zip((1.0, 0.0), outcomes, strict=True):
        hits.append(np.count_nonzero((N[:, 0] + change >= 4 * C) & (N[:, 1] - change <= -4 * C)))
    return epsilon_lower_bound(hits[0], len(outcomes[0]), hits[1], len(outcomes[1]), confidence=1 - FALSE_ALARM)


def test_theorem_in_two_dimensions_fails_with_half_the_noise():
    """A check of Theorem 1 on simulated noise; that the release has this law is tested above."""
    N = float_outcomes(1.0, 1_000_000)  # for both data sets: the bounds of the two probabilities fail apart
    assert 0.6 < two_dimensional_bound((N, N), 1.0) < 1.0
    assert 1.3 < two_dimensional_bound((N / 2, N / 2), 0.5) < 2.0


@pytest.mark.audit
@pytest.mark.parametrize(("halvings", "low", "high"), [(0, 0.3, 1.0), (1, 1.05, 2.0)])
def test_audit_in_two_dimensions_notices_halved_noise(halvings, low, high):
    lattice = wishart_lattice(1.0, Pure(1.0))
    planted, noise = plant(lattice, multiplier=lattice.multiplier >> halvings), NoiseSource()
    outcomes = [
        np.array([np.diag(release_wishart(zeros(2), planted, noise)) for _ in range(400_000)]) for _ in range(2)
    ]  # fmt: skip
    assert low < two_dimensional_bound(outcomes, planted.scale) < high


# Identities


def recorded_normals(monkeypatch):
    """The matrices of normals that a release draws, as floats."""
    drawn = []
    original = wishart._normals

    def record(*arguments):
        parts = original(*arguments)
        drawn.extend(part.floats() for part in parts)
        return parts

    monkeypatch.setattr(wishart, "_normals", record)
    return drawn


def test_real_release_is_the_form_of_its_normals(monkeypatch):
    drawn, lattice = recorded_normals(monkeypatch), wishart_lattice(1.0, Pure(1.0))
    M = np.array([[10**12, -(10**11)], [-(10**11), 10**10]])
    released = release_wishart(M, lattice, NoiseSource()) / lattice.unit
    A, B = drawn
    ideal = lattice.multiplier * (A @ B.T + B @ A.T) + M / 2**lattice.shift
    assert np.abs(released - ideal).max() <= 0.501


def test_complex_release_is_the_form_of_its_normals(monkeypatch):
    drawn, lattice = recorded_normals(monkeypatch), wishart_lattice(1.0, Pure(1.0), field="complex")
    G = np.random.default_rng(0).integers(-(10**12), 10**12, (5, 5))
    real, imaginary = G + G.T, G - G.T
    released = release_wishart((real, imaginary), lattice, NoiseSource()) / lattice.unit
    A, B = ((drawn[k] + 1j * drawn[k + 1]) / math.sqrt(2) for k in (0, 2))
    form = (A @ B.conj().T + B @ A.conj().T).conj()  # the conjugate has the same law (wishart.md, Lemma 2)
    error = released - lattice.multiplier * form - (real + 1j * imaginary) / 2**lattice.shift
    assert max(np.abs(error.real).max(), np.abs(error.imag).max()) <= 0.501


def test_totals_that_wrap_stay_private():
    """One more row may carry an int64 total around: the releases must stay neighbors modulo the lattice."""
    lattice = wishart_lattice(1.0, Pure(1.0), "add_remove")
    period = lattice.unit * 2.0 ** (64 - lattice.shift)
    last = 2**63 - lattice.squared_bound
    before, after = np.array([[last]]), np.array([[-(2**63)]])
    noise, n, hits = NoiseSource(), 2500, []
    for total in (after, before):
        outputs = np.array([release_wishart(total, lattice, noise)[0, 0] for _ in range(n)])
        moved = (outputs - last * lattice.row_norm**2 / lattice.squared_bound + period / 2) % period - period / 2
        assert np.abs(moved).max() < 40
        hits.append(np.count_nonzero(moved > 1.0))
    assert 0.3 < epsilon_lower_bound(hits[0], n, hits[1], n, confidence=1 - FALSE_ALARM) < 1.0


def test_small_epsilons_leave_room_for_the_noise():
    for epsilon in (1e-9, 1e-6, 1e-3):
        lattice = wishart_lattice(1.0, Pure(epsilon))
        assert lattice.multiplier * 2**lattice.shift <= 2**42
        spread = release_wishart(zeros(60), lattice, NoiseSource()).std() / lattice.entry_deviation(60)
        assert 0.6 < spread < 1.6


def test_a_lattice_with_too_little_noise_cannot_be_made():
    lattice = wishart_lattice(1.0, Pure(1.0))
    with pytest.raises(InvalidParameter, match="event of wishart_lattice must be one that the noise"):
        dataclasses.replace(lattice, multiplier=lattice.multiplier - 1)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"event": Gaussian(1.0)}, "event"),
        ({"event": Pure(1.0, bounded_range=True)}, "event"),
        ({"neighbors": "twins"}, "neighbors"),
        ({"field": "quaternion"}, "field"),
        ({"row_norm": -1.0}, "row_norm"),
        ({"squared_bound": 2**37}, "squared_bound"),
        ({"shift": -1}, "shift"),
        ({"shift": 61}, "shift"),
        ({"multiplier": 2**52}, "multiplier"),
        ({"multiplier": np.int64(1), "shift": np.int64(0)}, "event"),
    ],
)
def test_a_lattice_made_by_hand_is_checked_as_well(changed, name):
    with pytest.raises(InvalidParameter, match=f"^{name} of wishart_lattice must be"):
        dataclasses.replace(wishart_lattice(1.0, Pure(1.0)), **changed)


def test_a_relation_in_letters_has_its_own_noise():
    lattice = wishart_lattice(1.0, Pure(1.0))
    assert dataclasses.replace(lattice, neighbors="replace", field="real") == lattice
    with pytest.raises(InvalidParameter, match="one that the noise"):
        dataclasses.replace(lattice, neighbors="replace", multiplier=lattice.multiplier * 3 // 4)
    assert second_moment_nuclear_sensitivity(1.0, "replace") == 2


def test_the_lattice_of_another_mechanism_is_refused_and_nothing_logged():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match="lattice of release_wishart must be a WishartLattice; got 'Symmetric"):
        release_wishart(zeros(2), symmetric_lattice(1.0, Gaussian(1.0)), noise)
    assert noise.executed == ()


@pytest.mark.parametrize("row_norm", [1e-160, 1e160])
def test_bounds_that_float64_cannot_hold_are_refused(row_norm):
    with pytest.raises(InvalidParameter, match="row_norm of wishart_lattice must be a bound whose lattice fits"):
        wishart_lattice(row_norm, Pure(1.0))


def test_the_matrix_comes_through_when_the_noise_is_small():
    lattice = wishart_lattice(1.0, Pure(1e12))
    total = np.array([[5, -3], [-3, 2**40]])
    released = release_wishart(total, lattice, NoiseSource())
    assert lattice.shift == 0 and np.abs(released / lattice.unit - total).max() < 60
    lattice = wishart_lattice(1.0, Pure(1e12), field="complex")
    imaginary = np.array([[0, 11], [-11, 0]])
    released = release_wishart((total, imaginary), lattice, NoiseSource())
    assert np.array_equal(released, released.conj().T)
    assert np.abs(released / lattice.unit - (total + 1j * imaginary)).max() < 80


def test_data_and_noise_are_rounded_together():
    # The same noise on totals that differ by less than an output step: some entries move, none by more than one step.
    lattice = wishart_lattice(1.0, Pure(0.01))
    low = release_wishart(zeros(40), lattice, NoiseSource(seed=1)) / lattice.unit
    half_step = np.full((40, 40), 1 << (lattice.shift - 1))
    high = release_wishart(half_step, lattice, NoiseSource(seed=1)) / lattice.unit
    assert set(np.rint(high - low).ravel().tolist()) == {0.0, 1.0}


# Refusals


@pytest.mark.parametrize("row_norm", [0, -1.0, math.nan, math.inf])
def test_the_bound_must_be_positive_and_finite(row_norm):
    with pytest.raises(InvalidParameter, match=r"^row_norm of wishart_lattice must be a finite float > 0"):
        wishart_lattice(row_norm, Pure(1.0))


@pytest.mark.parametrize("event", [Gaussian(1.0), Pure(1.0, bounded_range=True), Pure(1e-30), None])
def test_other_events_are_refused(event):
    with pytest.raises(InvalidParameter, match=r"^event of wishart_lattice"):
        wishart_lattice(1.0, event)


def test_unknown_fields_are_refused():
    with pytest.raises(InvalidParameter, match=r'^field of wishart_lattice must be "real" or "complex"; got'):
        wishart_lattice(1.0, Pure(1.0), field="quaternion")


def test_totals_must_fit_the_field_and_nothing_is_logged_otherwise():
    noise = NoiseSource()
    real, cplx = (wishart_lattice(1.0, Pure(1.0), field=field) for field in FIELDS)
    square = np.zeros((2, 2), np.int64)
    for total, lattice in [
        (np.zeros((2, 2)), real),
        (square, cplx),
        ((square, np.zeros((3, 3), np.int64)), cplx),
        ((square, square), real),
    ]:
        with pytest.raises(InvalidParameter, match="total of release_wishart"):
            release_wishart(total, lattice, noise)
    assert noise.executed == ()
    release_wishart(square, real, noise)
    assert noise.executed == (Pure(1.0),)
