"""Parameters of private PCA, covariance and low-rank approximation that are more than a number or a word."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import DEFAULT_N_MAX, Param, did_you_mean
from hushrank.privacy.mechanisms.fields import Field

FloatArray = NDArray[np.float64]

_NARROWEST, _WIDEST = 1e-90, 1e90  # half widths, and limits: their squares, and those of results, fit float64
_REQUIREMENT = "(low, high) for all columns, or a pair with low < high for each of them, in order or by name"


class BoundsParam(Param):
    """Public limits of columns: (low, high) for all of them, or a pair for each, in order or by name; or None."""

    __slots__ = ()

    def check(self, value: Any, name: str, owner: str) -> None:
        """Raise InvalidParameter unless `value` are such limits."""
        if value is not None:
            read_bounds(value, name, owner)

    def to_json(self, value: Any) -> Any:
        """A list of pairs, one pair, or a list of texts "low high name", of which a file may have any number."""
        if value is None:
            return None
        pairs = read_bounds(value, "column_bounds", "").tolist()
        if not isinstance(value, Mapping):
            return pairs
        return [f"{low!r} {high!r} {name}" for name, (low, high) in zip(value, pairs, strict=True)]

    def from_json(self, saved: Any) -> Any:
        """Limits from what `to_json` gave; a long list of numbers comes back as an array."""
        if not isinstance(saved, list) or not saved or not isinstance(saved[0], str):
            return saved
        lines = [line.split(" ", 2) for line in saved]
        named = {name: (float(low), float(high)) for low, high, name in lines}
        if len(named) < len(lines):
            raise ValueError("it has limits of one column twice")
        return named

    def wrong_values(self) -> Iterator[Any]:
        """Values that must be refused."""
        yield from (object(), "no such word", [["nested"]], complex(1, 1), 1.0, True, [], (1.0, 1.0), (2.0, 1.0))
        yield from ((0.0, np.nan), (-np.inf, 0.0), (0.0, 1.0, 2.0), [(0.0, 1.0, 2.0)], [(0.0, 1.0), (1.0, 0.0)], tuple)
        yield from ({}, {"age": 1.0}, {"age": (1.0, 0.0)}, {0: (0.0, 1.0)})


def read_bounds(value: Any, name: str, owner: str) -> FloatArray:
    """Limits as an array of shape (2,) or (n_features, 2), those by name in their order, or InvalidParameter."""
    if isinstance(value, Mapping) and value and all(isinstance(key, str) for key in value):
        return np.array([_read_pair(pair, column, name, owner) for column, pair in value.items()])
    try:
        bounds = np.asarray(value)
    except ValueError:  # ragged
        bounds = np.empty((), object)
    is_shaped = bounds.dtype.kind in "iuf" and bounds.ndim in (1, 2) and bounds.shape[-1] == 2 and bounds.size > 0
    if is_shaped:
        limits = bounds.astype(np.float64)
        with np.errstate(all="ignore"):
            half = (limits[..., 1] - limits[..., 0]) / 2
        if np.isfinite(limits).all() and (half >= _NARROWEST).all() and (np.abs(limits) <= _WIDEST).all():
            return limits
    raise InvalidParameter(owner, name, _REQUIREMENT, value)


def _read_pair(pair: Any, column: str, name: str, owner: str) -> FloatArray:
    """The limits of one column, of which a refusal speaks."""
    try:
        limits = read_bounds(pair, name, owner)
    except InvalidParameter:
        limits = np.empty(0)
    if limits.shape != (2,):
        raise InvalidParameter(owner, name, _REQUIREMENT, {column: pair})
    return limits


def limits_of(value: Any, n_features: int, columns: Sequence[Hashable] | None, owner: str) -> FloatArray:
    """Limits as an array of shape (n_features, 2), in the order of the columns of the data where they are by name.

    Without names of columns, as in a plan, they come in their own order; `check_names` is for data.
    """
    limits = read_bounds(value, "column_bounds", owner)
    if isinstance(value, Mapping) and columns is not None:
        places = {name: i for i, name in enumerate(value)}
        limits = limits[[places[name] for name in columns]]
    return np.array(np.broadcast_to(limits, (n_features, 2)))


def check_names(value: Any, columns: Sequence[Hashable] | None, owner: str) -> None:
    """Refuse limits by name of other columns than those of the data, and where these have no names."""
    if not isinstance(value, Mapping):
        return
    if columns is None:
        requirement = "pairs in the order of the columns, where the data have no names of columns"
        raise InvalidParameter(owner, "column_bounds", requirement, "limits by name")
    limited, known = set(value), set(columns)
    missing = [name for name in columns if name not in limited]
    unknown = [name for name in value if name not in known]
    if missing or unknown:
        got = f"no limits of {missing[0]!r}" if missing else ""
        if unknown:
            of, guess = f"{got}, but of" if missing else "limits of", did_you_mean(unknown[0], columns)
            got = f"{of} {unknown[0]!r}, which is no column of the data{guess}"
        raise InvalidParameter(owner, "column_bounds", "limits of every column of the data", got)


ROW_PARAMS: Mapping[str, Param] = {
    "row_norm": Param(
        float,
        above=0,
        optional=True,
        default=None,
        help="Public bound on the L2 norm of a row; a loose one will do, unless --radius is public.",
    ),
    "radius": Param(
        words=("private", "public"),
        default="private",
        absent="public",
        help="Where longer rows are shortened: at a radius that takes 5 % of the budget, or at --row-norm.",
    ),
    "center": Param(
        np.ndarray,
        words=("private",),
        optional=True,
        default=None,
        help="What to subtract from every row: 'private' (a mean that takes 5 to 20 % of the budget), numbers "
        "separated by commas, or an .npy file. Default: nothing.",
    ),
    "center_norm": Param(
        float,
        above=0,
        optional=True,
        default=None,
        help="With --radius public and --center private: bound on a row before centering. Default: --row-norm.",
    ),
    "mechanism": Param(
        words=("auto", "gaussian", "wishart", "exponential"),
        default="auto",
        help="auto: Gaussian noise if delta > 0, else two-sided Wishart noise. exponential: for weak signals.",
    ),
    "field": Param(
        words=tuple(field.value for field in Field),
        default="real",
        help="Of the result; complex takes complex .npy and .npz files as well.",
    ),
    "strategy": Param(
        words=("auto", "joint", "sequential"),
        default="auto",
        help="With --mechanism exponential: all directions at once, or one after the other.",
    ),
    "n_samples": Param(
        int,
        minimum=1,
        maximum=2**60,
        optional=True,
        default=None,
        later=True,
        option="rows",
        help="Public number of rows, or a guess, that shares of the budget follow from. Default: as many as there "
        "are, or, where that is secret, as a noisy count says.",
    ),
    "n_max": Param(
        int,
        minimum=1,
        maximum=2**60,
        default=DEFAULT_N_MAX,
        help="Public bound on the number of people; sets the fineness of the lattice.",
    ),
}
"""Parameters of every estimator that sees rows through their second moment."""

SCALE_PARAMS: Mapping[str, Param] = {
    "column_bounds": BoundsParam(
        optional=True,
        default=None,
        later=True,
        help="Public limits of the columns: LOW,HIGH for all, or an .npy or .csv file with a pair for each. Entries "
        "are clipped to them and measured in half widths.",
    ),
    "standardize": Param(
        words=("after", "private"),
        optional=True,
        default=None,
        later=True,
        help="after: correlations instead of covariances, at no cost. private: scales of the columns are bought before "
        "with 10 % of the budget, for columns of very different size.",
    ),
}
"""Parameters of estimators for which columns may have different units."""

COLUMN_PARAMS: Mapping[str, Param] = {
    "select_columns": Param(
        words=("private",),
        optional=True,
        default=None,
        later=True,
        help="private: at most 2000 columns with the largest sums are chosen with 20 % of the budget, for wide tables.",
    ),
}
"""Parameters of estimators that need not look at all columns."""
