"""The exact two-sided Wishart release against the same noise in floating point."""

from measure import median_seconds, peak_megabytes, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from hushrank.privacy.events import Pure
from hushrank.privacy.mechanisms.fields import Field
from hushrank.privacy.mechanisms.wishart import release_wishart, wishart_lattice
from hushrank.privacy.noise.source import NoiseSource

TITLE = "Exact two-sided Wishart release against floating point, epsilon = 1"
SIZES = (50, 200, 500, 1000)


def float_release(total: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """total + C (A B^T + B A^T) in float64."""
    d = len(total)
    A, B = rng.standard_normal((d, d + 1)), rng.standard_normal((d, d + 1))
    P = A @ B.T
    return total + scale * (P + P.T)


def float_release_complex(total: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    """total + C (A B^* + B A^*) in complex128."""
    d = len(total)
    A, B = (rng.standard_normal((d, d)) + 1j * rng.standard_normal((d, d)) for _ in range(2))
    P = A @ B.conj().T
    return total + scale / 2 * (P + P.conj().T)


def run() -> list[str]:
    """Measure every size and return a Markdown table."""
    rng, rows = np.random.default_rng(0), []
    for d in SIZES:
        G = rng.integers(-(1 << 40), 1 << 40, (d, d))
        symmetric, antisymmetric = G + G.T, G - G.T
        for field in Field:
            lattice = wishart_lattice(1.0, Pure(1.0), field=field)
            if field is Field.REAL:
                total, plain, secret = symmetric * lattice.unit, float_release, symmetric
            else:
                total, plain = (symmetric + 1j * antisymmetric) * lattice.unit, float_release_complex
                secret = (symmetric, antisymmetric)
            calls = {
                "float": lambda plain=plain, total=total, C=lattice.scale: plain(total, C, rng),
                "exact": lambda secret=secret, lattice=lattice: release_wishart(secret, lattice, NoiseSource()),
            }
            seconds = median_seconds(calls, max(7, 1000 // d))
            memory = [f"{peak_megabytes(call):.1f}" for call in calls.values()]
            times = [f"{1e3 * seconds[name]:.2f}" for name in calls]
            rows.append((d, field.value, *times, f"{seconds['exact'] / seconds['float']:.2f}", *memory))
    header = ("d", "field", "float ms", "exact ms", "ratio", "float peak MB", "exact peak MB")
    return table(header, rows)


if __name__ == "__main__":
    print("\n".join(run()))
