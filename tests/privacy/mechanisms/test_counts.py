"""Count releases: sensitivity by enumeration, scale from both sides, an audit, integers out."""

import itertools

import numpy as np
import pytest
from scipy import stats

from hushrank.evaluation.audit import epsilon_lower_bound
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Composed, Gaussian, Pure
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms import counts as counts_module
from hushrank.privacy.mechanisms.counts import changed_cells, counts_scale, release_counts
from hushrank.privacy.noise.source import NoiseSource
from support import FALSE_ALARM, assert_plausible, laplace_scale_p_value, normal_scale_p_value

RELATIONS = list(Neighbors)


@pytest.mark.parametrize("neighbors", RELATIONS)
@pytest.mark.parametrize(("n_cells", "max_cells"), [(1, 1), (3, 1), (3, 2), (4, 2), (4, 9), (5, 2)])
def test_sensitivity_is_the_worst_over_all_contributions(n_cells, max_cells, neighbors):
    people = [np.array(y) for y in itertools.product([0, 1], repeat=n_cells) if sum(y) <= max_cells]
    others = people if neighbors is Neighbors.REPLACE else [np.zeros(n_cells, int)]
    worst_l1 = max(np.abs(y - other).sum() for y in people for other in others)
    worst_l2 = max(((y - other) ** 2).sum() for y in people for other in others)
    assert worst_l1 == worst_l2 == changed_cells(n_cells, max_cells, neighbors)


@pytest.mark.parametrize(
    ("event", "p_value_of_scale"), [(Gaussian(40.0), normal_scale_p_value), (Pure(0.02), laplace_scale_p_value)]
)
def test_scale_is_right_from_both_sides(event, p_value_of_scale):
    counts = np.full((300, 400), 10**6)
    noise = release_counts(counts, event, NoiseSource(), max_cells=3) - counts
    assert noise.dtype == np.int64 and noise.shape == (300, 400)
    scale = counts_scale(counts.size, event, max_cells=3)
    # Rounding to integers adds 1/12 to a variance above 1600: invisible here.
    assert_plausible(p_value_of_scale(noise, scale))
    for wrong in (0.7, 1.3):
        assert p_value_of_scale(noise, wrong * scale) < FALSE_ALARM


def test_small_noise_has_the_rounded_law():
    noise = release_counts(np.zeros(200_000, np.int64), Pure(2.0), NoiseSource(), "add_remove")
    p = np.diff(stats.laplace.cdf(np.arange(-6.5, 7.5), scale=0.5))
    observed = np.array([(noise == k).sum() for k in range(-6, 7)])
    keep = p * noise.size > 30
    expected = p[keep] * noise.size
    assert_plausible(stats.chi2.sf(((observed[keep] - expected) ** 2 / expected).sum(), keep.sum() - 1))


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_audit_notices_halved_noise(factor, monkeypatch):
    """One cell per person, replaced: two cells change by one; here each coordinate of a long vector is one cell."""
    exact = counts_module.scale_for
    monkeypatch.setattr(counts_module, "scale_for", lambda *a: factor * exact(*a))
    n, event = 500_000, Pure(0.5)
    hits = []
    for value in (1, 0):
        released = release_counts(np.full(n, value), event, NoiseSource(), "add_remove")
        hits.append(np.count_nonzero(released >= 2))
    bound = epsilon_lower_bound(hits[0], n, hits[1], n, confidence=1 - FALSE_ALARM)
    assert bound > 0.9 if factor < 1 else 0.45 < bound < 0.5


@pytest.mark.parametrize("event", [Composed([]), Pure(1.0, bounded_range=True), Pure(1e-20), Gaussian(1e20), 1.0])
def test_bad_events_are_refused_and_nothing_is_logged(event):
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match="event of counts_scale"):
        release_counts(np.zeros(3, np.int64), event, noise)
    assert noise.executed == ()


@pytest.mark.parametrize("counts", [np.zeros(3), np.array(["a"]), np.array([1], np.uint64)])
def test_bad_counts_are_refused(counts):
    with pytest.raises(InvalidParameter, match=r"^counts of release_counts must be an array of lattice integers"):
        release_counts(counts, Pure(1.0), NoiseSource())


def test_no_counts_at_all_are_refused():
    with pytest.raises(InvalidParameter, match=r"^counts of release_counts must be at least one count"):
        release_counts(np.zeros(0, np.int64), Pure(1.0), NoiseSource())


def test_cells_have_noise_of_their_own():
    first, second = (release_counts(np.zeros(50_000, np.int64), Gaussian(50.0), NoiseSource()) for _ in range(2))
    for a, b in ((first[1:], first[:-1]), (first[:25_000], first[25_000:]), (first, second)):
        assert_plausible(stats.pearsonr(a, b).pvalue)


def test_bad_max_cells_is_refused():
    with pytest.raises(InvalidParameter, match="max_cells of counts_scale must be an integer >= 1"):
        release_counts(np.zeros(3, np.int64), Pure(1.0), NoiseSource(), max_cells=0)


def test_the_executed_event_is_logged():
    noise = NoiseSource()
    release_counts(np.zeros(3, np.int64), Pure(1.0), noise)
    assert noise.executed == (Pure(1.0),)


def test_a_relation_in_letters_is_the_relation():
    for word in ("replace", "add_remove"):
        assert changed_cells(5, 2, word) == changed_cells(5, 2, Neighbors(word))
