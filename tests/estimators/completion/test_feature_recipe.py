"""The recipe of public features: a record that nobody changes, and shares that leave enough for what comes after."""

from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest

from hushrank.estimators.completion.feature_recipe import FEATURES, FeatureRecipe
from hushrank.estimators.completion.recipes import ITEM_MEANS, RATINGS
from hushrank.privacy.adaptive import COUNT_SHARE


def test_the_recipe_cannot_be_changed_and_its_numbers_are_positive():
    assert FEATURES == FeatureRecipe()
    for field in fields(FEATURES):
        value = getattr(FEATURES, field.name)
        with pytest.raises(FrozenInstanceError):
            setattr(FEATURES, field.name, value)
        if field.name != "line_variances":
            assert np.min(value) > 0, field.name


def test_leaving_features_out_is_the_first_choice_and_the_others_grow():
    first, *others = FEATURES.line_variances
    assert first == 0.0 and (np.diff(others) > 0).all() and others[0] > 0
    assert others[0] < 0.001 and others[-1] > 0.5  # half ranges squared: next to nothing, and nearly everything


def test_with_all_questions_asked_a_share_is_left_for_every_step():
    """On the longest way: a secret number of users, many columns, factors that are found."""
    questions = FEATURES.common_share + FEATURES.check_share + FEATURES.relevance_share
    before = COUNT_SHARE + ITEM_MEANS.quantile_share + ITEM_MEANS.counts_share + ITEM_MEANS.center_share
    around = RATINGS.means_share + RATINGS.spectral_share + 3 * RATINGS.moments_share + RATINGS.check_share
    for_steps = 1.0 - before - questions - around
    assert for_steps / RATINGS.em_rounds - ITEM_MEANS.clip_share > 0.1
    assert for_steps / RATINGS.mean_rounds - ITEM_MEANS.clip_share > 0.05  # or for further rounds of means


def test_every_round_of_means_has_far_more_than_what_clipping_is_told_with():
    first = RATINGS.means_share / RATINGS.mean_rounds
    for share in (first, (RATINGS.means_share - first) / FEATURES.more_rounds):
        assert ITEM_MEANS.clip_share < 0.05 * share
    assert FEATURES.clip <= ITEM_MEANS.clip  # slopes leave less
