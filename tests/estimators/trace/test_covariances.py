"""Covariances of measurements: bounded sums, exact where measurements are public, noise of the planned scale."""

import dataclasses
import itertools
import math

import numpy as np
import pytest

from hushrank.data.records.forms import record_shape
from hushrank.estimators.trace import moments, sides
from hushrank.estimators.trace.covariances import learn_whitening
from hushrank.estimators.trace.sides import sides_of
from hushrank.estimators.trace.sums import PublicSums
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.events import together
from hushrank.privacy.mechanisms.symmetric import second_moment_frobenius_sensitivity
from hushrank.privacy.mechanisms.vector import vector_l2_sensitivity, vector_lattice
from record_support import (
    EVENT,
    add_blocks,
    assert_paid_for,
    assert_within,
    gram_lattice,
    same_bits,
    to_integers,
    totals_of,
)
from support import FALSE_ALARM, assert_plausible, four_squares, normal_scale_p_value
from trace_support import (
    SHAPE,
    Watched,
    assert_bits_are_each_records_own,
    block_of,
    contributions_of,
    hostile_records,
    make_design,
    make_records,
    make_releases,
    searching,
    whole_map,
)

SHARE, SEARCH_SHARE = 0.5, 0.01
LARGE = {"dense": (40, 30), "diagonal": (900, 700), "rank_one": (40, 30), "entry": (900, 700)}
every_kind = pytest.mark.parametrize("kind", LARGE)
every_large = pytest.mark.parametrize(("kind", "shape"), LARGE.items())
both_relations = pytest.mark.parametrize("neighbors", ["replace", "add_remove"])


@pytest.fixture
def design_of(monkeypatch):
    """kind -> design; `diagonal` is a dense one that is taken for a large one."""

    def make(kind, shape=SHAPE):
        if kind == "diagonal":
            monkeypatch.setattr(moments, "MOST_PRODUCTS", 0)
        return make_design("dense" if kind == "diagonal" else kind, shape)

    return make


def learn(sums, design, x_scale=1.0):
    """Whitening for half of the budget, and two searches."""
    return learn_whitening(sums, design, x_scale, SHARE, *searching(sums, SEARCH_SHARE))


def public(blocks):
    return PublicSums(add_blocks(blocks), sum(map(len, blocks)))


def kernels_of(design, neighbors="replace"):
    """Kernels and states of a fit to ordinary records, with the lattices of what they add up; None for histograms."""
    block = block_of(design.name, make_records(design.name, np.random.default_rng(1), 60, design.shape), design.shape)
    watched = Watched(make_releases([block], mu=20.0, neighbors=neighbors))
    learn(watched, design)
    for kernel, state, totals in watched.asked:
        yield kernel, state, [next((la for total, la, _ in watched.released if total is part), None) for part in totals]


# 1. Sensitivity


@every_kind
@both_relations
def test_no_record_exceeds_a_bound_or_costs_more_than_was_charged(design_of, kind, neighbors):
    """Every sum of a fit, with its own state and lattice; a histogram counts a record once at most."""
    design, n_sums, rng = design_of(kind), 0, np.random.default_rng(2)
    records = [*hostile_records(design.name, rng)[::2], *make_records(design.name, rng, 4)]
    for kernel, state, lattices in kernels_of(design, neighbors):
        own = contributions_of(kernel, state, design.name, records)
        for part, lattice in enumerate(lattices):
            alone = [totals[part] for totals in own]
            if lattice is None:
                assert all(counts.sum() <= 1 and counts.min() >= 0 for counts in alone)
                continue
            n_sums += 1
            for total in alone:
                assert_within(total, lattice)
                assert not getattr(lattice, "nonnegative", False) or total.min() >= 0
            changes = [to_integers(total) for total in alone]
            if neighbors == "replace":
                changes = [changes[i] - changes[j] for i in range(len(changes)) for j in range(0, i, 3)]
            assert_paid_for(changes, lattice)
    assert n_sums >= 2


