"""The methods of private matrix completion, by name or with options of their own."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.estimators.completion.als import AlternatingLeastSquares, learn_als
from hushrank.estimators.completion.factored_gradient import FactoredGradient, learn_factored_gradient
from hushrank.estimators.completion.model import CompletionModel
from hushrank.estimators.completion.spectral_implicit import learn_implicit, learn_implicit_with
from hushrank.estimators.completion.spectral_matrix import learn_matrix, learn_matrix_with
from hushrank.estimators.completion.spectral_ratings import learn_ratings, learn_ratings_with
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import Param, check_integer
from hushrank.privacy.adaptive import UserReleases
from hushrank.privacy.records import NEWER, from_fields, to_fields


@dataclass(frozen=True)
class Spectral:
    """Options of the default method.

    Parameters
    ----------
    top_items : int, default 8192
        Most items of the second moment, the most popular by noisy counts; its memory is 8 top_items^2 bytes.
    """

    top_items: int = 8192
    supports_implicit = True

    def __post_init__(self) -> None:
        check_integer(self.top_items, "top_items", "Spectral", minimum=4, maximum=1 << 15)

    def check_size(self, n_items: int, rank: int) -> None:
        """Any number of items will do."""


FloatArray = NDArray[np.float64]
MOST_IDS = 2**31 - 1
Options = Spectral | AlternatingLeastSquares | FactoredGradient
METHODS: dict[str, type[Any]] = {
    "spectral": Spectral,
    "als": AlternatingLeastSquares,
    "factored_gradient": FactoredGradient,
}


def to_options(method: Any) -> Any:
    """Options of a method given by name or by its options."""
    return METHODS[method]() if isinstance(method, str) else method


def learn_model(
    options: Any, releases: UserReleases, rank: int, *, offsets: bool, unobserved: float | None
) -> CompletionModel:
    """Learn with the whole budget; `unobserved` is the weight of all items for implicit feedback, else None."""
    if isinstance(options, Spectral):
        if unobserved is not None:
            return learn_implicit(releases, rank, options.top_items, unobserved)
        learn = learn_ratings if offsets else learn_matrix
        return learn(releases, rank, options.top_items)
    run = learn_als if isinstance(options, AlternatingLeastSquares) else learn_factored_gradient

    def learn_factors(model: CompletionModel, share: float) -> FloatArray:
        return run(releases, rank, model, options, share)

    if unobserved is not None:
        return learn_implicit_with(releases, learn_factors, unobserved)
    return learn_ratings_with(releases, learn_factors) if offsets else learn_matrix_with(releases, learn_factors)


class MethodParam(Param):
    """A method by name, or its options."""

    __slots__ = ()

    def _check_kind(self, value: Any, name: str, owner: str) -> None:
        if not isinstance(value, tuple(METHODS.values())):
            listed = ", ".join(f"{kind.__name__}(...)" for kind in METHODS.values())
            raise InvalidParameter(owner, name, f"one of {listed}", value)

    def to_json(self, value: Any) -> Any:
        """A name, or the name of the options and their values."""
        if isinstance(value, str):
            return value
        return {"name": next(name for name, kind in METHODS.items() if type(value) is kind), **to_fields(value)}

    def from_json(self, saved: Any) -> Any:
        """A method from what `to_json` gave."""
        if isinstance(saved, str):
            return saved
        name = saved.get("name") if isinstance(saved, dict) else None
        if not isinstance(name, str) or name not in METHODS:
            raise ValueError(f"method is none of {', '.join(METHODS)}; others were {NEWER}")
        options = {key: value for key, value in saved.items() if key != "name"}
        return METHODS[name](**from_fields(METHODS[name], options, METHODS[name].__name__))


class CatalogueParam(Param):
    """A public catalogue: a count of items or their ids, or None."""

    __slots__ = ()

    def check(self, value: Any, name: str, owner: str) -> None:
        """Raise InvalidParameter unless `value` makes a catalogue."""
        if value is None:
            return
        if isinstance(value, int | np.integer) and 1 <= value <= MOST_IDS and not isinstance(value, bool):
            return  # without making them: a file from a stranger may ask for two thousand million
        try:
            catalogue = value if isinstance(value, Catalogue) else Catalogue(value)
            catalogue.ids.validate(full=True)  # ids that are no text could be used, and then not be told to anybody
        except InvalidParameter as error:
            raise InvalidParameter(owner, name, f"{error.requirement}, or None for a matrix", error.got) from error
        except pa.ArrowInvalid as error:
            requirement = "ids that are Unicode text, or None for a matrix"
            raise InvalidParameter(owner, name, requirement, type(value).__name__) from error

    def to_json(self, value: Any) -> Any:
        """A count, or the ids as a list."""
        if value is None or isinstance(value, int | np.integer):
            return value if value is None else int(value)
        return (value if isinstance(value, Catalogue) else Catalogue(value)).ids.to_pylist()

    def wrong_values(self) -> Iterator[Any]:
        """Values that must be refused."""
        yield from (object(), "no such word", [["nested"]], complex(1, 1), 0, -1, 1.5, True, [], [1, 1], [1, "a"], int)
