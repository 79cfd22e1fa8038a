"""Private representations as a whole: limit, planted data, identities, hopeless regimes, refusals.

Sensitivity is in tests/system/test_personalization_replay.py (whole fits) and in `test_user_sums.py` (single sums). All
fits have seeds: what is asserted of errors holds with room to spare, and a correct fit cannot fail by chance.
"""

import logging

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import hushrank
from hushrank.checks.subjects import unreadable
from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.estimators.personalization.exponential_options import ExponentialSelection
from hushrank.estimators.personalization.options import AlternatingMinimization
from hushrank.estimators.personalization.subspace import principal_angles_error
from hushrank.evaluation.synthetic import shared_representation
from hushrank.exceptions import BudgetExceeded, InvalidParameter
from hushrank.privacy.guarantee import Neighbors, Unit
from hushrank.privacy.ledger import Ledger
from representation_support import MODES, assert_equal_models, release_exactly, representation

BLOCKS = AlternatingMinimization(3, participation="blocks")
CHOICE = {"delta": 0.0, "method": ExponentialSelection(rounds=5, candidates=120)}
# n, d, k, median of the root mean squared sine, range of the loss over that of predicting zero, terms. Medians are of
# 24 to 60 pairs of data and noise; losses have a standard deviation below 0.007, and ranges are 7 of these or more.
PLANTED = {
    "gradient": (1500, 8, 2, 0.0131, (0.1, 0.2), {}),
    "gradient, add_remove": (1500, 8, 2, 0.0119, (0.1, 0.2), {"neighbors": "add_remove"}),
    "gradient, labels": (1500, 6, 1, 0.0208, (0.5, 0.65), {"loss": "logistic", "epsilon": 5.0}),
    "altmin": (1500, 8, 2, 0.038, (0.1, 0.2), {"method": "altmin"}),
    "altmin, blocks": (1500, 8, 2, 0.0649, (0.1, 0.2), {"method": BLOCKS}),
    "exponential": (1500, 5, 1, 0.0785, (0.08, 0.2), CHOICE),
    "exponential, labels": (500, 4, 1, 0.0568, (0.5, 0.75), {**CHOICE, "loss": "logistic", "epsilon": 5.0}),
}


def plausible_angles(median, d, k):
    """Limits of the sine that are exceeded with probability 1e-6 each.

    Its square is a sum over the k (d - k) directions in which a subspace can be wrong, each about normal: a multiple of
    a chi-square. 40 to 60 seeds agree (Kolmogorov and Smirnov: p between 0.19 and 0.98); choices were not compared.
    """
    law = stats.chi2(k * (d - k))
    return median * np.sqrt(law.ppf([1e-6, 1 - 1e-6]) / law.median())


def planted(n, d, k, labels=False, **terms):
    return shared_representation(
        n,
        d,
        k,
        **{"n_records": 8, "noise": 0.3, "seed": 5, "head_norm": 3.0 if labels else 1.0, **terms},
        labels=labels,
    )


def relative_loss(data, model, x_factor=1.0, y_factor=1.0):
    """Loss of heads fitted to fresh records, over that of predicting zero, or one half for labels."""
    coef = model.personalize(x_factor * data.fresh_X, y_factor * data.fresh_y, data.fresh_users).coef_
    risk = (lambda c: data.population_risks(c)[0]) if data.labels else data.population_error
    return risk(coef * (x_factor / y_factor)) / risk(np.zeros(data.X.shape[1]))


# 2. Limit: with a huge budget and without noise in the data, the truth, and what a fit without privacy gives


@pytest.mark.parametrize("method", ["gradient", "altmin"])
@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_huge_budget_finds_the_truth(method, noise):
    data = planted(400, 6, 2, noise=noise)
    model = representation(epsilon=1e6, method=method, random_state=1).fit(data.X, data.y, data.users)
    assert principal_angles_error(model.embedding_, data.embedding) < (1e-3 if noise else 1e-5)
    assert noise**2 / 3 < model.noise_ < max(3 * noise**2, 1e-9)
    moments = model.embedding_ @ (model.head_covariance_ + np.outer(model.head_mean_, model.head_mean_))
    truth = data.coef.T @ data.coef / len(data.coef)
    assert np.linalg.norm(moments @ model.embedding_.T - truth) < 0.3 * np.linalg.norm(truth)
    assert relative_loss(data, model) < 1e-5


