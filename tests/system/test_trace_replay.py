"""Fits of private trace regressions on adversarial neighbors: every sum stays within its bound, and so does the whole.

With the released values of another fit, a neighbor asks for the same sums with the same public states and gives the
same model, bit for bit: nothing but releases reaches it. Bugs that break this are planted and must be noticed.
"""

import math

import numpy as np
import pytest

from hushrank.estimators.searches import Searches
from hushrank.estimators.trace import check, covariances, descent, estimator, learning, means, record_sums, start
from hushrank.estimators.trace.sums import PublicSums
from hushrank.linalg.integer_sums import integer_sum
from hushrank.privacy import adaptive
from representation_support import RELATIONS
from support import assert_plausible, normal_scale_p_value, plant
from trace_replay_support import FEW, MAIN, MODES, TraceReplay, largest_loss, make_records, opposed, regression

# Records


@pytest.mark.parametrize("mode", MAIN)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_one_record_stays_within_the_budget_and_the_rest_is_made_of_releases(monkeypatch, mode, neighbors):
    names = None if neighbors == "replace" else (*FEW, "50 and 10", "infinite answer", "column 1e+300", "infinite")
    assert largest_loss(TraceReplay(monkeypatch), mode, opposed(mode), names, neighbors=neighbors) > 0.6


@pytest.mark.parametrize(
    ("mode", "neighbors"), [(mode, RELATIONS[i % 2]) for i, mode in enumerate(MODES) if mode not in MAIN]
)
def test_so_it_is_with_given_covariances_and_with_few_records(monkeypatch, mode, neighbors):
    assert largest_loss(TraceReplay(monkeypatch), mode, opposed(mode), FEW, neighbors=neighbors) > 0.1


@pytest.mark.parametrize("mode", MAIN)
def test_bounds_hold_whatever_was_released(monkeypatch, mode):
    replay = TraceReplay(monkeypatch, distortion=3.0, seed=2)
    assert largest_loss(replay, mode, opposed(mode), FEW) > 0.02


# Answers alone


@pytest.mark.parametrize("mode", [*MAIN, "dense, function"])
def test_one_answer_stays_within_the_budget(monkeypatch, mode):
    assert largest_loss(TraceReplay(monkeypatch), mode, opposed(mode), privacy="label") > 0.6


@pytest.mark.parametrize("mode", MAIN)
@pytest.mark.parametrize("answer", [math.nan, -1e4])
def test_an_answer_may_be_known_or_unknown(monkeypatch, mode, answer):
    base = opposed(mode, answer)
    assert largest_loss(TraceReplay(monkeypatch), mode, base, privacy="label", neighbors="add_remove") > 0.6


def assert_noise_has_its_scale(recorded):
    """What was released is off its total by as much as was charged for."""
    errors = []
    for release in recorded:
        if release.mechanism in ("vector", "symmetric"):
            lattice = release.terms[0]
            error = (release.value - release.total * lattice.unit) / lattice.scale
            errors.append(error[np.triu_indices(len(error), 1)] if release.mechanism == "symmetric" else error.ravel())
    assert_plausible(normal_scale_p_value(np.concatenate(errors), 1.0))


@pytest.mark.parametrize("mode", MAIN)
@pytest.mark.parametrize("neighbors", RELATIONS)
def test_every_sum_is_released_with_the_noise_that_was_charged(monkeypatch, mode, neighbors):
    replay = TraceReplay(monkeypatch)
    recorded, _ = replay.fit(regression(mode, neighbors=neighbors, random_state=None), make_records(mode)[0])
    assert_noise_has_its_scale(recorded)


# Bugs that must be noticed


def _widened(state):
    """A public state whose kernel bounds contributions by 8 times what the mechanisms reckon with."""
    if type(state) is tuple:
        return tuple(map(_widened, state))
    name = next((name for name in ("norm_bound", "row_norm") if hasattr(state, name)), None)
    return state if name is None else plant(state, **{name: 8 * getattr(state, name)})


def without_clip(kernel, factor=8):
    """Contributions 8 times as long as they may be; products of rows are 64 times as large."""

    def unbounded(block, state):
        made = kernel(block, _widened(state))
        return tuple(factor * total for total in made) if isinstance(made, tuple) else factor * made

    return unbounded


def votes_without_clip(block, state):
    """Gains of any size beside the votes."""
    found, bound, lattice = state
    alone, half, whole = record_sums.residuals_of_all(block, found)
    with np.errstate(all="ignore"):
        pairs = (alone, whole), (alone, half), (half, whole)
        votes = [np.sign(np.abs(worse) - np.abs(better)) for worse, better in pairs]
        gains = [(alone**2 - other**2) / bound**2 for other in (whole, half)]
    return 8 * integer_sum(np.column_stack([*votes, *gains]), _widened(lattice))


