"""Users with records, public numbers and sums over users: what the tests of personalization share.

A user is a pair (X, y): records of shape (m, d) and their answers. Sums are looked at one user at a time, in Python
integers, which neither round nor wrap.
"""

import dataclasses
import math
from fractions import Fraction

import numpy as np

from hushrank.data.records.blocks import UserRecordBlock
from hushrank.estimators.personalization import user_sums
from hushrank.estimators.personalization.altmin_kernels import Equations
from hushrank.estimators.personalization.gradient_kernels import Tangent
from hushrank.estimators.personalization.head_kernels import HeadModel, fit_head, new_workspace
from hushrank.estimators.personalization.subspace import Subspace, orthonormalize
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.symmetric import SymmetricLattice, symmetric_lattice
from hushrank.privacy.mechanisms.vector import vector_lattice
from hushrank.privacy.noise.source import NoiseSource

D, K = 4, 2
EVENT = Gaussian(2.0)
SCALES = np.array([1.0, 0.25, 4.0])
EXTREMES = [0.0, -1.0, 1e-300, 5e-324, 1e-9, 1e9, 1e80, -1e154, 1e300, math.inf, math.nan]


# Users


def block_of(users, dtype=np.float64, d=D):
    """A block of users, in their order."""
    indptr = np.cumsum([0, *(len(y) for _, y in users)], dtype=np.int64)
    with np.errstate(over="ignore", invalid="ignore"):
        X = np.concatenate([np.empty((0, d)), *(X for X, _ in users)]).astype(dtype)
    return UserRecordBlock(indptr, X, np.concatenate([np.empty(0), *(y for _, y in users)]))


def arrays_of(users, dtype=np.float64, d=D):
    """Users as compiled kernels take them."""
    return user_sums.arrays_of(block_of(users, dtype, d))


def make_users(rng, counts, d=D, k=K, noise=0.5, spread=1.0):
    """Users whose answers follow a shared subspace, with so many records each."""
    U, users = np.linalg.qr(rng.standard_normal((d, k)))[0], []
    for m in counts:
        X = rng.standard_normal((m, d)) @ np.diag(np.linspace(1.0, spread, d))
        users.append((X, X @ U @ rng.standard_normal(k) + noise * rng.standard_normal(m)))
    return users


def adverse_users(rng, d=D):
    """Users that a bound must survive, by name."""

    def normal(m, scale=1.0):
        return scale * rng.standard_normal((m, d)), scale * rng.standard_normal(m)

    X, y = normal(40)
    spoilt = np.where(rng.random((60, d)) < 0.2, rng.choice(EXTREMES, (60, d)), rng.standard_normal((60, d)))
    answers = np.where(rng.random(60) < 0.2, rng.choice(EXTREMES, 60), rng.standard_normal(60))
    return {
        "nothing": normal(0),
        "one": normal(1),
        "two": normal(2),
        "few": normal(7),
        "many": normal(300),
        "zeros": (np.zeros((5, d)), np.zeros(5)),
        "not numbers": (np.full((6, d), math.nan), np.full(6, math.nan)),
        "answers that are not numbers": (X, np.full(40, math.nan)),
        "infinite": (np.full((6, d), -math.inf), np.full(6, math.inf)),
        "infinite answers": (X, np.full(40, -math.inf)),
        "tiny": normal(9, 1e-300),
        "large": normal(9, 1e9),
        "squares overflow in float32": normal(9, 1e25),
        "very large": normal(9, 1e75),
        "squares overflow": normal(9, 1e154),
        "huge": normal(9, 1e300),
        "huge answers": (X, y * 1e300),
        "duplicates": (np.repeat(X[:1], 50, axis=0), np.repeat(y[:1], 50)),
        "contradictions": (np.repeat(X[:1], 50, axis=0), np.tile([1e3, -1e3], 25)),
        "some spoilt": (spoilt, answers),
    }


# Public numbers


@dataclasses.dataclass(frozen=True, eq=False)
class Public:
    """What kernels are given beside records and lattices."""

    model: HeadModel
    tangent: Tangent
    whitening: np.ndarray


def make_state(seed=0, d=D, k=K, *, noise=0.5, is_logistic=False, is_white=False):
    """A subspace with a full covariance of heads and, unless `is_white`, whitening."""
    rng = np.random.default_rng(seed)
    R, W = rng.standard_normal((k, k)), rng.standard_normal((d, d))
    W = np.eye(d) if is_white else np.eye(d) + 0.1 * (W + W.T)
    U = orthonormalize(rng.standard_normal((d, k)))[0]
    return Subspace(W, U, R @ R.T + 0.3 * np.eye(k), 1.0 if is_logistic else noise, is_logistic)


def public_of(state):
    return Public(state.head_model, state.tangent, state.whitening)


def any_public(seed, d=D, k=K):
    """Public numbers that make sense, are extreme or make no sense at all: no bound may rest on them."""
    rng = np.random.default_rng(seed)
    is_logistic = bool(rng.random() < 0.4)
    state = make_state(seed, d, k, is_logistic=is_logistic)
    kind = rng.integers(4)
    if kind == 1:  # noise of any size, a covariance that is almost singular
        S = np.diag(np.append(np.ones(k - 1), 10.0 ** rng.uniform(-300, 0)))
        state = dataclasses.replace(state, S=S, noise=float(10.0 ** rng.uniform(-300, 300)))
    if kind == 2:
        state = dataclasses.replace(state, whitening=state.whitening * 10.0 ** rng.uniform(-150, 150))
    public = public_of(state)
    if kind < 3:
        return public

    def numbers(*shape):
        return np.where(rng.random(shape) < 0.15, rng.choice(EXTREMES, shape), rng.standard_normal(shape))

    model = HeadModel(numbers(k, d), numbers(k), numbers(k, k), float(numbers()), is_logistic)
    return Public(model, Tangent(numbers(k, k), numbers(d, d)), numbers(d, d))


