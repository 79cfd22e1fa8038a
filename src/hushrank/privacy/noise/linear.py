"""Linear forms of exact deviates, rounded exactly together with integer data.

    R_ij = floor(sum_k L_ik z_jk + 1/2) + offset_ij

for a public float64 matrix L, taken at its exact binary value, and rows z_j of deviates. Any Gaussian noise L Z with a
public factor is of this form, and so is a Laplace deviate with an arbitrary scale.
"""

import math

import numpy as np
from numpy.typing import NDArray

from hushrank.privacy.noise.deviates import Integers, wrap_int64
from hushrank.privacy.noise.extensible import ExtensibleDeviates
from hushrank.privacy.noise.guard import check_products, product

Floats = NDArray[np.float64]

MAX_COEFFICIENT = 2.0**51  # keeps float64 values and their rounding inside int64


def round_linear(L: Floats, Z: ExtensibleDeviates, offset: Integers) -> Integers:
    """Return the (rows of L) x (rows of Z) integer matrix R above; sums wrap modulo 2^64."""
    check_products()
    L = np.asarray(L, np.float64)
    if L.ndim != 2 or L.shape[1] != Z.shape[1] or not np.isfinite(L).all() or np.abs(L).max() > MAX_COEFFICIENT:
        raise ValueError("L must be a finite matrix with one column per deviate of a row, entries at most 2^51")
    z = Z.floats()
    y, roundings = product(L, z)
    y += 0.5
    # `roundings` of the sum, 1 for the conversion of z, 1 for the half, 2 spare; then the truncation of z (Lemma 4).
    norms = np.linalg.norm(L, axis=1)[:, None] * np.linalg.norm(z, axis=1)
    bound = 1.01 * ((roundings + 4) * 2.0**-53 * norms + 2.0**-Z.bits * np.abs(L).sum(axis=1)[:, None] + 2.0**-50)
    whole = np.floor(y)
    rest = y - whole
    R = whole.astype(np.int64) + offset
    open_entries = (rest <= bound) | (rest >= 1 - bound)
    open_entries[:, sorted(Z.wide_rows)] = True
    for i, j in np.argwhere(open_entries).tolist():
        R[i, j] = wrap_int64(exact_entry(L[i].tolist(), Z, j) + int(offset[i, j]))
    return R


def exact_entry(coefficients: list[float], Z: ExtensibleDeviates, j: int) -> int:
    """floor(sum_k L_k z_jk + 1/2) with as many further digits as it takes. Ends with probability one."""
    exact = [float(c).as_integer_ratio() for c in coefficients]
    common = math.lcm(*(denominator for _, denominator in exact))
    weights = [numerator * (common // denominator) for numerator, denominator in exact]
    slack = sum(abs(w) for w in weights)
    depth = 0
    while True:
        unit = 1 << (Z.bits + 1 + 64 * depth)  # midpoints are within one unit of unit * z
        total = 2 * sum(w * x for w, x in zip(weights, Z.row(j, depth), strict=True)) + common * unit
        low, high = ((total + s) // (2 * common * unit) for s in (-2 * slack, 2 * slack))
        if low == high:
            return low
        depth += 1
