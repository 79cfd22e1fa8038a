"""The page of a paid evaluation: how good a recommender is, as far as the noise lets it be seen."""

from typing import Any

from hushrank.evaluation.recommenders import Score, paid_scores, to_text
from hushrank.report.markup import Markup, element
from hushrank.report.page import bullets, make_page, table
from hushrank.report.promise import ALONE, Beside, promised, sections_beside

_LIMITS = (
    "What is promised is about these numbers. The recommender has a guarantee of its own, and both add up.",
    "A number that is below the noise says nothing, neither good nor bad.",
    "Intervals are about the noise, not about which ratings happened to be held out.",
)


def evaluation_page(release: Any, beside: Beside = ALONE) -> str:
    """The page as HTML; the same release gives the same bytes."""
    lead = (
        "How well a recommender predicts ratings that were held out, and finds items that people liked. The page shows "
        "nothing that is not in the release, and may be seen by everybody who may see that."
    )
    scores = paid_scores(release)
    names = ("", *(() if scores[0].rmse is None else ("RMSE",)), f"Recall@{release.k}")
    caption = "With noise; in brackets what it is without noise, with 95 % confidence"
    sections = [
        ("What was measured", [table(caption, names, [_to_row(score) for score in scores])]),
        ("What is promised", promised(release.privacy_)),
        *sections_beside(release, beside),
        ("Limits", [bullets(*_LIMITS)]),
    ]
    return make_page("A private evaluation", lead, sections, "Made by hushrank.")


def _to_row(score: Score) -> list[str | Markup]:
    errors = [] if score.rmse is None else [(score.rmse, score.rmse_interval)]
    cells: list[str | Markup] = [score.name]
    for value, interval in (*errors, (score.recall, score.recall_interval)):
        text = to_text(value, interval)
        cells.append(element("span", text, class_="dim") if interval is not None and interval[0] <= 0.0 else text)
    return cells