@pytest.mark.parametrize("mode", ["gradient", "gradient, labels", "altmin"])
def test_a_huge_budget_gives_what_a_fit_without_privacy_gives(monkeypatch, mode):
    data = planted(300, 5, 2, labels="labels" in mode)
    terms = {**MODES[mode], "epsilon": 1e7, "random_state": 1}
    model = representation(**terms).fit(data.X, data.y, data.users)
    release_exactly(monkeypatch)
    exact = representation(**terms).fit(data.X, data.y, data.users)
    for name in ("embedding_", "head_mean_", "head_covariance_", "noise_", "gains_"):
        expected = getattr(exact, name)  # the noise of the moments of heads is 6e-5 of the covariance
        assert getattr(model, name) == pytest.approx(expected, abs=2e-4 * max(1.0, np.abs(expected).max())), name
    assert not np.array_equal(model.embedding_, exact.embedding_)


# 3. Planted data


@pytest.mark.parametrize("name", PLANTED)
def test_planted_representations_are_found(name):
    n, d, k, median, losses, terms = PLANTED[name]
    least, most = plausible_angles(median, d, k)
    data = planted(n, d, k, labels="loss" in terms)
    model = representation(k, **{"epsilon": 3.0, **terms, "random_state": 2}).fit(data.X, data.y, data.users)
    assert least < principal_angles_error(model.embedding_, data.embedding) < most
    assert losses[0] < relative_loss(data, model) < losses[1]
    assert model.privacy_.unit == Unit.USER and model.privacy_.epsilon <= model.epsilon


@pytest.mark.parametrize("factors", [(2.0**5, 2.0**-6), (2.0**8, 2.0**10), (2.0**-8, 2.0**-10), (2.0**8, 2.0**-10)])
@pytest.mark.parametrize("method", ["gradient", "altmin"])
def test_scales_may_be_wrong_by_orders_of_magnitude(method, factors):
    data, (a, b) = planted(800, 6, 2), factors
    model = representation(epsilon=4.0, method=method, random_state=3).fit(a * data.X, b * data.y, data.users)
    assert principal_angles_error(model.embedding_, data.embedding) < 0.2
    assert relative_loss(data, model, a, b) < 0.25


@pytest.mark.parametrize("terms", [{}, {"method": "altmin"}, CHOICE])
def test_a_stated_scale_is_the_same_as_a_scaled_fit(terms):
    """Powers of two change no bit of a product."""
    data = planted(200, 4, 1)
    one = representation(1, **terms, random_state=1).fit(data.X, data.y, data.users)
    terms = {**terms, "x_scale": 2.0**5, "y_scale": 2.0**-6, "random_state": 1}
    other = representation(1, **terms).fit(2.0**5 * data.X, 2.0**-6 * data.y, data.users)
    assert other.embedding_ == pytest.approx(one.embedding_, abs=1e-6)
    assert other.noise_ == pytest.approx(2.0**-12 * one.noise_, rel=1e-6)
    assert other.head_covariance_ == pytest.approx(2.0**-22 * one.head_covariance_, rel=1e-5, abs=1e-12)


def test_unequal_counts_and_users_with_none_one_or_very_many_records():
    data, rng = planted(1000, 6, 2, n_records=5, unequal=True), np.random.default_rng(1)
    many = rng.standard_normal((100_000, 6))
    X = np.concatenate([data.X, many, data.X[:1], np.full((2, 6), np.nan)])
    y = np.concatenate([data.y, 30.0 * np.sign(many[:, 0]), [1e9, np.nan, 0.0]])
    users = np.concatenate([data.users, np.full(100_000, -1), [-2, -3, -3]])
    model = representation(epsilon=3.0, random_state=2).fit(X, y, users)
    assert 0.004 < principal_angles_error(model.embedding_, data.embedding) < 0.08
    heads = model.personalize(X, y, users)
    assert np.array_equal(heads[-3].coef_, model.embedding_ @ model.head_mean_)  # nothing is known of this user
    assert abs(heads[-1].coef_[0]) > 3 * np.abs(heads[-1].coef_[1:]).max()  # one who knows better


