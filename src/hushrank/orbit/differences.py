"""Divided differences of g -> exp(g x) in ball arithmetic: the functions that all densities of this package consist of.

Notation   exp_x[g_l, ..., g_m], the divided difference of g -> exp(g x) at the nodes g_l, ..., g_m.
Matrix     With the nodes on the diagonal of T and ones above it, it is entry (l, m) of exp(x T).
Series     For nodes g >= 0 it is a sum of positive terms, sum_i x^i / i! times the coefficient of t^i in
           t^(m-l) / ((1 - g_l t) ... (1 - g_m t)).
Ties       Neither form divides by a difference of nodes: equal and nearly equal nodes need no care.
Precision  python-flint (the extra `orbit`) keeps its working precision in one variable of the process; `working_bits`
           sets it, holds a lock meanwhile, and puts it back.
"""

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate, groupby, repeat
from operator import mul, truediv
from typing import TYPE_CHECKING

from hushrank.orbit.law import FloatArray, OrbitLaw

try:
    import flint
except ModuleNotFoundError:  # the extra `orbit` is not installed
    _AVAILABLE = False
else:
    _AVAILABLE = True

if TYPE_CHECKING:
    from flint import arb, arb_mat

_PRECISION_LOCK = threading.RLock()


def flint_is_available() -> bool:
    """Whether python-flint, the extra `orbit`, is installed."""
    return _AVAILABLE


@contextmanager
def working_bits(bits: int, terms: int = 10) -> Iterator[None]:
    """Run with this precision, and power series of this length; other threads that ask for one wait."""
    with _PRECISION_LOCK:
        before = flint.ctx.prec, flint.ctx.cap
        flint.ctx.prec, flint.ctx.cap = bits, terms
        try:
            yield
        finally:
            flint.ctx.prec, flint.ctx.cap = before


def divided_differences(nodes: "Sequence[arb]", x: "arb", orders: int = 1) -> "list[list[arb]]":
    """The functions exp_x[g_l, ..., g_n], l = 1..n, of all last parts of the nodes, and derivatives in x.

    Returns
    -------
    list of `orders` lists of n balls
        List s holds the s-th derivatives.

    Examples
    --------
    >>> from flint import arb
    >>> [[value]] = divided_differences([arb(3)], arb(0.5))
    >>> value.overlaps(arb(1.5).exp())
    True
    """
    n = len(nodes)
    T = flint.arb_mat(n, n)
    for i, node in enumerate(nodes):
        T[i, i] = node
        if i + 1 < n:
            T[i, i + 1] = 1
    exponential = (T * x).exp()
    functions = [[exponential[i, n - 1] for i in range(n)]]
    for _ in range(1, orders):  # d/dx exp(x T) = T exp(x T)
        f = functions[-1]
        functions.append([nodes[i] * f[i] + (f[i + 1] if i + 1 < n else 0) for i in range(n)])
    return functions


