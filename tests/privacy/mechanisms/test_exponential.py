"""The exponential mechanism on orbits: range of the score, density ratios between neighbors, Laplace eigenvalues."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.evaluation.audit import epsilon_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import log_partition
from hushrank.orbit.sphere import draw_vector, sphere_envelope
from hushrank.privacy.events import Gaussian, Pure, Repeated
from hushrank.privacy.guarantee import Budget, Neighbors
from hushrank.privacy.mechanisms.exponential import (
    check_levels,
    choose,
    eigenvalues_sensitivity,
    release_eigenvalues,
    rounding_error,
    score_lattice,
    score_range,
)
from hushrank.privacy.mechanisms.symmetric import symmetric_lattice
from hushrank.privacy.noise.source import NoiseSource
from support import assert_plausible, laplace_scale_p_value

RELATIONS = list(Neighbors)


def lattice_for(neighbors, epsilon=1.0, *, row_norm=1.0, d=4, rank=2, **terms):
    return score_lattice(row_norm, Pure(epsilon, True), neighbors, n_features=d, rank=rank, **terms)


def random_unit(rng, d):
    z = rng.standard_normal(d) + 1j * rng.standard_normal(d)
    return z / np.linalg.norm(z)


# 1. Sensitivity


@given(seed=st.integers(0, 10**6), neighbors=st.sampled_from(RELATIONS))
@settings(max_examples=60, deadline=None)
def test_no_row_moves_the_score_by_more_than_its_range(seed, neighbors):
    rng = np.random.default_rng(seed)
    d, levels = 4, np.sort(rng.exponential(size=3))[::-1]
    x, y = (rng.uniform(0, 1.5) * random_unit(rng, d) for _ in range(2))
    if neighbors is Neighbors.ADD_REMOVE:
        y = 0 * y
    norm = max(np.linalg.norm(x), np.linalg.norm(y))
    U = np.linalg.qr(rng.standard_normal((50, d, d)) + 1j * rng.standard_normal((50, d, d)))[0][:, :, :3]
    scores = [levels @ np.abs(V.conj().T @ x) ** 2 - levels @ np.abs(V.conj().T @ y) ** 2 for V in U]
    width = score_range(levels[0], norm, neighbors)
    lowest = -width / 2 if neighbors is Neighbors.REPLACE else 0.0
    assert lowest - 1e-12 <= min(scores) and max(scores) <= lowest + width + 1e-12


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_a_worst_pair_attains_the_range(neighbors):
    x, y = 3.0 * np.eye(2)
    replaced = y if neighbors is Neighbors.REPLACE else 0 * y
    H = [2.0 * np.outer(v, v) for v in np.eye(2)]  # top level 2
    scores = [x @ h @ x - replaced @ h @ replaced for h in H]
    assert max(scores) - min(scores) == score_range(2.0, 3.0, neighbors)


@given(seed=st.integers(0, 10**6), neighbors=st.sampled_from(RELATIONS))
@settings(max_examples=60, deadline=None)
def test_no_row_moves_the_eigenvalues_beyond_their_sensitivity(seed, neighbors):
    rng = np.random.default_rng(seed)
    X, x, y = rng.standard_normal((6, 4)), *rng.standard_normal((2, 4))
    norm = max(np.linalg.norm(x), np.linalg.norm(y))
    both = [X.T @ X + np.outer(x, x), X.T @ X + (np.outer(y, y) if neighbors is Neighbors.REPLACE else 0)]
    one, other = (np.linalg.eigvalsh(M) for M in both)
    assert np.abs(one - other).sum() <= eigenvalues_sensitivity(norm, neighbors) * (1 + 1e-12)


def test_worst_pairs_attain_the_sensitivity_of_the_eigenvalues():
    values = [np.linalg.eigvalsh(np.diag(entries)) for entries in ([5.0, 1.0, 0.0], [4.0, 1.0, 1.0], [5.0, 2.0, 0.0])]
    assert np.abs(values[0] - values[1]).sum() == eigenvalues_sensitivity(1.0, Neighbors.REPLACE)
    assert np.abs(values[0] - values[2]).sum() == eigenvalues_sensitivity(1.0, Neighbors.ADD_REMOVE)


# 2. Privacy: the ratio of densities at the worst H, from the partition function


def largest_loss(M, other, levels, rate):
    """Supremum over H of the log density ratio of the draws for M and for `other`."""
    top = np.linalg.eigvalsh(M - other)[::-1]
    padded = np.append(levels, np.zeros(len(M) - len(levels)))
    spectra = [OrbitLaw(rate * np.linalg.eigvalsh(A)[::-1], levels, True) for A in (M, other)]
    return rate * padded @ top - log_partition(spectra[0]) + log_partition(spectra[1])


@pytest.mark.parametrize("levels", [[1.0], [2.0, 2.0], [3.0, 1.0, 0.5]])
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_density_ratios_stay_within_epsilon_and_a_worst_pair_attains_it(neighbors, levels):
    rng = np.random.default_rng(7)
    d, epsilon = 4, 1.5
    rate = lattice_for(neighbors, epsilon, d=d, rank=len(levels)).rate(levels)
    losses = []
    for scale in (0.0, 1.0, 30.0):
        x, y = random_unit(rng, d), random_unit(rng, d)
        Z = rng.standard_normal((d, d)) + 1j * rng.standard_normal((d, d))
        A = scale * Z @ Z.conj().T
        M, other = A + np.outer(x, x.conj()), A + (np.outer(y, y.conj()) if neighbors is Neighbors.REPLACE else 0)
        losses += [largest_loss(M, other, levels, rate), largest_loss(other, M, levels, rate)]
    assert max(losses) <= epsilon
    # Nearly all mass has the top level along the removed direction: the partition function moves as much as it can.
    A = np.diag([3e5, 2e5, 1e5, 0.0]) / rate
    M, other = A + np.diag([0, 0, 0, 1.0]), A + np.diag([1.0, 0, 0, 0])
    if neighbors is Neighbors.ADD_REMOVE:
        M = A
    assert 0.999 * epsilon < largest_loss(M, other, levels, rate) <= epsilon


def test_the_inverted_accept_test_of_public_libraries_exceeds_epsilon():
    """Accepting what should be rejected draws from q - f / C; two dimensions, complex, along w = |x_1|^2."""
    epsilon, w = 1.0, np.linspace(0.0, 1.0, 2001)
    rate = lattice_for(Neighbors.REPLACE, epsilon, d=2, rank=1).rate([1.0])

    def log_density(gap, inverted):
        envelope = sphere_envelope([0.0, rate * gap], is_complex=True)
        u = rate * gap * (1 - w)
        log_proposal = -2 * np.log1p(u / envelope.b)  # up to a constant, which the last line takes away
        log_ratio = envelope.log_ratio(u)
        accepted = np.log(np.maximum(-np.expm1(log_ratio), 1e-12)) if inverted else log_ratio
        density = log_proposal + accepted
        return density - np.log(np.trapezoid(np.exp(density), w))

    right, wrong = (log_density(8.0, flag) - log_density(6.0, flag) for flag in (False, True))
    assert np.abs(right).max() <= epsilon
    assert np.abs(wrong).max() > 2 * epsilon


# 3. Rate, rounding and noise


def test_the_rate_is_epsilon_over_the_range_and_what_rounding_costs():
    for neighbors, width in zip(RELATIONS, (2, 1), strict=True):
        lattice = lattice_for(neighbors, 0.7, row_norm=3.0, d=5, rank=3)
        error = Fraction(lattice.spectral_error)
        exact = Fraction(0.7) / (width * 4 * 9 + 4 * (4 + 2 + 1) * error)
        assert lattice.rate([4.0, 2.0, 1.0]) <= exact < lattice.rate([4.0, 2.0, 1.0]) * (1 + 1e-15)
        assert lattice.laplace_scale(3) >= (width * 9 + 6 * error) / Fraction(0.7)
        assert lattice.rate([1.0]) == pytest.approx(0.7 / (width * 9), rel=1e-5)


def test_the_charge_for_rounding_covers_the_eigendecomposition():
    d, n = 60, 10**5
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, d)) * np.logspace(0, -8, d)
    M = X.T @ X
    M *= n / np.trace(M)
    values, vectors = np.linalg.eigh(M)
    error = np.linalg.norm((vectors * values) @ vectors.T - M, 2) + n * np.linalg.norm(vectors.T @ vectors - np.eye(d))
    assert error < rounding_error(d, n, 1)


def test_several_draws_share_epsilon_and_are_logged_as_one_event():
    event = Repeated(Pure(0.25, True), 4)
    lattice = score_lattice(1.0, event, "replace", n_features=5, rank=1)
    assert lattice.epsilon == 0.25
    noise = NoiseSource()
    assert choose(lambda rate, stream: (rate, stream.words(1).size), [1.0], lattice, noise) == (lattice.rate([1.0]), 1)
    assert noise.executed == (event,)
    given_ = noise.guarantee(Budget(1.0))
    assert given_.epsilon == 1.0 and given_.numerics == "idealized"


@pytest.mark.parametrize("levels", [[], [0.0, 0.0]])
def test_levels_of_zero_draw_nothing_and_are_logged_all_the_same(levels):
    noise, lattice = NoiseSource(), lattice_for("replace")
    assert choose(lambda *_: 1 / 0, levels, lattice, noise) is None
    assert noise.executed == (lattice.event,)


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_eigenvalues_carry_laplace_noise_of_the_planned_scale(neighbors):
    lattice = score_lattice(2.0, Pure(0.5), neighbors, n_features=400, rank=400)
    values = np.arange(400.0, 0.0, -1.0) * 1e7  # so far apart that noise does not change their order
    noise = NoiseSource()
    errors = np.concatenate([release_eigenvalues(values, lattice, noise) - values for _ in range(10)])
    scale = lattice.laplace_scale(400)
    assert scale == pytest.approx((8 if neighbors is Neighbors.REPLACE else 4) / 0.5, rel=0.03)  # rounding is 2 %
    assert_plausible(laplace_scale_p_value(errors, scale))
    for factor in (0.7, 1.3):
        assert laplace_scale_p_value(errors, factor * scale) < 1e-9


def test_released_eigenvalues_fall_and_are_never_negative():
    lattice, noise = score_lattice(1.0, Pure(0.1), "replace", n_features=6, rank=6), NoiseSource()
    released = np.array([release_eigenvalues(np.zeros(6), lattice, noise) for _ in range(50)])
    assert (released >= 0).all() and (np.diff(released) <= 0).all()
    assert (released == 0).any() and (released > 0).any()


# 4. Refusals


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"event": Gaussian(1.0)}, "event"),
        ({"event": Repeated(Gaussian(1.0), 2)}, "event"),
        ({"row_norm": 0.0}, "row_norm"),
        ({"row_norm": 1e-101}, "row_norm"),
        ({"row_norm": 1e101}, "row_norm"),
        ({"event": Pure(1e-101)}, "event"),
        ({"event": Repeated(Pure(1e101), 2)}, "event"),
        ({"neighbors": "twins"}, "neighbors"),
        ({"field": "quaternion"}, "field"),
        ({"rank": 5}, "rank"),
        ({"n_max": 2**60}, "n_max"),
    ],
)
def test_refusals(changed, name):
    arguments = {"row_norm": 1.0, "event": Pure(1.0), "neighbors": "replace", "n_features": 4, "rank": 2} | changed
    with pytest.raises(InvalidParameter) as caught:
        score_lattice(**arguments)
    assert caught.value.name == name


NO_LEVELS = [
    [-1.0],
    [1.0, -1e-300],
    [math.nan],
    [1.0, math.nan],
    [math.inf],
    [1.0, -math.inf],
    [[1.0, 0.5]],
    [1j],
    ["1"],
    [True],
    [None],
    np.array([10**400], object),
]


@pytest.mark.parametrize("levels", NO_LEVELS)
def test_levels_for_which_no_range_is_proved_are_refused_before_anything_is_logged(levels):
    noise, lattice = NoiseSource(), lattice_for("replace")
    with pytest.raises(InvalidParameter, match=r"^levels of ScoreLattice\.rate must be finite numbers >= 0"):
        lattice.rate(levels)
    with pytest.raises(InvalidParameter, match=r"^levels of choose must be finite numbers >= 0"):
        choose(lambda *_: 1 / 0, levels, lattice, noise)
    assert noise.executed == ()


def test_levels_in_any_real_form():
    assert check_levels([2, 1], "test") == check_levels(np.array([2, 1], np.uint8), "test") == [2.0, 1.0]
    assert check_levels(0.5, "test") == [0.5] and check_levels([], "test") == []
    assert check_levels([-0.0], "test") == [0.0]


def test_a_rate_needs_a_level_and_must_fit_float64():
    noise, lattice = NoiseSource(), lattice_for("replace", 1e100, row_norm=1e-100)
    for levels in ([], [0.0], [-0.0, 0.0]):
        with pytest.raises(InvalidParameter, match="must be numbers of which one is above zero"):
            lattice.rate(levels)
    for call in (lattice.rate, lambda levels: choose(lambda *_: 1 / 0, levels, lattice, noise)):
        with pytest.raises(InvalidParameter, match="so large that the rate fits float64"):
            call([5e-324])
    assert noise.executed == ()


@pytest.mark.parametrize("n_values", [0, -(10**16), 1.5, math.nan])
def test_no_number_of_values_lowers_the_noise(n_values):
    with pytest.raises(InvalidParameter, match=r"^n_values of ScoreLattice\.laplace_scale must be an integer >= 1"):
        lattice_for("replace").laplace_scale(n_values)


@pytest.mark.parametrize(
    "values",
    [np.ones((1, 4)), np.ones((4, 4)), np.float64(1.0), np.zeros(0), np.ones(4, complex), np.ones(4, int), [1.0, 2.0]],
)
def test_eigenvalues_are_a_vector_each_with_its_own_noise(values):
    lattice, noise = score_lattice(1.0, Pure(1.0), "replace", n_features=4, rank=4), NoiseSource()
    with pytest.raises(InvalidParameter, match=r"^values of release_eigenvalues must be a vector of at least one"):
        release_eigenvalues(values, lattice, noise)
    assert noise.executed == ()


@pytest.mark.parametrize("event", [Pure(0.5, True), Repeated(Pure(0.5, True), 2)])
def test_laplace_noise_is_not_of_bounded_range(event):
    lattice, noise = score_lattice(1.0, event, "replace", n_features=4, rank=4), NoiseSource()
    with pytest.raises(InvalidParameter, match=r"^event of release_eigenvalues must be Pure\(epsilon\) without"):
        release_eigenvalues(np.ones(4), lattice, noise)
    assert noise.executed == ()


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"event": Gaussian(1.0)}, "event"),
        ({"event": Repeated(Repeated(Pure(1.0), 2), 2)}, "event"),
        ({"event": Pure(1e101)}, "event"),
        ({"neighbors": "twins"}, "neighbors"),
        ({"field": "quaternion"}, "field"),
        ({"row_norm": -1.0}, "row_norm"),
        ({"row_norm": math.nan}, "row_norm"),
        ({"row_norm": 1e-200}, "row_norm"),
        ({"squared_bound": 0}, "squared_bound"),
        ({"squared_bound": 2**37}, "squared_bound"),
        ({"squared_bound": 4.0}, "squared_bound"),
        ({"spectral_error": -1.0}, "spectral_error"),
        ({"spectral_error": math.nan}, "spectral_error"),
    ],
)
def test_a_lattice_made_by_hand_is_checked_as_well(changed, name):
    with pytest.raises(InvalidParameter) as caught:
        dataclasses.replace(lattice_for("replace"), **changed)
    assert caught.value.name == name


def test_a_relation_in_letters_has_its_own_noise():
    lattice = lattice_for("replace")
    spelled = dataclasses.replace(lattice, neighbors="replace", field="real")
    assert spelled == lattice and spelled.neighbors is Neighbors.REPLACE
    assert spelled.rate([1.0]) == lattice.rate([1.0]) < lattice_for("add_remove").rate([1.0])
    assert score_range(1.0, 1.0, "replace") == 2 * score_range(1.0, 1.0, "add_remove")


def test_the_lattice_of_another_mechanism_is_refused_and_nothing_logged():
    noise, other = NoiseSource(), symmetric_lattice(1.0, Gaussian(1.0))
    calls = [lambda: choose(lambda *_: 1, [1.0], other, noise), lambda: release_eigenvalues(np.ones(2), other, noise)]
    for call in calls:
        with pytest.raises(InvalidParameter, match=r"must be a ScoreLattice; got 'SymmetricLattice'"):
            call()
    assert noise.executed == ()


def test_the_largest_n_max_that_is_named_is_accepted():
    with pytest.raises(InvalidParameter, match=r"n_max of score_lattice must be at most \d+ for 4 columns") as caught:
        lattice_for("replace", n_max=2**60)
    most = int(caught.value.requirement.split()[2])
    assert lattice_for("replace", n_max=most).spectral_error * 16 * 2 <= 1.0
    with pytest.raises(InvalidParameter):
        lattice_for("replace", n_max=int(1.01 * most))


# 5. Audit


AUDITED = {"gaps": (2.0, 4.0), "rare": 0.1}  # eigenvalues (3, 1) and (4, 0): one row replaced by an orthogonal one


@pytest.mark.audit
@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_audit_of_a_direction(factor):
    """Two columns: how often is a direction drawn that is nearly orthogonal to the top one?"""
    epsilon, trials = 1.0, 60_000
    rate = factor * lattice_for("replace", epsilon, d=2, rank=1).rate([1.0])
    hits = []
    for gap in AUDITED["gaps"]:
        stream = NoiseSource().begin(Pure(epsilon, True), "replace", numerics="idealized")
        draws = (draw_vector([0.0, rate * gap], False, stream)[0][0] for _ in range(trials))
        hits.append(sum(x**2 < AUDITED["rare"] for x in draws))
    found = epsilon_lower_bound(hits[0], trials, hits[1], trials, confidence=1 - 1e-9)
    assert found > epsilon if factor > 1 else 0.3 < found <= epsilon


def test_the_audit_looks_at_an_event_with_a_visible_ratio():
    """What the audit should find, by quadrature: below epsilon at the right rate, above it at twice that."""
    theta = np.linspace(0, math.pi / 2, 20001)
    w = np.cos(theta) ** 2

    def loss(rate):
        shares = []
        for gap in AUDITED["gaps"]:
            density = np.exp(-rate * gap * (1 - w))
            shares.append(density[w < AUDITED["rare"]].sum() / density.sum())
        return math.log(shares[0] / shares[1])

    assert 0.5 < loss(0.5) < 1.0 < 1.4 < loss(1.0)


@pytest.mark.audit
@pytest.mark.parametrize("halved", [False, True])
def test_audit_of_an_eigenvalue(halved):
    """One column, a full row added: the eigenvalue moves by row_norm^2, for which Laplace noise is tight."""
    trials, lattice = 20_000, score_lattice(1.0, Pure(2.0 if halved else 1.0), "add_remove", n_features=1, rank=1)
    hits, noise = [], NoiseSource()
    for value in (11.0, 10.0):
        released = (release_eigenvalues(np.array([value]), lattice, noise)[0] for _ in range(trials))
        hits.append(sum(number >= 11.0 for number in released))
    found = epsilon_lower_bound(hits[0], trials, hits[1], trials, confidence=1 - 1e-9)
    assert found > 1.4 if halved else 0.75 < found <= 1.0
