"""Random changes of model files, each from a seed of its own: in the bytes, the members, the arrays and the header.

All but the changes of raw bytes have the right checksums, so that they reach the checks behind them.
"""

import copy
import json
import math
import zipfile

import numpy as np

from forgery_support import from_member, put_together, take_apart, to_member, with_head

NUMBERS = (0, 1, -1, 2, 3, 12, 2**31, 2**53, 2**63, 2**64, 10**400, 0.0, -0.0, 0.5, 1.0, 1e-300, 5e-324, 1e300, 1.7e308)
VALUES = (
    *NUMBERS, None, True, False, "", "x", "inf", "nan", "private", "exponential", "complex", "replace", "é\0\n\x1b[31m",
    [], {}, [1.0, 2.0], ["a", "b"], [[1.0]], [None], {"type": "NonPrivate"}, {"name": "als"}, [0.0] * 2000, "y" * 3000,
    math.inf, math.nan,
)  # fmt: skip
EVENTS = (
    {"type": "NonPrivate"},
    {"type": "Composed", "events": []},
    {"type": "Gaussian", "noise_multiplier": 1e9},
    {"type": "Pure", "epsilon": 1e-9},
    {"type": "Pure", "epsilon": 0.9},
    {"type": "Repeated", "event": {"type": "Pure", "epsilon": 1e-9}, "count": 2**53},
    {"type": "Repeated", "event": {"type": "Gaussian", "noise_multiplier": 1e9}, "count": 2**53},
    {"type": "Mixture", "epsilons": [0.0, 1.0], "deltas": [0.1, 0.0]},
    {"type": "Composed", "events": [{"type": "Pure", "epsilon": 1e-3 + i * 1e-9} for i in range(300)]},
)
FLOATS = (math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 5e-324, 0.0, -1.0, 1e-12)


def mutate(files, name, rng):
    """The bytes of a file that was changed at random, and how."""
    kind = rng.choice(list(KINDS), p=[share for share, _ in KINDS.values()])
    return KINDS[kind][1](files, name, rng), kind


def _pick(rng, options):
    return options[int(rng.integers(len(options)))]


# Raw bytes: only here are checksums wrong


def _change_bytes(files, name, rng):
    data = bytearray(files[name])
    start, length = int(rng.integers(len(data))), int(rng.integers(1, 200))
    way = int(rng.integers(5))
    if way == 0:
        for place in rng.integers(len(data), size=int(rng.integers(1, 5))):
            data[place] ^= 1 << int(rng.integers(8))
    elif way == 1:
        del data[start:]
    elif way == 2:
        del data[start : start + length]
    elif way == 3:
        data[start:start] = rng.bytes(length)
    else:
        tail = len(data) - min(int(rng.integers(1, 400)), len(data))  # where the list of members is
        data[tail] = int(rng.integers(256))
    return bytes(data)


# Members


def _change_members(files, name, rng):
    header, members = take_apart(files[name])
    one, other = (_pick(rng, list(members)) for _ in range(2))
    way = int(rng.integers(8))
    if way == 0:
        members[one], members[other] = members[other], members[one]
    elif way == 1:
        del members[one]
    elif way == 2:
        members[_pick(rng, ["extra_.npy", "x", "../x.npy", "fit.npy", "parameters.items.npy", "privacy_.npy"])] = (
            members[one]
        )
    elif way == 3:
        members[_pick(rng, [other, "n_.npy", "items_.text.npy", "parameters.center.npy"])] = members.pop(one)
    elif way == 4:
        return put_together(header, members, _pick(rng, [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2]))
    elif way == 5:
        members[one] = rng.bytes(int(rng.integers(300)))
    elif way == 6:
        header["version"] = _pick(rng, [1, 2, 3, 4, 0, -1, None, "1", 10**30])
    else:
        return _deepen(header, members, rng)
    return put_together(header, members)


def _deepen(header, members, rng):
    """JSON that nests deeply, is long, or is no JSON at all."""
    header["content"][_pick(rng, ["guarantee", "parameters", "attributes", "more"])] = "HERE"
    text = json.dumps({**header, "arrays": {}}, sort_keys=True)
    depth = int(rng.integers(1, 50_000))
    deep = _pick(
        rng, ["[" * depth, "[" * depth + "]" * depth, '{"a":' * depth, "9" * depth, "[" + "{}," * depth + "{}]", "NaN"]
    )
    return put_together(text.replace('"HERE"', deep).encode(), members)


# Arrays


