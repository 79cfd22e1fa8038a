"""What a given covariance of measurements means: coordinates where it has factors, weights of records where not."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from hushrank.estimators.trace.coordinates import Whitening, isotropic
from hushrank.estimators.trace.designs import Precision
from hushrank.estimators.trace.parameters import GIVEN
from hushrank.estimators.trace.whitening import inverse_root
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.quantize import FloatArray

_NAME = "design_covariance"


def read_covariance(value: Any, design: str, shape: tuple[int, int], owner: str) -> tuple[Whitening | None, Precision]:
    """Coordinates (None where they are learned) and weights for a value of the parameter that passed its check."""
    if isinstance(value, str):
        if value == GIVEN:
            raise InvalidParameter(owner, _NAME, "given again, because model files do not hold it", value)
        return (None if value == "private" else isotropic(shape)), None
    if callable(value):
        return isotropic(shape), _check_function(value, design, shape, owner)
    if isinstance(value, np.ndarray):
        return isotropic(shape), _weights(value, design, shape, owner)
    parts = [np.asarray(part, np.float64) for part in value]
    if tuple(len(part) for part in parts) != shape:
        got = f"covariances of {len(parts[0])} and {len(parts[1])}"
        raise InvalidParameter(owner, _NAME, f"covariances of {shape[0]} rows and {shape[1]} columns", got)
    if design == "entry":
        if any(part.ndim != 1 for part in parts):
            requirement = "two vectors for design 'entry': how often each row and each column is seen"
            raise InvalidParameter(owner, _NAME, requirement, "a matrix")
        parts = [part / part.mean() for part in parts]
    return Whitening(*(_root(part) for part in parts)), None


def _root(part: FloatArray) -> FloatArray:
    return inverse_root(part) if part.ndim == 2 else np.array([[1.0 / math.sqrt(number) for number in part.tolist()]])


def _weights(variances: Any, design: str, shape: tuple[int, int], owner: str) -> FloatArray:
    """One over the variance of each entry; for entries, over how often each is seen, the mean being 1."""
    if design == "rank_one":
        requirement = "a pair of covariances, of x and of z, for design 'rank_one'"
        raise InvalidParameter(owner, _NAME, requirement, "an array of variances")
    numbers = np.asarray(variances, np.float64)
    if numbers.shape != shape:
        raise InvalidParameter(owner, _NAME, f"variances of shape {shape}", f"an array of shape {numbers.shape}")
    return 1.0 / (numbers / numbers.mean() if design == "entry" else numbers)


def _check_function(function: Callable[..., Any], design: str, shape: tuple[int, int], owner: str) -> Precision:
    """The function, if it makes of a measurement of zeros something of the right shape."""
    if design == "entry":
        requirement = "two vectors or an array for design 'entry'"
        raise InvalidParameter(owner, _NAME, requirement, "a function")
    parts = (np.zeros(shape),) if design == "dense" else (np.zeros(shape[0]), np.zeros(shape[1]))
    try:
        made = function(*parts)
        made = (made,) if design == "dense" else tuple(made)
        shapes: Any = [np.asarray(part, np.float64).shape for part in made]
    except Exception as error:  # a function of somebody else's making may raise anything
        shapes = type(error).__name__
    if shapes != [part.shape for part in parts]:
        wanted = f"one measurement of shape {shape}" if design == "dense" else "x and z, which returns both"
        raise InvalidParameter(owner, _NAME, f"a function of {wanted}, of unchanged shape", shapes)
    return function