@every_kind
def test_records_add_the_same_bits_alone_and_in_any_place_of_any_block(design_of, kind):
    design, rng = design_of(kind), np.random.default_rng(3)
    records = [*hostile_records(design.name, rng)[::3], *make_records(design.name, rng, 4)]
    for kernel, state, _ in kernels_of(design):
        assert_bits_are_each_records_own(kernel, state, design.name, records)


@every_kind
@both_relations
def test_two_records_cost_all_that_was_charged(design_of, kind, neighbors):
    """But for dense moments under replacement: rounding loses that they have no negative products."""
    design, places = design_of(kind), ([0, 5], [1, 6]) if kind == "rank_one" else ([0], [7])  # other rows and columns
    pair = [(1e6 * np.isin(np.arange(11 if kind == "rank_one" else 30), place), 0.0) for place in places]
    pair = [((0.0, 0.0), 0.0), ((1.0, 1.0), 0.0)] if kind == "entry" else pair
    *_, (kernel, state, lattices) = kernels_of(design, neighbors)
    one, other = contributions_of(kernel, state, design.name, pair)
    for part, lattice in enumerate(lattices):
        change = to_integers(one[part]) - (to_integers(other[part]) if neighbors == "replace" else 0)
        loss = (change**2).sum() / 4**lattice.exponent / (2 if hasattr(lattice, "row_norm") else 1)
        share = loss / float(squared_mu(lattice.event, "test"))
        assert share == pytest.approx(0.5 if (kind, neighbors) == ("dense", "replace") else 1.0, rel=1e-4)


@pytest.mark.parametrize("kind", ["dense", "diagonal", "entry"])
@both_relations
def test_records_along_different_axes_attain_the_sensitivity(design_of, kind, neighbors):
    """Moments have no negative products: two of them are orthogonal at most, sqrt(2) apart."""
    plan = dataclasses.replace(vector_lattice(1.0, EVENT, neighbors, nonnegative=kind != "dense"), squared_bound=2**40)
    side, X = sides_of(design_of(kind))[0], np.zeros((2, *SHAPE))
    X[[0, 1], [0, 1], 0] = 1e6
    X = np.array([[0.0, 0.0], [1.0, 0.0]]) if kind == "entry" else X
    one, other = (to_integers(side.total(X[i : i + 1], plan)) for i in (0, 1))
    assert (one**2).sum() == (other**2).sum() == 2**40
    change = math.sqrt(((one - (other if neighbors == "replace" else 0)) ** 2).sum()) * plan.unit
    assert change == pytest.approx(vector_l2_sensitivity(1.0, plan.neighbors, nonnegative=True), rel=1e-9)


@both_relations
def test_orthogonal_vectors_attain_the_sensitivity_of_products(neighbors):
    gram = gram_lattice(2.0, neighbors=neighbors)
    a, b, c, d = four_squares(gram.squared_bound)
    X = np.array([[a, b, c, d, 1.0], [-b, a, -d, c, 1.0]], float)
    side = dataclasses.replace(sides_of(make_design("rank_one", (4, 1)))[0], units=(1.0,) * 4)
    one, other = (to_integers(side.total(X[i : i + 1], gram)) for i in (0, 1))
    change = math.sqrt(((one - (other if neighbors == "replace" else 0)) ** 2).sum()) * gram.unit
    assert change == pytest.approx(second_moment_frobenius_sensitivity(2.0, gram.neighbors), rel=1e-9)


# 2. Noise


def nothing_of(design):
    """Records that are not finite."""
    return [(np.full(record_shape(design.name, design.shape), math.nan), 1.0)] * 3


def noise_of(value, lattice):
    """Numbers of one deviation: all of a sum of vectors, and those above the diagonal of products."""
    return value[np.triu_indices(len(value), 1)] if hasattr(lattice, "row_norm") else value.ravel()


