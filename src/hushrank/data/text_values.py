"""What a text means as a number or as an id: decided by the text alone, the same in every file and table.

Number     What Python's float reads, in ASCII and without underscores; any other text is NaN.
Id         White space around it does not count, and nothing but white space is no id. A text that writes an integer,
           [+-]digits[.zeros], is that integer, so that 7, 07, +7 and 7.0 are one id; any other text is itself, byte
           for byte.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.delimited_kernels import strip_span
from hushrank.data.numbers import to_number
from hushrank.linalg.quantize import compiled

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Texts = tuple[Integers, Bytes, NDArray[np.bool_]]  # where each text starts, the bytes, and which texts are not null

_PLUS, _MINUS, _POINT, _ZERO, _NINE = 43, 45, 46, 48, 57
_PLAIN, _NOT_A_NUMBER, _ODD = 0, 1, 2
_MOST_DIGITS = 20  # of an integer of 64 bits


def to_numbers(texts: pa.Array) -> NDArray[np.float64]:
    """Numbers of a large_binary array, NaN where a text is null or none."""
    words = pa.LargeStringArray.from_buffers(len(texts), *_data_buffers(texts))
    if texts.null_count == 0:
        try:
            return np.asarray(words.cast(pa.float64()).to_numpy())
        except pa.ArrowInvalid:
            pass  # some text is no number, or one that Arrow writes otherwise
    starts, data, valid = texts_of(texts)
    kinds = np.empty(len(texts), np.uint8)
    _kinds_of_numbers(starts, data, valid, kinds)
    numbers = np.full(len(texts), np.nan)
    numbers[kinds == _PLAIN] = _plain_numbers(words.filter(pa.array(kinds == _PLAIN)))
    odd = np.flatnonzero(kinds == _ODD)
    numbers[odd] = [to_number(text) for text in texts.take(pa.array(odd)).to_pylist()]
    return numbers


def to_integers(texts: pa.Array, dtype: pa.DataType) -> pa.Array:
    """Ids that are integers of the type int64 or uint64, null for other texts."""
    starts, data, valid = texts_of(texts)
    values, fits = np.zeros(len(texts), np.uint64), np.zeros(len(texts), np.bool_)
    _read_integers(starts, data, valid, dtype == pa.int64(), values, fits)
    return pa.array(values.view(np.int64) if dtype == pa.int64() else values, mask=~fits)


def canonical_texts(ids: pa.Array) -> Texts:
    """Ids of a string or binary array in their canonical form; an id of no characters counts as null."""
    starts, data, valid = texts_of(ids)
    spans, has_minus = np.empty((2, len(ids)), np.int64), np.zeros(len(ids), np.bool_)
    valid = valid.copy()
    if not _find_canonical(starts, data, valid, spans, has_minus):
        return starts, data, valid
    lengths = spans[1] - spans[0] + has_minus
    canonical_starts = np.zeros(len(ids) + 1, np.int64)
    np.cumsum(lengths, out=canonical_starts[1:])
    canonical = np.empty(canonical_starts[-1], np.uint8)
    _write_canonical(data, spans, has_minus, canonical_starts, canonical)
    return canonical_starts, canonical, valid


def texts_of(texts: pa.Array) -> Texts:
    """The parts of a string or binary array."""
    valid = np.asarray(texts.is_valid().to_numpy(zero_copy_only=False))
    is_text = pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)
    texts = texts.cast(pa.large_string() if is_text else pa.large_binary())
    _, starts, data = texts.buffers()
    if len(texts) == 0 or data is None:  # nulls and empty texts have no bytes
        return np.zeros(len(texts) + 1, np.int64), np.empty(0, np.uint8), valid
    return (
        np.frombuffer(starts, np.int64)[texts.offset : texts.offset + len(texts) + 1],
        np.frombuffer(data, np.uint8),
        valid,
    )


def _data_buffers(texts: pa.Array) -> tuple[pa.Buffer, pa.Buffer, pa.Buffer | None]:
    """Offsets, bytes and validity of an array that starts at its buffers' start, in the order that Arrow asks for."""
    validity, offsets, data = texts.buffers()
    return offsets, data if data is not None else pa.py_buffer(b""), validity


def _plain_numbers(words: pa.Array) -> NDArray[np.float64]:
    try:
        return np.asarray(words.cast(pa.float64()).to_numpy())
    except pa.ArrowInvalid:  # a number too large or too small for Arrow
        return np.array([to_number(word) for word in words.to_pylist()], np.float64)


