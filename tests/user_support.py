"""Users in the form that the compiled kernels read, and what one user contributes to a sum by plain NumPy."""

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hushrank.estimators.completion.rating_kernels import RatingArrays

N_ITEMS = 9


def ratings_of(users):
    """Arrays indptr, items and values of a block, from pairs (items, values) of users."""
    indptr = np.cumsum([0, *(len(items) for items, _ in users)], dtype=np.int64)
    items = np.concatenate([np.asarray(items, np.int32) for items, _ in users] or [np.empty(0, np.int32)])
    with np.errstate(over="ignore"):
        values = [np.asarray(values).astype(np.float32) for _, values in users]
    return RatingArrays(indptr, items, np.concatenate(values or [np.empty(0, np.float32)]))


def items_of(user):
    """Items as NumPy indexes with them, also none."""
    return np.asarray(user[0], int)


def values_of(user):
    """Values as the kernels see them: float32, computed with in float64."""
    return np.asarray(user[1], np.float32).astype(float)


def random_users(rng, n_users, n_items, most=None):
    """Users with between 0 and `most` ratings in [-1, 1], the first two with none and with one."""
    users = []
    for i in range(n_users):
        n = i if i < 2 else int(rng.integers(2, (most or n_items) + 1))
        users.append((np.sort(rng.permutation(n_items)[:n]), rng.uniform(-1, 1, n)))
    return users


def exact_squares(integers):
    """Sum of squares in Python integers, which do not overflow."""
    assert integers.dtype == np.int64
    return sum(y * y for y in integers.reshape(-1).tolist())


def regress(user, base, W, ridge):
    """Coefficients, what is left of the residuals, and posterior covariance, of one user's ridge regression."""
    items = items_of(user)
    W_o = W[items]
    r = values_of(user) - base[items]
    inverse = np.linalg.inv(W_o.T @ W_o + ridge * np.eye(W.shape[1]))
    z = inverse @ (W_o.T @ r)
    return z, r - W_o @ z, ridge * inverse


def shorten(contribution, norm_bound):
    """The contribution with norm at most norm_bound, and the factor that shortened it."""
    norm = np.linalg.norm(contribution)
    factor = min(1.0, norm_bound / norm) if norm > 0 else 1.0
    return contribution * factor, factor


def assert_rounded(integers, contribution, norm_bound, limit, tol=1e-4):
    """Each integer is the nearest one, or all are cut off toward zero where the nearest ones would break the limit.

    `contribution` has norm at most norm_bound; `tol`, in lattice units, covers the float errors before rounding.
    """
    integers = np.asarray(integers)
    assert exact_squares(integers) <= limit
    ideal = np.asarray(contribution, float).reshape(integers.shape) * (math.sqrt(limit) / norm_bound)
    moves = np.abs(integers - ideal)
    if moves.max(initial=0.0) > 0.5 + tol:
        assert exact_squares((np.abs(ideal) + 0.5 + tol).astype(np.int64)) > limit
        assert moves.max() <= 1 + tol and (np.abs(integers) <= np.abs(ideal) + tol).all()


# Contributions of one user by the formulas, before they are bounded.


@dataclass
class Model:
    """What is public about the users' regressions and the weights of their contributions."""

    base: np.ndarray
    W: np.ndarray
    ridge: float
    shape: np.ndarray
    count_norm: float = 2.0
    n_fixed: int = 1
    has_base: bool = True
    shift: float = 0.3
    is_stretched: bool = False
    n_expected: float = 5.0


def weight_of(user, model):
    return min(1.0, model.count_norm / math.sqrt(max(len(user[0]), 1)))


def plain_counts(user, model):
    counts = np.zeros((len(model.base), 1))
    counts[items_of(user)] = 1.0
    return counts


def plain_user_means(user, model):
    return np.array([values_of(user).sum() / max(len(user[1]), 1)])


def plain_squared_norms(user, model):
    return np.array([(values_of(user) ** 2).sum() - model.shift])


