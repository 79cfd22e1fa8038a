"""Records, public numbers and sums of trace regression: what the tests of its kernels and of its fits share.

A record is a pair (x, y): the numbers of its measurement, and its answer. Formulas are plain NumPy on whole matrices.
"""

import math

import numpy as np

from hushrank.data.records.blocks import RecordBlock
from hushrank.data.records.forms import record_shape
from hushrank.estimators.trace import means, record_sums
from hushrank.estimators.trace.coordinates import Tangent, Whitening, tangent_at
from hushrank.estimators.trace.designs import DESIGNS
from hushrank.linalg.fixed_rank import nearest_of_rank
from hushrank.linalg.histogram import geometric_grid
from hushrank.linalg.scatter import Bound, add_contribution, round_number
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.noise.source import NoiseSource
from record_support import add_blocks, same_bits, totals_of

SHAPE, RANK = (5, 6), 2
SHAPES = [(1, 1), (1, 3), (4, 1), (3, 9), (8, 5), (2, 17)]  # with and without rests of loops over 4 and 8 numbers
FORMS = ("isotropic", "diagonal", "matrix", "mixed")
EXTREMES = [0.0, -1.0, 1e-300, 5e-324, 1e-9, 1e9, 1e30, -1e154, 1e300, math.inf, -math.inf, math.nan]
BAD_INDICES = [-1.0, 0.5, 1e300, -1e300, 2.0**53, -5e-324, math.inf, -math.inf, math.nan]


# Public numbers


def make_design(name, shape=SHAPE, precision=None):
    return DESIGNS[name](shape, precision)


def make_whitening(form="isotropic", shape=SHAPE, seed=0):
    """Two symmetric matrices or diagonals; `mixed` has one of each."""
    rng, made = np.random.default_rng(seed), []
    for side, d in enumerate(shape):
        A = rng.standard_normal((d, d))
        diagonal = np.ones((1, d)) if form == "isotropic" else rng.uniform(0.5, 2.0, (1, d))
        has_matrix = form == "matrix" or (form == "mixed" and side == 0)
        made.append(np.eye(d) + 0.2 * (A + A.T) if has_matrix else diagonal)
    return Whitening(*made)


def make_tangent(shape=SHAPE, rank=RANK, form="isotropic", seed=0, intercept=0.3):
    point = nearest_of_rank(np.random.default_rng(seed).standard_normal(shape), min(rank, *shape))
    return tangent_at(point, make_whitening(form, shape, seed), intercept)


def form_of(name, form):
    """A form of whitening that a design can have: entries have diagonals only."""
    return "diagonal" if name == "entry" and form != "isotropic" else form


def any_tangent(name, seed, shape=SHAPE, rank=RANK):
    """Public numbers that make sense, are extreme or make no sense at all: no bound may rest on them."""
    rng = np.random.default_rng(seed)
    made = make_tangent(shape, rank, form_of(name, FORMS[rng.integers(4)]), seed, float(rng.standard_normal()))
    kind = rng.integers(3)
    if kind == 0:
        return made
    power = 10.0 ** rng.uniform(-150, 150)

    def change(array):
        spoilt = np.where(rng.random(array.shape) < 0.1, rng.choice(EXTREMES, array.shape), array)
        return array * power if kind == 1 else spoilt

    with np.errstate(all="ignore"):
        changed = [change(part) for part in made[:5]]
        whitening = Whitening(*(change(part) for part in made.whitening))
        return Tangent(*changed, whitening, change(made.coef), made.intercept)


# Records


def block_of(name, records, shape=SHAPE, dtype=np.float64):
    """A block of records, in their order."""
    form = record_shape(name, shape)
    with np.errstate(all="ignore"):
        X = np.array([np.asarray(x, float).reshape(form) for x, _ in records]).reshape(len(records), *form)
        X = X.astype(np.float64 if name == "entry" else dtype)
    return RecordBlock(X, np.array([y for _, y in records], float))


def make_records(name, rng, n, shape=SHAPE):
    """Normal measurements, or random entries, and normal answers."""
    if name == "entry":
        return [(rng.integers(0, shape).astype(float), y) for y in rng.standard_normal(n)]
    return [(rng.standard_normal(record_shape(name, shape)), y) for y in rng.standard_normal(n)]


