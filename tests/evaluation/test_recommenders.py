"""`hushrank.evaluate`: exact numbers for the data holder, paid ones for everybody, and what they cost."""

import numpy as np
import pytest

import hushrank as hr
from evaluation_support import N_ITEMS, fit_recommender, made_up
from hushrank.evaluation.recommenders import (
    NOT_PRIVATE,
    PAID,
    SEEDED,
    SEEN,
    THROWN_AWAY,
    add_guarantees,
    evaluate,
    to_text,
)
from hushrank.exceptions import BudgetExceeded, InvalidParameter
from hushrank.privacy import accountant
from hushrank.privacy.events import Composed
from hushrank.privacy.ledger import Ledger

RATINGS = made_up().table()


def unfitted(**changes):
    terms = {"epsilon": 20.0, "delta": 1e-6, "rating_range": (1, 5), "items": N_ITEMS, "random_state": 2}
    return hr.PrivateCompletion(2, **{**terms, **changes})


@pytest.fixture(scope="module")
def fitted():
    return fit_recommender()


def test_exact_numbers_say_that_they_are_not_private():
    model = unfitted()
    found = evaluate(model, RATINGS, reference=True)
    assert not found.private and found.guarantee is None and found.release is None
    assert found.notes[:2] == (NOT_PRIVATE, THROWN_AWAY) and NOT_PRIVATE in repr(found) == str(found)
    assert not hasattr(model, "privacy_")  # a copy was fitted
    assert [score.rmse is not None for score in found.scores] == [True] * 5 and found.scores[0].rmse_interval is None
    assert found.scores[0].rmse < found.scores[3].rmse


def test_held_out_ratings_are_not_in_the_fit():
    """A model that could remember them is no better for them: ratings that are held out are changed, and it is not."""
    rule = {"held_out": 0.5, "most_held_out": 100}
    release = hr.PrivateEvaluation(epsilon=1.0, **rule)
    source = release._read(RATINGS, fit_recommender())
    [block] = source.blocks()
    history, _ = release._rule.split(block)
    fits, original = [], hr.PrivateCompletion.fit
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            hr.PrivateCompletion, "fit", lambda self, X: (fits.append(list(X.blocks())), original(self, X))[1]
        )
        evaluate(unfitted(), RATINGS, **rule)
    [[seen]] = fits
    assert seen.items.tolist() == history.items.tolist() and seen.indptr.tolist() == history.indptr.tolist()


def test_a_fitted_model_is_measured_as_it_is(fitted):
    found = evaluate(fitted, RATINGS, k=3)
    assert found.notes[:2] == (NOT_PRIVATE, SEEN) and found.k == 3 and len(found.scores) == 4
    again = evaluate(fitted, RATINGS.take(np.arange(len(RATINGS))[::-1]), k=3)
    assert again.scores[0].recall == pytest.approx(found.scores[0].recall)


def test_paid_numbers_are_near_the_exact_ones_and_cost_what_they_say(fitted):
    exact = evaluate(fitted, RATINGS)
    paid = evaluate(fitted, RATINGS, pay_epsilon=1e6)
    for one, other in zip(paid.scores, exact.scores, strict=False):
        assert one.rmse == pytest.approx(other.rmse, rel=0.01) and one.recall == pytest.approx(other.recall, rel=0.01)
    cheap = evaluate(fitted, RATINGS, pay_epsilon=0.5, baselines=False)
    assert cheap.guarantee.epsilon <= 0.5 and cheap.guarantee.delta == 1e-6 and len(cheap.scores) == 1
    both = cheap.with_model
    assert both.event == Composed((fitted.privacy_.event, cheap.guarantee.event))
    assert fitted.privacy_.epsilon < both.epsilon < fitted.privacy_.epsilon + 0.5
    assert both.epsilon == accountant.epsilon(both.event, 1e-6)
    assert cheap.release.scores()[0].rmse.value == cheap.scores[0].rmse


def test_seeds_are_marked(fitted):
    assert fitted.privacy_.reproducible  # of this support
    found = evaluate(fitted, RATINGS, pay_epsilon=1.0)
    assert found.notes[0] == SEEDED and not found.private and found.with_model.reproducible
    clean = evaluate(unfitted(random_state=None), RATINGS, pay_epsilon=1.0)
    assert clean.private and clean.notes[0] == PAID


def test_pure_numbers_beside_a_gaussian_model(fitted):
    found = evaluate(fitted, RATINGS, pay_epsilon=0.5, pay_delta=0.0)
    assert found.guarantee.delta == 0.0 and found.with_model.delta == 1e-6


def test_the_ledger_is_charged_once_for_model_and_numbers(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("ratings", epsilon=3.0, delta=1e-6, unit="user")
        model = unfitted(epsilon=1.0, random_state=None)
        with pytest.raises(BudgetExceeded):
            evaluate(model, RATINGS, pay_epsilon=2.9, ledger=account)
        assert len(account.history()) == 1  # neither of both
        found = evaluate(model, RATINGS, pay_epsilon=1.0, ledger=account)
        _, charge = account.history()
        assert charge.event == found.with_model.event
        evaluate(model.fit(RATINGS), RATINGS, pay_epsilon=0.5, ledger=account)
        assert len(account.history()) == 3


def test_refusals(fitted, tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("ratings", epsilon=3.0, delta=1e-6, unit="user")
        with pytest.raises(InvalidParameter, match="ledger of evaluate must be None where pay_epsilon is None"):
            evaluate(fitted, RATINGS, ledger=account)
        with pytest.raises(InvalidParameter, match="model of evaluate must be without a ledger"):
            evaluate(unfitted(ledger=account, random_state=None), RATINGS)
        assert len(account.history()) == 1
    with pytest.raises(InvalidParameter, match="pay_delta of evaluate must be None"):
        evaluate(fitted, RATINGS, pay_delta=1e-6)
    with pytest.raises(InvalidParameter, match="model of evaluate must be a PrivateCompletion"):
        evaluate("model.hush", RATINGS)
    with pytest.raises(InvalidParameter, match="k of PrivateEvaluation must be an integer >= 1"):
        evaluate(fitted, RATINGS, k=0)
    other = hr.PrivateEvaluation(epsilon=1.0, neighbors="add_remove").fit(RATINGS, fitted)
    with pytest.raises(InvalidParameter, match="numbers for neighbors=replace"):
        add_guarantees(fitted.privacy_, other.privacy_)


def test_numbers_for_people():
    assert [to_text(None, None), to_text(0.98765, None)] == ["-", "0.9877"]
    assert to_text(0.5, (0.4, 0.6)) == "0.500 [0.400, 0.600]" and to_text(0.5, (0.0, 0.6)) == "below the noise, <0.6"


def test_a_table_of_nobody():
    found = evaluate(fit_recommender(), RATINGS.slice(0, 0))
    assert all(score.rmse is None and score.recall is None for score in found.scores)
