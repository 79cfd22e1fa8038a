"""Compiled reader of indices in delimited text: what a text means is the same as in `text_values`."""

import numpy as np

from hushrank.data.delimited_kernels import Bytes, Integers, Spans
from hushrank.linalg.quantize import compiled

_PLUS, _MINUS, _POINT, _ZERO, _NINE = 43, 45, 46, 48, 57
_LOWEST = np.int64(-(2**63))


@compiled
def read_indices(data: Bytes, spans: Spans, indices: Integers) -> None:
    """Fill the integers of one column, [+-]digits[.zeros]; any other text and a number beyond int64 is -1.

    `spans` is (2, n_records), see `find_records`. A field with doubled quotes holds a quote, and so no integer.
    """
    for i in range(len(indices)):
        at, stop = spans[0, i], spans[1, i]
        indices[i] = -1
        if at < 0 or stop <= at:
            continue
        is_negative = data[at] == _MINUS
        at += is_negative or data[at] == _PLUS
        first, value, fits = at, np.int64(0), True  # the negative of what is written: there is one more of those
        while at < stop and _ZERO <= data[at] <= _NINE:
            digit = np.int64(data[at]) - _ZERO
            fits = fits and bool(value >= (_LOWEST + digit + 9) // 10)  # then 10 value - digit >= _LOWEST
            value = 10 * value - digit if fits else value
            at += 1
        is_integer = fits and at > first and (is_negative or value > _LOWEST)
        if at < stop and data[at] == _POINT:
            at += 1
            while at < stop and data[at] == _ZERO:
                at += 1
        if is_integer and at == stop:
            indices[i] = value if is_negative else -value
