"""A small public recommender and people who are as bad as can be for its evaluation."""

import numpy as np

from hushrank.estimators.completion import evaluation
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.evaluation.synthetic import synthetic_ratings

N_ITEMS = 24


def fit_recommender(feedback="explicit", neighbors="replace", items=N_ITEMS):
    """Fitted to made-up ratings, with little noise."""
    terms = {"epsilon": 30.0, "delta": 1e-6, "feedback": feedback, "items": items, "neighbors": neighbors}
    if feedback == "explicit":
        terms["rating_range"] = (1, 5)
    return PrivateCompletion(2, **terms, random_state=1).fit(made_up().table())


def made_up(n_users=300, seed=2):
    return synthetic_ratings(n_users, N_ITEMS, seed=seed, ratings_per_user=10.0)


def worst_recommender(n_items=N_ITEMS):
    """Predicts the lowest rating for everything, and lists items in the order of the catalogue."""
    model = PrivateCompletion(1, epsilon=1.0, delta=1e-6, rating_range=(1, 5), items=n_items, random_state=1)
    model.fit(made_up(40).table())
    model.item_means_ = np.full(n_items, 1.0)
    model.item_factors_, model.n_factors_ = np.zeros((n_items, 1)), 0
    model.item_features_ = np.zeros_like(model.item_features_)
    model.item_counts_ = np.arange(n_items, 0, -1.0)
    return model


def seen_totals(monkeypatch):
    """A list that every total is added to, before it meets its noise."""
    totals, original = [], evaluation.release_vector

    def release(total, lattice, noise):
        totals.append((total.copy(), lattice))
        return original(total, lattice, noise)

    monkeypatch.setattr(evaluation, "release_vector", release)
    return totals
