"""From the released arrays of a sketch to its factorization, by kind."""

from collections.abc import Sequence
from typing import Any

from hushrank.estimators.turnstile.decoders import (
    Factors,
    decode_figure1,
    decode_figure3,
    decode_full,
    decode_three,
    decode_two,
)
from hushrank.estimators.turnstile.state import SketchState


def decode(kind: str, released: Sequence[Any], state: SketchState, rank: int, noise: Sequence[float]) -> Factors:
    """The factorization of one release; `noise` has the standard deviation of an entry of every array.

    Of the state only the operators are used, which are public as far as the guarantee goes.
    """
    if kind == "full":
        return decode_full(released[0], rank, noise[0])
    columns, rows = released[0], released[1].T
    if kind == "two_sketch":
        return decode_two(columns, rows, state.apply("rows"), rank, *noise)
    if kind == "figure3":
        return decode_figure3(columns, rows, state.apply("rows"), rank)
    left, right = state.apply("core rows"), state.apply("core columns")
    if kind == "figure1":
        return decode_figure1(columns, rows, released[2], left, right, rank)
    return decode_three(columns, rows, released[2], left, right, rank, noise[0], noise[2])
