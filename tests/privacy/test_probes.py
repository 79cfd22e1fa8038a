"""Levels are uniform under the law that they speak of, fall with less noise and rise with more."""

import math

import numpy as np
import pytest
from scipy import stats

from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.mechanisms.wishart import release_wishart, wishart_lattice
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.probes import (
    NoiseProbe,
    count_level,
    laplace_level,
    laplace_sum_level,
    normal_level,
    real_parts,
    root_mean_square_level,
    wishart_row_level,
)

N = 2000


def wishart_rows(d, is_real, rng):
    """First rows of C (W1 - W2), C = 2, without the diagonal."""
    if is_real:
        A, B = rng.standard_normal((2, N, d, d + 1))
        first = np.einsum("nk,njk->nj", A[:, 0], B) + np.einsum("nk,njk->nj", B[:, 0], A)
        return 2.0 * first[:, 1:]
    A, B = rng.standard_normal((2, N, d, d)) + 1j * rng.standard_normal((2, N, d, d))
    first = np.einsum("nk,njk->nj", A[:, 0], B.conj()) + np.einsum("nk,njk->nj", B[:, 0], A.conj())
    return first[:, 1:]  # the real form of these normals has 1/2 before it


EPSILONS = {"real": 0.5, "complex": 1.0}
LATTICES = {field: wishart_lattice(1.0, Pure(epsilon), field=field) for field, epsilon in EPSILONS.items()}


def test_the_wishart_lattices_have_the_scale_of_the_rows():
    for lattice in LATTICES.values():
        assert lattice.scale == pytest.approx(2.0)


# Name -> (noise, level of one line of it): noise of the planned law, from a generator.
LAWS = {
    "normal": (lambda rng: 3.0 * rng.standard_normal((N, 4)), lambda x: normal_level(x, 3.0)),
    "normals of several scales": (
        lambda rng: [1.0, 5.0] * rng.standard_normal((N, 2)),
        lambda x: normal_level(x, [1.0, 5.0]),
    ),
    "complex normals": (
        lambda rng: rng.standard_normal((N, 3)) + 1j * rng.standard_normal((N, 3)),
        lambda x: normal_level(x),
    ),
    "root mean squares": (
        lambda rng: np.sqrt(np.mean(rng.standard_normal((N, 7)) ** 2, axis=1)),
        lambda x: root_mean_square_level(x, 7),
    ),
    "Laplace": (lambda rng: rng.laplace(0.0, 7.0, (N, 3)), lambda x: laplace_level(x, 7.0)),
    "complex Laplace": (
        lambda rng: rng.laplace(0.0, 7.0, (N, 3)) + 1j * rng.laplace(0.0, 7.0, (N, 3)),
        lambda x: laplace_level(x, 7.0),
    ),
    "sum of Laplace": (lambda rng: rng.laplace(0.0, 2.0, (N, 5)).sum(axis=1), lambda x: laplace_sum_level(x, 2.0, 5)),
    "Wishart": (
        lambda rng: wishart_rows(4, True, rng),
        lambda x: wishart_row_level(x, LATTICES["real"]),
    ),
    "complex Wishart": (
        lambda rng: wishart_rows(3, False, rng),
        lambda x: wishart_row_level(x, LATTICES["complex"]),
    ),
    "Gaussian count": (
        lambda rng: np.rint(40.0 * rng.standard_normal(N)).astype(int),
        lambda x: count_level(x, 40.0, Gaussian(40.0)),
    ),
    "Laplace count": (
        lambda rng: np.rint(rng.laplace(0.0, 50.0, N)).astype(int),
        lambda x: count_level(x, 50.0, Pure(0.02)),
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_levels_are_uniform_under_their_law(name):
    draw, level = LAWS[name]
    noise = draw(np.random.default_rng(11))
    assert stats.kstest([level(x) for x in noise], "uniform").pvalue > 1e-3


@pytest.mark.parametrize("name", LAWS)
def test_levels_fall_and_rise_with_the_scale(name):
    draw, level = LAWS[name]
    noise = draw(np.random.default_rng(12))
    for x in [x for x in noise if np.any(x)][:20]:
        levels = [level(factor * x) for factor in (0.0, 0.5, 1.0, 2.0, 1e9)]
        assert np.all(np.diff(levels) >= 0) and levels[0] < 0.02 and levels[-1] > 1 - 1e-6


def test_levels_hold_for_the_mechanism_itself():
    """Rows of released noise, with fixed keys."""
    for field, d in (("real", 4), ("complex", 3)):
        lattice = wishart_lattice(1.0, Pure(0.5), field=field)
        zero = np.zeros((d, d), np.int64)
        total = zero if field == "real" else (zero, zero)
        rows = [release_wishart(total, lattice, NoiseSource(seed))[0, 1:] for seed in range(1000)]
        assert stats.kstest([wishart_row_level(row, lattice) for row in rows], "uniform").pvalue > 1e-3


def test_levels_of_known_numbers():
    assert laplace_sum_level(3.0, 1.0, 1) == pytest.approx(1 - math.exp(-3.0), abs=1e-12)
    assert laplace_sum_level(-3.0, 1.0, 1) == laplace_sum_level(3.0, 1.0, 1)
    # Two of them: P(|sum| > x) = (1 + x / 2) exp(-x).
    assert laplace_sum_level(3.0, 1.0, 2) == pytest.approx(1 - 2.5 * math.exp(-3.0), abs=1e-12)
    assert normal_level([3.0, 4.0], 5.0) == pytest.approx(1 - math.exp(-0.5))
    assert root_mean_square_level(math.sqrt(12.5) / 5, 2) == pytest.approx(1 - math.exp(-0.5))  # of 3/5 and 4/5
    assert laplace_level(2.0, 1.0) == pytest.approx(1 - math.exp(-2.0))
    # A count of zero may come from anything within 1/2.
    assert count_level(0, 1.0, Pure(1.0)) == pytest.approx((1 - math.exp(-0.5)) / 2)
    assert count_level(2, 1.0, Pure(1.0)) == pytest.approx(1 - (math.exp(-1.5) + math.exp(-2.5)) / 2)
    assert count_level(-2, 1.0, Pure(1.0)) == count_level(2, 1.0, Pure(1.0))


def test_rounded_counts_are_right_on_average_however_small_the_noise():
    """The middle of what rounds to a count has mean 1/2 for any scale, and less spread than a uniform number."""
    for scale in (0.1, 1.0, 10.0):
        law, counts = stats.laplace(scale=scale), np.arange(-400, 401)
        shares = law.cdf(counts + 0.5) - law.cdf(counts - 0.5)
        levels = np.array([count_level(int(k), scale, Pure(1.0)) for k in counts])
        assert shares @ levels == pytest.approx(0.5, abs=1e-9)
        assert shares @ (levels - 0.5) ** 2 <= 1 / 12 + 1e-9


def test_real_parts_are_all_numbers():
    assert real_parts([1.0, 2.0]).tolist() == [1.0, 2.0]
    assert real_parts([[1 + 2j], [3 + 4j]]).tolist() == [1.0, 3.0, 2.0, 4.0]


def test_a_probe_has_fits_enough_for_one_laplace_deviate():
    assert NoiseProbe(None, dict).n_fits == 384
