"""The examples run as they stand: each in a process of its own, with warnings as errors and without leaving files."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hushrank.checks.suite import CHECKS

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(script, folder):
    """What the script prints; it must end well, say nothing on stderr and leave nothing behind."""
    environment = {**os.environ, "PYTHONWARNINGS": "error", "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, EXAMPLES / script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert list(folder.iterdir()) == []
    return done.stdout


def numbers(pattern, text):
    """The groups of the first match, as numbers."""
    return [float(group) for group in re.search(pattern, text).groups()]


def pca_with_a_plan(shown):
    before, after = shown.split("the fit\n")
    assert (
        " 5.0% of the budget: radius\n" in before and "of the budget: center\n" in before and "NO CENTER" not in before
    )
    assert "variance a direction needs to show, over radius^2: 0.0219" in before
    assert "guarantee as planned: True" in after and "delta 1e-06, one row is hidden" in after
    (radius,) = numbers(r"rows were shortened to ([\d.]+) around the center", after)
    assert (
        20 < radius < 60
        and len(re.findall(r"component \d: variance \d+ to \d+, alignment .* [01]\.\d\d\n", after)) == 5
    )
    (captured,) = numbers(r"captured: ([\d.]+)%", after)
    assert 85 < captured < 99.9


def covariance_with_a_ledger(shown):
    (error,) = numbers(r"largest error of an entry ([\d.]+)", shown)
    assert 0 < error < 0.02
    assert (
        "spent 1, left 0.5\nsecond fit: budget exceeded: asked for epsilon = 1 of 'patients-2026', left at m" in shown
    )
    assert "learned nothing: True, left 0.5\nthird fit: epsilon 0.5, left 0\n" in shown
    assert shown.endswith("history:\n  0 created\n  1 PrivateCovariance\n  2 PrivateCovariance\n")


def recommender(shown):
    assert "private for one user: epsilon 5.000, delta 1e-06" in shown
    error, single = numbers(r"error of held-out ratings: ([\d.]+), of the best single number for all ([\d.]+)", shown)
    assert 0.5 < error < 0.9 * single
    top = re.findall(r"item (\d+): predicted rating ([\d.]+)", shown)
    scores = [float(score) for _, score in top]
    assert len(top) == 3 and scores == sorted(scores, reverse=True) and {"7", "12", "30"}.isdisjoint(dict(top))
    assert shown.endswith("the same after loading: True\n")


def personalization(shown):
    before, after = shown.split("private for one user: epsilon 2.000, delta 1e-06\n")
    assert "Gaussian noise, adaptive shares" in before and "note" not in before
    assert "above the noise: True" in after and "for reader 7, from 8 own ratings: article" in after
    errors = [float(error) for error in re.findall(r"^  \D+ ([\d.]+)$", after, re.MULTILINE)]
    everybody, alone, private, truth = errors
    assert truth == 0.09 < private < 0.3 * alone < alone < everybody


def graph_stream(shown):
    plan, after = shown.split("full: epsilon 1, delta 0, one entry hidden\n")
    assert "kind='full' takes 32000000 bytes, fits the memory, and is more accurate" in plan and "HOPELESS" not in plan
    values = re.findall(r"singular values ([\d ]+): six are clear", after)
    for line in values:
        found = [int(value) for value in line.split()]
        assert len(found) == 10 and found[5] > 2 * found[6]
    exact, full, sketched = re.findall(r"([\d.]+)% of people in their department, (\d+) of the 20 hubs", after)
    assert exact == ("100.0", "20") and len(values) == 2
    assert float(full[0]) > 99 and float(sketched[0]) > 95 and int(full[1]) >= 18 and int(sketched[1]) >= 12


def what_epsilon_buys(shown):
    lines = re.findall(r"^epsilon = \S+ +([\d.]+) +([\d.]+) +([\d.]+)$", shown, re.MULTILINE)
    pure, gaussian = np.array(lines, float).reshape(2, 4, 3)
    assert (gaussian < pure).all()
    for table in (pure, gaussian):  # less is needed with more budget and with more rows
        assert (np.diff(table, axis=0) < 0).all() and (np.diff(table, axis=1) < 0).all()
    errors = np.array(re.findall(r"from ([\d.]+) for kind data to ([\d.]+) for hard ones", shown), float)
    assert errors.shape == (4, 2) and (np.diff(errors, axis=0) < 0).all() and (errors[:, 0] < errors[:, 1]).all()


def own_estimator(shown):
    assert f"passed all {len(CHECKS)} checks" in shown and "check_noise_has_its_planned_scale" in shown
    counts = numbers(r"with noise: (-?\d+) (-?\d+) (-?\d+)\n", shown)
    assert np.abs(np.array(counts) - [360, 480, 160]).max() < 120  # 1000 people, and noise of a few


def bilinear_regression(out):
    """Predictions are far better than the mean, and nearly as good as without privacy."""
    assert "private for one record: epsilon 1.000, delta 1e-06" in out
    errors = {name: float(re.search(rf"^  {name} +([0-9.]+)$", out, re.MULTILINE)[1]) for name in BILINEAR}
    mean, private, best = (errors[name] for name in BILINEAR)
    assert 0.65 < best and 0.98 * best < private < 1.05 * best and private < 0.5 * mean


BILINEAR = ("the mean harvest", "private", "without privacy")
SHOWS = {
    f"{check.__name__}.py": check
    for check in (
        pca_with_a_plan,
        covariance_with_a_ledger,
        recommender,
        personalization,
        bilinear_regression,
        graph_stream,
        what_epsilon_buys,
        own_estimator,
    )
}


@pytest.mark.parametrize("script", SHOWS)
def test_an_example_shows_what_it_says(script, tmp_path):
    SHOWS[script](run(script, tmp_path))


def test_every_example_is_run_and_listed_and_says_what_one_learns():
    scripts = {path.name for path in EXAMPLES.glob("*.py")}
    assert scripts == set(SHOWS)
    assert set(re.findall(r"^\| \[(\w+\.py)\]\(\1\) \|", (EXAMPLES / "README.md").read_text(), re.MULTILINE)) == scripts
    assert all("\nYou learn: " in ast.get_docstring(ast.parse((EXAMPLES / name).read_text())) for name in scripts)