def mean_without_clip(block, state):
    """Residuals of any size."""
    residuals, bound, lattice = state
    with np.errstate(all="ignore"):
        numbers = residuals.of(block)[:, np.newaxis] / bound
    return 8 * integer_sum(numbers, _widened(lattice))


def counted_twice(kernel):
    """Every residual weighs twice as much as was reckoned with."""

    def twice(block, state):
        return 2 * kernel(block, state)

    return twice


def stopping_at_what_is_not_finite(block, state):
    """A block that ends where somebody has no answer: bits of a record depend on others."""
    stop = np.append(np.flatnonzero(~np.isfinite(block.y)), len(block))[0]
    return record_sums.sum_gradients(type(block)(block.X[:stop], block.y[:stop]), state)


def centered_in_its_block(block, state):
    """Answers less the mean answer of the block."""
    with np.errstate(all="ignore"):
        return record_sums.sum_start(type(block)(block.X, block.y - np.nanmean(block.y)), state)


def search_around_the_mechanism(searches, histogram, grid, level):
    """An exact quantile; the noisy one is paid for and thrown away."""
    read(searches, histogram, grid, level)
    at_most = np.cumsum(histogram)
    return float(grid[min(int((at_most < level * at_most[-1]).sum()), len(grid) - 1)])


def exact_number_of_records(event, neighbors, n_max, noise, total, *, n_people):
    """The number of records as it is, also where it is secret."""
    n = int(total(record_sums.count_records, None)[0])
    return adaptive.AdaptiveReleases(event, neighbors, n_max, noise, total, n_people=n)


def whitening_without_release(sums, *terms):
    """Covariances of private measurements, exactly."""
    return covariances.learn_whitening(PublicSums(sums.total, sums.n_people), *terms)


def moments_of_those_who_answered(block, state):
    """Sums without noise that look at answers."""
    known = np.isfinite(block.y)
    return sum_moments(type(block)(block.X[known], block.y[known]), state)


def moments_without_clip(block, state):
    has_products = hasattr(state[-1][0], "row_norm")
    return without_clip(sum_moments, 64 if has_products else 8)(block, state)


sum_moments, read = covariances.sum_moments, Searches.read


def released_exactly(total, lattice, noise):
    """Paid for, and without noise."""
    noise.begin(lattice.event, lattice.neighbors)
    return np.asarray(total, np.float64) * lattice.unit


# Name -> where, what, its broken version, and terms of the fit beside the design.
PLANTED = {
    "gradients without clip": (descent, "sum_gradients", without_clip(record_sums.sum_gradients), {}),
    "start without clip": (start, "sum_start", without_clip(record_sums.sum_start), {}),
    "moments without clip": (covariances, "sum_moments", moments_without_clip, {}),
    "votes without clip": (check, "sum_check", votes_without_clip, {}),
    "mean without clip": (means, "sum_numbers", mean_without_clip, {}),
    "residuals counted twice": (descent, "sum_gradients", counted_twice(record_sums.sum_gradients), {}),
    "votes counted twice": (check, "sum_check", counted_twice(record_sums.sum_check), {}),
    "a block that stops": (descent, "sum_gradients", stopping_at_what_is_not_finite, {}),
    "a block that is centered": (start, "sum_start", centered_in_its_block, {}),
    "a search around the mechanism": (Searches, "read", search_around_the_mechanism, {}),
    "an exact number": (estimator, "AdaptiveReleases", exact_number_of_records, {"neighbors": "add_remove"}),
    "whitening without release": (learning, "learn_whitening", whitening_without_release, {}),
    "public sums of answers": (covariances, "sum_moments", moments_of_those_who_answered, {"privacy": "label"}),
}


@pytest.mark.parametrize(("name", "mode"), [(name, MAIN[i % 3]) for i, name in enumerate(PLANTED)])
def test_planted_bugs_are_noticed(monkeypatch, name, mode):
    module, attribute, broken, terms = PLANTED[name]
    monkeypatch.setattr(module, attribute, broken)
    with pytest.raises(AssertionError):
        largest_loss(TraceReplay(monkeypatch), mode, opposed(mode), **terms)


@pytest.mark.parametrize(("mode", "mechanism"), [*((mode, "vector") for mode in MAIN), ("rank_one", "symmetric")])
def test_skipped_noise_is_noticed(monkeypatch, mode, mechanism):
    monkeypatch.setattr(adaptive, f"release_{mechanism}", released_exactly)
    recorded, _ = TraceReplay(monkeypatch).fit(regression(mode), make_records(mode)[0])
    with pytest.raises(AssertionError):
        assert_noise_has_its_scale([release for release in recorded if release.mechanism == mechanism])
