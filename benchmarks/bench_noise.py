"""Exact deviates against floating-point ones and, where it is installed, OpenDP's exact noise: millions a second."""

from measure import Call, median_seconds, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from hushrank.privacy.noise.deviates import add_laplace, add_normals, draw
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import exponential_law, normal_law

TITLE = "Exact noise against floating-point noise"
SIZES = (10, 13, 16, 20, 23)
REFERENCE = "PCG64 float64 normals"


def calls_for(n: int) -> dict[str, Call]:
    """One call per kind of noise, `n` draws each."""
    stream, rng = Keystream(), np.random.default_rng()
    total, floats = np.zeros(n, np.int64), np.empty(n)
    return {
        REFERENCE: lambda: rng.standard_normal(out=floats),
        "PCG64 float64 Laplace": lambda: rng.laplace(size=n),
        "exact normals, added in place": lambda: add_normals(total, 30, stream),
        "exact normals, 55 bits, new array": lambda: draw(normal_law(), n, stream),
        "exact Laplace, added in place": lambda: add_laplace(total, 30, stream),
        "exact exponentials, 54 bits, new array": lambda: draw(exponential_law(), n, stream, signed=False),
    }


def repeated(call: Call, times: int) -> Call:
    """The call, several times over: short ones cannot be timed alone."""
    return lambda: [call() for _ in range(times)]


def opendp_rates() -> dict[str, str]:
    """Millions a second of OpenDP's exact vector noise, at the size it finishes in reasonable time."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return {}
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    space_l1 = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l1_distance(T=float)
    data, n = [0.0] * 10_000, 10_000
    mechanisms = {
        "OpenDP Gaussian (exact), vectors of 10^4": dp.m.make_gaussian(*space, scale=1.0),
        "OpenDP Laplace (exact), vectors of 10^4": dp.m.make_laplace(*space_l1, scale=1.0),
    }
    seconds = median_seconds({name: lambda m=m: m(data) for name, m in mechanisms.items()}, 3)
    return {name: f"{n / taken / 1e6:.3f}" for name, taken in seconds.items()}


def run() -> list[str]:
    """Measure every size and return Markdown lines."""
    rates: dict[str, list[float]] = {}
    for exponent in SIZES:
        n = 1 << exponent
        times = max(1, (1 << 20) // n)
        calls = {name: repeated(call, times) for name, call in calls_for(n).items()}
        for name, seconds in median_seconds(calls, 9).items():
            rates.setdefault(name, []).append(n * times / seconds / 1e6)
    reference = rates[REFERENCE]
    rows = [
        (name, *(f"{rate:.0f} ({rate / base:.1f}x)" for rate, base in zip(of_name, reference, strict=True)))
        for name, of_name in rates.items()
    ]
    lines = table(("million draws a second (ratio)", *(f"2^{exponent} a call" for exponent in SIZES)), rows)
    peers = opendp_rates()
    if peers:
        lines += ["", *table(("peer, same run", "million draws a second"), peers.items())]
    return lines


if __name__ == "__main__":
    print("\n".join(run()))