# Lattices and sums


def gram_lattice(row_norm=1.0, squared_bound=None, neighbors="replace"):
    """A lattice of products, with another bound than the finest if one is given: it is still private."""
    made = symmetric_lattice(row_norm, EVENT, neighbors)
    bound = made.squared_bound if squared_bound is None else min(squared_bound, made.squared_bound)
    return dataclasses.replace(made, squared_bound=bound)


def sum_lattice(norm=1.0, squared_bound=None, neighbors="replace"):
    """A lattice of vectors of any sign, likewise."""
    made = vector_lattice(norm, EVENT, neighbors)
    bound = made.squared_bound if squared_bound is None else min(squared_bound, made.squared_bound)
    return dataclasses.replace(made, squared_bound=bound)


# Name -> kernel, state and lattices of its totals, for public numbers and lattices of products and of vectors.
SUMS = {
    "moments": lambda public, gram, vector: (user_sums.sum_moments, gram, (gram,)),
    "products": lambda public, gram, vector: (
        user_sums.sum_products,
        (user_sums.Products(public.model.is_logistic, public.whitening), gram),
        (gram,),
    ),
    "gradients": lambda public, gram, vector: (
        user_sums.sum_gradients,
        user_sums.GradientState(public.model, public.tangent, vector, gram),
        (vector, gram),
    ),
    "heads": lambda public, gram, vector: (
        user_sums.sum_heads,
        user_sums.HeadState(public.model, public.tangent.root, gram.row_norm, gram),
        (gram,),
    ),
    "gains": lambda public, gram, vector: (user_sums.sum_gains, (public.model, SCALES, vector), (vector,)),
    "equations": lambda public, gram, vector: (
        user_sums.sum_equations,
        user_sums.EquationState(Equations(public.model, public.whitening, True), gram, vector),
        (gram, vector),
    ),
}

# Name -> kernel and state, for public numbers and a grid.
HISTOGRAMS = {
    "moments": lambda public, grid: (user_sums.count_moment_norms, (None, grid)),
    "products": lambda public, grid: (
        user_sums.count_product_norms,
        (user_sums.Products(public.model.is_logistic, public.whitening), grid),
    ),
    "squares": lambda public, grid: (user_sums.count_mean_squares, (None, grid)),
    "noise": lambda public, grid: (user_sums.count_noise_levels, (public.model, grid)),
    "gradients": lambda public, grid: (
        user_sums.count_gradient_sizes,
        user_sums.SizeState(public.model, public.tangent, grid, grid[1:].copy()),
    ),
    "equations": lambda public, grid: (
        user_sums.count_equation_sizes,
        user_sums.EquationSizeState(Equations(public.model, public.whitening, False), grid, grid[1:].copy()),
    ),
}


def totals_of(kernel, block, state):
    """All totals of a kernel, as a tuple."""
    made = kernel(block, state)
    return made if isinstance(made, tuple) else (made,)


def add_blocks(blocks):
    """`total(kernel, state)` of `AdaptiveReleases` for these blocks."""

    def total(kernel, state):
        sums = [np.sum(parts, axis=0) for parts in zip(*(totals_of(kernel, b, state) for b in blocks), strict=True)]
        return tuple(sums) if len(sums) > 1 else sums[0]

    return total


def make_releases(users, *, mu=1.0, neighbors="replace", n_people=None, d=D, seed=1):
    """Releases of a fit on these users with a budget of mu."""
    total, count = add_blocks([block_of(users, d=d)]), len(users) if n_people is None else n_people
    event, relation = Gaussian(1.0 / mu), Neighbors(neighbors)
    return AdaptiveReleases(event, relation, 2**26, NoiseSource(seed), total, n_people=count)


# What one user adds


def to_integers(total):
    """Python integers as an object array."""
    assert total.dtype == np.int64
    return total.astype(object)


def assert_within(total, lattice):
    """One user's integers are within the bound of the lattice, products of rows also positive semidefinite."""
    y = to_integers(total)
    if isinstance(lattice, SymmetricLattice):
        assert (y**2).sum() <= lattice.squared_bound**2
        assert is_positive_semidefinite(y)
    else:
        assert (y**2).sum() <= lattice.squared_bound


def assert_paid_for(changes, lattice):
    """No change of a total, one in each row, loses more than what the noise was charged for."""
    for change in changes:
        squares = (change**2).sum()
        if isinstance(lattice, SymmetricLattice):  # variances of 2 4^k on the diagonal, 4^k beside it
            squares = Fraction(int(squares), 2)
        assert squares * Fraction(lattice.event.noise_multiplier) ** 2 <= 4**lattice.exponent


def is_positive_semidefinite(matrix):
    """Whether a symmetric matrix of integers is so, by exact elimination."""
    M = [[Fraction(int(x)) for x in row] for row in matrix]
    if any(M[a][b] != M[b][a] for a in range(len(M)) for b in range(a)):
        return False
    while M:
        pivot = max(range(len(M)), key=lambda a: M[a][a])
        top = M[pivot][pivot]
        if top <= 0:
            return top == 0 and not any(map(any, M))
        column, kept = M[pivot], [a for a in range(len(M)) if a != pivot]
        M = [[M[a][b] - column[a] * column[b] / top for b in kept] for a in kept]
    return True


def fitted(users, model, j=0, d=D, dtype=np.float64):
    """Records, fit and workspace of user j."""
    records = arrays_of(users, dtype, d)
    work = new_workspace(records.indptr, len(model.subspace))
    return records, fit_head(records, j, model, work), work


def same_bits(one, other):
    """Whether arrays have the same bits, also those that are not numbers."""
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
