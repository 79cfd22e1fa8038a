"""The page of a paid evaluation."""

import hushrank
from hushrank.evaluation.recommenders import paid_scores, to_text
from hushrank.evaluation.synthetic import synthetic_ratings
from hushrank.report.evaluation import evaluation_page
from model_support import N_ITEMS, fitted
from report_support import Document


def test_numbers_stand_with_their_intervals():
    release = fitted("PrivateEvaluation")
    page = evaluation_page(release)
    text = Document(page).text
    for score in paid_scores(release):
        assert score.name in text and to_text(score.rmse, score.rmse_interval) in text
    assert "Recall@10" in text and "RMSE" in text and 'class="dim"' not in page.partition("What is promised")[0]


def test_noise_is_dim_and_says_so():
    table = synthetic_ratings(100, N_ITEMS, seed=1).table()
    release = hushrank.PrivateEvaluation(epsilon=1e-3, random_state=2).fit(table, fitted("PrivateCompletion"))
    measured = evaluation_page(release).partition("What is promised")[0]
    assert measured.count('class="dim"') == measured.count("below the noise") == 4
