"""What the bounds take: spectra in falling order, and the neighboring relation by its name."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer, check_real

FloatArray = NDArray[np.float64]
Numbers = Sequence[float] | FloatArray

_CHANGES = {"replace": 2.0, "add_remove": 1.0}


def check_falling(values: Numbers, name: str, owner: str, *, above: float | None = None) -> FloatArray:
    """Return finite numbers >= 0, or > `above`, in falling order, or raise InvalidParameter."""
    check_integer(len(values), f"length of {name}", owner, minimum=1)
    minimum = 0 if above is None else None
    checked = [check_real(value, name, owner, above=above, minimum=minimum) for value in values]
    return np.sort(np.array(checked))[::-1]


def count_changed_rows(neighbors: str, owner: str) -> float:
    """How many rows come or go between neighbors: a replacement is a removal and an addition.

    It multiplies the sensitivity of the eigenvalues and divides the rate of a draw. This room knows the relation by its
    name only; a `hushrank.privacy.guarantee.Neighbors` is one.

    Examples
    --------
    >>> count_changed_rows("replace", "expected_pca_loss")
    2.0
    """
    if not isinstance(neighbors, str) or neighbors not in _CHANGES:
        raise InvalidParameter(owner, "neighbors", "one of " + ", ".join(map(repr, _CHANGES)), neighbors)
    return _CHANGES[neighbors]
