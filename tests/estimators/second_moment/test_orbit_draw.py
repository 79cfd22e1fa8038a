"""Releases by the exponential mechanism: plan, laws of what comes out, and what is never published."""

import numpy as np
import pytest
from scipy import stats

from hushrank.estimators.second_moment import orbit_draw
from hushrank.estimators.second_moment.orbit_draw import release_orbit
from hushrank.estimators.second_moment.orbit_plan import plan_orbit
from hushrank.linalg.spectral import fix_signs
from hushrank.orbit import basis
from hushrank.orbit.law import OrbitLaw
from hushrank.orbit.partition import mean_diagonal
from hushrank.privacy.events import Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.noise.source import NoiseSource
from orbit_support import haar_bases, hotelling_p_value, ks_p_value
from support import FALSE_ALARM, assert_plausible, laplace_scale_p_value

D = 5


def plan(rank=2, *, levels=None, epsilon=1.0, share=None, field="real", strategy="joint", neighbors="replace", d=D):
    events = {"vectors": Pure(epsilon)} if share is None else {"eigenvalues": Pure(share), "vectors": Pure(epsilon)}
    terms = {"row_norm": 1.0, "neighbors": Neighbors(neighbors), "n_features": d, "n_max": 2**20}
    return plan_orbit(events, levels=levels, rank=rank, strategy=strategy, field=Field(field), **terms)


def matrix(values, is_complex=False, seed=0):
    E = haar_bases(1, len(values), is_complex, np.random.default_rng(seed))[0]
    return (E * np.asarray(values, float)) @ E.conj().T, E


VALUES = np.array([60.0, 40.0, 12.0, 5.0, 0.0])


# 1. Plan


def test_steps_are_executed_in_their_order():
    for strategy in ("joint", "sequential"):
        releases, noise = plan(2, share=0.5, strategy=strategy), NoiseSource()
        release_orbit(matrix(VALUES)[0], releases, noise)
        assert noise.executed == tuple(step.event for step in releases.steps())
        assert releases.steps()[0].event == Pure(0.5)


# 2. Limit


@pytest.mark.parametrize("field", ["real", "complex"])
@pytest.mark.parametrize("strategy", ["joint", "sequential"])
def test_a_huge_budget_gives_the_top_eigenvectors_and_eigenvalues(field, strategy):
    M, _ = matrix(VALUES, field == "complex")
    sample = release_orbit(M, plan(3, epsilon=1e9, share=1e9, field=field, strategy=strategy), NoiseSource())
    assert sample.levels == pytest.approx(VALUES[:3], abs=1e-3)
    assert sample.values == pytest.approx(VALUES[:3], abs=1e-3)
    best = (sample.vectors.T * sample.values) @ sample.vectors.conj()
    assert best == pytest.approx(sample.matrix(), abs=1e-2)
    assert np.linalg.norm(M - best, 2) == pytest.approx(VALUES[3], rel=1e-3)


# 3. Laws


@pytest.mark.parametrize("levels", [[1.0], [1.0, 1.0], [3.0, 1.0]])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_complex_draws_have_the_law_of_the_planned_rate(levels, neighbors):
    """In the eigenbasis of M the mean of H is the gradient of log Z; at 0.7 or 1.3 of the rate it is another."""
    M, E = matrix(VALUES, True)
    levels = np.array(levels)
    releases = plan(len(levels), levels=levels, epsilon=0.25, field="complex", neighbors=neighbors)
    noise = NoiseSource()
    draws = [E.conj().T @ release_orbit(M, releases, noise).matrix() @ E for _ in range(1500)]
    diagonals = np.array([np.diag(H).real for H in draws])
    rate = releases.draws.rate(levels)
    assert rate == pytest.approx(0.25 / levels[0] / (2 if neighbors == "replace" else 1), rel=1e-5)
    for factor in (0.7, 1.0, 1.3):
        law = OrbitLaw(factor * rate * VALUES, levels, is_complex=True)
        p_value = hotelling_p_value(diagonals, mean_diagonal(law))
        assert p_value >= FALSE_ALARM if factor == 1.0 else p_value < FALSE_ALARM


