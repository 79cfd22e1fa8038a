"""What every benchmark shares: one thread, interleaved repetitions, peak memory, Markdown tables.

Import this module before NumPy: it fixes the number of threads of BLAS and numba to one.
"""

import os

for variable in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse  # noqa: E402  (the thread counts must be set before NumPy is imported)
import importlib.metadata  # noqa: E402
import pathlib  # noqa: E402
import platform  # noqa: E402
import re  # noqa: E402
import statistics  # noqa: E402
import time  # noqa: E402
import tracemalloc  # noqa: E402
from collections.abc import Callable, Iterable, Mapping  # noqa: E402

Call = Callable[[], object]

RESULTS = pathlib.Path(__file__).with_name("RESULTS.md")


def median_seconds(calls: Mapping[str, Call], repetitions: int) -> dict[str, float]:
    """Median CPU seconds of each call, taken in turn so that a slow spell of the machine hits all of them."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()  # compile and warm up
    for _ in range(repetitions):
        for name, call in calls.items():
            start = time.process_time()
            call()
            taken[name].append(time.process_time() - start)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def peak_megabytes(call: Call) -> float:
    """Largest memory in use during a call beyond what was there before."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def data_folder() -> pathlib.Path | None:
    """Folder of data that are not part of the project, from the argument --data FOLDER; None without it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=pathlib.Path)
    return parser.parse_known_args()[0].data


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """Markdown lines."""
    names = list(header)
    return [
        f"| {' | '.join(names)} |",
        f"|{'---|' * len(names)}",
        *(f"| {' | '.join(str(cell) for cell in row)} |" for row in rows),
    ]


def replace_section(title: str, command: str, lines: Iterable[str]) -> None:
    """Put a section into RESULTS.md, in the place of an older one or at the end."""
    text, heading = RESULTS.read_text(), f"## {title}\n"
    before, _, rest = text.partition(heading)
    _, found, after = rest.partition("\n## ")
    section = "\n".join((heading, f"`{command}`", "", *lines, ""))
    RESULTS.write_text(f"{before.rstrip()}\n\n{section}{found}{after}")


def replace_part(title: str, part: str, lines: Iterable[str]) -> None:
    """Put the part of a section under the heading ### `part` into RESULTS.md, in the place of an older one."""
    text = RESULTS.read_text()
    place = re.compile(
        rf"(\n## {re.escape(title)}\n(?:(?!\n## ).)*?\n### {re.escape(part)}\n).*?(?=\n##|\Z)", re.DOTALL
    )
    if not place.search(text):
        raise LookupError(f"{RESULTS} has no part {part!r} of {title!r} to replace; run the whole benchmark first.")
    RESULTS.write_text(place.sub(lambda found: "\n".join((found[1], *lines, "")), text))


def versions() -> str:
    """Interpreter and packages that the numbers depend on."""
    packages = ("hushrank", "numpy", "scipy", "numba", "scikit-learn", "pyarrow", "cryptography")
    listed = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    return f"Python {platform.python_version()}, {listed}; {platform.machine()}, one thread"
