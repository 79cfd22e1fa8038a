"""What the bounds take: values are sorted and checked, and the relation is known by its name."""

import numpy as np
import pytest

from hushrank.bounds.arguments import check_falling, count_changed_rows
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Neighbors, parse_neighbors


def test_values_fall():
    values = np.array([1.0, 3.0, 2.0])
    assert check_falling(values, "levels", "test").tolist() == [3.0, 2.0, 1.0]
    assert values.tolist() == [1.0, 3.0, 2.0]
    assert check_falling([0, 2], "eigenvalues", "test").tolist() == [2.0, 0.0]


@pytest.mark.parametrize("bad", [[], [-1.0], [np.nan, 1.0], [np.inf], ["1"], [True]])
def test_bad_values_are_refused(bad):
    with pytest.raises(InvalidParameter, match="eigenvalues of test"):
        check_falling(bad, "eigenvalues", "test")


def test_a_limit_is_kept():
    with pytest.raises(InvalidParameter, match="levels of test must be a finite float > 0"):
        check_falling([1.0, 0.0], "levels", "test", above=0)


def test_every_relation_is_known_by_its_name():
    assert {relation: count_changed_rows(relation, "test") for relation in Neighbors} == {
        Neighbors.REPLACE: 2.0,
        Neighbors.ADD_REMOVE: 1.0,
    }
    assert count_changed_rows("replace", "test") == 2.0


@pytest.mark.parametrize("bad", ["swap", None, 1, ["replace"]])
def test_other_relations_are_refused_in_the_words_of_the_privacy_room(bad):
    with pytest.raises(InvalidParameter) as expected:
        parse_neighbors(bad, "test")
    with pytest.raises(InvalidParameter) as refused:
        count_changed_rows(bad, "test")
    assert str(refused.value) == str(expected.value)
