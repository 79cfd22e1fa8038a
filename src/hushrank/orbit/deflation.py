"""Directions drawn one after the other, each exactly, from what the earlier ones leave.

Law        x_1 on the unit sphere with density exp(rate x^* M x); then M is compressed to the complement of x_1, and so
           on. Each direction is an exponential mechanism of its own: k of them at epsilon / k cost epsilon.
Why        a rank-1 draw needs about sqrt(d) proposals for every M, so there is no matrix for which this is slow.
           The joint draw of all directions is more accurate at equal epsilon (docs/guide/orbit.md).
"""

import numpy as np

from hushrank.linalg.spectral import Matrix, fix_signs
from hushrank.linalg.threads import one_blas_thread
from hushrank.orbit.sphere import draw_vector
from hushrank.privacy.noise.keystream import Keystream


def draw_directions(M: Matrix, rank: int, rate: float, stream: Keystream, *, is_complex: bool) -> Matrix:
    """Orthonormal rows v_1, ..., v_rank, in the order of their draws; the directions are the columns v^T.

    Parameters
    ----------
    M : ndarray of shape (d, d)
        Symmetric or Hermitian.
    rank : int
        At most d.
    rate : float
        Of every draw.
    stream : Keystream
    is_complex : bool
        Whether directions are complex; a Hermitian M needs complex ones.
    """
    d = len(M)
    directions = np.zeros((rank, d), np.complex128 if is_complex else np.float64)
    reflectors: list[Matrix] = []
    compressed = M
    with one_blas_thread():  # the bits do not depend on the number of threads
        for j in range(rank):
            values, vectors = np.linalg.eigh(compressed)
            x = draw_vector(rate * (values[-1] - values), is_complex, stream, limit=None)[0]
            x = vectors @ x
            directions[j, j:] = x
            for step in reversed(range(j)):
                _reflect(directions[j, step:], reflectors[step])
            reflectors.append(_reflector(x))
            compressed = _compress(compressed, reflectors[j])
    return fix_signs(directions)


def _reflector(x: Matrix) -> Matrix:
    """Unit w such that I - 2 w w^* maps e_1 to a multiple of the unit vector x, without cancellation.

    A sign or phase of x turns w and leaves w w^* as it is: the reflection is a function of x x^* alone.
    """
    phase = x[0] / abs(x[0]) if x[0] != 0 else 1.0
    w = x.copy()
    w[0] += phase
    unit: Matrix = w / np.linalg.norm(w)
    return unit


def _reflect(x: Matrix, w: Matrix) -> None:
    """x <- (I - 2 w w^*) x, in place."""
    x -= 2 * np.vdot(w, x) * w


def _compress(A: Matrix, w: Matrix) -> Matrix:
    """(I - 2 w w^*) A (I - 2 w w^*) without its first row and column."""
    Aw = A @ w
    v = Aw - np.vdot(w, Aw) * w
    product = np.outer(v, w.conj())
    compressed: Matrix = (A - 2 * (product + product.conj().T))[1:, 1:]
    return compressed
