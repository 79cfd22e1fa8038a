"""Scores of candidates: bounded integers for any records, closed forms, the same bits in any blocks, refusals."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import minimize

from hushrank.data.records.blocks import UserRecordBlock
from hushrank.estimators.personalization.candidate_scores import CandidateState, Limit, score_candidates, to_integer
from hushrank.estimators.personalization.candidates import spread_candidates
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Pure
from hushrank.privacy.mechanisms.selection import selection_lattice

LATTICE = selection_lattice(1.5, Pure(1.0, bounded_range=True), "replace")
BOUND = LATTICE.integer_bound
LOSSES = pytest.mark.parametrize("is_logistic", [False, True])


def state_for(shape=(4, 2), n=70, **terms):
    return CandidateState(spread_candidates(n, shape), LATTICE, **terms)


def block_of(*users, dtype=np.float64):
    """Users as pairs (X, y)."""
    indptr = np.cumsum([0, *(len(y) for _, y in users)], dtype=np.int64)
    X = np.ascontiguousarray(np.concatenate([x for x, _ in users]), dtype)
    return UserRecordBlock(indptr, X, np.concatenate([y for _, y in users]).astype(np.float64))


def random_users(seed, n_users=12, d=4, most=9):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, most, n_users)
    return [(rng.standard_normal((m, d)), rng.standard_normal(m)) for m in sizes]


def explained(X, y, U, ridge=0.05):
    """Loss that ridge regression explains, from its definition."""
    Z = X @ U
    v = np.linalg.solve(Z.T @ Z + ridge * np.eye(U.shape[1]), Z.T @ y)
    return (y @ y - np.sum((y - Z @ v) ** 2) - ridge * v @ v) / len(y)


# 1. Sensitivity: integers within the bound, for any records


numbers = st.one_of(
    st.floats(-3, 3),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -1e300, 1e154, 1e-300, 5e-324, 0.0, -0.0, 1.7e308]),
)


@LOSSES
@given(
    records=hnp.arrays(np.float64, st.tuples(st.integers(0, 7), st.just(4)), elements=numbers),
    scale=st.sampled_from([1.0, 1e-60, 1e60]),
)
@settings(max_examples=150, deadline=None)
def test_no_user_leaves_the_bound(is_logistic, records, scale):
    """Three features and an answer of any values; both branches, of few records and of many."""
    state = state_for((3, 2), is_logistic=is_logistic, x_scale=scale, y_scale=1 / scale)
    for dtype in (np.float64, np.float32):
        with np.errstate(over="ignore"):
            block = block_of((records[:, :3].astype(dtype), records[:, 3]), dtype=dtype)
        scores = score_candidates(block, state)
        assert scores.dtype == np.int64 and scores.min() >= 0 and scores.max() <= BOUND


@LOSSES
def test_a_user_with_very_many_records_is_one_user(is_logistic):
    rng = np.random.default_rng(1)
    X = 1e8 * rng.standard_normal((100_000, 4))
    scores = score_candidates(block_of((X, X[:, 0])), state_for(n=3, is_logistic=is_logistic))
    assert scores.min() > 0 and scores.max() <= BOUND


def test_a_worst_user_attains_the_bound_and_another_one_zero():
    state, X = state_for((4, 1)), np.eye(4)[:1]
    best = score_candidates(block_of((X, np.array([1e6]))), state)
    assert (best == BOUND).all()
    # Replaced by a user whom nothing explains, the sums move by the whole bound for every candidate.
    assert not score_candidates(block_of((X, np.zeros(1))), state).any()


def test_one_user_may_be_for_a_candidate_and_against_another_as_far_as_it_goes():
    candidates = np.eye(3)[:, :, None]
    state = CandidateState(candidates, LATTICE)
    users = [block_of((100 * np.eye(3)[[a]], np.array([100.0]))) for a in (0, 1)]
    change = score_candidates(users[0], state) - score_candidates(users[1], state)
    assert change.tolist() == [BOUND, -BOUND, 0]


def test_a_worst_user_attains_the_logistic_bound():
    lattice = selection_lattice(0.5, Pure(1.0, bounded_range=True), "replace")
    state = CandidateState(np.eye(2)[:, :, None], lattice, is_logistic=True)
    X = np.array([[9.0, 0.0], [-9.0, 0.0]] * 4)
    assert score_candidates(block_of((X, X[:, 0])), state).tolist() == [lattice.integer_bound, 0]


@pytest.mark.parametrize("bound", [1.5, 0.1, 1 / 3, math.log(2), 1e-5, 7e5])
@pytest.mark.parametrize("integer", [1, 3, 2**22, 2**30])
def test_integers_are_the_nearest_and_never_above_the_bound(bound, integer):
    limit = Limit(bound, integer)
    for score in [*np.linspace(0, bound, 101), math.nextafter(bound, 0), bound * 0.999999999]:
        assert to_integer(score, limit) == pytest.approx(score / bound * integer, abs=0.5 + 1e-6)
        assert 0 <= to_integer(score, limit) <= integer
    for score in (bound, 2 * bound, 1e300, math.inf):
        assert to_integer(score, limit) == integer
    for score in (0.0, -1.0, -math.inf, math.nan, -0.0):
        assert to_integer(score, limit) == 0


# 2. Limits: the definitions


@pytest.mark.parametrize("shape", [(4, 1), (4, 2), (4, 4), (6, 3)])
@pytest.mark.parametrize("m", [1, 3, 25])
def test_squared_scores_are_those_of_ridge_regression(shape, m):
    """With fewer records than features, and with more, where the kernel reduces them first."""
    rng = np.random.default_rng(m)
    X = rng.standard_normal((m, shape[0]))
    y = 0.8 * X[:, 0] + 0.3 * rng.standard_normal(m)
    state = state_for(shape, ridge=0.2)
    expected = [min(max(explained(X, y, U, 0.2), 0.0), 1.5) for U in state.candidates]
    assert np.abs(score_candidates(block_of((X, y)), state) * LATTICE.unit - expected).max() < 1e-8


def test_logistic_scores_are_those_of_the_best_head():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((12, 4))
    y = np.where(X[:, 0] + 0.5 * rng.standard_normal(12) > 0, 1.0, rng.choice([0.0, -1.0], 12))
    state = state_for((4, 2), n=12, is_logistic=True, row_norm=1.2, head_norm=50.0, ridge=0.3)
    found = score_candidates(block_of((X, y)), state) * LATTICE.unit
    for U, score in zip(state.candidates, found, strict=True):
        Z = X @ U
        Z *= np.minimum(1, 1.2 / np.linalg.norm(Z, axis=1, keepdims=True)) * np.where(y > 0, 1, -1)[:, None]
        best = minimize(lambda v, Z=Z: np.logaddexp(0, -Z @ v).sum() + 0.3 * v @ v, np.zeros(2)).fun
        assert score == pytest.approx(math.log(2) - best / 12, abs=1e-7)


@LOSSES
def test_scales_are_units(is_logistic):
    users = random_users(2)
    scaled = [(8.0 * X, y if is_logistic else 0.25 * y) for X, y in users]
    one = score_candidates(block_of(*users), state_for(is_logistic=is_logistic))
    other = score_candidates(block_of(*scaled), state_for(is_logistic=is_logistic, x_scale=8.0, y_scale=0.25))
    assert np.array_equal(one, other)  # powers of two: the same bits


# 3. Identities


@LOSSES
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(0, 12), max_size=4))
@settings(max_examples=30, deadline=None)
def test_the_same_bits_in_any_blocks_and_any_order(is_logistic, seed, cuts):
    users, state = random_users(seed), state_for(is_logistic=is_logistic)
    whole = score_candidates(block_of(*users), state)
    edges = [0, *sorted(cuts), len(users)]
    parts = [users[a:b] for a, b in itertools.pairwise(edges) if b > a]
    assert np.array_equal(whole, sum(score_candidates(block_of(*part), state) for part in parts))
    order = np.random.default_rng(seed).permutation(len(users))
    assert np.array_equal(whole, score_candidates(block_of(*(users[j] for j in order)), state))


@LOSSES
def test_a_candidate_has_the_same_score_in_any_company(is_logistic):
    block, state = block_of(*random_users(5)), state_for(n=130, is_logistic=is_logistic)
    whole = score_candidates(block, state)
    for c in (0, 63, 64, 129):
        alone = CandidateState(state.candidates[c : c + 1], LATTICE, is_logistic)
        assert score_candidates(block, alone)[0] == whole[c]


@LOSSES
def test_single_precision_has_the_scores_of_the_same_numbers(is_logistic):
    users = [(X.astype(np.float32).astype(np.float64), y) for X, y in random_users(6)]
    state = state_for(is_logistic=is_logistic)
    assert np.array_equal(
        score_candidates(block_of(*users, dtype=np.float32), state), score_candidates(block_of(*users), state)
    )


@LOSSES
def test_records_that_are_not_finite_count_as_absent(is_logistic):
    rng, state = np.random.default_rng(8), state_for(is_logistic=is_logistic)
    X, y = rng.standard_normal((6, 4)), rng.standard_normal(6)
    clean = score_candidates(block_of((X, y)), state)
    for bad in (math.nan, math.inf, -math.inf):
        worse = np.insert(X, 2, bad, axis=0), np.insert(y, 2, 1.0)
        assert np.array_equal(score_candidates(block_of(worse), state), clean)
        worse = np.insert(X, 6, 1.0, axis=0), np.insert(y, 6, bad)
        assert np.array_equal(score_candidates(block_of(worse), state), clean)
        assert not score_candidates(block_of((np.full((3, 4), bad), np.ones(3))), state).any()


@LOSSES
def test_users_without_records_score_nothing(is_logistic):
    empty, state = (np.zeros((0, 4)), np.zeros(0)), state_for(is_logistic=is_logistic)
    assert not score_candidates(block_of(empty), state).any()
    users = random_users(9)
    both = score_candidates(block_of(empty, *users, empty), state)
    assert np.array_equal(both, score_candidates(block_of(*users), state))
    nobody = UserRecordBlock(np.zeros(1, np.int64), np.zeros((0, 4)), np.zeros(0))
    assert score_candidates(nobody, state).tolist() == [0] * 70


def test_nobody_weighs_more_for_having_more_records():
    """A score is a mean over records: many copies of them are a smaller ridge."""
    X, y = np.array([[1.0, 2.0, 0.5, -1.0], [0.5, -1.0, 1.0, 1.0]]), np.array([1.0, 0.3])
    one = score_candidates(block_of((X, y)), state_for(ridge=0.05))
    many = score_candidates(block_of((np.tile(X, (500, 1)), np.tile(y, 500))), state_for(ridge=500 * 0.05))
    assert np.abs(one - many).max() <= 2


def test_the_state_travels_to_other_engines():
    state, block = state_for(ridge=0.3), block_of(*random_users(4))
    again = pickle.loads(pickle.dumps(state))
    assert np.array_equal(score_candidates(block, state), score_candidates(block, again))


# 4. Refusals


@pytest.mark.parametrize("X", [np.zeros((2, 3)), np.zeros((2, 5)), np.zeros((2, 2, 2))])
def test_records_of_another_width_are_refused_before_the_kernel(X):
    block = UserRecordBlock(np.array([0, 2]), X, np.zeros(2))
    with pytest.raises(InvalidParameter, match="X of score_candidates must be of 4 columns"):
        score_candidates(block, state_for())
