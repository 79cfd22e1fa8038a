"""The path of a newcomer, timed: from a clone to a first private recommendation with the README alone.

Clones the project into a temporary folder and types what stands in the README, in its order: `make demo`, the commands
of the block that ends in `hushrank recommend`, and the first recommender in Python, line by line at a prompt. Packages
are downloaded again, and kernels compiled. On the path nothing that is installed here is used but make, git and Python.

    .venv/bin/python benchmarks/bench_newcomer.py [REPOSITORY]
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from measure import replace_section, table  # noqa: E402  (of this folder)
from page_support import Command, take_apart  # noqa: E402  (needs the folder of the tests)

TITLE = "The path of a newcomer"
LIMIT_SECONDS = 300
OURS = ("PYTHONPATH", "VIRTUAL_ENV", "NUMBA_CACHE_DIR", "COLUMNS")  # what a newcomer has not set


def on_the_command_line(readme: str) -> list[str]:
    """The first command of the README, how a shell finds hushrank, and the block that ends in a recommendation."""
    commands = [step for step in take_apart("README.md", readme) if isinstance(step, Command)]
    last = next((i for i, step in enumerate(commands) if step.text.startswith("hushrank recommend")), None)
    if last is None:
        raise SystemExit("the README has no command that recommends anything")
    first = last
    while first > 0 and commands[first - 1].line >= commands[first].line - 2:  # the same block
        first -= 1
    found = next(step for step in commands if step.text.startswith("export PATH="))
    return [commands[0].text, found.text, *(step.text for step in commands[first : last + 1])]


def at_the_prompt(readme: str) -> str:
    """What one types in Python for the first recommender of the README."""
    imports = "import hushrank as hr\n"
    block = next(block for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "recommend(" in block)
    return imports + "".join(f"{line}\n" for line in re.findall(r"^(?:>>>|\.\.\.) ?(.*)$", block, re.MULTILINE))


def typed(text: str, folder: Path, variables: dict[str, str], **others: str) -> float:
    """Seconds that a command took; it must end well."""
    begin = time.perf_counter()
    done = subprocess.run(
        ["bash", "-c", text], cwd=folder, env=variables, capture_output=True, text=True, check=False, **others
    )
    seconds = time.perf_counter() - begin
    if done.returncode != 0 or "Traceback" in done.stderr:
        raise SystemExit(f"{text}\nended with {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    show(seconds, text)
    return seconds


def show(seconds: float, text: str) -> None:
    """A line of the table; what a command says about itself is left out."""
    print(f"{seconds:8.1f} s  {named(text)}", flush=True)


def named(text: str) -> str:
    """A command without what it says about itself."""
    return text.split(" # ")[0].rstrip()


def main(repository: str) -> None:
    """Walk the path, and print and record the time of every step."""
    variables = {name: value for name, value in os.environ.items() if name not in OURS} | {"PIP_NO_CACHE_DIR": "1"}
    with tempfile.TemporaryDirectory(prefix="newcomer-") as temporary:
        folder = Path(temporary)
        steps = [("git clone", typed(f"git clone -q '{repository}' hushrank", folder, variables))]
        clone = folder / "hushrank"
        readme = (clone / "README.md").read_text(encoding="utf-8")
        for text in on_the_command_line(readme):
            assignment = re.match(r'(?:export )?PATH="([^"]*)"', text)
            if assignment:
                variables["PATH"] = assignment[1].replace("$PWD", str(clone)).replace("$PATH", variables["PATH"])
                show(0.0, text)
            else:
                steps.append((named(text), typed(text, clone, variables)))
        total = sum(seconds for _, seconds in steps)
        show(total, "from the clone to a first private recommendation on the command line")
        print("after that, the first recommender of the README in Python, line by line:")
        last = typed(".venv/bin/python -i", clone, variables, input=at_the_prompt(readme))
    rows = [(f"`{step}`".replace("|", "\\|"), f"{seconds:.1f}") for step, seconds in steps]
    rows.append((f"to a first private recommendation (at most {LIMIT_SECONDS})", f"{total:.1f}"))
    rows.append(("after that, the first recommender of the README in Python", f"{last:.1f}"))
    replace_section(TITLE, "python benchmarks/bench_newcomer.py", table(("step", "seconds"), rows))
    if total > LIMIT_SECONDS:
        raise SystemExit(f"more than {LIMIT_SECONDS} seconds")


if __name__ == "__main__":
    main(*sys.argv[1:] or [str(ROOT)])