def _change_array(files, name, rng):
    header, members = take_apart(files[name])
    key = _pick(rng, list(members))
    way = int(rng.integers(6))
    if way == 0:
        members[key] = _change_value(from_member(members[key]), rng)
    elif way == 1:
        members[key] = to_member(_change_shape(from_member(members[key]), rng))
    elif way == 2:
        members[key] = _change_dtype(from_member(members[key]), rng)
    elif way == 3:
        data = bytearray(members[key])
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        members[key] = bytes(data)
    elif way == 4:
        shape = _pick(
            rng, ["(30000000,)", "(100000, 100000)", "()", "(-1,)", "(0,)", f"({2**63},)", "(1, 1)", "(" * 900]
        )
        descr = _pick(rng, ["<f8", "<i8", "|O", "<U9", "<f4", ">f8", "<M8[s]", "|V8", "<c16"])
        text = f"{{'descr': '{descr}', 'fortran_order': {_pick(rng, ['False', 'True'])}, 'shape': {shape}, }}"
        members[key] = with_head(text, members[key][128:])
    else:  # every array about items or columns grows or shrinks alike
        n_items = header["content"]["attributes"]["n_features_in_"]
        size = int(rng.integers(1, 2 * n_items))
        arrays = {one: from_member(data) for one, data in members.items()}
        members |= {
            one: to_member(np.resize(a, (size, *a.shape[1:]))) for one, a in arrays.items() if len(a) == n_items
        }
        header["content"]["attributes"]["n_features_in_"] = _pick(rng, [size, n_items])
    return put_together(header, members)


def _change_value(array, rng):
    changed = array.copy()
    if changed.size:
        number = _pick(rng, FLOATS)
        place = int(rng.integers(changed.size))
        if changed.dtype.kind in "fc":
            changed.flat[place] = number if rng.random() < 0.7 else changed.flat[place] * (1 + 1e-9)
        else:
            changed.flat[place] = _pick(rng, [0, 1, 2, 127, changed.flat[0]])
    return to_member(changed)


def _change_shape(array, rng):
    ways = (
        array.T, array[:-1], array[:0], array.ravel(), array[None], array[..., None], np.resize(array, (100_000,)),
        np.concatenate([array, array]), array[::-1], np.asfortranarray(array), array.reshape(-1, 1),
    )  # fmt: skip
    return _pick(rng, ways)


def _change_dtype(array, rng):
    dtype = _pick(rng, ["<f4", "<i8", "<i4", "<u8", "|b1", "|u1", "<c16", ">f8", "<U4", "<c8"])
    with np.errstate(all="ignore"):
        return to_member(array.real.astype(dtype) if dtype[1] not in "c" else array.astype(dtype))


# Header


def _paths(value, before=()):
    """Every place in nested dictionaries."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield (*before, key)
            yield from _paths(part, (*before, key))


def _change_header(files, name, rng):
    header, members = take_apart(files[name])
    content = header["content"]
    for _ in range(1 if rng.random() < 0.8 else 2):
        where = _pick(rng, list(_paths(content)))
        section = content
        for key in where[:-1]:
            section = section[key]
        _change_entry(section, where[-1], rng)
    return put_together(header, members)


def _change_entry(section, key, rng):
    value, way = section[key], int(rng.integers(8))
    if way <= 2:
        section[key] = copy.deepcopy(_pick(rng, VALUES))
    elif way == 3:
        del section[key]
    elif way == 4:
        section[_pick(rng, ["random_state", "verbose", "ledger", "engine", "more", "__class__", "fit", "type"])] = value
    elif way == 5 and isinstance(value, int | float) and not isinstance(value, bool):
        section[key] = value * _pick(rng, [1 + 1e-12, 1 + 1e-6, 2, 0.5, -1, 1e-3, 1e3])
    elif way == 6 and isinstance(value, list) and value:
        section[key] = _pick(
            rng, [value[:-1], value + value, value[::-1], [*value, value[0]], [value], value[:1] * len(value)]
        )
    else:
        event = copy.deepcopy(_pick(rng, EVENTS))
        section["event" if "event" in section else key] = event


# Parts of other models


def _mix_models(files, name, rng):
    header, members = take_apart(files[name])
    other, others = take_apart(files[_pick(rng, list(files))])
    way = int(rng.integers(5))
    if way == 0:
        header["content"]["class"] = other["content"]["class"]
    elif way == 1:
        header["content"]["parameters"] = other["content"]["parameters"]
    elif way == 2:
        header["content"]["guarantee"] = other["content"]["guarantee"]
    elif way == 3:
        members, header["content"]["attributes"] = others, other["content"]["attributes"]
    else:
        members |= {one: data for one, data in others.items() if one in members}
    return put_together(header, members)


KINDS = {
    "bytes": (0.1, _change_bytes),
    "members": (0.1, _change_members),
    "array": (0.35, _change_array),
    "header": (0.38, _change_header),
    "mix": (0.07, _mix_models),
}
