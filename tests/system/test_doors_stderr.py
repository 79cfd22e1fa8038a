"""What a fit prints without being asked: nothing private, on no stream, in a process that never heard of logging.

Numbers of rows, users and ratings, and of those that were left out or bounded, are secret under add_remove and, apart
from the first two, under replace as well. Python writes warnings to stderr unasked, and so into notebooks and job logs.
"""

import json
import subprocess
import sys

import numpy as np
import pytest

N_ROWS, N_LOST, N_LONG = 4019, 1013, 1511
N_USERS, N_RATINGS, N_UNKNOWN, N_BROKEN, N_CLIPPED = 1613, 16_007, 1103, 1201, 2003
N_ITEMS, ROW_NORM = 30, 2.0
# Four digits and more, so that no released number that is printed looks like one of them.
SECRETS = {N_ROWS, N_LOST, N_LONG, N_USERS, N_RATINGS, N_UNKNOWN, N_BROKEN, N_CLIPPED}
RELATIONS = ("replace", "add_remove")

ROW_COMMANDS = {
    "pca": "pca rows.csv --components 2",
    "pca, private center": "pca rows.csv --components 2 --center private --delta 1e-6",
    "covariance": "covariance rows.csv",
    "lowrank": "lowrank rows.csv --rank 2",
    "lowrank, exponential": "lowrank rows.csv --rank 1 --mechanism exponential",
}
RATING_COMMANDS = {
    "spectral": "complete ratings.csv --method spectral",
    "no offsets": "complete ratings.csv --method spectral --no-offsets",
    "implicit": "complete ratings.csv --feedback implicit",
    "als": "complete ratings.csv --method als",
    "factored gradient": "complete ratings.csv --method factored_gradient",
    "features": "complete ratings.csv --item-features facts.csv --new-items new.csv",
    "features, implicit": "complete ratings.csv --item-features facts.csv --feedback implicit",
}
COMMANDS = {name: f"{line} --row-norm {ROW_NORM}" for name, line in ROW_COMMANDS.items()} | {
    name: f"{line} --items {N_ITEMS} --rating-range 1 5 --rank 2 --delta 1e-6" for name, line in RATING_COMMANDS.items()
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of rows and one of ratings with something of everything that is counted."""
    folder, rng = tmp_path_factory.mktemp("doors"), np.random.default_rng(5)
    X = rng.standard_normal((N_ROWS, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[:N_LOST, 1] = np.nan
    X[N_LOST : N_LOST + N_LONG] *= 10.0
    np.savetxt(folder / "rows.csv", rng.permutation(X), delimiter=",", header="a,b,c", comments="", fmt="%.6g")
    users = np.arange(N_RATINGS) % N_USERS
    items = (np.arange(N_RATINGS) // N_USERS + 3 * users) % N_ITEMS  # nobody rates an item twice
    ratings = rng.integers(1, 6, N_RATINGS).astype(object)
    order = rng.permutation(N_RATINGS)
    unknown, broken, clipped = np.split(order, np.cumsum([N_UNKNOWN, N_BROKEN, N_CLIPPED]))[:3]
    items[unknown] += 10_000_000
    ratings[broken], ratings[clipped] = "nan", 99
    lines = (f"{user},{item},{rating}" for user, item, rating in zip(users, items, ratings, strict=True))
    (folder / "ratings.csv").write_text("\n".join(["user,item,rating", *lines, ""]))
    facts = (f"{item},{'Drama|Comedy' if item % 3 else 'Horror'},{1900 + 7 * item % 60}" for item in range(N_ITEMS))
    (folder / "facts.csv").write_text("\n".join(["item,genre,year", *facts, ""]))
    (folder / "new.csv").write_text("item\n3\n")
    return folder


def in_a_process(folder, *arguments):
    """What a process prints on stdout and on stderr."""
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def secrets_in(text):
    """Which of the secret numbers stand in a text, with or without commas."""
    words = text.replace(",", "").translate({ord(mark): " " for mark in "():;│|[]"}).split()
    return SECRETS & {int(word) for word in (word.rstrip(".") for word in words) if word.isdecimal()}


# Every line of PYTHON is a fit; all of them in one process, because importing takes longer than fitting.
PYTHON = f"""
import hushrank as hr, pandas as pd
facts = pd.read_csv("facts.csv")
for neighbors in {RELATIONS}:
    common = dict(epsilon=1.0, neighbors=neighbors)
    rows = dict(common, row_norm={ROW_NORM})
    ratings = dict(common, delta=1e-6, rating_range=(1, 5), items={N_ITEMS})
    for model in (
        hr.PrivatePCA(2, **rows),
        hr.PrivatePCA(2, **rows, delta=1e-6, center="private"),
        hr.PrivatePCA(1, **rows, mechanism="exponential"),
        hr.PrivateCovariance(**rows),
        hr.PrivateLowRank(2, **rows),
    ):
        model.fit("rows.csv")
    for model in (
        hr.PrivateCompletion(2, **ratings),
        hr.PrivateCompletion(2, **ratings, offsets=False),
        hr.PrivateCompletion(2, **ratings, feedback="implicit"),
        hr.PrivateCompletion(2, **ratings, method="als"),
        hr.PrivateCompletion(2, **ratings, method="factored_gradient"),
        hr.PrivateCompletion(2, **ratings, item_features=facts, new_items=[3]),
        hr.PrivateCompletion(2, **ratings, item_features=facts, feedback="implicit"),
    ):
        model.fit("ratings.csv")
"""

# The same for the command line: arguments are lines, as JSON. What ends a command is written on both streams.
END = "-- end --\n"
COMMAND_LINE = f"""
import json, sys
from hushrank.cli.main import cli
for line in json.loads(sys.argv[1]):
    cli.main(line.split(), prog_name="hushrank", standalone_mode=False)
    for stream in (sys.stdout, sys.stderr):
        stream.write({END!r})
"""


def in_one_process(folder, lines):
    """What every one of these command lines prints on stdout and on stderr."""
    printed = in_a_process(folder, "-c", COMMAND_LINE, json.dumps(lines))
    (*out, last_out), (*err, last_err) = (text.split(END) for text in printed)
    assert last_out == last_err == ""
    return list(zip(out, err, strict=True))


def test_a_fit_in_python_prints_nothing(folder):
    assert in_a_process(folder, "-c", PYTHON) == ("", "")


def test_the_command_line_prints_nothing_private(folder):
    lines = [
        f"{line} --epsilon 1 --neighbors {neighbors} --out model --force {options}"
        for options in ("", "--quiet")
        for line in COMMANDS.values()
        for neighbors in RELATIONS
    ]
    printed = in_one_process(folder, lines)
    assert len(printed) == len(lines)
    for out, err in printed:
        assert err == "" and out.count("guarantee: ") == 1 and secrets_in(out) == set()


def test_the_command_itself_prints_nothing_private(folder):
    for name in ("pca", "spectral"):
        words = f"{COMMANDS[name]} --epsilon 1 --neighbors add_remove --out model --force".split()
        out, err = in_a_process(folder, "-m", "hushrank", *words)
        assert err == "" and "guarantee: " in out and secrets_in(out) == set()


def test_recommending_prints_nothing_about_people_on_stderr(folder):
    """Answers go to stdout, for those they belong to; stderr goes into logs."""
    lines = [
        f"{COMMANDS['features']} --epsilon 20 --out facts.hush",
        "recommend facts.hush --ratings ratings.csv --n 2 --explain --json",
    ]
    (_, nothing), (out, said) = in_one_process(folder, lines)
    assert nothing == "" and len(json.loads(out)["recommendations"]) == N_USERS
    assert said in ("", "hushrank: no reasons: this model has no item features that tell about people's tastes.\n")


def test_those_who_ask_are_told(folder):
    lines = [f"{COMMANDS[name]} --epsilon 1 --out model --force --verbose" for name in ("pca", "spectral")]
    seen_rows, seen_ratings = in_one_process(folder, lines)
    assert secrets_in(seen_rows[1]) == {N_ROWS, N_LOST, N_LONG}
    assert secrets_in(seen_ratings[1]) >= {N_RATINGS, N_UNKNOWN, N_BROKEN, N_CLIPPED}
    assert "not private" in seen_rows[1].lower() and "not private" in seen_ratings[1].lower()
    assert secrets_in(seen_rows[0]) == secrets_in(seen_ratings[0]) == set()


def test_inspect_is_for_the_data_holder_and_tells(folder):
    out, err = in_a_process(folder, "-m", "hushrank", "inspect", "rows.csv", "--row-norm", str(ROW_NORM))
    assert secrets_in(out) == {N_ROWS, N_LOST, N_LONG} and "not private" in out and err == ""
