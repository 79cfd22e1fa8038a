"""The start: the mean of measurements times answers without its noise, near a planted matrix, for its share.

Sensitivity of its sum is in `test_record_sums.py`, that of whole fits in tests/system/test_trace_replay.py.
"""

import math

import numpy as np
import pytest

from hushrank.estimators.trace.record_sums import StartState
from hushrank.estimators.trace.start import leading_part, learn_start, measurement_size
from hushrank.linalg.fixed_rank import noise_edge
from trace_fit_support import Situation
from trace_support import make_design

DESIGNS = ("dense", "rank_one", "entry")


def low_rank(values, shape=(8, 6), seed=0):
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((d, len(values))))[0] for d in shape)
    return (U * values) @ V.T


def start(here, *, rank=2, spread=2.0, share=0.3, intercept=0.0):
    state = StartState(here.design, here.whitening, intercept)
    level = here.recipe.level
    return learn_start(here.releases, here.searches, state, rank=rank, spread=spread, level=level, share=share)


# Without noise, and noise alone


def test_without_noise_it_is_the_matrix_itself():
    M = low_rank([3.0, 1.0])
    point = leading_part(M, 2, 0.0)
    assert point.matrix == pytest.approx(M, abs=1e-9) and point.s == pytest.approx([3.0, 1.0])
    assert leading_part(M, 6, 0.0).matrix == pytest.approx(M, abs=1e-9)  # nothing is left to tell the noise by
    assert leading_part(M, 1, 0.0).s[0] < 3.0  # what is left of it is taken for noise


@pytest.mark.parametrize("shape", [(40, 40), (60, 20), (1, 30), (1, 1)])
@pytest.mark.parametrize("is_told", [True, False])
def test_noise_is_shrunk_away_whether_its_scale_is_told_or_seen(shape, is_told):
    """What the sample scatters is not in the scale of the release, and shows in the rest of the spectrum."""
    rng, kept = np.random.default_rng(1), []
    rank = min(2, *shape)
    if min(shape) == rank and not is_told:
        return
    for _ in range(20):
        Z = 0.3 * rng.standard_normal(shape)
        kept.append(leading_part(Z, rank, 0.3 if is_told else 1e-9).s.sum() / noise_edge(shape, 0.3))
    assert np.mean(kept) < 0.45 and min(kept) == 0.0


def test_values_above_the_noise_are_corrected_for_it():
    """In noise of scale s a value v is seen as sqrt((v^2 + d1 s^2) (v^2 + d2 s^2)) / v, and its vectors are off.

    The best multiple of those vectors is smaller than both.
    """
    shape, scale = (300, 200), 1.0
    M = low_rank([100.0, 60.0], shape)
    Y = M + scale * np.random.default_rng(2).standard_normal(shape)
    seen, found = np.linalg.svd(Y)[1][:2], leading_part(Y, 2, 1e-9)
    expected = [math.sqrt((v * v + 300) * (v * v + 200)) / v for v in (100.0, 60.0)]
    assert seen == pytest.approx(expected, rel=0.02) and (found.s < seen).all()
    best = np.diag(found.U.T @ M @ found.V)  # of multiples of these vectors
    assert found.s == pytest.approx(best, rel=0.03)


@pytest.mark.parametrize("M", [np.zeros((3, 4)), np.full((3, 4), 1e-130), np.full((3, 4), 1e130), np.eye(3)[:, :1]])
@pytest.mark.parametrize("ratio", [0.0, 1e-15, 1.0, 1e15])
def test_degenerate_means_give_finite_orthonormal_matrices(M, ratio):
    rank = min(2, *M.shape)
    point = leading_part(M, rank, ratio * max(float(M.max()), 1.0 if M.max() == 0.0 else 0.0))
    assert all(np.isfinite(part).all() for part in point) and (point.s >= 0.0).all()
    for vectors in (point.U, point.V):
        assert vectors.T @ vectors == pytest.approx(np.eye(rank), abs=1e-12)


# Planted data


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_a_start_is_near_a_planted_matrix_and_spends_its_share(design, neighbors):
    here = Situation(6000, design=design, neighbors=neighbors)
    point = start(here)
    # Without clipping the mean of y X has an error of sqrt(d1 d2 (|M|^2 + noise^2) / n) = .16 of |M|. Clipping takes
    # from it for normal measurements, and makes a bias for others.
    assert 0.01 < here.error(point.matrix) < {"dense": 0.2, "rank_one": 0.5, "entry": 0.4}[design]
    searched = here.spending.searches.long * here.spending.comparison
    assert here.releases.left == pytest.approx(0.7 - searched, rel=1e-6)
    assert here.asked == ["count_start_norms", "sum_start"]
    assert (np.diff(point.s) <= 0.0).all() and len(point.s) == 2


@pytest.mark.parametrize("design", DESIGNS)
def test_a_start_without_a_budget_is_nothing_mostly(design):
    """A value of noise passes for one now and then: one in ten of the largest."""
    points = [start(Situation(300, design=design, mu=1e-3)) for _ in range(12)]
    assert all(np.isfinite(point.matrix).all() for point in points)
    assert sum((point.s == 0.0).sum() for point in points) > 12


@pytest.mark.parametrize("design", ["dense", "entry"])
def test_an_intercept_is_taken_out_before(design):
    errors = []
    for intercept in (0.0, 5.0):
        here = Situation(6000, shift=5.0, design=design)
        errors.append(here.error(start(here, intercept=intercept, spread=5.0).matrix))
    assert errors[1] < 0.6 * errors[0]


def test_the_size_of_a_measurement_is_that_of_normal_ones():
    for design in DESIGNS:
        assert measurement_size(make_design(design, (8, 2))) == 4.0
