"""The page of a recommender of one's own: items, factors with their ends, and what is noise."""

import copy

import numpy as np

from hushrank.report.promise import Beside
from hushrank.report.rating_model import (
    item_names,
    rating_model_page,
    read_factors,
    read_orders,
    say_counts,
    say_factors,
    say_means,
    say_orders,
)
from model_support import N_ITEMS, fitted
from report_support import Document


def changed(**attributes):
    """The model with other attributes."""
    model = copy.copy(fitted("PrivateCompletion"))
    for name, value in attributes.items():
        setattr(model, name, value)
    return model


def text_of(model, **beside):
    return Document(rating_model_page(model, Beside(**beside))).text


def test_items_stand_in_the_order_of_the_released_numbers():
    model = fitted("PrivateCompletion")
    counts, means = read_orders(model)
    assert counts.positions[0] == model.item_counts_.argmax() and means.positions[0] == model.item_means_.argmax()
    text = text_of(model, titles=[f"title {j}" for j in range(N_ITEMS)])
    assert f"1 title {means.positions[0]} {model.item_means_.max():.4g}" in text and "Most popular" in text
    assert item_names(model)[3] == "3"


def test_factors_have_items_at_both_ends():
    model = fitted("PrivateCompletion")
    for factor in read_factors(model):
        column = model.item_factors_[:, factor.number - 1]
        assert factor.high[0] == column.argmax() and factor.low[0] == column.argmin()
        assert factor.strength == model.strength_[factor.number - 1]
    assert say_factors(model).startswith(f"{model.n_significant_} of 2 factors stand")


def test_noise_is_called_noise():
    quiet = changed(strength_=np.array([0.9, 0.0]), mean_deviation_=np.full(N_ITEMS, 1.0), count_deviation_=1e9)
    text = text_of(quiet)
    assert "no factors above the noise" in say_factors(quiet) and "one end" not in text
    assert say_means(quiet).startswith("20 of 20 items have a mean that is mostly noise")
    assert (
        say_counts(quiet).startswith("20 of 20 items have a count") and say_counts(fitted("PrivateCompletion")) is None
    )
    assert Document(rating_model_page(quiet)).all("span", "dim") and "Their items mean nothing here" in text


def test_the_first_of_items_that_are_alike_are_not_sure():
    """Counts far above their noise, which tells them apart in the second model alone; likewise means."""
    alike = np.random.default_rng(0).normal(400.0, 50.0, N_ITEMS)
    apart, means = np.arange(N_ITEMS) * 50.0 + 500.0, np.linspace(3.5, 3.6, N_ITEMS)
    unsure = changed(
        item_counts_=alike, count_deviation_=50.0, item_means_=means, mean_deviation_=np.full(N_ITEMS, 0.1)
    )
    popular, high = say_orders(unsure)
    assert popular.startswith("most popular: neither is the order of the first 10 sure")
    assert popular.endswith("where they differ by 139 or more") and high.endswith("by 0.277 or more")
    assert "Most popular: neither is the order" in text_of(unsure) and say_counts(unsure) is None
    sure = changed(item_counts_=apart, count_deviation_=50.0, mean_deviation_=np.full(N_ITEMS, 0.001))
    assert not [*say_orders(sure)]
    assert [told.partition(":")[0] for told in say_orders(sure, 3)] == ["most popular"]  # 100 apart


def test_models_of_older_versions_say_that_nothing_tells():
    older = copy.copy(fitted("PrivateCompletion"))
    for name in ("strength_", "mean_deviation_", "count_deviation_"):
        delattr(older, name)
    text = text_of(older)
    assert "nothing tells how far they are above the noise" in text and say_means(older) is None
    assert not [*say_orders(older)]
    assert all(factor.mark == "" for factor in read_factors(older))


def test_without_means_and_counts_that_is_said():
    bare = changed(item_counts_=np.ones(N_ITEMS), item_means_=np.zeros(N_ITEMS))
    assert "No means and no counts of items were released" in text_of(bare)