HOPELESS = [(200, 50, 1.0), (50, 50, 0.1), (50, 5, 0.1), (200, 50, 1e-3), (300, 10, 1e-3)]


@pytest.mark.parametrize(("n", "d", "epsilon"), [*HOPELESS, (200, 50, 100.0), (50, 50, 100.0)])
def test_where_nothing_can_be_learned_nobody_loses_much(n, d, epsilon):
    for seed in range(3):
        data = planted(n, d, 2, seed=seed)
        model = representation(epsilon=epsilon, random_state=seed).fit(data.X, data.y, data.users)
        assert relative_loss(data, model) < 1.1
        if d < 50:
            altmin = representation(epsilon=epsilon, random_state=seed, method="altmin")
            assert relative_loss(data, altmin.fit(data.X, data.y, data.users)) < 1.1


@pytest.mark.parametrize(("n", "d", "epsilon"), HOPELESS)
def test_where_nothing_can_be_learned_of_labels_nobody_loses_much(n, d, epsilon):
    for seed in range(3):
        data = planted(n, d, 2, seed=seed, labels=True)
        model = representation(epsilon=epsilon, loss="logistic", random_state=seed)
        assert relative_loss(data, model.fit(data.X, data.y, data.users)) < 1.1


# 4. Identities


@pytest.mark.parametrize("mode", MODES)
def test_order_blocks_threads_and_width_change_no_bit(mode):
    data = planted(60, 4, 2, labels="labels" in mode, unequal=True, dtype=np.float32)
    terms, rng = {**MODES[mode], "random_state": 4}, np.random.default_rng(1)
    expected = representation(**terms).fit(data.X, data.y, data.users)
    order = rng.permutation(len(data.y))
    for X in (data.X[order], data.X[order].astype(np.float64)):
        for engine in (LocalEngine(threads=2, block_rows=7), LocalEngine(threads=3, block_rows=1)):
            other = representation(**terms, engine=engine)
            assert_equal_models(expected, other.fit(X, data.y[order], -5 * data.users[order]))


def test_labels_are_what_lies_above_zero():
    data = planted(60, 4, 2, labels=True)
    terms = {"loss": "logistic", "random_state": 1}
    one = representation(**terms).fit(data.X, data.y, data.users)
    assert_equal_models(one, representation(**terms).fit(data.X, np.where(data.y > 0, 7.5, -3.0), data.users))


def test_a_public_number_of_users_takes_the_place_of_that_which_is_found():
    data = planted(50, 4, 2)
    fits = [representation(random_state=1, n_users=n).fit(data.X, data.y, data.users) for n in (None, 50, 500)]
    assert_equal_models(*fits[:2])
    assert not np.array_equal(fits[0].gains_, fits[2].gains_)


@pytest.mark.parametrize("mode", MODES)
def test_a_loaded_model_gives_the_same_heads(mode, tmp_path):
    data = planted(50, 4, 2, labels="labels" in mode)
    model = representation(**MODES[mode], neighbors="add_remove").fit(data.X, data.y, data.users)
    model.save(tmp_path / "model")
    loaded = hushrank.load(tmp_path / "model")
    assert type(loaded) is PrivateRepresentation and loaded.privacy_ == model.privacy_
    assert (loaded.privacy_.neighbors, loaded.method) == (Neighbors.ADD_REMOVE, model.method)
    heads = [one.personalize(data.X, data.y, data.users) for one in (model, loaded)]
    assert np.array_equal(heads[0].coef_, heads[1].coef_)
    assert np.array_equal(model.predict(data.X), loaded.predict(data.X))
    assert np.array_equal(model.transform(data.X), data.X @ model.embedding_)
    assert hasattr(model, "gains_") == (not mode.startswith("exponential"))


def test_as_many_components_as_features_and_one_feature():
    data = planted(80, 3, 1)
    for k, X in ((3, data.X), (1, data.X[:, :1])):
        for mode in MODES:
            model = representation(k, **MODES[mode]).fit(X, data.y, data.users)
            assert np.allclose(model.embedding_.T @ model.embedding_, np.eye(k)), mode


