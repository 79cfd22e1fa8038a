"""Parameters of private matrix completion that are more than a number or a word: the method and the catalogue."""

from collections.abc import Iterator, Mapping, Sized
from typing import TYPE_CHECKING, Any

import numpy as np

from hushrank.estimators.completion.options import METHODS
from hushrank.estimators.method_param import MethodParam
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import Param

if TYPE_CHECKING:
    from hushrank.data.ratings.catalogue import Catalogue

MOST_IDS = 2**31 - 1


class CompletionMethodParam(MethodParam):
    """A method of matrix completion by name, or its options."""

    __slots__ = ()

    methods = METHODS


class CatalogueParam(Param):
    """A public catalogue: a count of items or their ids, or None."""

    __slots__ = ()

    def check(self, value: Any, name: str, owner: str) -> None:
        """Raise InvalidParameter unless `value` is a count, or can be ids; `build_catalogue` looks at the ids."""
        if value is None:
            return
        if isinstance(value, int | np.integer) and not isinstance(value, bool):
            # Without making them: a file from a stranger may ask for two thousand million.
            if not 1 <= value <= MOST_IDS:
                raise InvalidParameter(owner, name, f"a count >= 1 and <= {MOST_IDS}, ids, or None for a matrix", value)
        elif isinstance(value, str | bytes | Mapping | type) or not isinstance(value, Sized):
            requirement = "int64 or str ids in a list, array or column, or None for a matrix"
            raise InvalidParameter(owner, name, requirement, value)

    def to_json(self, value: Any) -> Any:
        """A count, or the ids as a list."""
        if value is None or isinstance(value, int | np.integer):
            return value if value is None else int(value)
        return build_catalogue(value, "PrivateCompletion").ids.to_pylist()

    def wrong_values(self) -> Iterator[Any]:
        """Values that must be refused."""
        yield from (object(), "no such word", [["nested"]], complex(1, 1), 0, -1, 1.5, True, [], [1, 1], [1, "a"], int)


def build_catalogue(items: Any, owner: str) -> "Catalogue":
    """The catalogue of the parameter `items`, or InvalidParameter in the name of `owner`."""
    from hushrank.data.ratings.catalogue import Catalogue  # needs numba, which a count of items does not

    if isinstance(items, Catalogue):
        return items
    try:
        catalogue = Catalogue(items)
        catalogue.ids.validate(full=True)  # ids that are no text could be used, and then not be told to anybody
    except InvalidParameter as error:
        raise InvalidParameter(owner, "items", f"{error.requirement}, or None for a matrix", error.got) from error
    except ValueError as error:  # Arrow's own kind of it
        requirement = "ids that are Unicode text, or None for a matrix"
        raise InvalidParameter(owner, "items", requirement, type(items).__name__) from error
    return catalogue
