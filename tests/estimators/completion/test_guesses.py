"""Guesses about ratings: tables without gaps, and defaults that fit the catalogue."""

import pytest

from hushrank.estimators.completion.guesses import (
    GUESSES,
    IMPLICIT_GUESSES,
    MATRIX_GUESSES,
    SHARES,
    RatingGuesses,
    default_guesses,
)


def test_a_record_has_a_field_for_every_guess():
    assert RatingGuesses._fields == tuple(GUESSES)
    assert MATRIX_GUESSES.keys() <= GUESSES.keys() and IMPLICIT_GUESSES.keys() <= GUESSES.keys()
    assert set(SHARES) <= GUESSES.keys()


def test_what_nothing_explains_is_the_rest():
    guesses = RatingGuesses(**default_guesses(1000))
    assert guesses.noise_share == pytest.approx(1 - sum(getattr(guesses, name) for name in SHARES))
    assert 0.4 < guesses.noise_share < 0.6


def test_nobody_is_taken_to_rate_most_of_a_small_catalogue():
    assert default_guesses(5000)["ratings_per_user"] == 100
    assert default_guesses(100)["ratings_per_user"] == 20
    assert default_guesses(20, MATRIX_GUESSES)["ratings_per_user"] == 20
    assert default_guesses(1)["ratings_per_user"] == 2
