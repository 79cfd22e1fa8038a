"""A sketch as the content of a sealed file, and back.

The file is a secret: whoever has it has the data, but for pan-private sketches, where one look at it is paid for. One
that was not sealed with the holder's key is refused unread, so what is read here was written here.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from hushrank.data.text_values import texts_of
from hushrank.estimators.turnstile.held import Held, hold
from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.exceptions import CheckpointError

Arrays = dict[str, np.ndarray]

_CLASS, _FORMAT = "TurnstileSketch", 1
_FIELDS = {
    "class",
    "format",
    "parameters",
    "key",
    "shards",
    "n_starts",
    "n_releases",
    "position",
    "lattice",
    "is_charged",
}
_OF_A_PLACE = ("ledger",)
_IDS, _STARTS, _SPENT = "user ids", "user id starts", "user totals"


def describe_sketch(sketch: TurnstilePlanner, held: Held, position: Any) -> tuple[dict[str, Any], Arrays]:
    """Content and arrays of the file of a sketch. A seed may be in it: the file is no less secret than that."""
    table = sketch.parameter_table()
    parameters = {
        name: table[name].to_json(value) for name, value in sketch._parameters().items() if name not in _OF_A_PLACE
    }
    content = {
        "class": _CLASS, "format": _FORMAT, "parameters": parameters, "key": held.key.hex(),
        "shards": sorted(held.shards), "n_starts": held.n_starts, "n_releases": held.n_releases, "position": position,
        "lattice": _lattice_numbers(held), "is_charged": held.is_charged,
    }  # fmt: skip
    names = (array.name for array in held.plan.layout.arrays)
    arrays: Arrays = dict(zip(names, held.intake.state.arrays, strict=True))
    if held.intake.totals is not None:
        arrays |= _ids_to_arrays(*held.intake.totals.content())
    return content, arrays


def restore_parameters(cls: type[Any], content: Mapping[str, Any], path: Any) -> dict[str, Any]:
    """Parameters of the sketch in a file; CheckpointError if it holds something else, or is of another version."""
    if content.get("class") != _CLASS:
        raise CheckpointError(f"{path} holds a {content.get('class')!r:.60}, not a {_CLASS}.")
    table, saved = cls.parameter_table(), content.get("parameters")
    if (
        set(content) != _FIELDS
        or content["format"] != _FORMAT
        or not isinstance(saved, dict)
        or not set(saved) <= set(table)
    ):
        raise CheckpointError(
            f"{path} was written by another version of hushrank, in format {content.get('format')!r:.20}."
        )
    return {name: table[name].from_json(value) for name, value in saved.items()}


def restore_held(sketch: TurnstilePlanner, content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Held:
    """What the sketch in a file holds."""
    held = hold(sketch, bytes.fromhex(content["key"]))
    if content["lattice"] != _lattice_numbers(held):
        raise CheckpointError("the checkpoint is of a version of hushrank that calibrates otherwise: use that one.")
    state = held.intake.state
    for number, array in enumerate(held.plan.layout.arrays):
        stored = arrays[array.name]
        if stored.shape != array.shape or stored.dtype != state.arrays[number].dtype:
            raise CheckpointError(f"the checkpoint has {array.name} of another shape than its parameters say.")
        state.arrays[number] = stored
    if held.intake.totals is not None:
        held.intake.totals.load(*_ids_from_arrays(arrays))
    held.shards, held.position = set(content["shards"]), content["position"]
    held.is_charged = bool(content["is_charged"])
    held.n_starts, held.n_releases = int(content["n_starts"]), int(content["n_releases"])
    return held


def _lattice_numbers(held: Held) -> list[Any]:
    """What the integers of the state mean; noise for another meaning would be too little or too much."""
    lattice = held.plan.lattice
    gains = [[str(part.squared_gain), part.coarser] for part in lattice.parts]
    return [lattice.units, lattice.exponent, gains]


def _ids_to_arrays(ids: pa.Array, spent: np.ndarray) -> Arrays:
    """Counters of users as arrays: the bytes of their ids, whatever they encode, and where each starts."""
    starts, data, _ = texts_of(ids)
    return {_IDS: data[starts[0] : starts[-1]], _STARTS: starts - starts[0], _SPENT: spent}


def _ids_from_arrays(arrays: Mapping[str, np.ndarray]) -> tuple[pa.Array, np.ndarray]:
    starts, data = (pa.py_buffer(arrays[name].tobytes()) for name in (_STARTS, _IDS))
    return pa.LargeStringArray.from_buffers(len(arrays[_SPENT]), starts, data), arrays[_SPENT]
