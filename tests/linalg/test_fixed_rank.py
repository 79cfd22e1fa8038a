"""Matrices of fixed rank against plain singular value decompositions, and what noise does to singular values."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from hushrank.linalg.fixed_rank import (
    FixedRank,
    nearest_of_large,
    nearest_of_rank,
    noise_edge,
    shrink_singular_values,
    step_along,
)
from support import FALSE_ALARM

shapes = st.tuples(st.integers(1, 9), st.integers(1, 9))
seeds = st.integers(0, 2**32)


def nearest(M, rank):
    """The nearest matrix of this rank, by NumPy."""
    U, s, Vt = np.linalg.svd(M)
    return (U[:, :rank] * s[:rank]) @ Vt[:rank]


def random_point(rng, shape, rank):
    return nearest_of_rank(rng.standard_normal(shape), rank)


def assert_well_formed(point, shape, rank):
    assert point.U.shape == (shape[0], rank) and point.s.shape == (rank,) and point.V.shape == (shape[1], rank)
    assert all(part.dtype == np.float64 and part.flags.c_contiguous for part in point)
    assert point.U.T @ point.U == pytest.approx(np.eye(rank), abs=1e-12)
    assert point.V.T @ point.V == pytest.approx(np.eye(rank), abs=1e-12)
    assert (point.s >= 0.0).all() and (np.diff(point.s) <= 0.0).all()
    largest = np.abs(point.U).argmax(axis=0)
    assert (point.U[largest, np.arange(rank)] > 0.0).all()


# The nearest matrix


@given(shapes, seeds, st.data())
@settings(deadline=None)
def test_the_nearest_matrix_is_that_of_numpy(shape, seed, data):
    rank = data.draw(st.integers(1, min(shape)))
    M = np.random.default_rng(seed).standard_normal(shape)
    before = M.copy()
    point = nearest_of_rank(M, rank)
    assert_well_formed(point, shape, rank)
    assert point.matrix == pytest.approx(nearest(M, rank), abs=1e-10)
    assert point.s == pytest.approx(np.linalg.svd(M)[1][:rank], abs=1e-12)
    assert np.array_equal(M, before)


@pytest.mark.parametrize("shape", [(7, 4), (4, 7)])
def test_no_other_matrix_of_the_rank_is_nearer(shape):
    """Eckart and Young: the squared distance is the sum of the squares that are left."""
    rng = np.random.default_rng(1)
    M = rng.standard_normal(shape)
    distance = np.linalg.norm(M - nearest_of_rank(M, 2).matrix)
    assert distance**2 == pytest.approx((np.linalg.svd(M)[1][2:] ** 2).sum(), rel=1e-12)
    for step in (1e-3, 0.1, 1.0):
        others = (nearest_of_rank(M + step * rng.standard_normal(shape), 2).matrix for _ in range(20))
        assert all(np.linalg.norm(M - other) > distance for other in others)


def test_matrices_of_lower_rank_have_singular_values_of_zero():
    rng = np.random.default_rng(2)
    for M in (np.zeros((4, 3)), np.outer(rng.standard_normal(4), rng.standard_normal(3))):
        point = nearest_of_rank(M, 3)
        assert_well_formed(point, (4, 3), 3)
        assert point.matrix == pytest.approx(M, abs=1e-12) and (point.s[1:] < 1e-12).all()


@given(st.integers(1, 9), st.integers(0, 9), seeds, st.data())
@settings(deadline=None)
def test_eigenvectors_of_the_product_find_the_same_matrix(d, more, seed, data):
    shape, rank = (d + more, d), data.draw(st.integers(1, d))
    M = np.random.default_rng(seed).standard_normal(shape)
    s = np.linalg.svd(M)[1]
    point = nearest_of_large(M, rank)
    assert_well_formed(point, shape, rank)
    if rank == d or s[rank - 1] - s[rank] > 1e-3 * s[0]:
        assert point.matrix == pytest.approx(nearest(M, rank), abs=1e-9)
        assert point.s == pytest.approx(s[:rank], abs=1e-9)


@pytest.mark.parametrize("shape", [(400, 300), (300, 400), (270, 270)])
def test_large_matrices_are_those_of_numpy(shape):
    """Also where the matrix is of lower rank than asked for."""
    rng = np.random.default_rng(9)
    low = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
    for M, rank in ((low + 0.1 * rng.standard_normal(shape), 2), (low, 3), (np.zeros(shape), 2)):
        point = nearest_of_rank(M, rank)
        assert_well_formed(point, shape, rank)
        assert np.abs(point.matrix - nearest(M, rank)).max() < 1e-8


# Steps


@given(shapes, seeds, st.data())
@settings(deadline=None)
def test_a_step_is_the_nearest_matrix_to_the_sum(shape, seed, data):
    """Whatever P and Q are, also where the tangent space is everything (2 r > d)."""
    rng, rank = np.random.default_rng(seed), data.draw(st.integers(1, min(shape)))
    point = random_point(rng, shape, rank)
    scale = 10.0 ** rng.uniform(-6, 3)
    P, Q = scale * rng.standard_normal((rank, shape[1])), scale * rng.standard_normal((shape[0], rank))
    moved = step_along(point, P, Q)
    assert_well_formed(moved, shape, rank)
    whole = (point.U * point.s) @ point.V.T + point.U @ P + Q @ point.V.T
    s = np.linalg.svd(whole)[1]
    if rank < min(shape) and s[rank - 1] - s[rank] < 1e-6 * s[0]:  # hardly one nearest matrix
        return
    assert moved.matrix == pytest.approx(nearest(whole, rank), abs=1e-9 * max(scale, 1.0))


@pytest.mark.parametrize("shape", [(8, 6), (6, 8), (3, 3)])
def test_no_step_leaves_the_matrix(shape):
    point = random_point(np.random.default_rng(3), shape, 2)
    moved = step_along(point, np.zeros((2, shape[1])), np.zeros((shape[0], 2)))
    for one, other in zip(moved, point, strict=True):
        assert one == pytest.approx(other, abs=1e-12)


def test_steps_inside_of_the_core_are_exact():
    """Q along U changes the core, as P does: the sum has the rank already."""
    rng = np.random.default_rng(4)
    point, core = random_point(rng, (7, 5), 2), rng.standard_normal((2, 2))
    moved = step_along(point, core @ point.V.T, point.U @ core)
    assert moved.matrix == pytest.approx(point.matrix + 2.0 * point.U @ core @ point.V.T, abs=1e-12)


def test_short_steps_leave_the_tangent_space_by_the_square_of_their_length():
    rng = np.random.default_rng(5)
    point = random_point(rng, (9, 8), 3)
    P, Q = rng.standard_normal((3, 8)), rng.standard_normal((9, 3))
    direction = point.U @ P + Q @ point.V.T
    lengths = np.array([1e-2, 1e-3])
    errors = [np.linalg.norm(step_along(point, t * P, t * Q).matrix - point.matrix - t * direction) for t in lengths]
    assert errors[0] / errors[1] == pytest.approx(100.0, rel=0.2) and errors[0] > 1e-6


def test_a_step_may_start_at_zero_and_end_there():
    nothing = FixedRank(np.eye(4)[:, :2], np.zeros(2), np.eye(3)[:, :2])
    Q = np.vstack([np.zeros((2, 2)), np.diag([3.0, 5.0])])
    assert step_along(nothing, np.zeros((2, 3)), Q).s == pytest.approx([5.0, 3.0])
    point = random_point(np.random.default_rng(6), (4, 3), 2)
    back = step_along(point, -(point.V * point.s).T, np.zeros((4, 2)))
    assert_well_formed(back, (4, 3), 2)
    assert back.s == pytest.approx(np.zeros(2), abs=1e-12)


def test_bits_do_not_depend_on_the_number_of_blas_threads():
    rng, results = np.random.default_rng(7), []
    M, P, Q = rng.standard_normal((601, 501)), rng.standard_normal((63, 501)), rng.standard_normal((601, 63))
    for threads in (1, 2):
        with threadpool_limits(threads, "blas"):
            point = nearest_of_rank(M, 63)
            results.append((*point, point.matrix, *step_along(point, P, Q)))
    assert all(np.array_equal(one, other) for one, other in zip(*results, strict=True))


# Noise


@pytest.mark.parametrize(("shape", "scale"), [((900, 400), 1.0), ((500, 900), 0.02)])
def test_the_edge_is_the_largest_singular_value_of_noise(shape, scale):
    """The norm of a matrix of normals is concentrated like one normal, below its edge on average."""
    noise = scale * np.random.default_rng().standard_normal(shape)
    largest, edge = np.linalg.norm(noise, 2), noise_edge(shape, scale)
    slack = scale * math.sqrt(2.0 * math.log(1.0 / FALSE_ALARM))
    assert 0.97 * edge - slack < largest < edge + slack
    assert 0.7 * edge + slack < 0.97 * edge - slack and edge + slack < 1.3 * edge


def test_without_noise_nothing_is_shrunk():
    s = np.array([3.0, 1.0, 0.0])
    for scale in (0.0, -1.0):
        kept = shrink_singular_values(s, (5, 4), scale)
        assert np.array_equal(kept, s) and kept is not s
    assert shrink_singular_values(s, (5, 4), 1e-9) == pytest.approx(s, abs=1e-12)


@given(shapes, st.floats(1e-3, 1e3), seeds)
@settings(deadline=None)
def test_shrinkage_follows_its_formula(shape, scale, seed):
    """Zero up to the edge, less than before above it, rising, the same for the transposed, without units."""
    edge = noise_edge(shape, scale)
    s = edge * np.sort(np.append(np.random.default_rng(seed).uniform(0.0, 3.0, 20), [0.0, 1.0 - 1e-9, 1e6]))
    kept = shrink_singular_values(s, shape, scale)
    assert (kept[s < edge] == 0.0).all() and (kept[s > 1.001 * edge] > 0.0).all()
    assert (kept <= s).all() and (np.diff(kept) >= 0.0).all() and kept[-1] == pytest.approx(s[-1], rel=1e-9)
    assert kept == pytest.approx(shrink_singular_values(s, shape[::-1], scale), rel=1e-12)
    assert kept * 7.0 == pytest.approx(shrink_singular_values(7.0 * s, shape, 7.0 * scale), rel=1e-6, abs=1e-9 * edge)
    # s^2 kept^2 = (s^2 - (d1 + d2) scale^2)^2 - 4 d1 d2 scale^4
    (d1, d2), above = shape, s > edge
    square = (s[above] ** 2 - (d1 + d2) * scale**2) ** 2 - 4 * d1 * d2 * scale**4
    assert (s * kept)[above] ** 2 == pytest.approx(square, rel=1e-6, abs=1e-9 * edge**4)


@pytest.mark.parametrize("shape", [(400, 150), (150, 400), (300, 300)])
def test_shrunk_values_are_the_best_for_planted_matrices(shape):
    """The best value for a pair of found vectors is their product with the truth."""
    rng = np.random.default_rng(8)
    u, v = (x / np.linalg.norm(x) for x in map(rng.standard_normal, shape))
    for signal in (1.2, 2.0):
        truth = signal * noise_edge(shape, 1.0) * np.outer(u, v)
        point = nearest_of_rank(truth + rng.standard_normal(shape), 1)
        best = float(point.U[:, 0] @ truth @ point.V[:, 0])
        [kept] = shrink_singular_values(point.s, shape, 1.0)
        assert kept == pytest.approx(best, rel=0.1) and kept < 0.93 * point.s[0]
