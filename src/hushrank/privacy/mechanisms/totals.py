"""What every release checks before it draws noise: the secret total's schema (never its values), and the event."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Event, Gaussian, Pure
from hushrank.privacy.parameters import check_integer

Integers = NDArray[np.int64]

DEFAULT_N_MAX = 1 << 26


def check_total(total: Any, owner: str, *, ndim: int | None = None, name: str = "total") -> Integers:
    """Return `total` as a contiguous int64 array; refuse floats and integers outside the int64 lattice."""
    array = np.asarray(total)
    if array.dtype.kind not in "iu" or (
        array.dtype == np.uint64 and array.size and array.max() > np.iinfo(np.int64).max
    ):
        raise InvalidParameter(owner, name, "an array of lattice integers (int64)", _describe(array))
    if ndim is not None and array.ndim != ndim:
        raise InvalidParameter(owner, name, f"an array with {ndim} dimension(s)", _describe(array))
    return np.ascontiguousarray(array, np.int64)


def check_square_total(total: Any, owner: str, *, name: str = "total") -> Integers:
    """Return `total` as a contiguous square int64 matrix."""
    array = check_total(total, owner, ndim=2, name=name)
    if array.shape[0] != array.shape[1] or not array.size:
        raise InvalidParameter(owner, name, "a square matrix", _describe(array))
    return array


def check_gaussian_or_pure(event: Event, owner: str) -> Gaussian | Pure:
    """Return the event if Gaussian or additive pure noise can execute it."""
    # Additive noise has privacy loss in [-epsilon, epsilon], twice the range of a bounded-range mechanism.
    if isinstance(event, Gaussian) or (isinstance(event, Pure) and not event.bounded_range):
        return event
    raise InvalidParameter(owner, "event", "Gaussian(noise_multiplier) or Pure(epsilon)", event)


def lattice_bits(n_max: int, owner: str, *, most: int, powers: int) -> int:
    """Largest b <= most for which n_max contributions of size 2^(powers b) stay within 2^62."""
    limit = check_integer(n_max, "n_max", owner, minimum=1, maximum=1 << 60)
    return min(most, (62 - (limit - 1).bit_length()) // powers)


def _describe(array: NDArray[Any]) -> str:
    return f"{array.dtype} array of shape {array.shape}"
