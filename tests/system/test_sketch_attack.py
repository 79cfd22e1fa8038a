"""Why a sketch is released with noise of its own: Figure 2 of the paper has its noise inside the sketch.

An empty matrix against one with a single entry of 1: neighbors in every unit. The printed release shows whether its
first row coincides with another one up to its sign.
"""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import hushrank
from hushrank.evaluation.audit import delta_lower_bound
from hushrank.privacy.events import NonPrivate
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.mechanisms.sketch import release_sketch
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.sketched import Shift, calibrate_sketch, sketched_delta
from support import FALSE_ALARM, assert_plausible, count_p_value

SHAPE, T, EPSILON, DELTA = (150, 250), 20, 1.0, 1e-6
TRIALS = 2000


@pytest.fixture(scope="module")
def figure2():
    path = Path(__file__).parents[2] / "benchmarks" / "figure2_paper.py"
    spec = importlib.util.spec_from_file_location("figure2_paper", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def first_row_is_repeated(Y):
    """Whether another row is that of the first entry, up to its sign."""
    size = np.abs(Y).max()
    differences = np.minimum(np.abs(Y[1:] - Y[0]).max(axis=1), np.abs(Y[1:] + Y[0]).max(axis=1))
    return bool(differences.min() < 1e-9 * size)


def times_repeated(figure2, updates):
    rng = np.random.default_rng()
    draws = (figure2.column_sketch(updates, SHAPE, T, EPSILON, DELTA, rng) for _ in range(TRIALS))
    return sum(map(first_row_is_repeated, draws))


def test_figure_2_is_separated_by_one_entry(figure2):
    """Its Theorem 15 claims (3 epsilon, 3 delta). The event has probability 0.63 on one side and 0 on the other."""
    empty, entry = times_repeated(figure2, []), times_repeated(figure2, [(0, 0, 1.0)])
    m = SHAPE[0]
    assert_plausible(count_p_value(empty, TRIALS, 1.0 - (1.0 - 1.0 / m) ** (m - 1)))
    assert entry == 0
    low = stats.binomtest(empty, TRIALS, alternative="greater").proportion_ci(1.0 - FALSE_ALARM).low
    high = stats.binomtest(entry, TRIALS, alternative="less").proportion_ci(1.0 - FALSE_ALARM).high
    assert low - math.exp(3.0 * EPSILON) * high > 0.3 > 3.0 * DELTA


def test_its_event_is_not_private(figure2):
    for published in figure2.METHODS.values():
        assert published.event(EPSILON, DELTA) == NonPrivate() and published.words.startswith("not private: ")


@pytest.mark.parametrize("kind", ["count", "gaussian"])
def test_a_square_sketch_embeds_nothing(figure2, kind):
    """The proof needs a smallest singular value of sqrt(1 - alpha) = 0.87 times sigma_min."""
    rng, m = np.random.default_rng(), SHAPE[0]
    embedding = figure2.count_sketch(m, m, rng) if kind == "count" else rng.standard_normal((m, m)) / math.sqrt(m)
    assert np.linalg.svd(embedding, compute_uv=False)[-1] < 0.5


def test_noise_outside_the_sketch_is_enough_and_far_less(figure2):
    """The printed sigma_min is 200 times the noise that makes the same sketch private, and does not make it private."""
    parts = [Shift("chi_square", 1.0, (T,))]
    noise = calibrate_sketch(Budget(EPSILON, DELTA), parts)
    assert sketched_delta(parts, noise, EPSILON) <= DELTA
    # Entries of Phi Omega / t have deviation 1/t, those of a Gaussian sketch 1/sqrt(t).
    assert figure2.printed_sigma_min(T, EPSILON, DELTA) / T > 200.0 * noise / math.sqrt(T)


@pytest.mark.parametrize(
    "terms",
    [
        {"unit": "entry", "operator": "sparse_sign", "per_column": 1},  # count-sketches, as in the attack
        {"unit": "frobenius", "operator": "sparse_sign", "per_column": 1},
        {"unit": "frobenius", "operator": "gaussian"},
    ],
    ids=["count-sketch, entry", "count-sketch, any change", "Gaussian, any change"],
)
def test_the_attack_fails_against_ours(terms):
    """Rows of our sketches carry noise of their own: none repeats another, with the entry or without it."""
    shape, trials, repeated = (60, 100), 200, []
    for updates in ((), (0, 0, 1.0)):
        times = 0
        for _ in range(trials):
            sketch = hushrank.TurnstileSketch(shape, 2, epsilon=EPSILON, delta=DELTA, sketch_sizes=(T, 2 * T), **terms)
            sketch.update(*([number] for number in updates)) if updates else sketch.new_shard()
            arrays, lattice = sketch._held.intake.state.arrays, sketch._held.plan.lattice
            times += first_row_is_repeated(release_sketch(arrays, lattice, NoiseSource())[0])
        repeated.append(times)
    assert repeated == [0, 0]
    assert delta_lower_bound(repeated[0], trials, repeated[1], trials, EPSILON, confidence=1 - FALSE_ALARM) <= DELTA
