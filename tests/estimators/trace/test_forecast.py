"""Forecasts: each formula against an integral or a simulation of what it is about; what more people and budget do."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import integrate, stats

from hushrank.estimators.trace.forecast import (
    START_DEGRADED,
    START_HOPELESS,
    Setting,
    clipped_variance,
    privacy_error,
    sample_error,
    start_ratio,
)
from hushrank.estimators.trace.recipe import RECIPES
from hushrank.privacy.guarantee import Neighbors

LEVELS = [0.3, 0.5, 0.8, 0.95]
SETTING = Setting(4000, (12, 10), 2, 0.4, Neighbors.REPLACE, 3.0)
RNG = np.random.default_rng(3)


def recipe_at(level):
    return dataclasses.replace(RECIPES["dense"], level=level)


def steps_share(recipe):
    return 1.0 - recipe.whitening_share - recipe.start_share - recipe.check_share - recipe.first_share


def clipped_gradients(level, n):
    """Gradients at the truth, in D coordinates, shortened to the quantile of their norms, and that quantile."""
    G = RNG.standard_normal((n, SETTING.n_parameters)) * RNG.standard_normal((n, 1))  # residuals have deviation 1
    norms = np.linalg.norm(G, axis=1)
    bound = np.quantile(norms, level)
    return G * np.minimum(1.0, bound / norms)[:, np.newaxis], bound


@pytest.mark.parametrize("level", LEVELS)
def test_the_variance_of_a_clipped_mean_is_the_integral(level):
    z = stats.norm.isf((1.0 - level) / 2.0)
    second = integrate.quad(lambda r: min(r * r, z * z) * stats.norm.pdf(r), -12, 12, points=[-z, z])[0]
    assert clipped_variance(level) == pytest.approx(second / level**2, rel=1e-6)
    assert clipped_variance(level) > clipped_variance(0.999) > 1.0


@pytest.mark.parametrize("level", LEVELS)
def test_the_error_of_the_sample_is_that_of_clipped_gradients(level):
    """Stein's lemma: the mean of clipped gradients is the level times the way, so that the sum over n level is it all.

    30 samples in 40 dimensions: the mean square has a deviation of 4 %; that norms of measurements vary, which the
    formula leaves out, costs a few percent more.
    """
    squares = []
    for _ in range(30):
        G, _ = clipped_gradients(level, SETTING.n_records)
        squares.append(np.sum((G.sum(axis=0) / (level * SETTING.n_records)) ** 2))
    norm = math.sqrt(SETTING.rank) * SETTING.signal_to_noise  # of the matrix, in units of the residuals
    assert sample_error(SETTING, recipe_at(level)) == pytest.approx(math.sqrt(np.mean(squares)) / norm, rel=0.12)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("neighbors", Neighbors)
def test_the_error_of_privacy_is_that_of_the_noise_of_the_steps(level, neighbors):
    setting, recipe = SETTING._replace(neighbors=neighbors), recipe_at(level)
    _, bound = clipped_gradients(level, 20_000)
    change = {Neighbors.REPLACE: 2.0, Neighbors.ADD_REMOVE: 1.0}[neighbors]
    scale = change * bound / (setting.mu * math.sqrt(steps_share(recipe)))  # of the sum, in every coordinate
    error = scale * math.sqrt(setting.n_parameters) / (level * setting.n_records)
    norm = math.sqrt(setting.rank) * setting.signal_to_noise
    assert privacy_error(setting, recipe) == pytest.approx(error / norm, rel=0.06)


@pytest.mark.parametrize("level", LEVELS)
def test_the_noise_of_the_start_is_an_edge_over_a_singular_value(level):
    recipe, (d1, d2), r, snr = recipe_at(level), SETTING.shape, SETTING.rank, SETTING.signal_to_noise
    answers = math.sqrt(1.0 + r * snr**2) * RNG.standard_normal(20_000)
    norms = np.abs(answers) * np.sqrt(RNG.chisquare(d1 * d2, 20_000))
    scale = 2.0 * np.quantile(norms, level) / (SETTING.mu * math.sqrt(recipe.start_share))
    noise = scale / (level * SETTING.n_records) * RNG.standard_normal((20, d1, d2))
    edge = np.mean(np.linalg.norm(noise, 2, axis=(1, 2)))  # for so small a matrix a tenth below sqrt(d1) + sqrt(d2)
    assert 0.98 * edge / snr < start_ratio(SETTING, recipe) < 1.25 * edge / snr


@pytest.mark.parametrize("design", RECIPES)
@pytest.mark.parametrize("forecast", [sample_error, privacy_error, start_ratio])
def test_more_people_budget_and_signal_help(design, forecast):
    recipe = RECIPES[design]
    before = forecast(SETTING, recipe)
    assert 0.0 < before < math.inf
    power = 0.5 if forecast is sample_error else 1.0
    more = forecast(SETTING._replace(n_records=100 * SETTING.n_records), recipe)
    assert more == pytest.approx(before / 100**power, rel=1e-9)
    budget = forecast(SETTING._replace(mu=2.0 * SETTING.mu), recipe)
    assert budget == pytest.approx(before / (1.0 if forecast is sample_error else 2.0), rel=1e-9)
    assert forecast(SETTING._replace(signal_to_noise=30.0), recipe) < before
    assert forecast(SETTING._replace(shape=(24, 20)), recipe) > before
    other = forecast(SETTING._replace(neighbors=Neighbors.ADD_REMOVE), recipe)
    assert other == pytest.approx(before / (1.0 if forecast is sample_error else 2.0), rel=1e-9)


def test_parameters_are_those_of_matrices_of_the_rank():
    assert Setting(9, (5, 4), 2, 1.0, Neighbors.REPLACE, 1.0).n_parameters == 14  # 5 2 + 4 2 - 2 2
    assert Setting(9, (3, 3), 3, 1.0, Neighbors.REPLACE, 1.0).n_parameters == 9
    assert 0.0 < START_DEGRADED < START_HOPELESS
