"""Numbers out of whatever a cell or an array holds: values never raise, types do."""

from typing import Any

import numpy as np

from hushrank.data.source import Block
from hushrank.exceptions import InvalidParameter


def convert(block: Block, dtype: type[np.generic]) -> Block:
    """A block in another precision or field, without warnings: entries may be anything."""
    with np.errstate(all="ignore"):  # signaling NaNs
        return block.astype(dtype, copy=False)


def to_number(cell: Any) -> float:
    """A cell as a float, NaN if it is not a real number; never raises.

    A text is a number if it is written in ASCII and without underscores, which Python's float allows and no other
    reader does. A complex cell without imaginary part is one: somebody else's cell may have made the array complex.
    """
    if cell is None or cell is np.ma.masked or (isinstance(cell, str | bytes) and not _is_plain(cell)):
        return np.nan
    if isinstance(cell, complex | np.complexfloating):
        return float(cell.real) if cell.imag == 0 else np.nan
    if isinstance(cell, np.ndarray) and cell.ndim:  # an array is no number, even one of a single number
        return np.nan
    try:
        return float(cell)
    except Exception:  # a cell may be anything, and say anything
        return np.nan


def to_complex(cell: Any) -> complex:
    """A cell as a complex number, NaN if it is not a number; never raises."""
    if cell is None or cell is np.ma.masked or (isinstance(cell, str | bytes) and not _is_plain(cell)):
        return complex(np.nan)
    try:
        return complex(cell)
    except Exception:
        return complex(np.nan)


def _is_plain(text: str | bytes) -> bool:
    return text.isascii() and ("_" if isinstance(text, str) else b"_") not in text  # type: ignore[operator]


def check_matrix(dtype: np.dtype[Any], shape: tuple[int, ...], owner: str) -> None:
    """Refuse what is not a matrix of numbers in at most double precision with a column.

    Two phrases are those that the estimator checks of scikit-learn look for.
    """
    if dtype.kind not in "biufc" or dtype.itemsize > (16 if dtype.kind == "c" else 8):
        raise InvalidParameter(owner, "X", "numbers of at most double precision", str(dtype))
    if len(shape) != 2:
        requirement = "of two dimensions, a row for each person (Reshape your data)"
        raise InvalidParameter(owner, "X", requirement, f"shape {shape}")
    if shape[1] == 0:
        got = f"0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is required"
        raise InvalidParameter(owner, "X", "a table with a column", got)
