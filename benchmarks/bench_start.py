"""How long the package and the command line take to start: CPU seconds of processes of their own.

Every line is the median of several processes, user and system time together; what `import hushrank` takes is the
difference to an interpreter that does nothing. Caches of the file system and of bytecode are warm.
"""

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence

from measure import table

TITLE = "Start of the package and of the command line"
REPETITIONS = 15
BARE, IMPORT = "bare Python", "import hushrank, beyond bare Python"
COMMAND = (sys.executable, "-m", "hushrank")
PLANS = {
    "hushrank plan pca": "plan pca --rows 10000 --columns 64 --components 5 --row-norm 1 --epsilon 1",
    "hushrank plan complete": "plan complete --users 6040 --items 3706 --rank 8 --rating-range 1 5 --epsilon 1 "
    "--delta 1e-6",
}
PROCESSES: dict[str, tuple[str, ...]] = {
    BARE: (sys.executable, "-c", "pass"),
    IMPORT: (sys.executable, "-c", "import hushrank"),
    "hushrank --help": (*COMMAND, "--help"),
    **{name: (*COMMAND, *line.split()) for name, line in PLANS.items()},
}
TARGETS = {IMPORT: 0.05, "hushrank --help": 0.3, **dict.fromkeys(PLANS, 1.0)}


def cpu_seconds(words: Sequence[str]) -> float:
    """User and system time of a process from its start to its end."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)  # told to Popen, which did not wait itself
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(words)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def run() -> list[str]:
    """A Markdown table of times and what they should be below."""
    taken: dict[str, list[float]] = {name: [] for name in PROCESSES}
    for words in PROCESSES.values():
        cpu_seconds(words)  # writes the bytecode
    for _ in range(REPETITIONS):  # in turn, so that a slow spell of the machine hits all of them
        for name, words in PROCESSES.items():
            taken[name].append(cpu_seconds(words))
    medians = {name: statistics.median(seconds) for name, seconds in taken.items()}
    medians[IMPORT] -= medians[BARE]
    rows = [
        (name, f"{1000 * seconds:.0f}", f"{1000 * TARGETS[name]:.0f}" if name in TARGETS else "")
        for name, seconds in medians.items()
    ]
    return table(("process", "CPU milliseconds", "target: below"), rows)


if __name__ == "__main__":
    print("\n".join(run()))
