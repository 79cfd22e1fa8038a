"""Compiled scanners of delimited text: where records and fields begin and end, whatever bytes they hold.

Grammar    The delimiter is a comma or a tab. A field whose first character (spaces, and tabs that are no delimiters,
           aside) is a quote ends at the next quote that is not doubled, and what follows it, spaces aside, must be a
           delimiter, a line break or the end of the file. Any other field ends at the next delimiter or line break;
           quotes within it are ordinary characters. A carriage return alone ends nothing. A record with a quoted field
           that does not end so is malformed: it is its first line and no more, so that reading goes on with the next
           line.
"""

import numpy as np
from numpy.typing import NDArray

from hushrank.linalg.quantize import compiled

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Spans = NDArray[np.int32]

_TAB, _NEWLINE, _RETURN, _SPACE, _QUOTE = 9, 10, 13, 32, 34

COMMA, TAB = 44, _TAB  # delimiters

UNREADABLE, BLANK = -1, -2

_POWERS_OF_TEN = 10.0 ** np.arange(16)

# Where `follow_record` stands between two bytes.
FIELD_START, PLAIN, QUOTED, AFTER_QUOTE, CLOSED = range(5)
MALFORMED = -1


@compiled
def find_records(
    data: Bytes, is_end: bool, open_until: int, wanted: Integers, longest: int, spans: Spans, delimiter: int
) -> tuple[int, int, int]:
    """Spans of the wanted fields of all complete records.

    Returns how many there are, where the first incomplete one starts, and `open_until` anew.

    Parameters
    ----------
    data : ndarray of bytes
        Starts with a record.
    is_end : bool
        Whether the file ends with these bytes.
    open_until : int
        A quoted field that reaches the start of a line up to here is known not to end as it must: a malformed record
        was followed that far. Without this, a file of stray quotes would be followed to its end from every line.
    wanted : ndarray of shape (width,)
        For each field of a record the column that it is for, or -1.
    longest : int
        A record of more bytes cannot be read.
    spans : ndarray of shape (n_columns, 2, most records)
        Gets first and last (exclusive) byte of each field without the white space around it. The first is -1 - first
        where doubled quotes stand for single ones. Records that cannot be read, because they are malformed, too long
        or have another number of fields, have last = UNREADABLE, or BLANK if they are empty lines.
    delimiter : int
        COMMA or TAB.
    """
    n_records, record, size, width = 0, 0, len(data), len(wanted)
    while record < size and n_records < spans.shape[2]:
        at, n_fields, is_complete, is_malformed, is_last = record, 0, True, False, False
        while not is_last:
            start = at
            while start < size and _is_blank(data[start], delimiter):
                start += 1
            is_doubled = False
            if start < size and data[start] == _QUOTE:
                start += 1
                stop, is_doubled = _find_quote(data, start, open_until)
                if stop < 0:
                    is_malformed = True
                    break
                if stop >= size:
                    is_complete, is_malformed, open_until = is_end, True, size if is_end else open_until
                    break
                at = stop + 1
                while at < size and (_is_blank(data[at], delimiter) or data[at] == _RETURN):
                    at += 1
                if at < size and data[at] != delimiter and data[at] != _NEWLINE:
                    is_malformed, open_until = True, max(open_until, at)
                    break
            else:
                stop = start
                while stop < size and data[stop] != delimiter and data[stop] != _NEWLINE:
                    stop += 1
                at = stop
            if at == size and not is_end:
                is_complete = False
                break
            if n_fields < width and wanted[n_fields] >= 0:
                start, stop = strip_span(data, start, stop)
                column = wanted[n_fields]
                spans[column, 0, n_records] = -1 - start if is_doubled else start
                spans[column, 1, n_records] = stop
            n_fields += 1
            is_last = at == size or data[at] == _NEWLINE
            at += not is_last
        if is_complete and is_malformed:
            at = record
            while at < size and data[at] != _NEWLINE:
                at += 1
            is_complete = is_end or at < size
        if not is_complete:
            break
        if is_malformed or n_fields != width or at - record > longest:
            first, last = strip_span(data, record, at)
            spans[:, 1, n_records] = UNREADABLE if first < last else BLANK
        n_records += 1
        record = at + 1
    return n_records, min(record, size), open_until


@compiled
def _is_blank(byte: int, delimiter: int) -> bool:
    """Whether a byte beside a quoted field does not count: a space, or a tab that is no delimiter."""
    return byte == _SPACE or (byte == _TAB and delimiter != _TAB)


