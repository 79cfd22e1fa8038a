"""Made-up records of trace regression: answers that are inner products with a matrix of low rank, plus noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from hushrank.evaluation.turnstile_matrices import seeded_stream
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer
from hushrank.privacy.noise.continuous import uniforms
from hushrank.privacy.noise.keystream import Keystream

FloatArray = NDArray[np.float64]
Pair = tuple[NDArray[Any], NDArray[Any]]

DESIGNS = ("dense", "rank_one", "entry")
DISTRIBUTIONS = ("gaussian", "t5", "sign")
NOISE_LAWS = ("gaussian", "t3")

_CHUNK_VALUES = 1 << 21
_T3_FACTOR = float(ndtri(0.75) / stdtrit(3, 0.75))  # gives Student's law the median absolute value of the normal one


@dataclass(frozen=True)
class TraceRecords:
    """Records y_i = <X_i, coef> + noise, one a person.

    Attributes
    ----------
    X : ndarray or pair of ndarrays
        "dense": matrices, of shape (n_records, d1, d2). "rank_one": (x, z) of shapes (n_records, d1) and
        (n_records, d2), for X_i = x_i z_i^T. "entry": (rows, columns), integers of shape (n_records,), for
        X_i = e_row e_column^T.
    y : ndarray of shape (n_records,)
    coef : ndarray of shape (d1, d2)
        The truth. For "entry" it is the matrix of expected answers, sqrt(d1 d2) times one of the singular values that
        were asked for, so that answers are as large as in the other designs.
    design : str
    noise : float
        Standard deviation of noise of a normal law. Student's has the same median absolute value.
    covariance : pair of ndarrays, or ndarray of shape (d1, d2)
        Factors (A, B) with E[X_ab X_cd] = A_ac B_bd; for "entry" they hold the chances of rows and columns on their
        diagonals. With `diagonal`, the variances of the entries, which are independent.
    """

    X: NDArray[Any] | Pair
    y: NDArray[np.floating]
    coef: FloatArray
    design: str
    noise: float
    covariance: tuple[FloatArray, FloatArray] | FloatArray

    def relative_error(self, coef: NDArray[np.floating]) -> float:
        """Frobenius norm of the error over that of the truth."""
        return float(np.linalg.norm(np.asarray(coef, np.float64) - self.coef) / np.linalg.norm(self.coef))


def trace_records(
    n_records: int,
    shape: tuple[int, int],
    rank: int,
    *,
    seed: int,
    design: str = "dense",
    noise: float = 0.5,
    singular_values: Any = None,
    condition: float = 1.0,
    diagonal: bool = False,
    distribution: str = "gaussian",
    noise_law: str = "gaussian",
    popularity: float = 0.0,
    dtype: type[np.floating] = np.float64,
) -> TraceRecords:
    """Records of a matrix with random singular vectors.

    The truth depends on the seed, the shape and its own parameters, and on no other: neither on the number of records
    nor on their laws.

    Parameters
    ----------
    n_records : int
    shape : pair of int
    rank : int
    seed : int
    design : {"dense", "rank_one", "entry"}
        What X is, as in `TraceRecords`.
    noise : float
        Standard deviation of normal noise.
    singular_values : sequence of float, optional
        By default they fall evenly from 2 to 1.
    condition : float
        Largest over smallest variance of X along its axes, geometric between and of geometric mean 1. The covariance
        is a Kronecker product of random factors, with sqrt(condition) each. Not for "entry".
    diagonal : bool
        Whether entries are independent instead, with such variances in random places. For "dense" alone.
    distribution : {"gaussian", "t5", "sign"}
        Law of entries of X, or of x and z, before they are stretched: normal, Student's with 5 degrees of freedom
        scaled to variance 1, or signs. Of no use for "entry".
    noise_law : {"gaussian", "t3"}
        Normal, or Student's with 3 degrees of freedom, scaled so that its median absolute value is that of the normal
        law of deviation `noise`. Its own deviation is 1.53 times that.
    popularity : float
        For "entry": the chance of the k-th row, in random order, is proportional to k^-popularity; so for columns.
    dtype : numpy.float64 or numpy.float32
        Of X and y. Dense X are made in chunks, so that little more than X itself has to fit into memory.

    Examples
    --------
    >>> data = trace_records(1000, (6, 5), 2, seed=0)
    >>> data.X.shape, data.y.shape, np.linalg.svd(data.coef)[1].round(6)
    ((1000, 6, 5), (1000,), array([2., 1., 0., 0., 0.]))
    >>> data.relative_error(np.zeros((6, 5)))
    1.0
    """
    _check_options(n_records, shape, rank, design, condition, diagonal, distribution, noise_law, popularity)
    coef = _truth(shape, rank, singular_values, seed)
    stream = seeded_stream("trace records", seed)
    covariance: tuple[FloatArray, FloatArray] | FloatArray
    X: NDArray[Any] | Pair
    if design == "entry":
        coef = np.sqrt(coef.size) * coef
        rows, columns = (_popular(size, popularity, stream) for size in shape)
        covariance = np.diag(rows), np.diag(columns)
        X = _choose(rows, n_records, stream), _choose(columns, n_records, stream)
        means = coef[X]
    else:
        covariance = _variances(shape, condition, stream) if diagonal else _factors(shape, condition, stream)
        make = _dense if design == "dense" else _rank_one
        X, means = make(n_records, coef, covariance, distribution, stream, dtype)
    errors = _NOISE[noise_law](n_records, seeded_stream("trace noise", seed))
    return TraceRecords(X, (means + noise * errors).astype(dtype), coef, design, noise, covariance)


def _check_options(
    n_records: int,
    shape: tuple[int, int],
    rank: int,
    design: str,
    condition: float,
    diagonal: bool,
    distribution: str,
    noise_law: str,
    popularity: float,
) -> None:
    owner = "trace_records"
    check_integer(n_records, "n_records", owner, minimum=1)
    check_integer(rank, "rank", owner, minimum=1, maximum=min(shape))
    listed = (("design", design, DESIGNS), ("distribution", distribution, DISTRIBUTIONS))
    for name, word, words in (*listed, ("noise_law", noise_law, NOISE_LAWS)):
        if word not in words:
            raise InvalidParameter(owner, name, "one of " + ", ".join(map(repr, words)), word)
    if condition < 1.0 or (condition > 1.0 and design == "entry"):
        raise InvalidParameter(owner, "condition", "a float >= 1, and 1 for entries", condition)
    if diagonal and design != "dense":
        raise InvalidParameter(owner, "diagonal", "False but for dense X", diagonal)
    if popularity and design != "entry":
        raise InvalidParameter(owner, "popularity", "0 but for entries", popularity)


def _truth(shape: tuple[int, int], rank: int, singular_values: Any, seed: int) -> FloatArray:
    stream = seeded_stream("trace truth", seed)
    values = np.linspace(2.0, 1.0, rank) if singular_values is None else np.asarray(singular_values, np.float64)
    if values.shape != (rank,):
        raise InvalidParameter("trace_records", "singular_values", f"{rank} numbers", singular_values)
    U, V = (_orthonormal(size, rank, stream) for size in shape)
    return np.asarray((U * values) @ V.T)


def _orthonormal(n_rows: int, n_columns: int, stream: Keystream) -> FloatArray:
    """Orthonormal columns of the Haar law, for which R must have a positive diagonal."""
    Q, R = np.linalg.qr(_normals((n_rows, n_columns), stream))
    return np.asarray(Q * np.sign(np.diag(R)))


def _geometric(size: int, condition: float) -> FloatArray:
    """Numbers of geometric mean 1 from sqrt(condition) down to its inverse."""
    return np.geomspace(condition**0.5, condition**-0.5, size) if size > 1 else np.ones(1)


def _factors(shape: tuple[int, int], condition: float, stream: Keystream) -> tuple[FloatArray, FloatArray]:
    if condition == 1.0:
        return np.eye(shape[0]), np.eye(shape[1])
    axes = [_orthonormal(size, size, stream) for size in shape]
    A, B = ((Q * _geometric(len(Q), condition**0.5)) @ Q.T for Q in axes)
    return A, B


def _variances(shape: tuple[int, int], condition: float, stream: Keystream) -> FloatArray:
    places = np.argsort(uniforms(shape[0] * shape[1], stream))
    return _geometric(len(places), condition)[places].reshape(shape)


def _dense(
    n: int, coef: FloatArray, covariance: Any, distribution: str, stream: Keystream, dtype: type[np.floating]
) -> tuple[NDArray[Any], FloatArray]:
    """X of shape (n, d1, d2) and the expected answers, chunk by chunk."""
    X, means = np.empty((n, *coef.shape), dtype), np.empty(n)
    roots = [_root(factor) for factor in covariance] if isinstance(covariance, tuple) else []
    step = max(_CHUNK_VALUES // coef.size, 1)
    for start in range(0, n, step):
        part = slice(start, min(start + step, n))
        G = _DRAWS[distribution]((part.stop - start, *coef.shape), stream)
        if not roots:
            G *= np.sqrt(covariance)
        elif not _is_identity(covariance):
            G = roots[0] @ (G.reshape(-1, coef.shape[1]) @ roots[1]).reshape(G.shape)
        X[part], means[part] = G, G.reshape(len(G), -1) @ coef.ravel()
    return X, means


def _rank_one(
    n: int, coef: FloatArray, covariance: Any, distribution: str, stream: Keystream, dtype: type[np.floating]
) -> tuple[Pair, FloatArray]:
    x, z = (_DRAWS[distribution]((n, len(factor)), stream) for factor in covariance)
    if not _is_identity(covariance):
        x, z = x @ _root(covariance[0]), z @ _root(covariance[1])
    means = np.einsum("ij,ij->i", x @ coef, z)
    return (x.astype(dtype), z.astype(dtype)), means


def _is_identity(covariance: tuple[FloatArray, FloatArray]) -> bool:
    return all(np.array_equal(factor, np.eye(len(factor))) for factor in covariance)


def _root(covariance: FloatArray) -> FloatArray:
    values, axes = np.linalg.eigh(covariance)
    return np.asarray((axes * np.sqrt(values)) @ axes.T)


def _popular(size: int, popularity: float, stream: Keystream) -> FloatArray:
    """Chances that fall with a power law, in random order."""
    weights = (1.0 + np.argsort(uniforms(size, stream))) ** -popularity
    return np.asarray(weights / weights.sum())


def _choose(chances: FloatArray, n: int, stream: Keystream) -> NDArray[np.int64]:
    ends = np.cumsum(chances)
    places: NDArray[np.int64] = np.searchsorted(ends, uniforms(n, stream) * ends[-1], side="right").astype(np.int64)
    return np.asarray(np.minimum(places, len(chances) - 1))


def _normals(shape: int | tuple[int, ...], stream: Keystream) -> FloatArray:
    """Standard normals by inversion: three times as fast as exact deviates, which made-up data need not."""
    return np.asarray(ndtri(uniforms(shape, stream)))


def _t3(n: int, stream: Keystream) -> FloatArray:
    """Student's law with 3 degrees of freedom: a chi-square of 3 is a square and twice an exponential."""
    squares = _normals(n, stream) ** 2 - 2.0 * np.log(uniforms(n, stream))
    return np.asarray(_T3_FACTOR * _normals(n, stream) / np.sqrt(squares / 3.0))


def _t5(shape: tuple[int, ...], stream: Keystream) -> FloatArray:
    """Student's law with 5 degrees of freedom over its deviation: Z / sqrt(chi2 / 5) / sqrt(5 / 3)."""
    squares = _normals(shape, stream) ** 2 - 2.0 * np.log(uniforms(shape, stream) * uniforms(shape, stream))
    return np.asarray(_normals(shape, stream) / np.sqrt(squares / 3.0))


def _signs(shape: tuple[int, ...], stream: Keystream) -> FloatArray:
    return np.where(uniforms(shape, stream) < 0.5, -1.0, 1.0)


_DRAWS = {"gaussian": _normals, "t5": _t5, "sign": _signs}
_NOISE = {"gaussian": _normals, "t3": _t3}
