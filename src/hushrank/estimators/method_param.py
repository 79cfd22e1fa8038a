"""A parameter that names a method, or gives the options of one: a table of frozen records, one for each method."""

from collections.abc import Mapping
from typing import Any, ClassVar

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import Param, check_parameters
from hushrank.privacy.records import NEWER, from_fields, to_fields


class MethodParam(Param):
    """A method by name, or its options; a subclass states `methods`, the options by the name of their method."""

    __slots__ = ()

    methods: ClassVar[Mapping[str, type[Any]]] = {}

    def _check_kind(self, value: Any, name: str, owner: str) -> None:
        if not isinstance(value, tuple(self.methods.values())):
            listed = ", ".join(f"{kind.__name__}(...)" for kind in self.methods.values())
            raise InvalidParameter(owner, name, f"one of {listed}", value)

    def to_json(self, value: Any) -> Any:
        """A name, or the name of the options and their values."""
        if isinstance(value, str):
            return value
        return {"name": next(name for name, kind in self.methods.items() if type(value) is kind), **to_fields(value)}

    def from_json(self, saved: Any) -> Any:
        """A method from what `to_json` gave."""
        if isinstance(saved, str):
            return saved
        name = saved.get("name") if isinstance(saved, dict) else None
        if not isinstance(name, str) or name not in self.methods:
            raise ValueError(f"method is none of {', '.join(self.methods)}; others were {NEWER}")
        options = {key: value for key, value in saved.items() if key != "name"}
        return self.methods[name](**from_fields(self.methods[name], options, self.methods[name].__name__))


def check_options(options: Any, table: Mapping[str, Param]) -> None:
    """Check the fields of the options of a method against a table."""
    check_parameters(table, {name: getattr(options, name) for name in table}, type(options).__name__)