def test_real_draws_of_rank_two_are_the_real_part_of_complex_ones():
    M, E = matrix(VALUES)
    releases, noise = plan(2, levels=np.ones(2), epsilon=0.5), NoiseSource()
    assert releases.keeps_real_part
    samples = [release_orbit(M, releases, noise) for _ in range(1500)]
    diagonals = [np.diag(E.T @ sample.matrix() @ E) for sample in samples]
    assert_plausible(hotelling_p_value(diagonals, mean_diagonal(OrbitLaw(0.25 * VALUES, [1.0, 1.0], True))))
    sample = samples[0]
    assert sample.vectors.dtype == np.float64 and (sample.values <= 1.0 + 1e-12).all()
    top = np.linalg.eigvalsh(sample.matrix())[::-1][:2]
    assert sample.values == pytest.approx(top)


def test_real_draws_of_rank_one_have_the_real_law():
    """Two columns: the angle has density exp(rate gap cos^2); the complex law would be uniform in cos^2 at rate 0."""
    releases, noise = plan(1, levels=np.ones(1), epsilon=1.0, d=2), NoiseSource()
    M = np.diag([3.0, 0.0])
    w = np.array([release_orbit(M, releases, noise).vectors[0, 0] ** 2 for _ in range(2000)])
    theta = (np.arange(100_000) + 0.5) * np.pi / 2 / 100_000
    for factor, expected in ((1.0, True), (0.0, False), (2.5, False)):
        density = np.exp(factor * 0.5 * 3.0 * np.cos(theta) ** 2)
        cdf = np.cumsum(density) / density.sum()
        p_value = stats.kstest(np.arccos(np.sqrt(w)), lambda t, cdf=cdf: np.interp(t, theta, cdf)).pvalue
        assert p_value >= FALSE_ALARM if expected else p_value < FALSE_ALARM


def test_released_eigenvalues_have_the_planned_noise():
    releases, noise = plan(2, share=0.25, epsilon=0.01), NoiseSource()
    M = np.diag([3e6, 1e6, 0.0, 0.0, 0.0])
    errors = [release_orbit(M, releases, noise).levels - [3e6, 1e6] for _ in range(1200)]
    scale = releases.eigenvalues.laplace_scale(2)
    assert scale == pytest.approx(8.0, rel=1e-5)
    assert_plausible(laplace_scale_p_value(errors, scale))
    for factor in (0.7, 1.3):
        assert laplace_scale_p_value(errors, factor * scale) < FALSE_ALARM


def test_the_noisy_top_eigenvalue_sets_the_rate(monkeypatch):
    """The draw sees levels relative to the released top one, and the rate for these; nothing of the true ones."""
    seen = []
    monkeypatch.setattr(
        orbit_draw, "draw_orbit", lambda law, stream: seen.append(law) or type("", (), {"factor": np.eye(D, 2)})
    )
    monkeypatch.setattr(orbit_draw, "release_eigenvalues", lambda values, lattice, noise: np.array([8.0, 2.0]))
    M, _ = matrix(VALUES)
    releases = plan(2, share=0.5, field="complex")
    sample = release_orbit(M, releases, NoiseSource())
    assert seen[0].levels.tolist() == [1.0, 0.25]
    assert seen[0].tilts == pytest.approx(releases.draws.rate([1.0, 0.25]) * VALUES, abs=1e-9)
    assert sample.values.tolist() == [8.0, 2.0]


# 4. Zeros and shapes


@pytest.mark.parametrize("field", ["real", "complex"])
@pytest.mark.parametrize("strategy", ["joint", "sequential"])
@pytest.mark.parametrize("released", [[0.0, 0.0, 0.0], [2.0, 0.0, 0.0], [2.0, 1e-30, 0.0], [5e-324, 0.0, 0.0]])
def test_eigenvalues_that_come_out_as_zero_leave_shapes_alone(field, strategy, released, monkeypatch):
    noise, releases = NoiseSource(), plan(3, share=0.5, field=field, strategy=strategy)
    monkeypatch.setattr(orbit_draw, "release_eigenvalues", _logged(released))
    sample = release_orbit(matrix(VALUES)[0], releases, noise)
    assert sample.vectors.shape == (3, D) and sample.values.shape == (3,) and sample.matrix().shape == (D, D)
    assert np.isfinite(sample.matrix()).all()
    assert np.count_nonzero(np.abs(sample.vectors).sum(axis=1)) == int(released[0] > 0)
    assert noise.executed == tuple(step.event for step in releases.steps())