def hostile_records(name, rng, shape=SHAPE):
    """Records that a bound must survive: not finite, huge, tiny, zero, at odds with each other, no entries."""
    form, powers = record_shape(name, shape), [-320, -200, -12, 8, 30, 76, 150, 300]
    ordinary, records = make_records(name, rng, 8, shape), []
    for (x, y), power in zip(ordinary, powers, strict=True):
        scaled = x if name == "entry" else x * 10.0**power
        records += [(scaled, y), (scaled, y * 10.0**-power if power > -300 else 1.0), (x, y * 10.0**power)]
        spoilt = np.where(rng.random(form) < 0.2, rng.choice(EXTREMES, form), x)
        records += [(spoilt, y), (x, rng.choice(EXTREMES)), (scaled, 50.0)]
    records += [(np.zeros(form), 1e30), (np.full(form, 10.0 / math.sqrt(math.prod(form))), 50.0)]
    records += [(np.full(form, math.nan), math.nan), (np.full(form, math.inf), 1.0), (ordinary[0][0], math.nan)]
    if name == "entry":
        records += [(np.array([j, 0.0]), 1.0) for j in (*BAD_INDICES, float(shape[0]))]
        records += [(np.array([0.0, k]), 1.0) for k in (*BAD_INDICES, float(shape[1]))]
        records += [(np.array([-0.0, shape[1] - 1.0]), 1e3)]
    return records


def measurements(name, X, shape=SHAPE):
    """Whole matrices, of which answers are inner products with M: an entry is sqrt(d1 d2) e_j e_k^T."""
    X = np.asarray(X, float)
    if name == "dense":
        return X
    if name == "rank_one":
        return np.einsum("ip,iq->ipq", X[:, : shape[0]], X[:, shape[0] :])
    whole = np.zeros((len(X), *shape))
    whole[np.arange(len(X)), X[:, 0].astype(int), X[:, 1].astype(int)] = math.sqrt(shape[0] * shape[1])
    return whole


# Formulas


def whole_map(part):
    """The matrix of one side of a whitening."""
    return np.diag(part[0]) if len(part) == 1 and part.shape[1] > 1 else part


def whitened(W, whitening):
    """L W R of every measurement."""
    return whole_map(whitening.left) @ W @ whole_map(whitening.right)


def project(W, tangent):
    """P_T(W) = U U^T W + W V V^T - U U^T W V V^T."""
    left, right = tangent.U.T @ tangent.U, tangent.V.T @ tangent.V
    return left @ W + W @ right - left @ W @ right


def residuals_of(X, y, tangent):
    """<X, M> - (y - intercept) of whole measurements."""
    return np.einsum("ipq,pq->i", X, tangent.coef) - (y - tangent.intercept)


def gradients_of(name, X, W, y, tangent):
    """Gradients of whole measurements in the layout of the design: X make the residuals, W meet the tangent space."""
    Z = whitened(W, tangent.whitening)
    P, Q = tangent.U @ Z, tangent.V @ np.swapaxes(Z, 1, 2)
    if name == "entry":  # with the overlap of both parts left in
        G = np.concatenate([np.swapaxes(P, 1, 2), np.swapaxes(Q, 1, 2)], axis=1)
    else:
        G = np.concatenate([P, Q - Q @ tangent.U.T @ tangent.U], axis=2)
    return residuals_of(X, y, tangent)[:, None, None] * G


# Sums


def bound_of(lattice):
    return Bound(lattice.norm_bound, float(lattice.squared_bound), lattice.lowest)


def rounded_sum(contributions, bound):
    """Sum of contributions, each shortened and rounded alone."""
    total = np.zeros(contributions.shape[1:], np.int64)
    for G in contributions:
        add_contribution(np.ascontiguousarray(G), len(G), np.arange(len(G), dtype=np.int32), bound, total)
    return total


def rounded_entries(contributions, bound):
    """The same for contributions of one number each."""
    total = np.zeros(contributions.shape[1:], np.int64)
    for G in contributions:
        total += np.array([[round_number(x, bound) for x in row] for row in G])
    return total


def candidates_of(name, tangent, shape=SHAPE, alone=0.7):
    design = make_design(name, shape)
    return record_sums.Candidates(design, design.unit * tangent.coef, tangent.intercept, alone)


def means_of(name, tangent, shape=SHAPE):
    found = candidates_of(name, tangent, shape)
    return means.Residuals(found.design, found.coef, found.intercept)


# Name -> kernel and state, for the name of a design, its public numbers and a lattice.
SUMS = {
    "start": lambda name, tangent, lattice, shape=SHAPE: (
        record_sums.sum_start,
        (record_sums.StartState(make_design(name, shape), tangent.whitening, tangent.intercept), lattice),
    ),
    "gradients": lambda name, tangent, lattice, shape=SHAPE: (
        record_sums.sum_gradients,
        (make_design(name, shape), tangent, lattice),
    ),
    "check": lambda name, tangent, lattice, shape=SHAPE: (
        record_sums.sum_check,
        (candidates_of(name, tangent, shape), 1.5, lattice),
    ),
    "mean": lambda name, tangent, lattice, shape=SHAPE: (
        means.sum_numbers,
        (means_of(name, tangent, shape), 50.0, lattice),
    ),
}

