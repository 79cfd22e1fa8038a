"""From a fitted model to the content of a file and back, with one check for both ways.

Saved      class, version of hushrank, parameters but for those of a place and a run, learned attributes, guarantee.
           Long lists go into columns, under their name or "parameters." and their name: the header stays small.
Loaded     what passes every check: known parameters in a combination that could have been fitted, attributes of the
           declared kind, shape and limits (`attributes`), a guarantee that its event bears out (`privacy.claims`).
Evolution  a missing parameter has its default, or is the list that a learned attribute repeats; an unknown one is
           refused: docs/privacy/formats.md.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, TypeVar

import numpy as np

from hushrank import __version__
from hushrank.archive.attributes import COLUMNS, Attribute
from hushrank.archive.columns import Column, Texts
from hushrank.exceptions import ModelFileError
from hushrank.parameters import check_integer
from hushrank.privacy.claims import check_claim
from hushrank.privacy.guarantee import Guarantee
from hushrank.privacy.planning import make_plan
from hushrank.privacy.records import NEWER

Model = TypeVar("Model")

# A ledger and an engine belong to a place, not to a model; whoever knows a seed can subtract the noise.
NEVER_SAVED = ("ledger", "random_state", "engine", "verbose")

_CONTENT = ("class", "hushrank", "parameters", "attributes", "guarantee")
_NAMES, _GUARANTEE = "feature_names_in_", "privacy_"
_PREFIX = "parameters."
_LONGEST_LIST = 4096  # bytes of JSON
_LARGEST_SIZE, _LARGEST_INT64 = 2**31 - 1, 2**63 - 1


def describe_model(model: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Content and columns of the file of a fitted model, which `restore_model` would take; else ModelFileError."""
    learned, owner = {name: _plain(value) for name, value in model._learned().items()}, type(model).__name__
    found = set(learned) - {_NAMES, _GUARANTEE, *model._schema}
    learns = model._learns
    if not (_required(learns) if isinstance(learns, Mapping) else set(learns)) <= found <= set(learns):
        raise ModelFileError(f"parameters of this {owner} were changed after its fit: set them back.")
    try:
        _check_shapes(model, learned)
        _check_model(model, learned)
    except ValueError as error:  # InvalidParameter is one
        reason = f"{error}".rstrip(".") + "; were its parameters changed after its fit?"
        raise ModelFileError(f"this {owner} cannot be saved: {reason}") from error
    parameters = _written_parameters(model)
    content: dict[str, Any] = {"class": owner, "hushrank": __version__, "guarantee": learned.pop(_GUARANTEE).to_dict()}
    columns: dict[str, Any] = {}
    content["parameters"] = _keep_short(parameters, _PREFIX, columns)
    content["attributes"] = _keep_short(learned, "", columns)
    return content, columns


def restore_model(
    cls: type[Model], path: str | PathLike[str], content: Mapping[str, Any], columns: Mapping[str, Column]
) -> Model:
    """The model of class `cls` that was described so; ModelFileError for anything that `describe_model` never says."""
    if content.get("class") != cls.__name__:
        raise ModelFileError(f"{path} holds a {content.get('class')!r:.60}, not a {cls.__name__}.")
    try:
        model: Model = _restore(cls, content, columns)
        return model
    except Exception as error:  # whatever a stranger's file makes a check raise, it is no model
        reason = " ".join(f"{error}".split()).rstrip(".") or type(error).__name__
        raise ModelFileError(f"{path} does not fit this version of {cls.__name__}: {reason:.500}.") from error


def _restore(cls: Any, content: Mapping[str, Any], columns: Mapping[str, Column]) -> Any:
    _check_names(content, _CONTENT, _CONTENT, "entry")
    if not isinstance(content["hushrank"], str):
        raise ValueError("it names no version of hushrank")
    parameters = _merge(content["parameters"], columns, _PREFIX)
    learned = _merge(content["attributes"], columns, "")
    if _GUARANTEE in learned:
        raise ValueError("it has two guarantees")
    learned[_GUARANTEE] = Guarantee.from_dict(content["guarantee"])
    _check_parameter_names(cls, parameters)
    table = cls.parameter_table()
    older = {name: line.absent for name, line in table.items() if line.absent is not ... and name not in parameters}
    parameters |= older
    repeated = {name: kept for name, kept in cls._repeated.items() if name not in parameters}
    if not all(isinstance(learned.get(kept), list | np.ndarray | Texts) for kept in repeated.values()):
        raise ValueError(f"its parameter {next(iter(repeated))!r} is missing, and no attribute repeats it")
    parameters |= {name: learned[kept] for name, kept in repeated.items()}
    # Sizes first, with columns as they are in the file: a wrong one is refused before much is made of it.
    _check_shapes(cls(**{name: table[name].from_json(value) for name, value in parameters.items()}), learned)
    learned = {name: _to_objects(value) for name, value in learned.items()}
    loaded = {name: value.tolist() if isinstance(value, Texts) else value for name, value in parameters.items()}
    loaded |= {name: learned[kept].tolist() for name, kept in repeated.items()}  # arrays by now
    told = cls._told_parameters(learned)
    model = cls(**{name: table[name].from_json(value) for name, value in loaded.items()} | told)
    learned[_GUARANTEE] = _with_bound(learned[_GUARANTEE], model)
    _check_model(model, learned)
    model._keep(learned)
    return model