@compiled
def _find_quote(data: Bytes, start: int, open_until: int) -> tuple[int, bool]:
    """The quote that ends a field, the end of the data, or -1 if none can; and whether quotes before are doubled."""
    size, is_doubled = len(data), False
    at = start
    while at < size:
        if data[at] == _QUOTE:
            if at + 1 == size or data[at + 1] != _QUOTE:
                break
            is_doubled = True
            at += 1
        elif data[at] == _NEWLINE and at + 1 <= open_until:
            return -1, False
        at += 1
    return at, is_doubled


@compiled
def strip_span(data: Bytes, start: int, stop: int) -> tuple[int, int]:
    """A stretch of bytes without the white space around it."""
    while start < stop and (data[start] == _SPACE or _TAB <= data[start] <= _RETURN):
        start += 1
    while start < stop and (data[stop - 1] == _SPACE or _TAB <= data[stop - 1] <= _RETURN):
        stop -= 1
    return start, stop


@compiled
def follow_record(data: Bytes, state: int, delimiter: int) -> tuple[int, int, int]:
    """Go on in a record from a state.

    Returns the new state, where the record ends or is found malformed, or -1, and how many delimiters were met.
    """
    n_delimiters = 0
    for at in range(len(data)):
        byte = data[at]
        if state == QUOTED:
            if byte == _QUOTE:
                state = AFTER_QUOTE
        elif byte == _NEWLINE:
            return state, at, n_delimiters
        elif byte == delimiter:
            state = FIELD_START
            n_delimiters += 1
        elif state == FIELD_START:
            if byte == _QUOTE:
                state = QUOTED
            elif not _is_blank(byte, delimiter):
                state = PLAIN
        elif state == AFTER_QUOTE and byte == _QUOTE:
            state = QUOTED
        elif state == AFTER_QUOTE or state == CLOSED:
            if not _is_blank(byte, delimiter) and byte != _RETURN:
                return MALFORMED, at, n_delimiters
            state = CLOSED
    return state, -1, n_delimiters


@compiled
def measure_fields(spans: Spans) -> tuple[int, int]:
    """Bytes of the fields of one column at most, and how many records have none; `spans` is (2, n_records)."""
    n_bytes, n_unreadable = 0, 0
    for i in range(spans.shape[1]):
        start, stop = spans[0, i], spans[1, i]
        if stop < 0:
            n_unreadable += 1
        else:
            n_bytes += stop - (start if start >= 0 else -1 - start)
    return n_bytes, n_unreadable


@compiled
def copy_fields(data: Bytes, spans: Spans, out: Bytes, ends: Integers) -> None:
    """Write the fields of one column one after the other, and where each of them ends; `spans` is (2, n_records)."""
    place = 0
    for i in range(len(ends)):
        start, stop = spans[0, i], spans[1, i]
        if stop < 0:
            pass
        elif start >= 0:
            for k in range(start, stop):
                out[place] = data[k]
                place += 1
        else:
            k = -1 - start
            while k < stop:
                out[place] = data[k]
                place += 1
                k += 2 if data[k] == _QUOTE else 1
        ends[i] = place


@compiled
def read_short_numbers(data: Bytes, spans: Spans, numbers: NDArray[np.float64], left: NDArray[np.bool_]) -> int:
    """Fill the numbers that are written as [+-]digits[.digits] with at most 15 digits, and which are left; how many.

    Such a number is an integer below 2^53 over a power of ten below 10^16, both exact, so that one division rounds it
    correctly.
    """
    n_left = 0
    for i in range(spans.shape[1]):
        at, stop = spans[0, i], spans[1, i]
        left[i] = True
        if 0 <= at < stop <= at + 17:
            is_negative = data[at] == 45
            at += is_negative or data[at] == 43
            integer, n_digits, n_decimals, n_points = 0, 0, 0, 0
            while at < stop:
                if 48 <= data[at] <= 57:
                    integer = 10 * integer + (data[at] - 48)
                    n_digits += 1
                    n_decimals += n_points
                elif data[at] == 46 and n_points == 0:
                    n_points = 1
                else:
                    break
                at += 1
            if at == stop and 0 < n_digits <= 15:
                value = integer / _POWERS_OF_TEN[n_decimals]
                numbers[i], left[i] = -value if is_negative else value, False
        n_left += left[i]
    return n_left
