"""Second moments as integer rows within their bound, mean products and squares: those of NumPy on usable records."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.personalization import moment_kernels as kernels
from hushrank.estimators.personalization.moment_kernels import MomentBound
from record_support import D, adverse_users, arrays_of, make_state, make_users, same_bits, to_integers

T = 2.0**36


def rows_of(users, bound, dtype=np.float64, d=D):
    """Integer rows of all users."""
    records = arrays_of(users, dtype, d)
    integers = np.full((len(records.y), d), math.nan)
    n = kernels.quantize_moments(records, bound, integers)
    assert np.isfinite(integers[:n]).all() and (integers[:n] == np.rint(integers[:n])).all()
    return integers[:n]


def moment(X):
    return X.T @ X / len(X)


# Integer rows


@given(
    st.integers(0, 2**32),
    st.sampled_from([1.0, 2.0, 3.0, 10.0, 57.0, 1e4, T]),
    st.integers(1, 40),
    st.floats(-3, 3),
)
@settings(deadline=None, max_examples=100)
def test_the_norm_of_the_integers_is_within_the_limit_exactly(seed, limit, m, power):
    """Small limits: rounding is coarse then, and pushes many users over."""
    user = (10.0**power * np.random.default_rng(seed).standard_normal((m, D)), np.zeros(m))
    Y = to_integers(rows_of([user], MomentBound(1.0, limit)).astype(np.int64))
    assert ((Y.T @ Y) ** 2).sum() <= int(limit) ** 2


@pytest.mark.parametrize("limit", [1e3, 1e5, 1e9])
def test_rounding_beyond_the_limit_is_taken_back_and_not_lost(limit):
    """With s = sqrt(n d / T), rows shortened by c = 1 - 2 s - s^2 have a moment of at least c^2 - c s - s^2."""
    rng, s, sizes = np.random.default_rng(1), math.sqrt(2 * D / limit), []
    for _ in range(200):
        Y = rows_of([(10.0 * rng.standard_normal((2, D)), np.zeros(2))], MomentBound(1.0, limit))
        sizes.append(np.linalg.norm(Y.T @ Y) / limit)
    c = 1.0 - 2.0 * s - s * s
    assert c * c - c * s - s * s < min(sizes) < 1.0 - 2.0 * s < np.quantile(sizes, 0.8) < max(sizes) <= 1.0


def test_rows_that_cannot_be_brought_within_the_limit_are_refused():
    """A norm that is far too small, and one that leaves no number: the integers decide, not the norm."""
    rows, integers, gram = np.full((2, D), 3.0), np.empty((2, D)), np.empty((D, D))
    bound = MomentBound(1.0, 100.0)
    assert not kernels.round_rows(rows, 2, 2.0, 1e-9, bound, gram, integers)
    assert not kernels.round_rows(rows, 2, 2.0, 1.0, MomentBound(1e-300, 100.0), gram, integers)
    assert not kernels.round_rows(np.full((2, D), math.nan), 2, 2.0, 1.0, bound, gram, integers)
    assert kernels.round_rows(rows, 2, 2.0, 9.0 * D, bound, gram, integers)


def test_the_check_has_a_margin_for_its_own_rounding():
    """A limit that is met exactly is refused at first; a unit less is taken as it is."""
    gram, integers = np.empty((1, 1)), np.empty((1, 1))
    for size, kept in ((2.0**18 - 1.0, True), (2.0**18, False)):
        assert kernels.round_rows(np.array([[size]]), 1, 1.0, T, MomentBound(T, T), gram, integers)
        assert (integers[0, 0] == size) == kept and abs(integers[0, 0] - size) < 5.0


@pytest.mark.parametrize("m", [1, 3, 4, 5, 60, 2000])
@pytest.mark.parametrize("norm", [1e4, 0.5])
def test_rows_add_up_to_the_mean_moment_shortened_to_the_bound(m, norm):
    X = make_users(np.random.default_rng(m), [m], spread=3.0)[0][0]
    Y = rows_of([(X, np.zeros(m))], MomentBound(norm, T))
    M = moment(X)
    expected = M * min(1.0, norm / np.linalg.norm(M))
    # Rounding moves rows by at most sqrt(m d) / 2, and the moment by about that share of its root, once or twice.
    error = 6.0 * math.sqrt(m * D / T) * math.sqrt(norm * max(np.linalg.norm(expected), norm))
    assert len(Y) == m and np.linalg.norm(Y.T @ Y * (norm / T) - expected) < error < 0.02 * norm


def test_rows_of_users_follow_each_other_without_gaps():
    users = [*adverse_users(np.random.default_rng(2)).values(), *make_users(np.random.default_rng(3), [2, 1])]
    bound = MomentBound(2.0, T)
    alone = [rows_of([user], bound) for user in users]
    assert same_bits(rows_of(users, bound), np.concatenate(alone))
    assert [len(rows) for rows in alone[-2:]] == [2, 1]


def test_float32_records_have_the_same_bits():
    X = np.random.default_rng(4).standard_normal((9, D)).astype(np.float32)
    wide, bound = X.astype(np.float64), MomentBound(0.7, T)
    assert same_bits(rows_of([(X, np.zeros(9))], bound, np.float32), rows_of([(wide, np.zeros(9))], bound))
    records = [arrays_of([(X, np.ones(9))], np.float32), arrays_of([(wide, np.ones(9))])]
    assert same_bits(*(kernels.moment_norms(one) for one in records))
    assert same_bits(*(kernels.mean_products(one, False, np.eye(D)) for one in records))


def test_squares_of_float32_records_are_those_of_float64():
    """They overflow in float32: such a record must be as usable as its numbers in float64."""
    X = np.full((3, D), 1e25, np.float32)
    assert kernels.is_usable(X, 0) and kernels.is_usable(X.astype(np.float64), 0)
    norms = [kernels.moment_norms(arrays_of([(X, np.zeros(3))], dtype))[0] for dtype in (np.float32, np.float64)]
    assert norms[0] == norms[1] == pytest.approx(D * 1e50, rel=1e-6)


# Norms


@pytest.mark.parametrize("n, d", [(1, 1), (3, 5), (5, 5), (6, 5), (40, 3)])
def test_the_norm_of_a_moment_is_that_of_numpy_for_few_and_for_many_rows(n, d):
    rows = np.random.default_rng(5).standard_normal((n + 2, d))
    expected = np.linalg.norm(rows[:n].T @ rows[:n]) ** 2
    assert kernels.squared_moment_norm(rows, n, np.empty((d, d))) == pytest.approx(expected, rel=1e-12)


def test_norms_of_users_are_those_of_their_mean_moments():
    users = [*make_users(np.random.default_rng(6), [1, 3, 40, 0]), (np.full((3, D), math.inf), np.zeros(3))]
    norms = kernels.moment_norms(arrays_of(users))
    assert norms == pytest.approx([*(np.linalg.norm(moment(X)) for X, _ in users[:3]), 0.0, 0.0], rel=1e-12)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 1e300])
def test_records_without_a_finite_sum_of_squares_are_absent(bad):
    X, y = make_users(np.random.default_rng(7), [5])[0]
    spoilt = X.copy()
    spoilt[2, 3] = bad
    records = arrays_of([(spoilt, y), (np.delete(X, 2, axis=0), np.delete(y, 2))])
    assert [kernels.is_usable(spoilt, i) for i in range(5)] == [True, True, False, True, True]
    for numbers in (kernels.moment_norms(records), kernels.mean_products(records, False, np.eye(D))):
        assert same_bits(numbers[0], numbers[1]) and numbers[0].all()


def test_moments_do_not_look_at_answers():
    X, y = make_users(np.random.default_rng(8), [5])[0]
    norms = kernels.moment_norms(arrays_of([(X, y), (X, np.full(5, math.nan))]))
    assert norms[0] == norms[1] > 0.0


# Mean products and squares


@pytest.mark.parametrize("is_logistic", [False, True])
def test_mean_products_are_those_of_numpy(is_logistic):
    W = make_state(9).whitening
    users = make_users(np.random.default_rng(10), [1, 4, 50, 0])
    means = kernels.mean_products(arrays_of(users), is_logistic, W)
    for (X, y), s in zip(users[:3], means, strict=False):
        answers = np.where(y > 0.0, 0.5, -0.5) if is_logistic else y
        m = len(y)
        assert s == pytest.approx(W @ (X.T @ answers) / m * math.sqrt(m / (m + D)), rel=1e-12)
    assert not means[3].any()
    assert kernels.squared_norms(means) == pytest.approx((means**2).sum(axis=1), rel=1e-12)


@pytest.mark.parametrize("is_logistic", [False, True])
def test_answers_that_are_not_finite_make_a_record_absent_from_products(is_logistic):
    X, y = make_users(np.random.default_rng(11), [6])[0]
    spoilt = y.copy()
    spoilt[4] = math.nan
    records = arrays_of([(X, spoilt), (np.delete(X, 4, axis=0), np.delete(y, 4))])
    means = kernels.mean_products(records, is_logistic, np.eye(D))
    assert same_bits(means[0], means[1]) and means[0].all()


def test_mean_squares_are_those_of_finite_answers():
    X = np.ones((4, D))
    users = [(X, np.array([1.0, 3.0, math.nan, math.inf])), (X, np.full(4, math.nan)), (X[:0], np.empty(0))]
    users.append((np.full((4, D), math.nan), np.full(4, 2.0)))  # records do not matter
    assert kernels.mean_squares(arrays_of(users)).tolist() == [5.0, 0.0, 0.0, 4.0]
    assert kernels.mean_squares(arrays_of([(X, np.full(4, 1e300))])).tolist() == [math.inf]
