"""Recipes: shares that fit into one budget, records that nobody changes, and grids that cover what they must."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from completion_support import make_people, make_releases
from hushrank.estimators.completion.item_means import release_census
from hushrank.estimators.completion.matrix_model import describe_entries
from hushrank.estimators.completion.recipes import (
    ALS,
    FACTORED_GRADIENT,
    ITEM_MEANS,
    MATRIX,
    RATINGS,
    ItemMeansRecipe,
    Prior,
    RatingsRecipe,
)

RECIPES = (ITEM_MEANS, RATINGS, MATRIX, ALS, FACTORED_GRADIENT)
N_ITEMS = 12
PEOPLE = make_people(40, N_ITEMS, seed=2)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: type(recipe).__name__)
def test_recipes_cannot_be_changed_and_shares_are_shares(recipe):
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        assert not field.name.endswith("_share") or 0 < value < 1, field.name
        with pytest.raises(FrozenInstanceError):
            setattr(recipe, field.name, value)
        if isinstance(value, tuple) and len(value) == 2 and field.name.endswith("ratios"):
            assert 0 < value[0] < 1 < value[1], field.name


def test_shares_by_name_add_up_to_one_and_name_every_release():
    shares = RATINGS.shares(ITEM_MEANS)
    assert sum(shares.values()) == pytest.approx(1.0, abs=1e-15) and min(shares.values()) > 0
    assert shares["item means"] == RATINGS.means_share
    assert shares["improving means and factors (EM steps)"] == pytest.approx(0.335)
    more = RatingsRecipe(means_share=0.4).shares(ItemMeansRecipe(counts_share=0.1))
    assert sum(more.values()) == pytest.approx(1.0, abs=1e-15)
    assert more["improving means and factors (EM steps)"] == pytest.approx(0.335 - 0.1 - 0.02)


def test_users_have_no_slopes_on_features_at_the_start():
    assert Prior().features == () and min(getattr(Prior(), field.name) or 1.0 for field in fields(Prior)) > 0.0
    assert 0 < ITEM_MEANS.new_count < ITEM_MEANS.least_count


def test_the_least_that_is_left_for_steps_is_positive():
    fixed = MATRIX.fraction_share + MATRIX.norm_share + 2 * MATRIX.squares_share + MATRIX.spectral_share
    assert fixed + MATRIX.counts_share + (2 + MATRIX.most_steps) * MATRIX.noise_share < 0.8


def test_shares_are_what_is_spent():
    releases = make_releases(PEOPLE, N_ITEMS)
    release_census(releases)
    first = ITEM_MEANS.quantile_share + ITEM_MEANS.counts_share + ITEM_MEANS.center_share
    assert releases.left == pytest.approx(1 - first)
    releases = make_releases(PEOPLE, N_ITEMS)
    describe_entries(releases)
    spent = MATRIX.fraction_share + MATRIX.norm_share + 2 * MATRIX.squares_share
    assert releases.left == pytest.approx(1 - spent)


@pytest.mark.parametrize("n_items", [1, 12, 3706])
def test_the_grid_of_norms_ends_at_the_largest_row(n_items):
    grid = MATRIX.norm_grid(n_items)
    assert len(grid) == MATRIX.grid_points and (np.diff(grid) > 0).all()
    assert grid[-1] == pytest.approx(np.sqrt(n_items)) and grid[0] == pytest.approx(grid[-1] * MATRIX.smallest_norm)
