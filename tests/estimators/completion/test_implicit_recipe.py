"""The recipe of implicit feedback: shares that fit into one budget whatever is bought, lists in small catalogues."""

from dataclasses import FrozenInstanceError, fields

import pytest

from hushrank.estimators.completion.implicit_recipe import IMPLICIT, ImplicitRecipe
from hushrank.estimators.completion.recipes import ITEM_MEANS
from hushrank.privacy.adaptive import COUNT_SHARE


def test_the_recipe_cannot_be_changed_and_its_numbers_are_positive():
    for field in fields(IMPLICIT):
        value = getattr(IMPLICIT, field.name)
        with pytest.raises(FrozenInstanceError):
            setattr(IMPLICIT, field.name, value)
        assert min(value) >= 0 if isinstance(value, tuple) else value > 0


def test_most_counts_and_the_check_leave_a_share_for_factors():
    shares = IMPLICIT.more_counts_shares
    assert shares[0] == 0.0 and list(shares) == sorted(set(shares))
    before = COUNT_SHARE + ITEM_MEANS.quantile_share + ITEM_MEANS.counts_share
    assert before + shares[-1] + IMPLICIT.check_share < 0.75


def test_two_factors_are_the_least():
    assert IMPLICIT.fewest_factors == 2  # the first is popularity again


@pytest.mark.parametrize(("n_items", "length"), [(1, 1), (4, 1), (5, 1), (24, 4), (99, 19), (100, 20), (10**6, 20)])
def test_lists_are_short_beside_the_catalogue(n_items, length):
    assert ImplicitRecipe().length_of_list(n_items) == length


@pytest.mark.parametrize(
    ("n_items", "plain", "featured"), [(1, 0.5, 0.5), (24, 12, 12), (100, 50, 50), (300, 60, 150), (10**6, 60, 200)]
)
def test_lists_reach_further_than_their_length_but_not_everywhere(n_items, plain, featured):
    assert IMPLICIT.limits_of_lists(n_items, False) == ((plain, IMPLICIT.most_lost),)
    both = ((plain, IMPLICIT.most_lost), (featured, IMPLICIT.featured_lost))
    assert IMPLICIT.limits_of_lists(n_items, True) == both
