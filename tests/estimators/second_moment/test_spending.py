"""Shares of a fit with a private radius: one whole, from public numbers, and levels that follow the noise."""

import dataclasses
import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.estimators.second_moment.recipe import RADIUS_RECIPE, RECIPE
from hushrank.estimators.second_moment.spending import (
    N_GRID,
    Setting,
    Spending,
    Wanted,
    center_share,
    first_level,
    is_center_worth,
    radius_level,
    shows_mean,
    spend,
    without_center,
)
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.filters import filter_for
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.mechanisms.gram import gram_lattice
from hushrank.privacy.mechanisms.vector import vector_lattice

EVERYTHING = Wanted(center=True, scales=True, columns=True, clipped=3.0)
NOTHING = Wanted(center=False, scales=False, columns=False, clipped=3.0)
events = st.one_of(st.floats(1e-8, 1e4).map(Pure), st.floats(1e-4, 1e8).map(Gaussian))
all_settings = st.builds(
    Setting, events, st.sampled_from(Neighbors), st.integers(1, 10**9), st.integers(1, 3000), st.booleans()
)
all_wanted = st.builds(Wanted, st.booleans(), st.booleans(), st.booleans(), st.floats(0, 20))


# One whole


@given(all_settings, all_wanted)
@settings(max_examples=300)
def test_shares_are_one_whole_and_the_second_moment_has_at_least_a_sixth(setting, wanted):
    spending = spend(setting, wanted)
    shares = [getattr(spending, field.name) for field in dataclasses.fields(spending)]
    assert all(isinstance(share, Fraction) and share >= 0 for share in shares)
    assert sum(shares) + spending.matrix == 1 and spending.matrix >= Fraction(1, 6)
    booked = filter_for(setting.event)
    for share in shares:
        if share:
            booked.share(share)
    booked.rest()
    assert booked.left == 0


@given(all_settings, all_wanted)
def test_only_what_is_asked_for_is_paid_for(setting, wanted):
    spending = spend(setting, wanted)
    assert bool(spending.count) == (setting.neighbors is Neighbors.ADD_REMOVE)
    assert spending.count in (0, RECIPE.count)
    assert bool(spending.columns) == bool(spending.columns_radius) == wanted.columns
    assert bool(spending.scales) == bool(spending.scales_radius) == wanted.scales
    assert spending.radius in (RADIUS_RECIPE.radius, RADIUS_RECIPE.wide_radius)
    if not (wanted.center and spending.center):
        assert not (spending.center or spending.length or spending.center_radius or spending.sum_radius)
        return
    assert RADIUS_RECIPE.least_center <= spending.center <= RADIUS_RECIPE.most_center
    assert bool(spending.sum_radius) == setting.is_pure  # Laplace noise has a radius of its own
    assert bool(spending.center_radius) == (not setting.is_pure or bool(spending.length))
    for share in (spending.center_radius, spending.sum_radius):
        assert share == 0 or RADIUS_RECIPE.least_first <= share <= RADIUS_RECIPE.most_first


def test_shares_have_words_in_the_order_of_the_releases():
    setting = Setting(Pure(2.0), Neighbors.ADD_REMOVE, 10**4, 10)
    named = spend(setting, EVERYTHING).named()
    assert next(iter(named)) == "number of rows" and list(named)[-2:] == ["radius", "second moment"]
    assert len(named) == 11 and sum(named.values()) == pytest.approx(1.0)
    assert list(spend(dataclasses.replace(setting, neighbors=Neighbors.REPLACE), NOTHING).named()) == [
        "radius",
        "second moment",
    ]


def test_very_many_rows_are_not_read_for_a_pure_length_where_the_mean_costs_least():
    many, few = (spend(Setting(Pure(2.0), Neighbors.REPLACE, n, 10), EVERYTHING) for n in (50_000, 49_999))
    assert many.center == few.center == RADIUS_RECIPE.least_center
    assert not many.length and not many.center_radius and few.length and few.center_radius
    gaussian = spend(Setting(Gaussian(0.5), Neighbors.REPLACE, 50_000, 10), EVERYTHING)
    assert gaussian.length  # its sum serves for the mean as well


def test_without_a_center_its_share_goes_to_the_second_moment():
    spending = spend(Setting(Gaussian(0.5), Neighbors.REPLACE, 10**5, 10), EVERYTHING)
    other = without_center(spending)
    assert other.matrix == spending.matrix + spending.center + spending.sum_radius
    assert other.length == spending.length and other.center_radius == spending.center_radius  # they are spent


# Errors that shares are chosen by are those of the mechanisms


