"""Journeys with tables of numbers, records and updates: what a person does first, and what is said to that."""

import json

import numpy as np
import pytest
import scipy.sparse

from journey_support import Traveler

N_ROWS = 3000


@pytest.fixture
def traveler(tmp_path, monkeypatch, capsys):
    return Traveler(tmp_path, monkeypatch, capsys)


def households(traveler):
    """Ages in years, incomes in euros, and a city that is text."""
    rng = np.random.default_rng(2)
    taste = rng.standard_normal(N_ROWS)
    age = np.clip(45 + 12 * taste + 5 * rng.standard_normal(N_ROWS), 18, 100)
    income = np.clip(30_000 + 9_000 * taste + 4_000 * rng.standard_normal(N_ROWS), 0, 200_000)
    visits = np.clip(rng.poisson(3, N_ROWS), 0, 20)
    rows = "".join(f"{a:.0f},{e:.2f},{v},Lyon\n" for a, e, v in zip(age, income, visits, strict=True))
    return traveler.write("households.csv", "age,income,visits,city\n" + rows)


def test_5_a_table_of_mixed_scales_to_components_with_intervals(traveler):
    households(traveler)
    traveler.write("bounds.csv", "column,low,high\nage,18,100\nincome,0,200000\nvisits,0,20\n")
    traveler.run("ledger create budget.db homes --epsilon 3 --delta 1e-6")
    budget = "--ledger budget.db --dataset homes"
    looked = traveler.run("inspect households.csv --columns age,income,visits")
    assert "use them to choose bounds" not in looked.out

    # A column of text makes every row count as zero: check names it, and nothing is charged.
    fit = f"pca households.csv --components 2 --epsilon 1 {budget} --out pca.hush"
    seen = traveler.run(f"{fit} --row-norm 300000 --check", code=2)
    assert "'city'" in seen.out and set(traveler.charges().values()) == {0}

    scaled = f"{fit} --columns age,income,visits --column-bounds bounds.csv --standardize after"
    traveler.refused(scaled.replace("age,income", "age,incme"), "'incme'", "did you mean 'income'?")
    traveler.run(f"{scaled} --check")
    fitted = traveler.run(f"{scaled} --report page.html")
    assert "95 % interval" in fitted.out and "income" in fitted.out
    assert list(traveler.charges().values()) == [1]
    assert "<svg" in (traveler.folder / "page.html").read_text(encoding="utf-8")


def test_6_words_of_documents(traveler):
    rng = np.random.default_rng(1)
    X = scipy.sparse.random(500, 2000, 0.01, "csr", random_state=rng, data_rvs=lambda n: rng.integers(1, 9, n))
    scipy.sparse.save_npz(traveler.folder / "words.npz", X.astype(np.float64))
    rows, columns = X.nonzero()
    lines = "".join(f"{r},{c},{int(X[r, c])}\n" for r, c in zip(rows, columns, strict=True))
    traveler.write("words.csv", "doc,term,count\n" + lines)
    pca = "--components 2 --row-norm 50 --epsilon 5 --delta 1e-6"
    told = traveler.run(f"pca words.csv {pca} --check", code=2).out + traveler.run("check words.csv").out
    assert "doc" in told and "term" in told and "sparse" in told
    traveler.run(f"pca words.npz {pca} --select-columns private --check")
    seen = traveler.run(f"pca words.npz {pca} --select-columns private --json --quiet --seed 3")
    assert len(json.loads(seen.out)["components_"]) == 2


@pytest.mark.parametrize(
    ("command", "unit", "header"),
    [
        ("pca --components 1 --row-norm 10", "row", "age,income"),
        ("covariance --row-norm 10", "row", "age,income"),
        ("complete --items 9 --rating-range 1 5 --rank 2", "user", "user,item,rating"),
        ("personalize --components 1", "user", "user,dose,target"),
        ("trace --design rank_one --x a --z b --rank 1", "record", "a,b,target"),
    ],
)
def test_7_a_table_with_a_header_only(command, unit, header, traveler):
    traveler.write("empty.csv", f"{header}\n")
    traveler.run(f"ledger create budget.db homes --epsilon 3 --delta 1e-6 --unit {unit}")
    name, *options = command.split()
    fit = f"{name} empty.csv {' '.join(options)} --epsilon 1 --ledger budget.db --dataset homes --out pca.hush"
    for line in (fit, f"{fit} --check"):
        traveler.refused(line, "empty.csv: the data must be", "at least")


def test_8_personal_models_from_records(traveler):
    rng = np.random.default_rng(4)
    U = rng.standard_normal(1200)
    lines = "".join(
        f"p{user},{x:.4f},{z:.4f},{U[user] * (x + z) + 0.1 * rng.standard_normal():.4f}\n"
        for user in range(1200)
        for x, z in rng.standard_normal((6, 2))
    )
    traveler.write("visits.csv", "patient,dose,weight,outcome\n" + lines)
    fit = "personalize visits.csv --components 1 --epsilon 5 --delta 1e-6 --out shared.hush"
    traveler.refused(f"{fit} --user patient --target outcom", "outcom", "did you mean 'outcome'?")
    fit = f"{fit} --user patient --target outcome"
    assert "1,200" in traveler.run(f"{fit} --check").out
    assert "noise" in traveler.run(f"{fit} --report page.html").out
    assert "patient" not in traveler.run("show shared.hush").err


def test_9_a_stream_of_updates(traveler):
    rng = np.random.default_rng(5)
    lines = "".join(f"{r},{c},1\n" for r, c in rng.integers(0, (50, 40), (2000, 2)))
    traveler.write("clicks.csv", "row,column,delta\n" + lines)
    run = "stream clicks.csv --rank 2 --epsilon 2 --delta 1e-6"
    small = traveler.run(f"{run} --shape 50 30 --check", code=2)
    assert "30" in small.out
    traveler.run(f"{run} --shape 50 40 --check")
    assert "noise" in traveler.run(f"{run} --shape 50 40 --out factors.hush --report page.html").out
    assert "singular" in traveler.run("show factors.hush").out
