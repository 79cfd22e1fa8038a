"""Ratings as a recommender reads them for its evaluation, and what it refuses."""

import numpy as np
import pytest

from evaluation_support import N_ITEMS, fit_recommender, made_up
from hushrank.data.ratings.leave_out import LeaveOut
from hushrank.data.ratings.reading import read_ratings
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.held_out_ratings import (
    HeldOutRatings,
    check_recommender,
    make_recommender_contest,
    rating_width,
    read_for,
)
from hushrank.exceptions import InvalidParameter


@pytest.fixture(scope="module")
def model():
    return fit_recommender()


def test_a_source_has_the_users_and_the_contest(model):
    ratings = read_for(model, made_up().table(), None, "test")
    contest = make_recommender_contest(model, LeaveOut(0.2, 5, 0), 10, baselines=True)
    source = HeldOutRatings(ratings, contest, 4.0)
    assert source.n_users == 300 and sum(map(len, source.blocks(7))) == 300 and len(source.empty_block()) == 0
    assert source.sizes == {} and len(contest.scorers) == 2


def test_widths(model):
    assert rating_width(model) == 4.0 and rating_width(fit_recommender("implicit")) == 1.0


def test_sources_of_other_terms_are_refused(model):
    matrix = np.full((3, N_ITEMS + 1), 2.0)
    with pytest.raises(InvalidParameter, match="X of test must be ratings of the 24 items of the model"):
        read_for(model, read_ratings(matrix, owner="test", rating_range=(1, 5)), None, "test")
    with pytest.raises(InvalidParameter, match="X of test must be ratings that were read in the range"):
        read_for(model, read_ratings(matrix[:, 1:], owner="test", rating_range=(0, 5)), None, "test")
    named = read_ratings(made_up().table(), owner="test", rating_range=(1, 5), items=[*range(1, N_ITEMS), 99])
    with pytest.raises(InvalidParameter, match="X of test must be ratings of the 24 items of the model"):
        read_for(model, named, None, "test")


@pytest.mark.parametrize("wrong", [None, "model.hush", PrivateCompletion(1, epsilon=1.0, delta=1e-6)])
def test_what_is_no_fitted_recommender_is_refused(wrong):
    with pytest.raises(InvalidParameter, match="model of test must be a fitted PrivateCompletion"):
        check_recommender(wrong, "test")
