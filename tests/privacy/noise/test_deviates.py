"""The drawn law: cells, digits, tails and independence, and the wiring of the slow path."""

import inspect

import numpy as np
import pytest
from scipy import stats

from hushrank.privacy.noise import deviates, kernels
from hushrank.privacy.noise.deviates import RareDraw, add_laplace, add_normals, draw, wrap_int64
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import FRACTION_BITS, exponential_law, normal_law
from support import (
    FALSE_ALARM,
    assert_plausible,
    chi2_p_value,
    count_p_value,
    laplace_scale_p_value,
    normal_scale_p_value,
)

CHUNK = 1 << 22


def survival(law, x):
    """P(deviate >= x) of the half-line law."""
    return 2 * stats.norm.sf(x) if law.is_normal else np.exp(-np.asarray(x, float))


def magnitudes(values):
    return np.where(values < 0, ~values, values)


def draw_chunks(law, n):
    stream = Keystream()
    for _ in range(n // CHUNK):
        values, rare = draw(law, CHUNK, stream)
        assert all(r.value == values[r.index] for r in rare)
        yield values


def check_law(law, n):
    """Chi-square on 1/256 cells, on five digits below 1/16 cells, tails by exact binomial tests."""
    span = 16 if law.is_normal else 40
    fine = np.zeros((2, span * 256), np.int64)
    inside = np.zeros((span * 16, 32), np.int64)
    low_digits = np.zeros(1 << 12, np.int64)
    tails = dict.fromkeys((3, 4, 5, 6) if law.is_normal else (8, 12, 16, 20), 0)
    for values in draw_chunks(law, n):
        size = magnitudes(values)
        cell = np.minimum(size >> (law.bits - 8), span * 256 - 1)
        fine += np.stack([np.bincount(cell[side], minlength=span * 256) for side in (values >= 0, values < 0)])
        sixteenth = np.minimum(size >> (law.bits - 4), span * 16 - 1)
        inside += np.bincount((sixteenth << 5) | (size >> (law.bits - 9) & 31), minlength=inside.size).reshape(-1, 32)
        low_digits += np.bincount(size & 0xFFF, minlength=1 << 12)
        for t in tails:
            tails[t] += int((size >= t << law.bits).sum())
    n = int(fine.sum())
    half = -np.diff(survival(law, np.arange(span * 256 + 1) / 256)) / 2
    assert_plausible(chi2_p_value(fine.ravel(), np.concatenate([half, half])))
    assert_plausible(count_p_value(fine[0].sum(), n, 0.5))
    assert_plausible(chi2_p_value(low_digits, np.full(1 << 12, 2.0**-12)))
    weights = -np.diff(survival(law, np.arange(span * 512 + 1) / 512)).reshape(span * 16, 32)
    busy = inside.sum(1) > 2000
    expected = weights[busy] / weights[busy].sum(1, keepdims=True) * inside[busy].sum(1, keepdims=True)
    statistic = ((inside[busy] - expected) ** 2 / expected).sum()
    assert_plausible(stats.chi2.sf(statistic, 31 * busy.sum()))
    for t, beyond in tails.items():
        assert_plausible(count_p_value(beyond, n, survival(law, t)))


@pytest.mark.parametrize("law", [normal_law(), exponential_law()])
def test_law(law):
    check_law(law, 2 * 10**7)


@pytest.mark.audit
@pytest.mark.parametrize("law", [normal_law(), exponential_law()])
def test_law_with_a_billion_draws(law):
    check_law(law, 10**9)


def test_draws_are_independent_at_short_lags():
    values, _ = draw(normal_law(), 1 << 21, Keystream())
    quantiles = np.floor(stats.norm.ppf(np.arange(1, 16) / 16) * 2.0**55).astype(np.int64)
    cells = np.searchsorted(quantiles, values, side="right")
    for lag in (1, 7, 1 << 15):
        pairs = np.bincount(cells[:-lag] * 16 + cells[lag:], minlength=256).reshape(16, 16)
        assert_plausible(stats.chi2_contingency(pairs).pvalue)


def test_a_fixed_key_gives_the_recorded_draws():
    # Golden values: the same word, table and sign conventions for the all-zero key, whatever the block size.
    values, _ = draw(normal_law(), 100_000, Keystream.from_key(bytes(32)))
    assert (values[:4] >> 25).tolist() == [799035708, 776096010, -1176691710, -820372089]


@pytest.mark.parametrize("law", [normal_law(), exponential_law()])
def test_slow_path_is_wired_right(law, monkeypatch):
    """A kernel that hands most of its comparisons and a quarter of its selections to the slow path: same law."""
    source = inspect.getsource(kernels.serve_residuals.py_func).replace(", cache=True", "")
    source = source.replace("thresholds[j] == word", "(word & np.uint64(3)) == np.uint64(0)")
    namespace = dict(vars(kernels), MARGIN=2.0**-6)
    exec(source, namespace)
    monkeypatch.setattr(kernels, "serve_residuals", namespace["serve_residuals"])
    values, rare = draw(law, 500_000, Keystream())
    assert len(rare) > 2000
    cells = np.where(values < 0, -1 - (~values >> FRACTION_BITS), values >> FRACTION_BITS) + law.n_cells
    half = -np.diff(survival(law, np.arange(law.n_cells + 1) * 2.0**-law.cell_bits)) / 2
    counts = np.bincount(cells, minlength=2 * law.n_cells)
    assert_plausible(chi2_p_value(counts, np.concatenate([half[::-1], half])))
    assert all(values[r.index] == r.value for r in rare)


def test_digits_drawn_by_a_comparison_stay_with_the_deviate(monkeypatch):
    """A comparison decided only by further digits hands them over, complemented like the value if negative."""
    further = iter([0x1234, 0x5678])

    def decided_late(law, j, u, acceptor):
        u.bits, u.n = u.bits << 64 | next(further), u.n + 64
        return j, u

    def stop_at_once(out, residual, start, stop, words, at, thresholds, guide, gamma, h, is_normal, state):
        state[:] = kernels.COMPARISON_OPEN, 40, 99, 0
        return start

    two_residuals = np.array([-5, 7], np.int64)  # signs of the table pass: one negative, one positive

    def table_pass(words, table, signed, out, residual):
        out[:2], residual[:2] = two_residuals, (0, 1)
        return 2

    monkeypatch.setattr(deviates, "finish_comparison", decided_late)
    monkeypatch.setattr(kernels, "serve_residuals", stop_at_once)
    monkeypatch.setattr(kernels, "serve_table", table_pass)
    values, rare = draw(normal_law(), 2, Keystream())
    positive = 40 << FRACTION_BITS | 99
    assert values.tolist() == [~positive, positive]
    assert rare == [
        RareDraw(0, ~positive, (1 << 64) - 1 - 0x1234, 64),
        RareDraw(1, positive, 0x5678, 64),
    ]


@pytest.mark.parametrize(
    ("add", "p_value_of_scale"), [(add_normals, normal_scale_p_value), (add_laplace, laplace_scale_p_value)]
)
def test_added_noise_has_the_right_scale_from_both_sides(add, p_value_of_scale):
    total = np.zeros(200_000, np.int64)
    add(total, 30, Keystream())
    assert_plausible(p_value_of_scale(total, 2.0**30))
    for wrong in (0.7, 1.3):
        assert p_value_of_scale(total, wrong * 2.0**30) < FALSE_ALARM


@pytest.mark.parametrize(("add", "law"), [(add_normals, normal_law()), (add_laplace, exponential_law())])
def test_added_noise_is_the_rounded_deviate(add, law):
    values, _ = draw(law, 70_000, Keystream.from_key(bytes(32)))
    for exponent in (0, 30, 50):
        total = np.arange(70_000, dtype=np.int64)
        add(total, exponent, Keystream.from_key(bytes(32)))
        rounded = [(int(v) + (1 << (law.bits - exponent - 1))) >> (law.bits - exponent) for v in values[:2000]]
        assert (total[:2000] - np.arange(2000)).tolist() == rounded


def test_a_draw_beyond_int64_is_added_exactly(monkeypatch):
    far = RareDraw(index=3, value=-(1 << 70) - 5, digits=0, n_digits=0)
    monkeypatch.setattr(deviates._Sampler, "fill", lambda self, out: out.fill(0) or [far])
    total = np.full(5, 7, np.int64)
    add_normals(total, 20, Keystream())
    assert total.tolist() == [7, 7, 7, 7 + ((far.value + (1 << 34)) >> 35), 7]


def test_sums_wrap_modulo_two_to_the_64():
    assert wrap_int64(1 << 63) == -(1 << 63)
    assert wrap_int64(-(1 << 63) - 1) == (1 << 63) - 1
    assert wrap_int64(12345) == 12345


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((4, 4), np.int64).T[::2], np.zeros(3, np.int32)])
def test_only_contiguous_int64_is_added_to(bad):
    with pytest.raises(ValueError, match="contiguous int64"):
        add_normals(bad, 20, Keystream())


@pytest.mark.parametrize("exponent", [-1, 51])
def test_exponent_has_limits(exponent):
    with pytest.raises(ValueError, match="exponent must be between 0 and 50"):
        add_normals(np.zeros(3, np.int64), exponent, Keystream())