@every_large
@both_relations
def test_noise_of_released_moments_has_the_planned_scale(design_of, kind, shape, neighbors):
    """Right from both sides, and for all of the share: records that are not finite leave nothing but noise."""
    design = design_of(kind, shape)
    watched = Watched(make_releases([block_of(design.name, nothing_of(design), shape)], neighbors=neighbors))
    learn(watched, design)
    assert not any(total.any() for total, _, _ in watched.released)
    noise = np.concatenate([noise_of(value / lattice.scale, lattice) for _, lattice, value in watched.released])
    assert_plausible(normal_scale_p_value(noise, 1.0))
    assert max(normal_scale_p_value(noise, 0.7), normal_scale_p_value(noise, 1.3)) < FALSE_ALARM
    spent = float(sum(squared_mu(lattice.event, "test") for _, lattice, _ in watched.released))
    assert spent == pytest.approx(SHARE, rel=1e-6) and spent <= SHARE * (1 + 1e-12)
    searches = 0.0 if kind == "entry" else 2 * SEARCH_SHARE
    assert watched.left == pytest.approx(1.0 - SHARE - searches, rel=1e-9)
    assert float(squared_mu(together(watched.executed), "test")) == pytest.approx(SHARE + searches, rel=1e-6)


@every_large
def test_what_shrinks_the_noise_knows_its_deviation(monkeypatch, design_of, kind, shape):
    """Off the diagonal of covariances, or of variances."""
    seen, shrinker = [], "shrink_variances" if kind in ("diagonal", "entry") else "shrink_covariance"
    original = getattr(sides, shrinker)

    def watch(values, noise, *terms):
        seen.append((values[np.triu_indices(len(values), 1)] if values.ndim == 2 else values) / noise)
        return original(values, noise, *terms)

    monkeypatch.setattr(sides, shrinker, watch)
    design = design_of(kind, shape)
    learn(make_releases([block_of(design.name, nothing_of(design), shape)]), design)
    sample = np.concatenate(seen)
    assert len(seen) == 2 and len(sample) >= 1200
    assert_plausible(normal_scale_p_value(sample, 1.0))
    assert max(normal_scale_p_value(sample, 0.71), normal_scale_p_value(sample, 1.41)) < FALSE_ALARM


@every_kind
def test_public_sums_draw_no_noise_and_cost_nothing(design_of, kind):
    """Two fits are equal bit for bit, and the releases of the fit beside them are as they were."""
    design = design_of(kind)
    block = block_of(design.name, make_records(design.name, np.random.default_rng(4), 50))
    releases = make_releases([block])
    made = [learn(Watched(PublicSums(releases.total, releases.n_people)), design) for _ in range(2)]
    assert all(map(same_bits, *made))
    assert releases.left == 1.0 and releases.executed == ()
    watched = Watched(PublicSums(releases.total, releases.n_people))
    learn(watched, design)
    for total, lattice, value in watched.released:
        assert np.array_equal(value, total * lattice.unit) and total.any()
        assert lattice.scale < 1e-5 * getattr(lattice, "norm_bound", getattr(lattice, "row_norm", 0.0) ** 2)


@every_kind
def test_public_sums_see_no_answers(design_of, kind):
    design, rng = design_of(kind), np.random.default_rng(5)
    records = make_records(design.name, rng, 50)
    answers = [0.0, math.nan, 1e300, math.inf, 5e-324] * 10
    others = [(x, y) for (x, _), y in zip(records, answers, strict=True)]
    made = [learn(public([block_of(design.name, part)]), design) for part in (records, others)]
    assert all(map(same_bits, *made))


# 3. Limits


def spread(d, seed):
    """A covariance with eigenvalues between .7 and 1.4, and its root."""
    Q, values = np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0], np.linspace(0.7, 1.4, d)
    return (Q * values) @ Q.T, (Q * np.sqrt(values)) @ Q.T