# Name -> kernel and state, for the name of a design, its public numbers and a grid.
HISTOGRAMS = {
    "answers": lambda name, tangent, grid: (record_sums.count_answers, grid),
    "start": lambda name, tangent, grid: (
        record_sums.count_start_norms,
        (record_sums.StartState(make_design(name), tangent.whitening, tangent.intercept), grid),
    ),
    "look": lambda name, tangent, grid: (
        record_sums.count_look,
        record_sums.LookState(make_design(name), tangent, grid, np.append(-grid[::-1], grid)),
    ),
    "residuals": lambda name, tangent, grid: (record_sums.count_residuals, (candidates_of(name, tangent), grid)),
    "reach": lambda name, tangent, grid: (means.count_reach, (means_of(name, tangent), grid)),
}


def contributions_of(kernel, state, name, records, shape=SHAPE, dtype=np.float64):
    """Totals of each record alone."""
    return [totals_of(kernel, block_of(name, [record], shape, dtype), state) for record in records]


def assert_bits_are_each_records_own(kernel, state, name, records, shape=SHAPE, seed=0):
    """Totals are sums of what each record gives alone: in any order, any blocks, float32 or float64, any layout."""
    rng = np.random.default_rng(seed)
    own = contributions_of(kernel, state, name, records, shape)
    expected = [np.sum(parts, axis=0) for parts in zip(*own, strict=True)]
    for cuts in ([], [1], sorted(rng.integers(0, len(records), 3))):
        order = rng.permutation(len(records))
        made = [
            totals_of(kernel, block_of(name, [records[i] for i in part], shape), state)
            for part in np.split(order, cuts)
        ]
        for part, total in zip(zip(*made, strict=True), expected, strict=True):
            assert same_bits(np.sum(part, axis=0), total)
    narrow = block_of(name, records, shape, np.float32)
    wide = RecordBlock(narrow.X.astype(np.float64), narrow.y)
    for one, other in zip(totals_of(kernel, narrow, state), totals_of(kernel, wide, state), strict=True):
        assert same_bits(one, other)


def assert_numbers_are_each_records_own(function, name, records, shape=SHAPE, seed=0):
    """function(block), arrays with a number a record, has the bits that it has for each record alone."""
    rng = np.random.default_rng(seed)
    alone = [[float(part[0]) for part in function(block_of(name, [record], shape))] for record in records]
    order = rng.permutation(len(records))
    together = function(block_of(name, [records[i] for i in order], shape))
    for part, expected in zip(together, zip(*alone, strict=True), strict=True):
        assert same_bits(part, np.array(expected)[order])
    narrow = block_of(name, records, shape, np.float32)
    wide = RecordBlock(narrow.X.astype(np.float64), narrow.y)
    # Two kernels: which of two NaN goes on, and so its sign, is the compiler's choice; such a record counts as nothing.
    plain = [[np.where(np.isnan(part), np.nan, part) for part in function(block)] for block in (narrow, wide)]
    assert all(map(same_bits, *plain))


def make_releases(blocks, *, mu=1.0, neighbors="replace"):
    """Releases of a fit with a budget of mu."""
    n_people = sum(map(len, blocks))
    event, relation = Gaussian(1.0 / mu), Neighbors(neighbors)
    return AdaptiveReleases(event, relation, 2**26, NoiseSource(), add_blocks(blocks), n_people=n_people)


def searching(sums, share=0.01):
    """Arguments `grid` and `find` of what learns from sums: medians, with noise where sums are released."""

    def find(histogram, grid):
        if hasattr(sums, "quantile_of"):
            return sums.quantile_of(histogram, grid, 0.5, share)
        at_most = np.cumsum(histogram)
        return float(grid[min(int((at_most < 0.5 * at_most[-1]).sum()), len(grid) - 1)])

    return lambda window: geometric_grid(*window, 128), find


class Watched:
    """Releases of a fit, or public sums, that remember sums, lattices and released values."""

    def __init__(self, sums):
        self._sums, self.asked, self.released, self.n_people = sums, [], [], sums.n_people

    def total(self, kernel, state):
        made = self._sums.total(kernel, state)
        self.asked.append((kernel, state, made if isinstance(made, tuple) else (made,)))
        return made

    def release(self, total, lattice):
        return self._remember(total, lattice, self._sums.release)

    def release_symmetric(self, total, lattice):
        return self._remember(total, lattice, self._sums.release_symmetric)

    def _remember(self, total, lattice, release):
        value = release(total, lattice)
        self.released.append((total, lattice, value))
        return value

    def __getattr__(self, name):
        return getattr(self._sums, name)
