"""What a statement says about a release of each class, in true sentences: one table, a line for every release.

Everything here is said from the class, its public parameters and its guarantee. A new estimator is one line in it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushrank.estimators.completion.parameters import FeaturesParam
from hushrank.privacy.events import Gaussian, Mixture, Pure, leaves
from hushrank.privacy.guarantee import Guarantee, Neighbors, Unit

LONGEST_VALUE, _MOST_VALUES = 120, 5  # characters of a parameter, and numbers in it

_OF_PLACE_OR_RUN = ("ledger", "random_state", "engine", "verbose")
_OF_BUDGET = ("epsilon", "delta", "neighbors")
_OF_PEOPLE = ("n_samples", "n_users", "n_max")  # never told where the number of people is secret


@dataclass(frozen=True, slots=True)
class Told:
    """What is said about all releases of a class.

    Attributes
    ----------
    kind : str
        What sort of product it is.
    product : str
        What it is, in a sentence.
    domain : str
        The data sets that are protected.
    public : str
        What is not protected, beside parameters and the number of people.
    post : str
        What is computed after the noise.
    adds : str
        What adds up with it beside other releases.
    """

    kind: str
    product: str
    domain: str
    public: str
    post: str
    adds: str = ""


_ROWS = (
    "Tables of numbers with a public number of columns. A row in which a number is not finite adds nothing, and one "
    "that is longer than the radius is shortened to it."
)
_COLUMNS = "Number and names of the columns."
_SKETCH = Told(
    "machine learning model",
    "Factorization of low rank of a matrix that was known by its updates alone.",
    "Streams of updates to the entries of a matrix of public size.",
    "Numbers of rows and columns of the matrix.",
    "The factorization is computed from the noisy sketch alone.",
)

TOLD: dict[str, Told] = {
    "PrivatePCA": Told(
        "machine learning model",
        "Principal components of a table of rows.",
        _ROWS,
        _COLUMNS,
        "Components, and where a noisy matrix was released also variances and how sure they are, are computed from "
        "what was released with noise alone.",
    ),
    "PrivateCovariance": Told(
        "summary statistics",
        "Covariance matrix of a table of rows, around the origin unless a center is stated.",
        _ROWS,
        _COLUMNS,
        "The matrix and its eigenvalues are computed from what was released with noise alone.",
    ),
    "PrivateLowRank": Told(
        "machine learning model",
        "Approximation of low rank of the second moment of a table of rows.",
        _ROWS,
        _COLUMNS,
        "The approximation is computed from what was released with noise alone.",
    ),
    "PrivateCompletion": Told(
        "machine learning model",
        "Recommender for the items of a public catalogue.",
        "Tables of users, items and ratings, or of users and the items that they chose. Ratings outside of the public "
        "range are clipped to it; those that are not finite, or of items outside of the catalogue, are left out.",
        "The catalogue of items, and what is told about them.",
        "The model is computed from noisy sums alone. What one user is recommended is computed from the model and this "
        "user's own ratings, is shown to this user alone and is no part of the model (joint differential privacy).",
    ),
    "PrivateEvaluation": Told(
        "summary statistics",
        "Errors and recall of a recommender on ratings that were held out.",
        "Tables of users, items and ratings, or of users and the items that they chose.",
        "The recommender that is measured, and its catalogue.",
        "Errors and recalls are quotients of the noisy sums.",
        "The recommender that is measured has a guarantee of its own about its users, and both add up.",
    ),
    "PrivateRepresentation": Told(
        "machine learning model",
        "Directions that the records of many users have in common, for personal predictions.",
        "Tables of records with their users, features and answers, with a public number of features.",
        "Number and names of the features.",
        "The model is computed from noisy releases alone. A user's own coefficients are computed from the model and "
        "this user's own records, are shown to this user alone and are no part of the model (joint differential "
        "privacy).",
    ),
    "PrivateTraceRegression": Told(
        "machine learning model",
        "Matrix of low rank behind answers to measurements of it.",
        "Tables of records, each a measurement of a matrix of public size and an answer.",
        "Numbers of rows and columns of the matrix, and what sort of measurements there are.",
        "The matrix is computed from noisy sums alone.",
    ),
    "Factorization": _SKETCH,
    "TurnstileSketch": _SKETCH,
}
"""Class -> what is said about it."""

_COUNTED = {Unit.ROW: "rows", Unit.USER: "users", Unit.RECORD: "records"}
_BOUNDED = {
    Unit.ROW: "row", Unit.USER: "user", Unit.RECORD: "record", Unit.LABEL: "answer", Unit.ENTRY: "update",
}  # fmt: skip
CENTRAL = (
    "Who holds the data runs hushrank, is trusted with the data, and publishes the result alone. Everybody else is "
    "not trusted: the guarantee holds whatever they know beside it, and however many of them work together."
)


def preparation(given: Guarantee) -> str:
    """What is done to the data within a release, before noise is added."""
    is_of_stream = given.unit is Unit.ROW and given.bound is not None  # whose rows are sums of updates
    name = "update" if is_of_stream else _BOUNDED.get(given.unit)
    bounded = "" if name is None or given.premise else f"Within a release what each {name} adds is bounded by itself. "
    return (
        f"{bounded}hushrank reads no bound off the data: what a release learns about them is paid for out of its "
        "budget. What was done to the data, or learned from them, before"
    )


def unprotected(given: Guarantee, told: Told, parameters: str) -> str:
    """What is not protected by differential privacy: public sizes, what the class takes for public, parameters."""
    people = public_people(given, told)
    parts = [*([people] if people else []), f"Public: {told.public[:1].lower()}{told.public[1:]}", parameters]
    return " ".join(parts)


def public_people(given: Guarantee, told: Told) -> str:
    """What may be known about who is in the data; empty where there is nothing to say."""
    counted, parts = None if told is _SKETCH else _COUNTED.get(given.unit), []
    if counted is not None:
        is_public = given.neighbors is Neighbors.REPLACE
        parts.append(f"The number of {counted} is {'public' if is_public else 'protected as well'}.")
    if given.unit is Unit.LABEL:
        parts.append("Who is in the data, and what was measured, is public: answers alone are protected.")
    return " ".join(parts)


def say_parameters(model: Any) -> str:
    """Public parameters that are not at their defaults, the same of a model and of its file.

    None about numbers of people where these are secret, and none that a learned attribute repeats, such as a catalogue.
    """
    is_secret = model.privacy_.neighbors is Neighbors.ADD_REMOVE
    hidden = (*_OF_PLACE_OR_RUN, *_OF_BUDGET, *(_OF_PEOPLE if is_secret else ()), *model._repeated)
    table = model.parameter_table()
    shown = [
        f"{name} = {'given' if isinstance(table[name], FeaturesParam) else say_value(value)}"
        for name, value in model._parameters().items()
        if name not in hidden and not _is_default(value, table[name].default)
    ]
    if not shown:
        return "All parameters are public, and at their defaults."
    return f"Parameters, all of them public: {', '.join(shown)}; others are at their defaults."


def say_value(value: Any) -> str:
    """A parameter in few characters, all of which can be seen; of what is long its length.

    Examples
    --------
    >>> say_value((1, 5.0)), say_value(range(1000)), say_value("full")
    ('(1, 5)', '(1,000 of them)', 'full')
    """
    if hasattr(value, "__len__") and not isinstance(value, str) and len(value) > _MOST_VALUES:
        return f"({len(value):,} of them)"
    if isinstance(value, list | tuple | np.ndarray):
        return f"({', '.join(map(say_value, value))})"
    is_real = isinstance(value, float | np.floating)
    shown = f"{value:.12g}" if is_real else " ".join(str(value).split())
    plain = "".join(sign if sign.isprintable() else "?" for sign in shown)
    return plain if len(plain) <= LONGEST_VALUE else f"{plain[: LONGEST_VALUE - 3]}..."


def _is_default(value: Any, default: Any) -> bool:
    is_plain = type(value) is type(default) and isinstance(value, str | int | float)
    return value is default or (is_plain and bool(value == default))


def mechanisms(model: Any) -> str:
    """What is released and by which mechanism, and how noise is drawn."""
    budget = model._check_parameters()
    sizes = {size: int(getattr(model, name)) for name, size in model._schema.items()}
    steps = "; ".join(f"{step.name}: {step.mechanism}" for step in model._plan(budget, sizes).steps())
    return f"{steps[:1].upper()}{steps[1:]}. {arithmetic(model.privacy_.numerics)} Made with hushrank."


def arithmetic(numerics: str) -> str:
    """Whether the guarantee covers how computers round."""
    if numerics == "exact":
        return "Noise is drawn exactly, on a grid of integers, so that the guarantee covers the computer's rounding."
    return "The proof treats noise as real numbers: the computer's rounding is not covered by the guarantee."


def composition(model: Any, told: Told) -> str:
    """How the releases of one fit add up, and what else adds up with them."""
    parts = [_how(model), *([told.adds] if told.adds else [])]
    if getattr(model, "release_", 1) > 1:
        parts.append(f"This is release {model.release_} of one sketch, and the guarantee is for all of them.")
    return " ".join([*parts, "Other releases about the same people add up with it; this statement knows of none."])


def _how(model: Any) -> str:
    event = model.privacy_.event
    counts = leaves(event)
    kinds, n_releases = {type(leaf) for leaf in counts}, sum(counts.values())
    if model._is_adaptive:
        shares = "mu^2, which is the cost of Gaussian noise" if Gaussian in kinds else "epsilon"
        return (
            "The releases of the fit are made one after another, and may depend on those before. A filter hands out "
            f"shares of {shares}, so that all of them together cost at most the event that is stated."
        )
    if n_releases == 1:
        on_sketch = "; its cost is a table of delta for each epsilon" if Mixture in kinds else ""
        return f"There is one release, so that nothing adds up within it{on_sketch}."
    return f"There are {n_releases} releases; {''.join(_added(kinds))}."


def _added(kinds: set[type]) -> Iterator[str]:
    if kinds == {Gaussian}:
        yield "their mu^2 add up, which is exact for Gaussian noise"
    elif kinds == {Pure}:
        yield "their epsilons add up, or the laws of their privacy losses where that is less"
    else:
        yield "the laws of their privacy losses add up"
