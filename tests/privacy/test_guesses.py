"""Guesses: numbers within limits, and names that a forecast knows."""

import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guesses import Guess, check_guesses

TABLE = {"decay": Guess(1.0, 0.5, 2.0, "how fast"), "spread": Guess(0.7, 0.7, 0.7, "how far", below=1.0)}
USED = {"decay": 1.0, "spread": 0.7}


def test_stated_guesses_are_floats():
    assert check_guesses(TABLE, USED, {"decay": 2, "spread": 0.5}, "Mine") == {"decay": 2.0, "spread": 0.5}
    assert check_guesses(TABLE, USED, None, "Mine") == check_guesses(TABLE, USED, {}, "Mine") == {}


@pytest.mark.parametrize(
    ("guesses", "words"),
    [
        ({"decoy": 1.0}, r"named decay, spread \(did you mean 'decay'\?\); got 'decoy'"),
        ({"what": 1.0}, "named decay, spread; got 'what'"),
        ({"decay": "fast"}, "decay of the guesses of Mine must be a finite float >= 0"),
        ({"decay": -1.0}, ">= 0; got -1"),
        ({"spread": 1.0}, "< 1; got 1"),
        ([("decay", 1.0)], "a mapping of names to numbers"),
    ],
)
def test_other_guesses_are_refused(guesses, words):
    with pytest.raises(InvalidParameter, match=words):
        check_guesses(TABLE, USED, guesses, "Mine")


def test_a_guess_that_this_forecast_does_not_use_is_refused():
    with pytest.raises(InvalidParameter, match="named decay; got 'spread'"):
        check_guesses(TABLE, {"decay": 1.0}, {"spread": 0.5}, "Mine")
    with pytest.raises(InvalidParameter, match="needs none"):
        check_guesses(TABLE, {}, {"spread": 0.5}, "Mine")