def _logged(released):
    def release(values, lattice, noise):
        noise.begin(lattice.event, lattice.neighbors, numerics="idealized")
        return np.array(released)

    return release


def test_the_zero_matrix_gives_a_uniform_direction():
    releases, noise = plan(1, levels=np.ones(1), d=3), NoiseSource()
    first = [abs(release_orbit(np.zeros((3, 3)), releases, noise).vectors[0, 0]) for _ in range(1000)]
    assert_plausible(stats.kstest(first, "uniform").pvalue)


@pytest.mark.parametrize("field", ["real", "complex"])
@pytest.mark.parametrize(("d", "k"), [(5, 4), (8, 6), (5, 2)])
def test_what_is_published_does_not_remember_the_eigenbasis(field, d, k, monkeypatch):
    """At epsilon near 0 all data have one law. The real part of a projection of rank k > d / 2 has tied eigenvalues, so
    that something must choose among their eigenvectors: the data, if that is not forbidden."""
    bases = [matrix(np.arange(d, 0.0, -1.0), field == "complex", seed=seed)[0] for seed in (1, 2)]
    releases = plan(k, levels=np.ones(k), epsilon=1e-9, field=field, d=d)

    def smallest_p_value(n):
        samples = []
        for M in bases:
            noise = NoiseSource()
            monkeypatch.setattr(basis, "_by_data", M, raising=False)
            drawn = np.array([release_orbit(M, releases, noise).vectors for _ in range(n)])
            samples.append(drawn.real.reshape(n, -1))
        return min(ks_p_value(one, other) for one, other in zip(*(sample.T for sample in samples), strict=True))

    assert_plausible(smallest_p_value(600))
    if field == "real" and 2 * k > d:
        monkeypatch.setattr(basis, "_canonical", _chosen_by_data)
        # Two laws that are 0.26 apart, of which 0.13 is noticed: six standard deviations of a distance.
        assert smallest_p_value(1200) < FALSE_ALARM


def _chosen_by_data(columns, cuts):
    """The rule of `_canonical` with the secret matrix in the place of the public one (a plain SVD picks by the data
    too, how much so depends on the processor)."""
    blocks = [block @ np.linalg.eigh(block.T @ basis._by_data @ block)[1] for block in np.split(columns, cuts, axis=1)]
    return fix_signs(np.hstack(blocks).T)


@pytest.mark.parametrize("field", ["real", "complex"])
def test_the_whole_space_shows_nothing_of_the_data(field):
    releases = plan(4, levels=np.full(4, 3.0), epsilon=1.0, field=field, d=4)
    for seed in (1, 2):
        sample = release_orbit(matrix([9.0, 5.0, 2.0, 1.0], seed=seed)[0], releases, NoiseSource())
        assert np.array_equal(sample.vectors, np.eye(4)) and np.array_equal(sample.values, np.full(4, 3.0))
        assert sample.matrix() == pytest.approx(3.0 * np.eye(4), abs=1e-12)


def test_the_published_vectors_are_those_of_the_matrix_alone(monkeypatch):
    """A factor that was turned by the data, as a sampler may return it, gives the same vectors."""
    M, _ = matrix(VALUES, True)
    draw = orbit_draw.draw_orbit
    results = []
    for turn in (np.eye(2), haar_bases(1, 2, True, np.random.default_rng(5))[0]):

        def turned(law, stream, turn=turn):
            return type("", (), {"factor": draw(law, stream).factor @ turn})

        monkeypatch.setattr(orbit_draw, "draw_orbit", turned)
        results.append(release_orbit(M, plan(2, levels=np.ones(2), field="complex"), NoiseSource(seed=3)).vectors)
    assert results[0] == pytest.approx(results[1], abs=1e-12)
