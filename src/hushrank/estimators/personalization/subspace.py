"""What is known of the users' coefficients at some point of a fit: a subspace and a prior of heads in it."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushrank.estimators.personalization.gradient_kernels import Tangent
from hushrank.estimators.personalization.head_kernels import HeadModel
from hushrank.linalg.spectral import eigenbasis
from hushrank.linalg.threads import one_blas_thread

FloatArray = NDArray[np.float64]

_SMALLEST_ROOT = 1e-9  # of a covariance, as a fraction of its trace
_SMALLEST_VALUE = 1e-150  # of which there is a power


@dataclass(frozen=True, slots=True, eq=False)
class Subspace:
    """A subspace in whitened coordinates, where a user's coefficients are U v with v ~ N(0, S).

    Attributes
    ----------
    whitening : ndarray of shape (d, d)
        W, symmetric: whitened records are W x.
    U : ndarray of shape (d, k)
        Orthonormal columns.
    S : ndarray of shape (k, k)
        Prior covariance of heads.
    noise : float
        Variance of the noise of an answer; 1 for labels.
    is_logistic : bool
    """

    whitening: FloatArray
    U: FloatArray
    S: FloatArray
    noise: float
    is_logistic: bool

    @property
    def head_model(self) -> HeadModel:
        """What users fit their records with, in the coordinates of the records."""
        with one_blas_thread():
            subspace = np.ascontiguousarray((self.whitening @ self.U).T)
        return HeadModel(subspace, np.zeros(len(self.S)), power(self.S, -1.0), self.noise, self.is_logistic)

    @property
    def tangent(self) -> Tangent:
        """Where gradients live."""
        with one_blas_thread():
            projection = self.whitening - (self.whitening @ self.U) @ self.U.T
        return Tangent(power(self.S, -0.5), np.ascontiguousarray(projection))


def power(S: FloatArray, exponent: float) -> FloatArray:
    """A power of a covariance, of which no eigenvalue counts as smaller than a billionth of the trace."""
    values, Q = eigenbasis((S + S.T) / 2)
    kept = np.maximum(values, max(_SMALLEST_ROOT * float(np.trace(S)), _SMALLEST_VALUE)).tolist()
    # One by one: powers of arrays differ in their last bits between processors, and contributions are made with these.
    raised: FloatArray = (Q * [math.pow(value, exponent) for value in kept]) @ Q.T
    return (raised + raised.T) / 2


def clamp(S: FloatArray, low: float, high: float) -> FloatArray:
    """The symmetric matrix with its eigenvalues brought between two numbers."""
    values, Q = eigenbasis((S + S.T) / 2)
    clamped: FloatArray = (Q * np.clip(values, low, high)) @ Q.T
    return (clamped + clamped.T) / 2


def turn(state: Subspace, D: FloatArray) -> tuple[FloatArray, FloatArray]:
    """U and S after a step D in the tangent space, by at most 45 degrees in every direction."""
    with one_blas_thread():
        left, sizes, right = np.linalg.svd(D, full_matrices=False)
        U, R = orthonormalize(state.U + (left * np.minimum(sizes, 1.0)) @ right)
        return U, R @ state.S @ R.T


def orthonormalize(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Q and R of A = Q R with a positive diagonal of R, so that signs do not depend on LAPACK."""
    Q, R = np.linalg.qr(A)
    signs = np.where(np.diag(R) < 0.0, -1.0, 1.0)
    return np.ascontiguousarray(Q * signs), signs[:, np.newaxis] * R


def principal_angles_error(U: FloatArray, truth: FloatArray) -> float:
    """Root mean squared sine of the angles between two subspaces given by orthonormal columns."""
    rest = truth - U @ (U.T @ truth)
    return float(np.linalg.norm(rest)) / math.sqrt(truth.shape[1])