def plain_residuals(user, model):
    total = np.zeros((len(model.base), 1))
    items, e = items_of(user), regress(user, model.base, model.W, model.ridge)[1]
    total[items, 0] = e * weight_of(user, model) * model.shape[items]
    return total


def plain_moments(user, model):
    """The second half as means under the model, y - base ~ N(0, W W' + ridge I), of the first half."""
    (z, e, _), n = regress(user, model.base, model.W, model.ridge), len(user[0])
    W, k = model.W[items_of(user)], model.W.shape[1]
    K = W @ W.T + model.ridge * np.eye(n)
    to_z = np.linalg.inv(W.T @ W + model.ridge * np.eye(k)) @ W.T
    to_e = np.eye(n) - W @ to_z
    size = model.ridge * max(n, 1)
    means = [*np.diag(to_z @ K @ to_z.T), np.trace(to_e @ K @ to_e.T) / size]
    return np.array([[*z**2, e @ e / size, *means]])


def plain_noise_levels(user, model):
    _, e, P = regress(user, model.base, model.W, model.ridge)
    return np.array([[e @ e / model.ridge, len(user[0]) - len(P) + np.trace(P)]]) / model.n_expected


def log_likelihood(user, base, W, ridge):
    """Of one user's ratings under the model, the coefficients integrated out; up to a constant."""
    items = items_of(user)
    K = W[items] @ W[items].T + ridge * np.eye(len(items))
    r = values_of(user) - base[items]
    return -0.5 * (r @ np.linalg.solve(K, r) + np.linalg.slogdet(K)[1])


def plain_gradients(user, model):
    """e z' - W P with e, z and P of the regression, and e for the base."""
    items = items_of(user)
    z, e, P = regress(user, model.base, model.W, model.ridge)
    steps = np.column_stack([e, (np.outer(e, z) - model.W[items] @ P)[:, model.n_fixed :]])
    total = np.zeros((len(model.base), steps.shape[1]))
    total[items] = steps * weight_of(user, model) * model.shape[items, None]
    return total if model.has_base else total[:, 1:]


def shifts_of(model):
    """Constants of rows, which differ between items."""
    return model.shift * (1.0 + np.arange(len(model.base)) % 3)


def plain_rows(user, model):
    """The row without its second entry: that item has no position."""
    items, e = items_of(user), regress(user, model.base, model.W, model.ridge)[1]
    row = np.zeros(len(model.base))
    row[items] = (e + shifts_of(model)[items]) * model.shape[items]
    return np.delete(row, 1)


# Users and public numbers of all kinds.


EXTREMES = [0.0, 1.0, 5e-324, 1e-200, 1e150, 1e200, -1e300]


@st.composite
def any_user(draw):
    """A user with any items, and ratings between -1 and 1 or any floats."""
    items = sorted(draw(st.sets(st.integers(0, N_ITEMS - 1))))
    values = draw(st.sampled_from([st.floats(-1, 1, width=32), st.floats(width=32)]))
    return items, draw(arrays(np.float32, len(items), elements=values))


@st.composite
def any_model(draw):
    """Public numbers as extreme as floats can be, and regressions without a solution."""
    k, rng = draw(st.integers(0, 3)), np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.0, 0.1, 0.6]))

    def numbers(*shape):
        return np.where(rng.random(shape) < share, rng.choice(EXTREMES, shape), rng.standard_normal(shape))

    W = numbers(N_ITEMS, k)
    if k and draw(st.booleans()):
        W[:] = W[:, :1]  # equal columns make the regression singular
    return Model(
        numbers(N_ITEMS),
        W,
        draw(st.sampled_from([0.0, 5e-324, 1e-12, 0.2, 1e300])),
        numbers(N_ITEMS),
        count_norm=draw(st.floats(0.1, 10)),
        n_fixed=draw(st.integers(0, k)),
        has_base=draw(st.booleans()),
        shift=draw(st.sampled_from(EXTREMES)),
        is_stretched=draw(st.booleans()),
    )