@pytest.mark.parametrize(("neighbors", "is_complex"), product(Neighbors, [False, True]))
@pytest.mark.parametrize("event", [Gaussian(2.0), Pure(0.5)])
def test_stated_errors_are_those_of_the_lattices(event, neighbors, is_complex):
    n, d, share = 1000, 40, Fraction(1, 8)
    setting = Setting(event, neighbors, n, d, is_complex)
    part = filter_for(event).share(share)
    gram = gram_lattice(1.0, part, neighbors, field="complex" if is_complex else "real")
    numbers = d * (1 + is_complex)
    if setting.is_pure:
        assert setting.strength(share) == pytest.approx(0.5 / 8)
        radius = RADIUS_RECIPE.flatness * math.sqrt(numbers)  # in sums of absolute values, of a typical row
        deviation = math.sqrt(2) * vector_lattice(radius, part, neighbors).scale
        norm = math.sqrt(2 if is_complex else 1) * gram.entry_deviation(d) * d
        assert setting.noise_norm(share) == pytest.approx(norm, rel=0.03)
    else:
        assert setting.strength(share) == pytest.approx(1 / (2.0 * math.sqrt(8)))
        deviation = vector_lattice(1.0, part, neighbors).scale
        norm = math.sqrt(2 if is_complex else 1) * gram.scale * d  # of d^2 entries
        assert setting.noise_norm(share) == pytest.approx(norm, rel=0.03)
    assert setting.center_error(share) == pytest.approx(deviation * math.sqrt(numbers) / n, rel=0.01)


@given(all_settings, st.fractions(Fraction(1, 100), Fraction(1, 2)))
def test_errors_fall_with_rows_and_shares(setting, share):
    more = dataclasses.replace(setting, n_samples=2 * setting.n_samples)
    for error in (Setting.center_error, Setting.length_error, Setting.noise_norm):
        assert error(setting, share) > error(setting, 2 * share)
    for error in (Setting.center_error, Setting.length_error):
        assert error(more, share) == pytest.approx(error(setting, share) / 2)
    assert setting.margin(share) > setting.margin(2 * share)
    assert setting.is_sure(share) <= setting.is_sure(2 * share) and setting.is_sure(share) <= more.is_sure(share)


@given(all_settings)
def test_a_sure_share_is_sure_or_the_largest_allowed(setting):
    least, most = Fraction(1, 100), Fraction(1, 20)
    share = setting.sure_share(least, most)
    assert least <= share <= most
    assert share == most or setting.is_sure(share) or share == least


# Center


def test_a_center_is_bought_where_its_error_is_small_and_not_where_it_is_hopeless():
    rich, poor = (Setting(Gaussian(1.0), Neighbors.REPLACE, n, 50) for n in (10**6, 20))
    assert center_share(rich) == RADIUS_RECIPE.least_center and center_share(poor) == 0
    between = Setting(Gaussian(1.0), Neighbors.REPLACE, 400, 50)
    share = center_share(between)
    assert RADIUS_RECIPE.least_center < share < RADIUS_RECIPE.most_center
    assert between.center_error(share) <= RADIUS_RECIPE.center_error * (1 + 1e-12)
    assert between.center_error(share - Fraction(1, 1000)) > RADIUS_RECIPE.center_error


@pytest.mark.parametrize("event", [Gaussian(0.5), Pure(2.0)])
def test_long_means_are_worth_their_price_and_short_ones_are_not(event):
    setting = Setting(event, Neighbors.REPLACE, 10**5, 20)
    spending = spend(setting, EVERYTHING)
    worth = [is_center_worth(setting, spending, s / 50) for s in range(60)]
    assert not worth[0] and worth[49] and worth[59]
    assert worth == sorted(worth)  # once worth it, worth it for all longer means
    assert is_center_worth(setting, spending, math.inf)


@pytest.mark.parametrize("event", [Gaussian(0.5), Pure(2.0)])
def test_a_mean_is_subtracted_where_it_would_show(event):
    setting = Setting(event, Neighbors.REPLACE, 10**4, 20)
    spending = without_center(spend(setting, EVERYTHING))
    shown = [shows_mean(setting, spending, s) for s in (0.0, 1e-6, 0.5, 1.0)]
    assert shown == [False, False, True, True]


# Levels


@given(all_settings, all_wanted)
def test_levels_are_between_the_middle_and_all(setting, wanted):
    spending = spend(setting, wanted)
    assert 0.5 <= radius_level(setting, spending, wanted) < 1.0
    assert 0.5 <= first_level(setting, spending.radius) <= RADIUS_RECIPE.first_level


def test_more_rows_are_shortened_where_more_noise_is_expected():
    settings_ = [Setting(Gaussian(m), Neighbors.REPLACE, 10**5, 20) for m in (0.1, 1.0, 10.0, 1000.0)]
    levels = [radius_level(one, spend(one, NOTHING), NOTHING) for one in settings_]
    assert levels == sorted(levels, reverse=True) and levels[0] > 0.999 and levels[-1] == 0.5
    setting, spending = settings_[1], spend(settings_[1], NOTHING)
    expected = 1 - 3.0 * setting.noise_norm(spending.matrix) / 10**5
    assert radius_level(setting, spending, NOTHING) == pytest.approx(expected)


def test_the_grid_takes_seven_comparisons():
    assert N_GRID == 2**7 and (N_GRID - 1).bit_length() == 7
    assert Spending().matrix == 1