# 5. Refusals; nothing is read or charged

X, Y, USERS = np.ones((4, 3)), np.ones(4), [1, 1, 2, 3]
TABLE = pd.DataFrame({"user": USERS, "a": Y, "b": Y, "target": Y})


@pytest.mark.parametrize(
    ("terms", "data", "message"),
    [
        ({"delta": 0.0}, (X, Y, USERS), r"^delta .* must be > 0, because sums over users have Gaussian noise \(method"),
        ({"method": "exponential"}, (X, Y, USERS), r"^delta .* must be 0 for method 'exponential', which is pure; got"),
        ({"k": 4}, (X, Y, USERS), r"^n_components .* must be at most the number of features, 3; got 4"),
        ({"k": 0}, (X, Y, USERS), r"^n_components .* must be an int\w* >= 1; got 0"),
        ({"method": "sgd"}, (X, Y, USERS), r"^method .* must be one of GradientSteps\(...\), .* or 'exponential'; got"),
        ({"method": "altmin", "loss": "logistic"}, (X, Y, USERS), r"^loss .* must be 'squared' for this method; got"),
        ({"loss": "hinge"}, (X, Y, USERS), r"^loss .* must be 'squared' or 'logistic'; got 'hinge'"),
        ({"x_scale": 0.0}, (X, Y, USERS), r"^x_scale .* must be a finite float > 1e-60"),
        ({"y_scale": np.inf}, (X, Y, USERS), r"^y_scale .* must be a finite float"),
        ({"n_users": 3, "neighbors": "add_remove"}, (X, Y, USERS), r"^n_users .* must be None under add_remove"),
        (
            {"epsilon": 1e-9, "delta": 1e-12},
            (X, Y, USERS),
            r"^epsilon .* so large that the noise multiplier is at most",
        ),
        ({}, (X, Y), r"^users .* must be the ids of the users, one for each record, or the name of their column; got"),
        ({}, (X, Y[:3], USERS), r"^y .* must be a vector of 4 numbers, one for each record; got '3 numbers'"),
        ({}, (X, Y, USERS[:3]), r"^users .* must be 4 ids, one for each record; got '3 ids'"),
        ({}, (X[0], Y[:3], USERS[:3]), r"^X .* must be of shape"),
        ({}, (X.astype(complex), Y, USERS), r"^X .* must be real"),
        ({}, (X, Y, np.array([1.5, 2, 3, 4])), r"^users .* must be"),
        ({}, (TABLE.drop(columns="target"),), r"^y .* must be"),
        ({}, (TABLE.drop(columns="user"),), r"^users .* must be"),
        ({}, (TABLE, "nothing"), r"^y .* must be"),
        ({}, ("no such file.csv",), r"^X .* must be an existing file"),
        ({}, (read_rows(X, owner="A"),), r"^X .* must be records"),
    ],
)
def test_refusals_say_why_and_charge_nothing(terms, data, message, tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("users", epsilon=10.0, delta=1e-5, neighbors=terms.get("neighbors", "replace"), unit="user")
        model = representation(**{"k": 1, "ledger": ledger["users"], **terms})
        with pytest.raises(InvalidParameter, match=message.replace(" .* must", " of PrivateRepresentation must", 1)):
            model.fit(*data)
        assert len(ledger["users"].history()) == 1
    assert not hasattr(model, "privacy_") and not hasattr(model, "embedding_")


def test_a_budget_that_is_used_up_refuses_before_the_data_are_read(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("users", epsilon=6.0, delta=1e-5, neighbors="replace", unit="user")
        model = representation(1, ledger=ledger["users"]).fit(X, Y, USERS)
        before = model.embedding_.copy()
        with pytest.raises(BudgetExceeded):
            model.fit(unreadable(model._read(X, Y, USERS)))
        assert len(ledger["users"].history()) == 2 and np.array_equal(model.embedding_, before)


def test_counts_go_to_the_log_alone(caplog):
    with caplog.at_level(logging.INFO, "hushrank"):
        representation(1).fit(X, Y, [1, None, 2, 2])
    assert "Not private: 4 records read; 1 without a user were left out." in caplog.text