@compiled
def _kinds_of_numbers(starts: Integers, data: Bytes, valid: NDArray[np.bool_], kinds: Bytes) -> None:
    """Which texts are plain numbers, -digits.digits, which are certainly none, and which somebody else must judge."""
    for i in range(len(kinds)):
        at, stop = starts[i], starts[i + 1]
        if not valid[i] or at == stop or not _may_start_a_number(data[at]):
            kinds[i] = _NOT_A_NUMBER
            continue
        at += data[at] == _MINUS
        n_digits, n_points = 0, 0
        while at < stop and (_ZERO <= data[at] <= _NINE or data[at] == _POINT):
            n_points += data[at] == _POINT
            n_digits += data[at] != _POINT
            at += 1
        kinds[i] = _PLAIN if at == stop and n_digits > 0 and n_points <= 1 else _ODD


@compiled
def _may_start_a_number(byte: int) -> bool:
    """Whether it is a sign, a point, a digit or the first letter of inf, infinity or nan."""
    is_sign = byte == _PLUS or byte == _MINUS or byte == _POINT
    return is_sign or _ZERO <= byte <= _NINE or byte == 73 or byte == 105 or byte == 78 or byte == 110


@compiled
def _find_canonical(
    starts: Integers, data: Bytes, valid: NDArray[np.bool_], spans: Integers, has_minus: NDArray[np.bool_]
) -> bool:
    """Fill where the canonical form of each id lies, and whether a minus goes before it; whether any form is new."""
    is_new = False
    for i in range(len(valid)):
        spans[0, i] = spans[1, i] = starts[i]
        if not valid[i]:
            continue
        start, stop = strip_span(data, starts[i], starts[i + 1])
        valid[i] = start < stop
        first, last, is_integer, is_negative = _find_integer(data, start, stop)
        if is_integer:
            start, stop, has_minus[i] = first, last, is_negative
        spans[0, i], spans[1, i] = start, stop
        is_new |= start - (is_integer and is_negative) != starts[i] or stop != starts[i + 1]
    return is_new


@compiled
def _find_integer(data: Bytes, start: int, stop: int) -> tuple[int, int, bool, bool]:
    """First and last digit that count of an integer, whether the text writes one, and whether it is negative."""
    is_negative = start < stop and data[start] == _MINUS
    first = start + (start < stop and (data[start] == _MINUS or data[start] == _PLUS))
    last = first
    while last < stop and _ZERO <= data[last] <= _NINE:
        last += 1
    end = last
    if last > first and end < stop and data[end] == _POINT:
        end += 1
        while end < stop and data[end] == _ZERO:
            end += 1
    if last == first or end < stop:
        return start, stop, False, False
    while first < last - 1 and data[first] == _ZERO:
        first += 1
    return first, last, True, is_negative and data[first] != _ZERO


@compiled
def _write_canonical(
    data: Bytes, spans: Integers, has_minus: NDArray[np.bool_], starts: Integers, canonical: Bytes
) -> None:
    for i in range(len(has_minus)):
        place = starts[i]
        if has_minus[i]:
            canonical[place] = _MINUS
            place += 1
        for k in range(spans[0, i], spans[1, i]):
            canonical[place] = data[k]
            place += 1


@compiled
def _read_integers(
    starts: Integers,
    data: Bytes,
    valid: NDArray[np.bool_],
    is_signed: bool,
    values: NDArray[np.uint64],
    fits: NDArray[np.bool_],
) -> None:
    """Fill the integers that texts write, negative ones in two's complement, and which texts write one that fits."""
    for i in range(len(values)):
        start, stop = strip_span(data, starts[i], starts[i + 1])
        first, last, is_integer, is_negative = _find_integer(data, start, stop)
        if not valid[i] or not is_integer or last - first > _MOST_DIGITS or (is_negative and not is_signed):
            continue
        largest = np.uint64(2**63 - 1) + np.uint64(is_negative) if is_signed else np.uint64(2**64 - 1)
        value, fits[i] = np.uint64(0), True
        for k in range(first, last):
            digit = np.uint64(data[k] - _ZERO)
            fits[i] &= value <= (largest - digit) // np.uint64(10)
            value = value * np.uint64(10) + digit
        values[i] = np.uint64(0) - value if is_negative else value
