"""One table of everything public: its name, where it lives, who plans it, and its command.

A new estimator is one line here: `hushrank.<Name>`, `hushrank.load`, the command line and the tests of all estimators
read it. Importing this module imports nothing else: modules are loaded when one of their names is first used.
"""

from importlib import import_module
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """One public name.

    Attributes
    ----------
    module : str
        Where it lives.
    planner : str
        "module:class" of its parameters and plan, which needs neither numba nor scikit-learn; empty for what is no
        private release.
    command : str
        Its command on the command line, in the module `hushrank.cli.<command>`; empty if it has none.
    summary : str
        What the command line says about it, in one line.
    """

    module: str
    planner: str = ""
    command: str = ""
    summary: str = ""


_SECOND_MOMENT, _COMPLETION = "hushrank.estimators.second_moment", "hushrank.estimators.completion"
_PERSONALIZATION, _TURNSTILE = "hushrank.estimators.personalization", "hushrank.estimators.turnstile"
_TRACE = "hushrank.estimators.trace"

PUBLIC: dict[str, Entry] = {
    "PrivatePCA": Entry(
        f"{_SECOND_MOMENT}.pca", f"{_SECOND_MOMENT}.planners:PCAPlanner", "pca",
        "Private principal components of a table of rows.",
    ),
    "PrivateCovariance": Entry(
        f"{_SECOND_MOMENT}.covariance", f"{_SECOND_MOMENT}.planners:CovariancePlanner", "covariance",
        "Private covariance matrix of a table of rows.",
    ),
    "PrivateLowRank": Entry(
        f"{_SECOND_MOMENT}.low_rank", f"{_SECOND_MOMENT}.planners:LowRankPlanner", "lowrank",
        "Private low-rank approximation of a table of rows.",
    ),
    "PrivateCompletion": Entry(
        f"{_COMPLETION}.estimator", f"{_COMPLETION}.plan:CompletionPlanner", "complete",
        "Private recommender from a table of ratings.",
    ),
    "PrivateRepresentation": Entry(
        f"{_PERSONALIZATION}.estimator", f"{_PERSONALIZATION}.plan:RepresentationPlanner", "personalize",
        "Private representation that users share, from their records.",
    ),
    "PrivateTraceRegression": Entry(
        f"{_TRACE}.estimator", f"{_TRACE}.plan:TracePlanner", "trace",
        "Private matrix of low rank from answers to measurements of it.",
    ),
    "TurnstileSketch": Entry(
        f"{_TURNSTILE}.sketch", f"{_TURNSTILE}.plan:TurnstilePlanner", "stream",
        "Private factorization of a matrix from a stream of its updates.",
    ),
    "Factorization": Entry(f"{_TURNSTILE}.factorization", f"{_TURNSTILE}.plan:TurnstilePlanner"),
    "PrivateEvaluation": Entry(
        f"{_COMPLETION}.evaluation", f"{_COMPLETION}.evaluation_plan:EvaluationPlanner", "",
        "Private numbers of how good a recommender is, on ratings that were held out.",
    ),
    "Spectral": Entry(f"{_COMPLETION}.options"),
    "AlternatingLeastSquares": Entry(f"{_COMPLETION}.options"),
    "FactoredGradient": Entry(f"{_COMPLETION}.options"),
    "GradientSteps": Entry(f"{_PERSONALIZATION}.options"),
    "AlternatingMinimization": Entry(f"{_PERSONALIZATION}.options"),
    "ExponentialSelection": Entry(f"{_PERSONALIZATION}.exponential_options"),
    "evaluate": Entry("hushrank.evaluation.recommenders"),
    "export_web": Entry("hushrank.web.page"),
    "load": Entry("hushrank.loading"),
    "inspect": Entry("hushrank.data.inspection"),
    "LocalEngine": Entry("hushrank.engine.local"),
    "DaskEngine": Entry("hushrank.engine.dask"),
    "Ledger": Entry("hushrank.privacy.ledger"),
}  # fmt: skip

RELEASES: dict[str, Entry] = {name: entry for name, entry in PUBLIC.items() if entry.planner}
"""Private releases by name: the classes that a model file may hold. Nothing else is imported on behalf of a file."""

COMMANDS: dict[str, str] = {entry.command: name for name, entry in RELEASES.items() if entry.command}
"""Private releases by their commands."""


def find(name: str) -> Any:
    """The public object of this name."""
    return getattr(import_module(PUBLIC[name].module), name)


def planner(name: str) -> Any:
    """A class with the parameters and the plan of a private release, under its name, without what learns."""
    module, _, kind = PUBLIC[name].planner.partition(":")
    return type(name, (getattr(import_module(module), kind),), {})
