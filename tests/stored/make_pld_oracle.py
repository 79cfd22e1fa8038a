"""Privacy-loss-distribution answers of the dp-accounting package, an independent oracle for our accountant.

Run where dp-accounting 0.6.0 is installed, which need not be where hushrank is:

    python tests/stored/make_pld_oracle.py tests/stored/pld_oracle.json            writes the file
    python tests/stored/make_pld_oracle.py --check tests/stored/pld_oracle.json    computes it anew and compares

Every epsilon is computed with two discretizations; their difference shows the size of the discretization
error, which is of second order because the dots are connected.
"""

import argparse
import json
import sys
from importlib.metadata import version
from pathlib import Path

COMMAND = "python tests/stored/make_pld_oracle.py tests/stored/pld_oracle.json"
PACKAGE = "dp-accounting"
DISCRETIZATION = 1e-4
TOLERANCE = 1e-6

# (claimed epsilon, noise multiplier): 50 Gaussian releases meet the claim at delta = 1e-5, to four digits.
FIFTY_GAUSSIANS = (
    (0.5, 49.7225),
    (1.0, 26.3795),
    (2.0, 14.0984),
    (5.0, 6.30646),
    (10.0, 3.53475),
    (20.0, 2.0509),
)
# (delta, Laplace epsilon, Laplace count, noise multiplier, Gaussian count)
MIXED = (
    (1e-5, 0.1, 100, None, 0),
    (1e-5, 0.1, 100, 10.0, 20),
    (1e-8, 0.1, 100, 10.0, 20),
    (1e-5, 0.1, 100, 1.0, 4),
    (1e-5, 1.0, 5, 2.0, 10),
)


def compute_epsilon(delta, laplace, gaussian, discretization):
    """Epsilon of `laplace` = (epsilon, count) composed with `gaussian` = (noise multiplier, count)."""
    # Imported here, because the tests of hushrank read this file where the package is not installed.
    from dp_accounting.pld.privacy_loss_distribution import from_gaussian_mechanism, from_laplace_mechanism

    parts = []
    if laplace[1]:
        single = from_laplace_mechanism(1.0 / laplace[0], value_discretization_interval=discretization)
        parts.append(single.self_compose(laplace[1]))
    if gaussian[1]:
        single = from_gaussian_mechanism(gaussian[0], value_discretization_interval=discretization)
        parts.append(single.self_compose(gaussian[1]))
    whole = parts[0] if len(parts) == 1 else parts[0].compose(parts[1])
    return float(whole.get_epsilon_for_delta(delta))


def make_row(delta, laplace, gaussian, claimed=None):
    """One row of the file."""
    return {
        "delta": delta,
        "laplace": {"epsilon": laplace[0], "count": laplace[1]},
        "gaussian": {"noise_multiplier": gaussian[0], "count": gaussian[1]},
        "claimed": claimed,
        "epsilon": compute_epsilon(delta, laplace, gaussian, DISCRETIZATION),
        "epsilon_coarse": compute_epsilon(delta, laplace, gaussian, 2 * DISCRETIZATION),
    }


def make_oracle():
    """The whole file as a dict."""
    rows = [make_row(1e-5, (None, 0), (noise, 50), claimed) for claimed, noise in FIFTY_GAUSSIANS]
    rows += [make_row(delta, (epsilon, k), (noise, n)) for delta, epsilon, k, noise, n in MIXED]
    return {
        "command": COMMAND,
        "package": PACKAGE,
        "version": version(PACKAGE),
        "discretization": DISCRETIZATION,
        "rows": rows,
    }


def find_disagreements(stored, computed):
    """Lines that name every difference between two oracles."""
    found = [key for key in ("version", "discretization") if stored[key] != computed[key]]
    if len(stored["rows"]) != len(computed["rows"]):
        return [*found, "number of rows"]
    for i, (old, new) in enumerate(zip(stored["rows"], computed["rows"], strict=True)):
        for key in new:
            if key in ("epsilon", "epsilon_coarse"):
                differs = abs(old[key] - new[key]) > TOLERANCE * new[key]
            else:
                differs = old[key] != new[key]
            if differs:
                found.append(f"row {i}, {key}: stored {old[key]}, computed {new[key]}")
    return found


def main():
    """Write or check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    computed = make_oracle()
    if not arguments.check:
        arguments.file.write_text(json.dumps(computed, indent=1) + "\n")
        return 0
    found = find_disagreements(json.loads(arguments.file.read_text()), computed)
    print("\n".join(found) or f"{arguments.file} agrees with {PACKAGE} {computed['version']}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
