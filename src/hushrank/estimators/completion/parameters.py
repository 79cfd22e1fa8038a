"""Parameters of private matrix completion that are more than a number or a word: the method, and public facts.

Public are the catalogue, features of its items, and which of them are new.
"""

from collections.abc import Iterator, Mapping, Sized
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

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
        elif not _may_be_ids(value):
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


class FeaturesParam(Param):
    """Public features of items: an array, a sparse matrix, a table, features of a loaded model, or None."""

    __slots__ = ()

    def check(self, value: Any, name: str, owner: str) -> None:
        """Raise InvalidParameter unless `value` is of such a type; `read_item_features` looks at what is in it."""
        if value is not None:
            from hushrank.data.ratings.item_features import check_item_features  # needs numba, which None does not

            check_item_features(value, owner)

    def to_json(self, value: Any) -> None:
        """None: a file keeps the features as attributes of the model."""
        return None

    def from_json(self, saved: Any) -> None:
        """None, which is all that `to_json` gives."""
        if saved is not None:
            raise ValueError("its item features are a parameter, where no file has them")

    def wrong_values(self) -> Iterator[Any]:
        """Values that must be refused."""
        yield from (object(), "no such word", [["nested"]], [[1.0]], complex(1, 1), 5, 1.5, True, {"item": [1]})
        yield from (np.zeros(()), np.zeros(3), np.zeros((2, 2, 2)), np.zeros((2, 2), complex), np.array([["a"]]))
        yield from (np.array([[None]]), np.zeros((2, 2), "M8[s]"), np.ma.zeros((2, 2)), np.ndarray, int)


class NewItemsParam(Param):
    """Public ids of items that nobody can have rated yet, or None."""

    __slots__ = ()

    def check(self, value: Any, name: str, owner: str) -> None:
        """Raise InvalidParameter unless `value` can be ids; `find_new_items` looks at them."""
        if value is not None and not _may_be_ids(value):
            raise InvalidParameter(owner, name, "ids of the catalogue in a list, array or column, or None", value)

    def to_json(self, value: Any) -> Any:
        """The ids as a list."""
        if value is None or len(value) == 0:
            return value if value is None else []
        return _build(value, "PrivateCompletion", "new_items", "None").ids.to_pylist()

    def wrong_values(self) -> Iterator[Any]:
        """Values that must be refused."""
        yield from (object(), "no such word", b"", complex(1, 1), 0, 3, -1, 1.5, True, {"a": 1}, np.zeros(()), int)
        yield np.zeros((2, 2), np.int64)


def _may_be_ids(value: Any) -> bool:
    """Whether it can be a list, array or column of ids; no id is looked at."""
    if isinstance(value, str | bytes | Mapping | type) or not isinstance(value, Sized):
        return False
    return bool(getattr(value, "ndim", 1) == 1)


def build_catalogue(items: Any, owner: str) -> "Catalogue":
    """The catalogue of the parameter `items`, or InvalidParameter in the name of `owner`."""
    return _build(items, owner, "items", "None for a matrix")


def find_new_items(new_items: Any, catalogue: "Catalogue", owner: str) -> NDArray[np.bool_]:
    """Which items of the catalogue the parameter `new_items` lists; none for None or an empty list.

    Raises
    ------
    InvalidParameter
        If ids are repeated, not in the catalogue or of another type than there, or if all of the catalogue are listed.
    """
    is_new = np.zeros(len(catalogue), np.bool_)
    NewItemsParam().check(new_items, "new_items", owner)
    if new_items is None or len(new_items) == 0:
        return is_new
    listed = _build(new_items, owner, "new_items", "None")
    try:
        positions = catalogue.positions(listed.ids)
    except InvalidParameter as error:
        raise InvalidParameter(owner, "new_items", error.requirement, error.got) from error
    unknown = np.flatnonzero(positions < 0)
    if len(unknown):
        got = f"{len(unknown)} others, such as {listed.ids[int(unknown[0])].as_py()!r:.40}"
        raise InvalidParameter(owner, "new_items", "ids of the catalogue", got)
    if len(listed) == len(catalogue):
        raise InvalidParameter(owner, "new_items", "fewer than all items of the catalogue", f"all {len(catalogue)}")
    is_new[positions] = True
    return is_new


def _build(ids: Any, owner: str, name: str, otherwise: str) -> "Catalogue":
    """A catalogue of ids that are given as the parameter `name`, which may be `otherwise` as well."""
    from hushrank.data.ratings.catalogue import Catalogue  # needs numba, which a count of items does not

    if isinstance(ids, Catalogue):
        return ids
    try:
        catalogue = Catalogue(ids)
        catalogue.ids.validate(full=True)  # ids that are no text could be used, and then not be told to anybody
    except InvalidParameter as error:
        raise InvalidParameter(owner, name, f"{error.requirement}, or {otherwise}", error.got) from error
    except ValueError as error:  # Arrow's own kind of it
        raise InvalidParameter(owner, name, f"ids that are Unicode text, or {otherwise}", type(ids).__name__) from error
    return catalogue
