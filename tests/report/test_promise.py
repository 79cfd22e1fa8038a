"""What all pages of models share: the promise, the budget of a ledger, the forecast."""

import hushrank
from hushrank.privacy.events import Composed, Gaussian, Pure, Repeated
from hushrank.privacy.words import sentences
from hushrank.report.markup import join
from hushrank.report.promise import ALONE, Beside, budget, forecast, is_charged, known_sizes, promised, sections_beside
from model_support import fitted
from report_support import Document


def text_of(parts):
    return Document(f"<main>{join(*parts)}</main>").text


def test_the_promise_is_told_in_words_and_in_numbers():
    given = fitted("PrivateCompletion").privacy_
    text = text_of(promised(given))
    assert all(sentence in text for sentence in sentences(given))
    assert "Tossing a coin gives 50 %" in text and "e^epsilon" in text


def test_the_budget_is_that_of_the_ledger(tmp_path):
    with hushrank.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("<b>people</b>", epsilon=3.0, delta=1e-6, neighbors="replace", unit="user")
        account.charge(fitted("PrivateRepresentation").privacy_.event.__class__(noise_multiplier=3.0))
        parts = budget(account)
        text = text_of(parts)
        assert "Data set <b>people</b> of the ledger" in text and "<b>" not in "".join(parts)
        assert f"epsilon = {account.spent().epsilon:.4g}" in text and f"epsilon = {account.left().epsilon:.4g}" in text
        assert "do not add up" in text
        pure = ledger.create("pure", epsilon=3.0, neighbors="replace", unit="row")
        assert "do not add up" not in text_of(budget(pure))
        both = ledger.create("both", epsilon=3.0, delta=1e-6, pure=1.0)
        both.charge(Pure(0.25))
        text = text_of(budget(both, Pure(0.25)))
        assert "epsilon = 1, spent 0.25, left 0.75" in text and "not among" not in text
        assert "This model is not among the charges of data set 'both'" in text_of(budget(both, Gaussian(3.0)))
        both.charge(Composed([Gaussian(3.0), Gaussian(9.0)]))
        assert is_charged(both, Gaussian(9.0)) and not is_charged(both, Repeated(Gaussian(9.0), 2))
        names = [name for name, _ in sections_beside(fitted("PrivateTraceRegression"), Beside(account=account))]
    assert names == ["The budget"]


def test_the_forecast_is_that_of_the_plan():
    model = fitted("PrivateTraceRegression")
    assert forecast(model, None) == [] and list(sections_beside(model, ALONE)) == []
    text = text_of(forecast(model, 6000))
    plan = model.plan(**known_sizes(model, 6000))
    assert all(name.strip() in text and f"{value:.4g}" in text for name, value in plan.forecast.items())


def test_sizes_that_a_model_knows_are_taken():
    assert known_sizes(fitted("PrivateCompletion"), None) == {"n_items": 20, "n_users": 1200}
    assert known_sizes(fitted("PrivateCompletion"), 7)["n_users"] == 7
    assert known_sizes(fitted("PrivatePCA"), None) == {"n_features": 5, "n_samples": 3000}