def planted_block(kind, scale=1.0):
    """Records whose moments are those of planted covariances exactly, and these."""
    (A, left), (B, right) = spread(4, 6), spread(3, 7)
    if kind == "rank_one":  # all signs of both sides, of which every number is independent
        signs = np.array(list(itertools.product([-1.0, 1.0], repeat=7)))
        rows = np.hstack([signs[:, :4] @ left, signs[:, 4:] @ right])
        return block_of("rank_one", [(scale * x, 0.0) for x in np.tile(rows, (40, 1))], (4, 3)), A, B
    cells = [sign * math.sqrt(12.0) * np.outer(a, b) for a in left for b in right for sign in (-1.0, 1.0)]
    return block_of("dense", [(scale * x, 0.0) for x in cells * 200], (4, 3)), A, B


@pytest.mark.parametrize("kind", ["dense", "rank_one"])
@pytest.mark.parametrize("scale", [1.0, 0.01, 100.0])
def test_public_measurements_become_white(kind, scale):
    """Whatever their scale; the factors of a product are known up to a number that one has and the other lacks."""
    block, A, B = planted_block(kind, scale)
    whitening = learn(public([block]), make_design(kind, (4, 3)))
    left, right = (whole_map(part) for part in whitening)
    power = scale if kind == "rank_one" else math.sqrt(scale)
    white = np.kron(left @ A @ left, right @ B @ right) * power**4
    assert white == pytest.approx(np.eye(12), abs=0.02)
    assert np.abs(np.kron(A, B) - np.eye(12)).max() > 0.2


@pytest.mark.parametrize("kind", ["dense", "rank_one"])
@both_relations
def test_private_measurements_become_white_where_there_is_much_budget(kind, neighbors):
    block, A, B = planted_block(kind)
    whitening = learn(make_releases([block], mu=50.0, neighbors=neighbors), make_design(kind, (4, 3)))
    left, right = (whole_map(part) for part in whitening)
    assert 1e-6 < np.abs(np.kron(left @ A @ left, right @ B @ right) - np.eye(12)).max() < 0.1


def test_columns_of_different_sizes_become_white():
    """Numbers of x a thousand times as large as others do not hide them."""
    block, A, B = planted_block("rank_one")
    sizes = np.array([1e-2, 1.0, 30.0, 1.0, 1.0, 0.1, 5.0])
    scaled = dataclasses.replace(block, X=block.X * sizes)
    left, right = (whole_map(part) for part in learn(public([scaled]), make_design("rank_one", (4, 3))))
    for root, covariance, size in ((left, A, sizes[:4]), (right, B, sizes[4:])):
        assert root @ (covariance * np.outer(size, size)) @ root == pytest.approx(np.eye(len(size)), abs=0.03)


def test_large_dense_measurements_have_a_diagonal_each(design_of):
    block = block_of("dense", make_records("dense", np.random.default_rng(9), 3000), SHAPE)
    sizes = np.linspace(0.5, 1.5, 5)[:, None] * np.linspace(1.2, 0.8, 6)
    scaled = dataclasses.replace(block, X=block.X * sizes)
    left, right = learn(public([scaled]), design_of("diagonal"))
    assert left.shape == (1, 5) and right.shape == (1, 6)
    assert left.T * right * sizes == pytest.approx(np.ones(SHAPE), abs=0.1)


@pytest.mark.parametrize("kind", ["dense", "rank_one", "entry"])
def test_totals_have_their_types_also_without_records(kind):
    some, none = (block_of(kind, make_records(kind, np.random.default_rng(0), n)) for n in (2, 0))
    for kernel, state, _ in kernels_of(make_design(kind)):
        for total, empty in zip(totals_of(kernel, some, state), totals_of(kernel, none, state), strict=True):
            assert total.shape == empty.shape and total.any() and not empty.any()
            assert total.dtype == empty.dtype == np.int64
