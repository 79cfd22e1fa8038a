"""References for the orbit samplers: Haar importance sampling and tests of means and of laws."""

import numpy as np
from scipy import stats

from hushrank.orbit.law import OrbitLaw


def power_law(d, concentration, levels, is_complex=True):
    """Tilts concentration / i."""
    return OrbitLaw(concentration / np.arange(1, d + 1), levels, is_complex)


def diagonal(factor):
    """Diagonal of H = factor factor^*."""
    return (np.abs(factor) ** 2).sum(axis=1)


def hotelling_p_value(diagonals, mean):
    """P-value of E diag(H) = mean; the trace is fixed, so the last entry is left out."""
    sample = np.asarray(diagonals)[:, :-1]
    n, q = sample.shape
    error = sample.mean(axis=0) - np.asarray(mean)[:-1]
    squared = n * error @ np.linalg.solve(np.cov(sample.T).reshape(q, q), error)
    return stats.f.sf(squared * (n - q) / (q * (n - 1)), q, n - q)


def ks_p_value(one, other):
    """Two-sample Kolmogorov-Smirnov p-value."""
    return stats.ks_2samp(one, other, method="asymp").pvalue


def statistics(H):
    """H_ii, H_ii^2, H_11 H_22, |H_12|^2 and |H_13|^2 of a stack of matrices: moments up to the second, with phases."""
    diagonals = np.einsum("nii->ni", H).real
    off = np.abs(H[:, 0, 1:3]) ** 2
    return np.hstack([diagonals, diagonals**2, diagonals[:, :1] * diagonals[:, 1:2], off])


def haar_bases(n, d, is_complex, rng):
    """Haar orthogonal or unitary matrices."""
    Z = rng.standard_normal((n, d, d)) + (1j * rng.standard_normal((n, d, d)) if is_complex else 0)
    Q, R = np.linalg.qr(Z)
    signs = np.einsum("nii->ni", R)
    return Q * (signs / np.abs(signs))[:, np.newaxis, :]


def haar_moments(law, n, rng):
    """Self-normalized estimates of E statistics(H), and their standard errors, by importance sampling from Haar."""
    U = haar_bases(n, law.dimension, law.is_complex, rng)[:, :, : law.rank]
    H = (U * law.levels) @ np.conj(np.swapaxes(U, 1, 2))
    values = statistics(H)
    scores = np.einsum("nii->ni", H).real @ law.tilts
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    means = weights @ values
    return means, np.sqrt((weights**2) @ (values - means) ** 2)


def moments_p_value(factors, means, errors):
    """P-value of the largest standardized difference from reference moments (Bonferroni)."""
    stack = np.asarray(factors)
    values = statistics(stack @ np.conj(np.swapaxes(stack, 1, 2)))
    deviation = np.sqrt(values.var(axis=0) / len(values) + errors**2)
    z = np.abs(values.mean(axis=0) - means) / np.maximum(deviation, 1e-300)
    return min(1.0, len(means) * 2 * stats.norm.sf(z.max()))
