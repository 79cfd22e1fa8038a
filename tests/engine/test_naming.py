"""What sums are called: as they were named, or in the words of their kernels."""

import functools
import pickle

import pytest

from hushrank.engine.naming import called, name_of
from hushrank.estimators.completion.als import NormalEquations
from hushrank.estimators.completion.user_sums import SecondMoment, sum_noise_levels, sum_residuals
from hushrank.estimators.second_moment.sums import count_norms
from hushrank.privacy.adaptive import _count_people
from hushrank.privacy.disjoint import sum_part


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (sum_residuals, "item means"),
        (count_norms, "radius"),
        (sum_noise_levels, "noise levels"),
        (_count_people, "people"),
        (SecondMoment(), "second moment"),
        (NormalEquations(), "normal equations"),
        (functools.partial(print), "partial"),
    ],
)
def test_kernels_have_names_for_people(kernel, name):
    assert name_of(kernel) == name == name_of(kernel, (1.0, None))


def test_a_kernel_that_hands_on_is_called_like_the_one_it_hands_on_to():
    assert name_of(sum_part, (sum_residuals, None, None, 0, 3)) == "item means"
    assert name_of(sum_part, (sum_part, (sum_residuals, None))) == "item means"


def test_a_name_changes_nothing_else():
    def sum_things(block, state):
        return block + state

    named = called("all things")(sum_things)
    assert named is sum_things and named(1, 2) == 3 and name_of(named) == "all things"
    assert pickle.loads(pickle.dumps(sum_residuals)) is sum_residuals
