"""What a recommender says of its noise: strengths of factors, deviations of means and of counts, from the release."""

import numpy as np
import pytest

import hushrank
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.item_marks import (
    Marks,
    are_own,
    chance_gain,
    check_strength,
    mean_deviations,
    spectral_strength,
    unknown_deviation,
)
from hushrank.evaluation.synthetic import synthetic_ratings
from hushrank.linalg.hollow import top_hollow_eigenpairs

N_USERS, N_ITEMS = 1500, 40
TERMS = {"delta": 1e-6, "rating_range": (1, 5), "random_state": 1}


@pytest.fixture(scope="module")
def table():
    return synthetic_ratings(N_USERS, N_ITEMS, seed=1).table()


@pytest.fixture(scope="module")
def clear(table):
    return PrivateCompletion(3, epsilon=10.0, items=N_ITEMS, **TERMS).fit(table)


def chance(seed, n_users=N_USERS):
    """Ratings without any structure."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random((n_users, N_ITEMS)) < 0.4, rng.integers(1, 6, (n_users, N_ITEMS)), np.nan)


# Factors


def test_clear_factors_stand_above_the_noise(clear):
    assert clear.n_factors_ == clear.n_significant_ == 3 and (np.diff(clear.strength_) <= 0).all()
    assert clear.strength_[0] > 1.5


@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_without_structure_nothing_does(epsilon):
    found = [PrivateCompletion(3, epsilon=epsilon, **TERMS).fit(chance(seed)) for seed in range(4)]
    assert sum(model.n_significant_ > 0 for model in found) == 0
    assert all((model.strength_ <= 1.0).all() for model in found)


@pytest.mark.parametrize(
    "options",
    [{"method": "als"}, {"method": "factored_gradient"}, {"offsets": False}, {"feedback": "implicit"}],
    ids=lambda options: "-".join(map(str, options.values())),
)
def test_of_every_method_the_same_attributes_are_told(table, options):
    model = PrivateCompletion(2, epsilon=4.0, items=N_ITEMS, **{**TERMS, **options}).fit(table)
    assert model.strength_.shape == (2,) and (model.strength_ >= 0).all()
    assert model.n_significant_ == (model.strength_ > 1).sum() <= model.n_factors_
    if "offsets" in options:
        assert model.count_deviation_ == 0.0 and not model.mean_deviation_.any()
    else:
        assert model.count_deviation_ > 0.0


def test_where_nothing_tells_it_is_not_said(table):
    model = PrivateCompletion(2, epsilon=4.0, items=N_ITEMS, method="als", offsets=False, **TERMS).fit(table)
    assert model.strength_.shape == (0,) and not hasattr(model, "n_significant_")


def test_strength_is_what_stands_above_hollow_noise():
    rng = np.random.default_rng(0)
    A = np.triu(rng.standard_normal((60, 60)), 1)
    noise, q = A + A.T, np.ones(60) / np.sqrt(60)
    strong = noise + 60.0 * np.outer(q, q)
    for S, is_above in ((noise, False), (strong, True)):
        np.fill_diagonal(S, 0.0)
        Q, values, _ = top_hollow_eigenpairs(S, 2, 1.0, rounds=3, cut=0.5)
        strength = spectral_strength(Q, S, values, 1.0)
        assert (strength[0] > 1.0) == is_above and strength[1] < 1.0


def test_the_check_tells_of_all_factors_at_once():
    about = np.array([False, True, True])
    assert check_strength(np.array([9.0, 3.29, 1.0]), about, 1.0, 2) == pytest.approx([2.0, 2.0])
    assert check_strength(np.array([9.0, -3.0, -1.0]), about, 1.0, 2).tolist() == [0.0, 0.0]
    assert check_strength(np.array([9.0, 3.29, 1.0]), about, 1.0, 1, chance=1.645) == pytest.approx([1.0])
    assert chance_gain(2, np.full(5, 20.0), 0.5, 50.0) == pytest.approx(2 * 0.5 * 50 * 10 / 100)


def test_of_chance_other_methods_find_nothing_either():
    for method in ("als", "factored_gradient"):
        for epsilon in (8.0, 20.0):
            model = PrivateCompletion(3, epsilon=epsilon, method=method, **TERMS).fit(chance(1))
            assert model.n_significant_ == 0


def test_strengths_of_columns():
    factors = np.array([[1.0, 0.0, 0.0], [0.5, 2.0, 0.0]])
    assert Marks(strength=np.array([3.0, 2.0])).strengths(factors).tolist() == [3.0, 2.0, 0.0]
    assert Marks(strength=np.array([3.0, 2.0])).strengths(0.0 * factors).tolist() == [0.0, 0.0, 0.0]
    assert Marks().strengths(factors).tolist() == [] and Marks().strengths(0.0 * factors).tolist() == [0.0] * 3


# Means and counts


def test_deviations_of_means_are_those_of_repeated_fits(table):
    terms = {**TERMS, "items": N_ITEMS}
    fits = [PrivateCompletion(1, epsilon=1.0, **{**terms, "random_state": seed}).fit(table) for seed in range(6)]
    exact = PrivateCompletion(1, epsilon=100.0, **terms).fit(table).item_means_
    z = np.array([(model.item_means_ - exact) / model.mean_deviation_ for model in fits])
    assert 0.5 < np.std(z - z.mean(axis=1, keepdims=True)) < 1.6  # a shift of all items is not in them


def test_means_are_drawn_to_their_line_where_noise_is_large():
    deviations = mean_deviations(np.array([1e-9, 1e4]), np.zeros(2), 0.04)
    assert deviations == pytest.approx([0.2, 0.01], rel=0.01)
    assert are_own(mean_deviations(np.array([10.0, 100.0]), np.zeros(2), 0.0375), 1.0).tolist() == [False, True]
    assert unknown_deviation(deviations, 2.0) == pytest.approx(2.0 * 0.0375**0.5)
    assert unknown_deviation(np.zeros(2), 2.0) == 0.0
    assert not are_own(np.array([unknown_deviation(deviations, 2.0)]), 2.0).any()


# Files


def test_files_keep_the_marks_and_older_ones_have_none(clear, tmp_path):
    clear.save(tmp_path / "model.hush")
    loaded = hushrank.load(tmp_path / "model.hush")
    assert loaded.strength_.tolist() == clear.strength_.tolist() and loaded.n_significant_ == clear.n_significant_
    for name in ("strength_", "mean_deviation_", "count_deviation_"):
        delattr(loaded, name)
    loaded.save(tmp_path / "older.hush")
    older = hushrank.load(tmp_path / "older.hush")
    assert not hasattr(older, "strength_") and not hasattr(older, "n_significant_")
    assert older.recommend({3: 5.0}).items.tolist() == clear.recommend({3: 5.0}).items.tolist()


def test_a_file_with_other_strengths_is_refused(clear, tmp_path):
    clear.save(tmp_path / "model.hush")
    loaded = hushrank.load(tmp_path / "model.hush")
    loaded.strength_ = np.ones(2)
    with pytest.raises(hushrank.exceptions.ModelFileError, match="strength_ is not that of all factors"):
        loaded.save(tmp_path / "other.hush")


def test_items_added_later_have_unknown_means(clear):
    grown = clear.add_items([N_ITEMS, N_ITEMS + 1])
    assert len(grown.mean_deviation_) == N_ITEMS + 2
    assert not are_own(grown.mean_deviation_[-2:], 2.0).any()