class PowerSeries:
    """Several truncated power series, evaluated together with about 2 sqrt(terms) multiplications in Python.

    Parameters
    ----------
    coefficients : list of count * terms balls
        One series after the other; `terms` is a square.
    count : int
    """

    def __init__(self, coefficients: "list[arb]", count: int) -> None:
        self._coefficients, self._count = coefficients, count
        self._side = math.isqrt(len(coefficients) // count)
        self._pieces = flint.arb_mat(count * self._side, self._side, coefficients)

    def at(self, x: "arb") -> "list[arb]":
        """Values at x."""
        low = list(accumulate(repeat(x, self._side), mul))  # x, ..., x^side
        high = list(accumulate(repeat(low[-1], self._side - 1), mul))
        sums = self._pieces * flint.arb_mat(self._side, 1, [flint.arb(1), *low[:-1]])
        table = flint.arb_mat(self._count, self._side, sums.entries())
        return list((table * flint.arb_mat(self._side, 1, [flint.arb(1), *high])).entries())

    def derivatives_at(self, x: "arb", order: int) -> "list[arb]":
        """Derivatives of this order at x."""
        terms = self._side**2
        column = [flint.arb(0)] * order + [
            flint.arb(math.perm(i, order)) * x ** (i - order) for i in range(order, terms)
        ]
        return list((self._matrix * flint.arb_mat(terms, 1, column)).entries())

    def combined(self, weights: "list[arb]") -> "list[arb]":
        """Coefficients of the weighted sum of the first series."""
        padded = [*weights, *[flint.arb(0)] * (self._count - len(weights))]
        return list((flint.arb_mat(1, self._count, padded) * self._matrix).entries())

    @cached_property
    def _matrix(self) -> "arb_mat":
        return flint.arb_mat(self._count, self._side**2, self._coefficients)


class DifferenceSeries:
    """Power series in x, on 0 <= x <= top, of exp_x[g_l, ..., g_m] for l = 1..min(k, m) and every m.

    To be made and used within `working_bits(bits, terms)`, with `terms` from `series_terms`.

    Parameters
    ----------
    nodes : list of d balls
        In falling order, the last one zero.
    rank : int
        k.
    top : ball
    """

    def __init__(self, nodes: "list[arb]", rank: int, top: "arb") -> None:
        self._rank, self._terms = rank, flint.ctx.cap
        self._shift = flint.arb_series([0, 1])
        factors = [flint.arb_series([1, -node]) for node in nodes]
        self._first = factors[:rank]
        self._chain = [1 / factors[rank - 1]]  # entry m - k: t^(m-k) / ((1 - g_k t) ... (1 - g_m t))
        for factor in factors[rank:]:
            self._chain.append(self._shift * self._chain[-1] / factor)
        # For n nodes, the coefficient of x^(i+1) / (i+1)! is at most g_1 (i+1) / (i-n+2) times that of x^i / i!. So the
        # last term kept and all after it sum to that one times 1 / (1 - ratio) at most, also after k derivatives.
        last = self._terms - 1
        ratio = nodes[0] * top * (last + 1) / ((last - len(nodes) + 2) * (last + 1 - rank))
        self._tail = flint.arb(1).union(1 / (1 - ratio)) if ratio < 1 else flint.arb("nan")
        self._scales = list(accumulate(range(1, self._terms), truediv, initial=flint.arb(1)))  # 1 / i!
        self._scales[-1] *= self._tail

    def functions(self, m: int) -> PowerSeries:
        """The series for l = 1..min(k, m); the last coefficient stands for all that follow."""
        if m >= self._rank:
            rows = [self._chain[m - self._rank]]
        else:
            rows = [1 / self._first[m - 1]]
        for factor in reversed(self._first[: min(self._rank, m) - 1]):
            rows.append(self._shift * rows[-1] / factor)
        coefficients = []
        for row in reversed(rows):
            values = row.coeffs()
            coefficients += [value * scale for value, scale in zip(values, self._scales, strict=False)]
            coefficients += [flint.arb(0)] * (self._terms - len(values))
        return PowerSeries(coefficients, len(rows))


def series_terms(spread: float, nodes: int, bits: int) -> int:
    """A square number of terms with which the series of d `nodes` have about `bits` bits, if x g_1 <= spread.

    The j-th term is spread^j / j! times a falling factor, so the share of the terms from j on is at most that of a
    Poisson variable of mean `spread`.

    Examples
    --------
    >>> series_terms(100.0, 50, 200)
    361
    """
    terms = 1.0 + spread
    while terms * math.log(max(spread, 1e-300)) - math.lgamma(terms + 1) - spread > -bits * math.log(2):
        terms *= 1.02
    return (1 + math.isqrt(nodes + 2 + math.ceil(terms))) ** 2


def spread_of(law: OrbitLaw) -> float:
    """levels_1 (tilts_1 - tilts_d), without a warning where it overflows."""
    return float(law.levels[0]) * (float(law.tilts[0]) - float(law.tilts[-1]))


def multiplicities(values: FloatArray | Sequence[float]) -> list[tuple[float, int]]:
    """Runs of equal entries, as pairs of entry and length.

    Examples
    --------
    >>> multiplicities([3.0, 1.0, 1.0])
    [(3.0, 1), (1.0, 2)]
    """
    return [(float(value), len(list(run))) for value, run in groupby(values)]
