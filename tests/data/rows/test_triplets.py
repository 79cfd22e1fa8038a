"""Lists of entries of a matrix are told from rows of people."""

import numpy as np
import pytest

from hushrank.data.rows.triplets import SAMPLE_ROWS, Sample, advice, find_triplets, looks_like_triplets

RNG = np.random.default_rng(0)
PAIRS = np.array([(i, j) for i in range(30) for j in range(30) if (i * j) % 3])
RATINGS = np.column_stack([PAIRS, RNG.integers(1, 6, len(PAIRS))]).astype(float)
TEXTS = np.column_stack([np.full((len(PAIRS), 2), np.nan), RATINGS[:, 2]])
PEOPLE = np.column_stack([RNG.integers(18, 90, 500), RNG.integers(0, 90_000, 500), RNG.integers(0, 5, 500)]).astype(
    float
)


@pytest.mark.parametrize("names", [["user", "item", "rating"], ["doc", "term", "count"], ["a", "b", "c"]])
def test_entries_are_noticed(names):
    assert looks_like_triplets(RATINGS, names)
    assert looks_like_triplets(TEXTS, names) == (names[0] != "a")  # texts, or numbers that nobody can read


def test_shuffled_entries_need_names():
    mixed = RNG.permutation(RATINGS)
    assert looks_like_triplets(mixed, ["movieId", "user", "stars"]) and not looks_like_triplets(mixed, ["a", "b", "c"])


def test_a_time_beside_them_changes_nothing():
    timed = np.column_stack([RATINGS, RNG.integers(10**9, 2 * 10**9, len(RATINGS))])
    assert looks_like_triplets(timed, ["userId", "movieId", "rating", "timestamp"])


@pytest.mark.parametrize(
    "X",
    [PEOPLE, TEXTS, RNG.standard_normal((500, 3)), np.zeros((500, 3)), RATINGS[:10], RATINGS[:, :2],
     np.tile(RATINGS, 2), np.full((50, 3), np.nan), np.empty((0, 3))],
)  # fmt: skip
def test_rows_of_people_are_not(X):
    assert not looks_like_triplets(X, ["age", "income", "children"])


def test_names_are_told_by_whole_words():
    assert looks_like_triplets(TEXTS, ["docId", "wordID", "n"])
    assert looks_like_triplets(TEXTS, ["x", "term", "wordCount"])
    assert not looks_like_triplets(TEXTS, ["account", "country", "age"])
    assert not looks_like_triplets(TEXTS, ["doctor", "determined", "discount"])


def test_the_hint_follows_the_names():
    assert "complete" in advice(["userId", "movieId", "rating"]) and "pivot" not in advice(["userId", "movieId"])
    assert "pivot" in advice(["doc", "term", "count"]) and "complete" not in advice(["doc", "term", "count"])
    assert "complete" in advice(["a", "b"]) and "pivot" in advice(["a", "b"])


def test_a_sample_is_bounded():
    sample = Sample()
    for _ in range(3):
        sample.add(np.tile(RATINGS, (20, 1)))
    assert len(sample.rows()) == SAMPLE_ROWS
    assert find_triplets(Sample(), ["a", "b", "c"]) == []
    wide = Sample()
    wide.add(np.zeros((10, 50)))
    assert len(wide.rows()) == 0
