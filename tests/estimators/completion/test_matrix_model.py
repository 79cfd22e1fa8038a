"""A matrix around its factors: what is said about its entries and its noise is true where the budget is large."""

import numpy as np
import pytest

from completion_support import RELATIONS, Replay, largest_loss, make_people, make_releases
from hushrank.estimators.completion.matrix_model import (
    MatrixState,
    describe_entries,
    estimate_noise,
    learn_matrix_around,
)
from hushrank.estimators.completion.recipes import MATRIX

N_ITEMS = 24
PEOPLE = make_people(80, N_ITEMS, seed=3)
RNG = np.random.default_rng(4)
V = 0.15 * RNG.standard_normal((N_ITEMS, 2))


def planted(n_users=3000, noise=0.1, seed=5):
    """Half of the entries of a matrix of rank 2 with the item factors V, users drawn from the prior, and noise."""
    rng = np.random.default_rng(seed)
    people = []
    for _ in range(n_users):
        own = np.flatnonzero(rng.random(N_ITEMS) < 0.5)
        y = V[own] @ rng.standard_normal(2) + noise * rng.standard_normal(len(own))
        people.append((own, np.clip(y, -1, 1)))
    return people


# 1. Sensitivity


@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_user_stays_within_the_budget(monkeypatch, neighbors):
    def learn(releases):
        entries = describe_entries(releases)
        estimate_noise(releases, entries, MatrixState(V, np.zeros(2), 0.05))

    assert largest_loss(Replay(monkeypatch), learn, PEOPLE, N_ITEMS, neighbors=neighbors) > 0.001


# 2. Limit


def test_a_huge_budget_describes_the_entries():
    people = planted()
    entries = describe_entries(make_releases(people, N_ITEMS, epsilon=1e4))
    rows = [y for _, y in people]
    squares = np.concatenate(rows) ** 2
    assert entries.share == pytest.approx(len(squares) / (len(people) * N_ITEMS), rel=0.01)
    norms = np.array([np.linalg.norm(y) for y in rows])
    assert entries.row_norm == pytest.approx(np.quantile(norms, MATRIX.norm_quantile), rel=0.1)
    # Rows beyond twice the quantile are clipped, so that the second moment is a little too small.
    assert 0.8 * squares.mean() < entries.second_moment < 1.05 * squares.mean()
    clipped = np.minimum(norms, entries.row_norm) ** 2
    assert entries.stretch == pytest.approx(np.minimum(norms, 2 * entries.row_norm) @ norms / clipped.sum(), rel=0.3)


@pytest.mark.parametrize("start", [0.002, 0.05])
def test_the_noise_is_found_from_any_start(start):
    releases = make_releases(planted(), N_ITEMS, epsilon=1e4)
    entries, state = describe_entries(releases), MatrixState(V, np.zeros(2), start)
    for _ in range(6):
        state = estimate_noise(releases, entries, state)
    assert state.noise == pytest.approx(0.01, rel=0.1)


# 4. Identities


def test_the_noise_keeps_a_share_behind_the_factors():
    releases, given = make_releases(PEOPLE, N_ITEMS), []

    def learn_factors(model, share):
        given.append((share, releases.left))
        assert model.W.shape == (N_ITEMS, 0) and model.ridge > 0
        releases.vector_lattice(1.0, share)
        return np.zeros((N_ITEMS, 2))

    model = learn_matrix_around(releases, learn_factors)
    [(share, left)] = given
    assert share == pytest.approx(left - 2 * MATRIX.noise_share)
    assert 0.0 <= releases.left < 1e-9 and model.factors.shape == (N_ITEMS, 2)
    assert (model.base == 0.0).all() and (model.counts == 1.0).all() and model.ridge > 0


def test_the_noise_never_falls_to_nothing():
    people = [(items, np.zeros(len(items))) for items, _ in PEOPLE]
    releases = make_releases(people, N_ITEMS, epsilon=1e4)
    entries, state = describe_entries(releases), MatrixState(V, np.zeros(2), 1e-6)
    for _ in range(4):
        state = estimate_noise(releases, entries, state)
    assert state.noise >= MATRIX.least_noise * entries.second_moment > 0