def _with_bound(given: Guarantee, model: Any) -> Guarantee:
    """A guarantee that says how large one unit is; files of older versions say it in their parameters alone."""
    return given if given.bound is not None else replace(given, bound=model._check_parameters().bound)


def _check_shapes(model: Any, learned: Mapping[str, Any]) -> None:
    """Refuse attributes that were not declared or not in this shape."""
    owner, table = type(model).__name__, _declared(model)
    if not _required(table) - {_NAMES} | {_GUARANTEE} <= learned.keys() <= table.keys() | {_GUARANTEE}:
        raise ValueError(f"it does not have the attributes of a {owner}")
    schema = {
        name: check_integer(learned[name], name, owner, minimum=1, maximum=_LARGEST_SIZE) for name in model._schema
    }
    sizes = {**model._parameters(), **schema}
    for name in [name for name in table if name in learned]:
        table[name].check_shape(learned[name], name, sizes)


def _check_model(model: Any, learned: Mapping[str, Any]) -> None:
    """Refuse values, parameters and a guarantee that no fit gives; shapes are known to be right."""
    table = _declared(model)
    for name in [name for name in table if name in learned]:
        table[name].check(learned[name], name)
    budget = model._check_parameters()
    model._check_learned(learned)
    sizes = {size: learned[name] for name, size in model._schema.items()}
    plan = make_plan(budget, *model._plan(budget, sizes).steps())
    check_claim(learned[_GUARANTEE], plan.guarantee, budget)


def _declared(model: Any) -> dict[str, Attribute]:
    """All attributes that a file may hold beside the guarantee: those of the class and the schema of the data."""
    if not isinstance(model._learns, Mapping):
        raise ValueError(f"{type(model).__name__} names its attributes without saying what they are")
    schema = {name: Attribute(int) for name in model._schema}
    names = {_NAMES: Attribute(str, (COLUMNS,))} if COLUMNS in schema else {}
    return {**model._learns, **schema, **names}


def _required(table: Mapping[str, Attribute]) -> set[str]:
    """Attributes that every file holds: those of the first version."""
    return {name for name, line in table.items() if not line.later}


def _check_parameter_names(cls: Any, parameters: Mapping[str, Any]) -> None:
    refused = [name for name in NEVER_SAVED if name in parameters]
    if refused:
        raise ValueError(f"it sets {refused[0]}, which no file may")
    known = [name for name in cls.parameter_table() if name not in NEVER_SAVED]
    table = cls.parameter_table()
    required = [name for name in known if table[name].default is ...]
    _check_names(parameters, known, required, "parameter")


def _check_names(found: Mapping[str, Any], known: Sequence[str], required: Sequence[str], what: str) -> None:
    unknown, missing = [name for name in found if name not in known], [name for name in required if name not in found]
    if unknown:
        raise ValueError(f"its {what} {unknown[0]!r:.40} was {NEWER}")
    if missing:
        raise ValueError(f"its {what} {missing[0]!r} is missing")


def _written_parameters(model: Any) -> dict[str, Any]:
    """Parameters as JSON holds them, without those that were added later and have their default.

    Lists that a learned attribute repeats are left out too: the attribute holds them.
    """
    values = model._parameters()
    table = {name: line for name, line in model.parameter_table().items() if name not in NEVER_SAVED}
    parameters = {name: line.to_json(values[name]) for name, line in table.items()}
    at_default = [name for name, line in table.items() if line.later and parameters[name] == line.default]
    repeated = [name for name in model._repeated if isinstance(parameters[name], list)]
    return {name: value for name, value in parameters.items() if name not in (*at_default, *repeated)}


def _keep_short(values: Mapping[str, Any], prefix: str, columns: dict[str, Any]) -> dict[str, Any]:
    """What of `values` goes into a header; the rest is put into `columns`."""
    short = {}
    for name, value in values.items():
        content = value.tolist() if isinstance(value, np.ndarray) and value.dtype == object else value
        if isinstance(content, np.ndarray):
            columns[prefix + name] = content
        elif isinstance(content, list) and _is_long(content):
            columns[prefix + name] = content if isinstance(content[0], str) else _to_numbers(content)
        else:
            short[name] = content
    return short


def _is_long(content: list[Any]) -> bool:
    return len(content) > _LONGEST_LIST or len(json.dumps(content)) > _LONGEST_LIST


def _to_numbers(content: list[Any]) -> np.ndarray:
    """Floats or ids as an array; NumPy alone would make floats of ids that need uint64."""
    if all(isinstance(number, int) for number in content):
        return np.array(content, np.uint64 if max(content) > _LARGEST_INT64 else np.int64)
    return np.array(content, np.float64)


def _merge(section: Any, columns: Mapping[str, Column], prefix: str) -> dict[str, Any]:
    """One section of the header and the columns that belong to it, by name."""
    if not isinstance(section, dict):
        raise ValueError("its header has another structure")
    own = {
        name.removeprefix(prefix): column
        for name, column in columns.items()
        if name.startswith(_PREFIX) == bool(prefix)
    }
    if section.keys() & own.keys():
        raise ValueError("it has two values of one name")
    return {**section, **own}


def _to_objects(value: Any) -> Any:
    """Text as an array of Python strings: NumPy's own strings end at a zero and are all of one length."""
    content = value.tolist() if isinstance(value, Texts) else value
    return np.fromiter(content, object, len(content)) if isinstance(content, list) else content


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
