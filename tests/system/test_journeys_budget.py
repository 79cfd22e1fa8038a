"""Journeys with a budget: a year of analyses, and what can go wrong between the charge and the file."""

import errno
import os
import re

import numpy as np
import pytest

import hushrank
from hushrank.engine.local import LocalEngine
from journey_support import Traveler

BUDGET = "--ledger budget.db --dataset patients"
PCA = "pca rows.csv --components 2 --row-norm 5"


@pytest.fixture
def traveler(tmp_path, monkeypatch, capsys):
    person = Traveler(tmp_path, monkeypatch, capsys)
    X = np.random.default_rng(0).standard_normal((300, 3))
    person.write("rows.csv", "a,b,c\n" + "".join(",".join(f"{x:.4f}" for x in row) + "\n" for row in X))
    return person


def test_10_a_year_of_analyses_from_one_budget(traveler):
    traveler.run("ledger create budget.db patients --epsilon 3 --delta 1e-6")
    planned = traveler.run(
        f"plan pca --rows 300 --columns 3 --components 2 --row-norm 5 --epsilon 1,2 --delta 1e-6 {BUDGET}"
    )
    assert "7 at epsilon 1, 2 at epsilon 2" in planned.out and set(traveler.charges().values()) == {0}
    first = traveler.run(f"{PCA} --epsilon 1 {BUDGET} --out spring.hush --note spring")
    assert "delta=1e-06" in first.out  # that of the account
    traveler.run(f"covariance rows.csv --row-norm 5 --epsilon 2 {BUDGET} --out summer.hush --note summer")

    refusal = traveler.refused(f"{PCA} --epsilon 2.5 {BUDGET} --out autumn.hush", "at most epsilon =", code=3)
    shown = traveler.run("ledger show budget.db patients")
    (left,) = set(re.findall(r"at most epsilon = ([\d.e-]+)", refusal.err))
    assert left in shown.out and "like the last" in shown.out
    traveler.run(f"{PCA} --epsilon {left} {BUDGET} --out autumn.hush --note autumn")
    traveler.refused(f"{PCA} --epsilon 0.5 {BUDGET} --out winter.hush", code=3)

    history = traveler.run("ledger history budget.db patients").out
    assert all(season in history for season in ("spring", "summer", "autumn")) and "winter" not in history
    traveler.run("ledger verify budget.db")


def test_11_a_pure_release_on_a_budget_with_delta(traveler):
    traveler.run("ledger create budget.db patients --epsilon 3 --delta 1e-6")
    dear = f"{PCA} --epsilon 0.3 --delta 0 {BUDGET} --out pure.hush"
    assert "pure" in traveler.run(dear).err  # said before the charge, and what would be cheaper
    traveler.run("ledger create budget.db both --epsilon 3 --delta 1e-6 --pure 1")
    again = dear.replace("patients", "both").replace("pure.hush", "cheap.hush")
    assert "cheaper" not in traveler.run(again).err


def test_12_results_are_not_overwritten_and_not_lost(traveler, monkeypatch):
    traveler.run("ledger create budget.db patients --epsilon 30 --delta 1e-6")
    fit = f"{PCA} --epsilon 1 {BUDGET} --out pca.hush"
    traveler.run(fit)
    before = (traveler.folder / "pca.hush").read_bytes()
    traveler.refused(fit, "pca.hush", "--force")
    assert (traveler.folder / "pca.hush").read_bytes() == before
    for ledger in ("budget.db", "sqlite:///budget.db"):  # the budget itself is not for sale
        lost = f"{PCA} --epsilon 1 --ledger {ledger} --dataset patients --out budget.db --force"
        traveler.refused(lost, "budget.db would overwrite")
    traveler.run(f"{fit} --force")
    assert (traveler.folder / "pca.hush").read_bytes() != before

    # The disk is full where the model should go, after the charge.
    (traveler.folder / "full").mkdir()
    replace = os.replace

    def full(source, target, *others, **more):
        if "full" in os.fspath(target):
            raise OSError(errno.ENOSPC, "No space left on device", os.fspath(target))
        return replace(source, target, *others, **more)

    monkeypatch.setattr(os, "replace", full)
    seen = traveler.run(f"{PCA} --epsilon 1 {BUDGET} --out full/pca.hush", code=2)
    assert "No space left on device" in seen.err and "budget was spent" in seen.err
    place = re.search(r"THE MODEL IS IN (\S+)", seen.err).group(1).rstrip(".;")
    monkeypatch.setattr(os, "replace", replace)
    assert hushrank.load(place).components_.shape == (2, 3)


def test_13_stopped_by_the_keyboard(traveler, monkeypatch):
    traveler.run("ledger create budget.db patients --epsilon 3 --delta 1e-6")

    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(LocalEngine, "total", stopped)
    seen = traveler.run(f"{PCA} --epsilon 1 {BUDGET} --out pca.hush", code=130)
    assert "budget was spent: epsilon = 1" in seen.err and "at most epsilon =" in seen.err
    assert list(traveler.charges().values()) == [1] and not (traveler.folder / "pca.hush").exists()
