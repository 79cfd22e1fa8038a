"""Floating-point draws for samplers on continuous spaces (numerics "idealized", docs/limits.md).

The mechanisms that release sums of data do not use these: they round exact deviates together with the data.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.privacy.noise.deviates import draw
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import Law, exponential_law, normal_law

Floats = NDArray[np.float64]


def uniforms(shape: int | tuple[int, ...], stream: Keystream) -> Floats:
    """Uniform numbers inside (0, 1): midpoints of 2^52 equal cells, so that neither a logarithm nor 1 - u fails."""
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    cells = (stream.words(size) >> np.uint64(12)).astype(np.float64)
    return ((2.0 * cells + 1.0) * 2.0**-53).reshape(shape)


def phases(shape: int | tuple[int, ...], stream: Keystream) -> NDArray[np.complex128]:
    """Uniform points of the complex unit circle."""
    angle = 2.0 * np.pi * uniforms(shape, stream)
    return np.cos(angle) + 1j * np.sin(angle)


def normals(shape: int | tuple[int, ...], stream: Keystream) -> Floats:
    """Standard normals: exact deviates rounded to float64."""
    return _floats(normal_law(), shape, stream, signed=True)


def exponentials(shape: int | tuple[int, ...], stream: Keystream) -> Floats:
    """Exponential deviates of mean 1, never zero: exact deviates rounded to float64."""
    return _floats(exponential_law(), shape, stream, signed=False)


def laplaces(shape: int | tuple[int, ...], stream: Keystream) -> Floats:
    """Laplace deviates of scale 1: exact deviates rounded to float64."""
    return _floats(exponential_law(), shape, stream, signed=True)


def _floats(law: Law, shape: int | tuple[int, ...], stream: Keystream, *, signed: bool) -> Floats:
    size = math.prod(shape) if isinstance(shape, tuple) else shape
    values, rare = draw(law, size, stream, signed=signed)
    out = (values.astype(np.float64) + 0.5) * 2.0**-law.bits
    for r in rare:
        out[r.index] = (r.value + 0.5) * 2.0**-law.bits
    return out.reshape(shape)
