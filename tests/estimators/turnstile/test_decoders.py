"""Decoders: exact without noise, near their forecast with it, close to zero where all is noise, sound for any input."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from hushrank.bounds.turnstile import predicted_error
from hushrank.estimators.turnstile.decoders import (
    decode_figure1,
    decode_figure3,
    decode_full,
    decode_three,
    decode_two,
)
from hushrank.estimators.turnstile.shrinkage import shrink_values
from hushrank.exceptions import InvalidParameter

KINDS = ("two", "three", "figure1", "figure3", "full")
OURS = ("two", "three", "full")


def decode(kind, A, rank, widths, noise=0.0, seed=0, factor=1.0):
    """Factors from Gaussian sketches of factor * A with noise, twice as much in the core."""
    rng, (m, n), (t, v) = np.random.default_rng([seed, *widths]), A.shape, widths
    noise *= factor
    if kind == "full":
        return decode_full(factor * A + noise * rng.standard_normal((m, n)), rank, noise)
    rows = t if kind in ("three", "figure1") else v
    Phi, Psi = rng.standard_normal((t, n)) / np.sqrt(t), rng.standard_normal((rows, m)) / np.sqrt(rows)
    Y = factor * (A @ Phi.T) + noise * rng.standard_normal((m, t))
    W = factor * (Psi @ A) + noise * rng.standard_normal((rows, n))
    if kind == "two":
        return decode_two(Y, W, lambda M: Psi @ M, rank, noise)
    if kind == "figure3":
        return decode_figure3(Y, W, lambda M: Psi @ M, rank)
    S, T = rng.standard_normal((v, m)) / np.sqrt(v), rng.standard_normal((v, n)) / np.sqrt(v)
    Z = factor * (S @ A @ T.T) + 2 * noise * rng.standard_normal((v, v))
    operators = (lambda M: S @ M, lambda M: T @ M)
    if kind == "figure1":
        return decode_figure1(Y, W, Z, *operators, rank)
    return decode_three(Y, W, Z, *operators, rank, noise, 2 * noise)


def matrix(factors):
    return (factors.U * factors.s) @ factors.Vt


def planted(m, n, values, seed=0):
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((size, len(values))))[0] for size in (m, n))
    return (left * values) @ right.T


def check(factors, m, n, rank):
    U, s, Vt = factors
    assert U.shape == (m, rank) and s.shape == (rank,) and Vt.shape == (rank, n)
    assert all(np.isfinite(array).all() for array in factors)
    assert U.T @ U == pytest.approx(np.eye(rank), abs=1e-9)
    assert Vt @ Vt.T == pytest.approx(np.eye(rank), abs=1e-9)
    assert np.all(np.diff(s) <= 0) and np.all(s >= 0)
    assert np.all(U[np.abs(U).argmax(axis=0), np.arange(rank)] > 0)


# Without noise


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("widths", [(3, 5), (4, 4), (12, 30)])
def test_a_matrix_of_low_rank_is_exact(kind, widths):
    A = planted(40, 25, [50.0, 10.0, 2.0])
    factors = decode(kind, A, 3, widths)
    check(factors, 40, 25, 3)
    assert factors.s == pytest.approx([50.0, 10.0, 2.0], rel=1e-6)
    assert matrix(factors) == pytest.approx(A, abs=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_components_beyond_the_rank_are_zero(kind):
    factors = decode(kind, planted(30, 20, [5.0, 4.0]), 6, (10, 16))
    check(factors, 30, 20, 6)
    assert factors.s[:2] == pytest.approx([5.0, 4.0], rel=1e-6)
    assert not factors.s[2:].any()


def test_figures_are_as_printed():
    rng = np.random.default_rng(5)
    A, t, v, k = rng.standard_normal((30, 20)), 6, 9, 3
    Phi, Psi, S, T = (rng.standard_normal(shape) for shape in ((20, t), (t, 30), (v, 30), (v, 20)))
    U, V = np.linalg.qr(A @ Phi)[0], np.linalg.qr((Psi @ A).T)[0]

    def best(M):
        a, s, b = np.linalg.svd(M, full_matrices=False)
        return (a[:, :k] * s[:k]) @ b[:k]

    Us, Ut = np.linalg.qr(S @ U)[0], np.linalg.qr(T @ V)[0]
    printed = U @ np.linalg.pinv(S @ U) @ Us @ best(Us.T @ S @ A)
    assert matrix(decode_figure3(A @ Phi, S @ A, lambda M: S @ M, k)) == pytest.approx(printed)
    core = S @ A @ T.T
    inner = Us @ best(Us.T @ core @ Ut) @ Ut.T
    printed = U @ np.linalg.pinv(S @ U) @ inner @ np.linalg.pinv(T @ V).T @ V.T
    found = decode_figure1(A @ Phi, Psi @ A, core, lambda M: S @ M, lambda M: T @ M, k)
    assert matrix(found) == pytest.approx(printed)


@pytest.mark.parametrize("shape", [(260, 240), (240, 260)])
def test_a_large_matrix_has_the_leading_components_of_its_decomposition(shape):
    noisy = planted(*shape, [90.0, 60.0]) + np.random.default_rng(1).standard_normal(shape)
    found = decode_full(noisy, 2, 1.0)  # by a Krylov space
    check(found, *shape, 2)
    U, s, Vt = np.linalg.svd(noisy, full_matrices=False)
    assert found.s == pytest.approx(shrink_values(s[:2], 1.0, shape), rel=1e-6)
    assert matrix(found) == pytest.approx((U[:, :2] * found.s) @ Vt[:2], abs=1e-4)


# With noise


def test_the_error_of_two_sketches_is_as_forecast():
    m, n, noise, widths, ratios = 300, 200, 0.5, (24, 40), []
    A = planted(m, n, np.linspace(100.0, 60.0, 4)) + 0.2 * np.random.default_rng(2).standard_normal((m, n))
    residual = np.sqrt(np.sum(np.linalg.svd(A, compute_uv=False)[4:] ** 2))
    for seed in range(8):
        error = np.linalg.norm(matrix(decode("two", A, 4, widths, noise, seed)) - A)
        ratios.append(error / predicted_error(residual, noise, m, n, 4, widths))
    assert 0.9 < np.mean(ratios) < 1.1


@pytest.mark.parametrize(("ours", "printed"), [("two", "figure3"), ("three", "figure1")])
def test_ours_are_better_than_the_printed_ones(ours, printed):
    A = planted(120, 100, [40.0, 30.0, 20.0]) + 0.1 * np.random.default_rng(3).standard_normal((120, 100))
    for noise in (0.3, 1.0, 3.0):
        errors = [
            np.mean([np.linalg.norm(matrix(decode(kind, A, 3, (12, 24), noise, seed)) - A) for seed in range(5)])
            for kind in (ours, printed)
        ]
        assert errors[0] < errors[1]


def some_matrices():
    rng = np.random.default_rng(4)
    noise = rng.standard_normal((60, 40))
    entry, row, column = noise / 30, noise / 30, noise / 30
    entry[3, 7] = 50.0
    row[5] += 3 * rng.standard_normal(40)
    column[:, 9] += 3 * rng.standard_normal(60)
    return {
        "noise": noise,
        "flat": planted(60, 40, np.ones(30)),
        "falling": planted(60, 40, 1.0 / np.arange(1, 31)),
        "diagonal": np.eye(60, 40) * (np.arange(60) < 15)[:, None],
        "one entry": entry,
        "one row": row,
        "one column": column,
        "counts": rng.poisson(np.outer(1.0 / np.arange(1, 61), 8.0 / np.arange(1, 41))).astype(float),
        "tall": rng.standard_normal((200, 12)),
        "wide": planted(10, 150, [2.0, 1.0]),
        "tiny": rng.standard_normal((4, 3)),
    }


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize("name", some_matrices())
def test_ours_are_hardly_ever_worse_than_zero(kind, name):
    A = some_matrices()[name]
    A /= np.linalg.norm(A)
    for rank, widths in ((1, (4, 6)), (3, (3, 6)), (3, (5, 5)), (3, (20, 40)), (10, (11, 13))):
        for noise in (0.0, 0.1, 0.3, 1.0, 100.0):  # against the whole matrix
            if rank <= min(A.shape):
                each = noise / np.sqrt(max(A.shape))
                errors = [np.linalg.norm(matrix(decode(kind, A, rank, widths, each, seed)) - A) for seed in range(3)]
                assert np.sqrt(np.mean(np.square(errors))) < 1.02, (rank, widths, noise)


def test_empty_rows_of_an_operator_are_as_if_they_were_not_there():
    """Sparse signs may leave rows empty. What they hold is noise, and they do not see the rest of the matrix."""
    rng = np.random.default_rng(9)
    A = planted(12, 15, [3.0, 2.0, 1.0])
    Phi, S, T = (rng.standard_normal((width, size)) / 3 for width, size in ((7, 15), (9, 12), (9, 15)))
    Y, X, W, Z = A @ Phi.T, Phi @ rng.standard_normal((15, 15)), S @ A, S @ A @ T.T
    empty = np.zeros((20, 12)), np.zeros((20, 15))
    longer_S, longer_T = np.vstack([S, empty[0]]), np.vstack([T, empty[1]])
    noise = 0.05 * rng.standard_normal((29, 29))
    longer_W, longer_Z = np.vstack([W, noise[:20, :15]]), noise.copy()
    longer_Z[:9, :9] = Z
    pairs = [
        [decode_two(Y, B, lambda M, P=P: P @ M, 2, 0.05) for B, P in ((W, S), (longer_W, longer_S))],
        [
            decode_three(Y, X, B, lambda M, P=P: P @ M, lambda M, R=R: R @ M, 2, 0.05, 0.05)
            for B, P, R in ((Z, S, T), (longer_Z, longer_S, longer_T))
        ],
    ]
    for short, long in pairs:
        assert short.s.any()
        assert long.s == pytest.approx(short.s) and matrix(long) == pytest.approx(matrix(short))


def test_signs_of_one_per_column_are_hardly_ever_worse_than_zero():
    rng, errors = np.random.default_rng(10), []
    A = np.eye(11, 48) / np.sqrt(11)
    for _ in range(40):
        Phi, S = np.zeros((34, 48)), np.zeros((63, 11))
        for operator in (Phi, S):
            n = operator.shape[1]
            operator[rng.integers(len(operator), size=n), np.arange(n)] = rng.choice([-1.0, 1.0], n)
        found = decode_two(A @ Phi.T, S @ A, lambda M, S=S: S @ M, 11, 0.0)
        errors.append(np.linalg.norm(matrix(found) - A))
    assert max(errors) < 1.02


@pytest.mark.parametrize("kind", OURS)
def test_noise_is_decoded_as_zero(kind):
    for seed in range(20):
        factors = decode(kind, np.zeros((50, 30)), 4, (10, 20), 1.0, seed)
        check(factors, 50, 30, 4)
        assert not factors.s.any()


# Identities


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noise", [0.0, 0.5, 50.0])
@pytest.mark.parametrize(
    ("shape", "rank", "widths"),
    [((1, 1), 1, (1, 1)), ((1, 6), 1, (2, 3)), ((6, 1), 1, (1, 2)), ((3, 4), 3, (3, 3)), ((9, 7), 5, (5, 8)),
     ((9, 7), 2, (12, 15)), ((9, 7), 6, (4, 3))],
)  # fmt: skip
def test_every_input_gives_a_whole_factorization(kind, noise, shape, rank, widths):
    A = np.random.default_rng(6).standard_normal(shape)
    check(decode(kind, A, rank, widths, noise), *shape, rank)
    check(decode(kind, 0.0 * A, rank, widths, noise), *shape, rank)
    check(decode(kind, np.ones(shape), rank, widths, noise), *shape, rank)


@pytest.mark.parametrize("kind", KINDS)
def test_sketches_of_zeros_give_zero(kind):
    factors = decode(kind, np.zeros((9, 7)), 3, (5, 6))
    check(factors, 9, 7, 3)
    assert not factors.s.any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("exponent", [-1000, -300, 40, 300, 1000])
def test_units_do_not_matter(kind, exponent):
    A = planted(20, 16, [8.0, 4.0, 1.0]) + 0.01
    once = decode(kind, A, 2, (6, 9), 0.05)
    scaled = decode(kind, A, 2, (6, 9), 0.05, factor=2.0**exponent)
    check(scaled, 20, 16, 2)
    assert np.ldexp(scaled.s, -exponent) == pytest.approx(once.s, rel=1e-9)
    assert scaled.U == pytest.approx(once.U, abs=1e-9)


def test_values_too_large_for_a_float_are_as_large_as_can_be():
    factors = decode_full(np.full((4, 4), 1.5e308), 2, 1.0)
    check(factors, 4, 4, 2)
    assert factors.s[0] == np.finfo(float).max


def some_sketches(shape):
    """Random arrays to decode, and a function for each kind."""
    rng, (m, n) = np.random.default_rng(7), shape
    Y, W, X, Z, M = (rng.standard_normal(size) for size in ((m, 12), (24, n), (12, n), (24, 24), (m, n)))
    Y[:, :2] *= 9.0
    S, T = rng.standard_normal((24, m)) / 5, rng.standard_normal((24, n)) / 5
    left, right = (lambda B, A=A: np.einsum("ij,jk->ik", A, B) for A in (S, T))
    return (Y, W, X, Z, M), {
        "two": lambda: decode_two(Y, W, left, 3, 0.1),
        "three": lambda: decode_three(Y, X, Z, left, right, 3, 0.1, 0.2),
        "figure1": lambda: decode_figure1(Y, X, Z, left, right, 3),
        "figure3": lambda: decode_figure3(Y, W, left, 3),
        "full": lambda: decode_full(M, 3, 0.1),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_bits_do_not_depend_on_threads(kind):
    decoded = some_sketches((700, 500))[1][kind]
    with threadpool_limits(1, user_api="blas"):
        one = decoded()
    with threadpool_limits(2, user_api="blas"):
        two = decoded()
    assert all(np.array_equal(*pair) for pair in zip(one, two, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_arrays_are_left_as_they_are(kind):
    arrays, decoders = some_sketches((30, 20))
    before = [array.copy() for array in arrays]
    check(decoders[kind](), 30, 20, 3)
    assert all(np.array_equal(*pair) for pair in zip(before, arrays, strict=True))


# Refusals


@pytest.mark.parametrize("rank", [0, 4, 1.5, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_rank_that_no_matrix_has_is_refused(kind, rank):
    with pytest.raises(InvalidParameter, match=r"^rank of Factors must be an integer >= 1 and <= 3; got"):
        decode(kind, np.ones((5, 3)), rank, (3, 3))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_that_are_not_finite_are_refused(kind, wrong):
    A = np.ones((5, 4))
    A[2, 1] = wrong
    with np.errstate(invalid="ignore"), pytest.raises(InvalidParameter, match="sketches of Factors must be made of f"):
        decode(kind, A, 2, (3, 3))
