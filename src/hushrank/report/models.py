"""The page of any model: one table says which page belongs to which class, and a new estimator is one line in it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from hushrank.report.promise import ALONE, Beside

_PAGES = {
    "PrivatePCA": "components:components_page",
    "PrivateCovariance": "components:components_page",
    "PrivateLowRank": "components:components_page",
    "PrivateCompletion": "rating_model:rating_model_page",
    "PrivateRepresentation": "representation:representation_page",
    "PrivateTraceRegression": "trace_model:trace_page",
    "PrivateEvaluation": "evaluation:evaluation_page",
    "Factorization": "factorization:stream_page",
}
"""Class -> module of this room and its function (model, beside) -> HTML."""


def model_page(model: Any, beside: Beside = ALONE) -> str:
    """The page of a model as HTML.

    Parameters
    ----------
    model : fitted estimator or Factorization
    beside : Beside
        What is shown beside it.

    Examples
    --------
    >>> import numpy as np, hushrank as hr
    >>> pca = hr.PrivatePCA(1, row_norm=1.0, epsilon=1.0).fit(np.eye(3))
    >>> "What is promised" in model_page(pca)
    True
    """
    module, _, function = _PAGES[type(model).__name__].partition(":")
    make: Callable[[Any, Beside], str] = getattr(import_module(f"hushrank.report.{module}"), function)
    return make(model, beside)
