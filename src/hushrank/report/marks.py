"""How sure the components of a second moment are, in words and marks: for tables on a terminal and for pages.

Marks      "noise" for components that do not stand above the noise, or whose direction is mostly noise (alignment
           below .5); "weak" for those with one below .8, from where on it was measured (benchmarks/RESULTS.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.second_moment.parameters import limits_of

NOISE, WEAK = "noise", "weak"
MOSTLY_NOISE, CLEAR = 0.5, 0.8  # of an alignment
UNSURE = "this mechanism does not tell how sure the components are: they may be noise (--mechanism auto tells)"
"""Of a draw by the exponential mechanism, which releases directions alone."""
_LONGEST_NAME = 40  # characters


@dataclass(frozen=True, slots=True)
class Component:
    """One component of a model; None stands for what its mechanism does not release.

    Attributes
    ----------
    number : int
        From 1.
    value : float or None
        Variance or eigenvalue.
    share : float or None
        Of the total variance.
    interval : pair of float or None
    alignment : float or None
    mark : str
        "noise", "weak" or empty.
    """

    number: int
    value: float | None
    share: float | None
    interval: tuple[float, float] | None
    alignment: float | None
    mark: str


def is_sure(model: Any) -> bool:
    """Whether a model says how sure its components are: not one of the exponential mechanism or an older version."""
    return hasattr(model, "n_significant_")


def value_name(model: Any) -> str:
    """What the values of its components are called."""
    return "variance" if hasattr(model, "explained_variance_ratio_") else "eigenvalue"


def read_components(model: Any) -> list[Component]:
    """The components of a fitted PrivatePCA, PrivateCovariance or PrivateLowRank, in their order."""
    values = _first(model, "explained_variance_", "eigenvalues_")
    shares = _first(model, "explained_variance_ratio_")
    intervals = _first(model, "explained_variance_interval_", "eigenvalue_interval_")
    alignment = _first(model, "alignment_")
    n_components = len(model.components_) if values is None else len(values)
    return [
        Component(
            i + 1,
            None if values is None else float(values[i]),
            None if shares is None else float(shares[i]),
            None if intervals is None else (float(intervals[i][0]), float(intervals[i][1])),
            None if alignment is None else float(alignment[i]),
            "" if alignment is None else mark_of(i, float(alignment[i]), model.n_significant_),
        )
        for i in range(n_components)
    ]


def _first(model: Any, *names: str) -> Any:
    return next((getattr(model, name) for name in names if hasattr(model, name)), None)


def mark_of(place: int, alignment: float, n_significant: int) -> str:
    """The mark of a component at a place, from 0.

    Examples
    --------
    >>> [mark_of(place, alignment, 3) for place, alignment in enumerate([0.95, 0.7, 0.4, 0.9])]
    ['', 'weak', 'noise', 'noise']
    """
    if place >= n_significant or alignment < MOSTLY_NOISE:
        return NOISE
    return WEAK if alignment < CLEAR else ""


def say_alignment(one: Component) -> str:
    """An alignment with two digits, never rounded up: .797 is weak and does not look like .8; none for what is noise.

    Among directions of noise, some look well aligned by chance.
    """
    if one.alignment is None or one.mark == NOISE:
        return "-"
    return f"{math.floor(100.0 * one.alignment) / 100.0:.2f}"


def say_significant(model: Any) -> str:
    """How many components stand above the noise, in words; a matrix is looked at in all its directions."""
    n, n_all = int(model.n_significant_), len(model.alignment_)
    stand = "stands" if n == 1 else "stand"
    return f"{n} of {n_all} components {stand} above the noise (of noise alone, one or more would in 5 % of releases)"


def say_mixed(components: Sequence[Component], n_significant: int) -> str | None:
    """Why some of the components that stand above the noise are marked as noise; None where none is."""
    mixed = [str(one.number) for one in components[:n_significant] if one.mark == NOISE]
    if not mixed:
        return None
    names = mixed[0] if len(mixed) == 1 else f"{', '.join(mixed[:-1])} and {mixed[-1]}"
    which, their = ("component", "its direction is") if len(mixed) == 1 else ("components", "their directions are")
    return f"{which} {names} of these: something is there, but {their} mostly noise (variances may be close together)"


def say_interval(one: Component) -> str:
    """The interval of a component as text; none for what is noise, of which the formulas say little."""
    if one.interval is None or one.mark == NOISE:
        return "-"
    return f"{one.interval[0]:.4g} to {one.interval[1]:.4g}"


def say_radius(model: Any) -> str:
    """To what norm rows were shortened, in words; only for models that found it privately."""
    units = [
        *(["half widths of the column bounds"] if getattr(model, "column_bounds", None) is not None else []),
        *(["scales that were bought"] if getattr(model, "standardize", None) == "private" else []),
    ]
    measured = f" (in {' and '.join(units)})" if units else ""
    doubt = "; where nothing stands above the noise, it may be noise as well" if _is_empty(model) else ""
    return f"radius {model.radius_:.6g}{measured} around {say_origin(model)}: a longer row was shortened to it{doubt}"


def _is_empty(model: Any) -> bool:
    return is_sure(model) and int(model.n_significant_) == 0


def say_origin(model: Any) -> str:
    """Around what rows were bounded and summed up, in words."""
    bounds = getattr(model, "column_bounds", None)
    middle = "the middle of the bounds" if bounds is not None else "the origin"
    if model.center is None:
        return middle
    if not isinstance(model.center, str):
        return "the public center"
    names = getattr(model, "feature_names_in_", None)
    start = 0.0 if bounds is None else limits_of(bounds, model.n_features_in_, names, "").mean(axis=1)
    if np.all(np.asarray(model.center_) == start):
        return f"{middle} (NO CENTER was bought: the budget is too small, or the mean too short to be worth it)"
    return "the center"


def column_names(model: Any) -> list[str]:
    """Names of the columns as text that prints and that fits a table, or their numbers."""
    names = getattr(model, "feature_names_in_", None)
    return [str(j) for j in range(model.n_features_in_)] if names is None else [_to_text(str(name)) for name in names]


def _to_text(name: str) -> str:
    shown = "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in name)
    return shown if len(shown) <= _LONGEST_NAME else f"{shown[: _LONGEST_NAME - 1]}\u2026"


def vectors_of(model: Any) -> NDArray[Any]:
    """The directions of the components as rows; those of a covariance are eigenvectors of what was released."""
    if hasattr(model, "components_"):
        return np.asarray(model.components_)
    vectors = np.linalg.eigh(model.released_)[1][:, ::-1].T[: len(model.eigenvalues_)]
    largest = np.take_along_axis(vectors, abs(vectors).argmax(axis=1)[:, np.newaxis], axis=1)
    return np.asarray(vectors * largest.conj() / abs(largest))


def largest_loadings(vector: NDArray[Any], names: Sequence[str], count: int) -> list[str]:
    """Columns with the largest loadings, "name (+0.123)", real parts of complex ones; none of a vector of zeros."""
    order = np.argsort(-abs(vector), kind="stable")[:count]
    return [f"{names[j]} ({vector[j].real:+.3f})" for j in order if abs(vector[j]) > 0]
