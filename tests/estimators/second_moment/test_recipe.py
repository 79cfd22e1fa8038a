"""The shares of the budget are public, positive and leave most of it to the matrix."""

from hushrank.estimators.second_moment.recipe import RECIPE


def test_shares_leave_most_to_the_matrix():
    assert 0 < RECIPE.count < RECIPE.center < RECIPE.eigenvalues < 1
    assert RECIPE.count + RECIPE.center < RECIPE.eigenvalues
