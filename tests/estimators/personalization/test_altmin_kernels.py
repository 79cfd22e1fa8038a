"""Normal equations of the subspace: sums of Kronecker products over one half of the records, heads from the other."""

import math

import numpy as np
import pytest

from hushrank.estimators.personalization import altmin_kernels as kernels
from hushrank.estimators.personalization.altmin_kernels import Equations
from hushrank.estimators.personalization.head_kernels import new_workspace
from hushrank.estimators.personalization.moment_kernels import MomentBound
from hushrank.linalg.scatter import Bound
from record_support import D, K, adverse_users, arrays_of, fitted, make_state, make_users, same_bits, to_integers

T = 2.0**36
RIGHT_LIMIT = 2.0**44


def equations_of(state, is_residual=True):
    return Equations(state.head_model, state.whitening, is_residual)


def by_numpy(user, equations):
    """Left side of shape (d k, d k), and right side of shape (d, k), of one user."""
    X, y = user
    _, _, work = fitted([(X[::2].copy(), y[::2])], equations.model)
    v, others = work.head, X[1::2]
    rows = others @ equations.whitening
    target = y[1::2] - (others @ equations.model.subspace.T @ v if equations.is_residual else 0.0)
    return np.kron(rows.T @ rows, np.outer(v, v)), np.outer(rows.T @ target, v)


def add(users, equations, left_norm, right_norm, limit=T):
    """Both sides in the units of the data, and the integer rows."""
    records = arrays_of(users)
    integers, right = np.full((len(records.y), D * K), math.nan), np.zeros((D, K), np.int64)
    bounds = MomentBound(left_norm, limit), Bound(right_norm, RIGHT_LIMIT)
    n = kernels.add_equations(records, equations, *bounds, integers, right)
    rows = integers[:n]
    assert (rows == np.rint(rows)).all()
    return rows.T @ rows * (left_norm / limit), right * (right_norm / math.sqrt(RIGHT_LIMIT)), rows


@pytest.mark.parametrize("is_residual", [True, False])
@pytest.mark.parametrize("m", [2, 3, 7, 40])
def test_equations_are_kronecker_sums_of_the_other_half(is_residual, m):
    for seed in range(3):
        equations = equations_of(make_state(seed), is_residual)
        user = make_users(np.random.default_rng(10 + seed), [m])[0]
        A, b = by_numpy(user, equations)
        scale = max(np.linalg.norm(A), np.linalg.norm(b))
        left, right, rows = add([user], equations, 2 * scale, 2 * scale)
        assert len(rows) == m // 2
        assert left == pytest.approx(A, abs=1e-4 * scale) and right == pytest.approx(b, abs=1e-5 * scale)


def test_the_solution_of_the_answers_is_the_subspace_itself():
    """Without noise and with heads of the truth, A vec(U) = b: the layout of both sides agrees."""
    state = make_state(4, noise=1e-9, is_white=True)
    rng, A, b = np.random.default_rng(5), np.zeros((D * K, D * K)), np.zeros((D, K))
    for _ in range(30):
        X = rng.standard_normal((12, D))
        left, right = add([(X, X @ state.U @ rng.standard_normal(K))], equations_of(state, False), 1e3, 1e3)[:2]
        A, b = A + left, b + right
    assert np.linalg.solve(A, b.ravel()).reshape(D, K) == pytest.approx(state.U, abs=1e-3)


def test_both_sides_are_shortened_by_one_factor():
    """The smallest that either bound asks for."""
    equations = equations_of(make_state(6))
    for user in make_users(np.random.default_rng(7), [4, 9, 30]):
        A, b = by_numpy(user, equations)
        sizes = np.linalg.norm(A), np.linalg.norm(b)
        for share, small in ((2.0, 2.0), (0.5, 2.0), (2.0, 0.5), (0.2, 0.5), (0.5, 0.2)):
            norms, factor = (share * sizes[0], small * sizes[1]), min(1.0, share, small)
            left, right, _ = add([user], equations, *norms)
            assert left == pytest.approx(factor * A, abs=1e-3 * norms[0])
            assert right == pytest.approx(factor * b, abs=1e-5 * norms[1])


def test_sizes_are_the_norms_of_both_sides():
    equations = equations_of(make_state(8))
    users = [*make_users(np.random.default_rng(9), [2, 5, 60]), *make_users(np.random.default_rng(9), [0, 1])]
    left, right = kernels.equation_sizes(arrays_of(users), equations)
    for j, user in enumerate(users[:3]):
        A, b = by_numpy(user, equations)
        assert (left[j], right[j]) == pytest.approx((np.linalg.norm(A), np.linalg.norm(b)), rel=1e-9)
    assert not left[3:].any() and not right[3:].any()  # nobody predicts the only record, or none


@pytest.mark.parametrize("limit", [1.0, 2.0, 5.0, 40.0, 1000.0])
def test_left_sides_are_within_the_limit_where_rounding_is_coarse(limit):
    equations, rng = equations_of(make_state(10)), np.random.default_rng(11)
    for user in make_users(rng, rng.integers(2, 12, 60)):
        Y = to_integers(add([user], equations, 0.1, 0.1, limit)[2].astype(np.int64))
        assert ((Y.T @ Y) ** 2).sum() <= int(limit) ** 2


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_records_that_are_not_finite_leave_the_halves_as_they_are(bad):
    """Places decide, so that a spoilt record moves no other one between the halves."""
    X, y = make_users(np.random.default_rng(12), [10])[0]
    equations = equations_of(make_state(13))
    spoilt = X.copy()
    spoilt[[2, 5], 1] = bad
    left, right, rows = add([(spoilt, y)], equations, 100.0, 100.0)
    records = arrays_of([(spoilt, y)])
    work, scratch = new_workspace(records.indptr, K), kernels.new_scratch(records, K)
    own = kernels.find_equations(records, 0, equations, work, scratch)
    fitted_rows, others = np.delete(X[::2], 1, axis=0), np.delete(X[1::2], 2, axis=0)
    _, _, expected = fitted([(fitted_rows, np.delete(y[::2], 1))], equations.model)
    assert same_bits(work.head, expected.head) and own.n_rows == len(rows) == 4
    assert scratch.rows[:4] == pytest.approx(others @ equations.whitening, abs=1e-12)
    assert left.any() and right.any()


def test_users_whose_numbers_overflow_add_nothing_and_spoil_nobody():
    equations, users = equations_of(make_state(14)), make_users(np.random.default_rng(15), [6, 9])
    adverse = adverse_users(np.random.default_rng(16))
    spoilt = [adverse[name] for name in ("huge", "squares overflow", "not numbers", "infinite", "nothing")]
    together = add([spoilt[0], users[0], *spoilt[1:], users[1]], equations, 5.0, 5.0)
    assert all(map(same_bits, together, add(users, equations, 5.0, 5.0)))


def test_float32_records_have_the_same_bits():
    X, y = make_users(np.random.default_rng(17), [30])[0]
    narrow, equations = X.astype(np.float32), equations_of(make_state(18))
    made = [
        kernels.equation_sizes(arrays_of([(Y, y)], Y.dtype), equations) for Y in (narrow, narrow.astype(np.float64))
    ]
    assert all(map(same_bits, *made)) and made[0][0].all()
