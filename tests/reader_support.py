"""Files that readers of the pages have: made up, small, with the columns that the pages say."""

import gzip
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.evaluation.synthetic import load_digits, shared_representation, synthetic_ratings
from hushrank.evaluation.trace_data import trace_records
from hushrank.privacy.events import Gaussian
from hushrank.privacy.ledger import Ledger

N_USERS, N_FILMS = 400, 60
PRODUCER = """#!/bin/sh
echo row,column,delta
awk 'BEGIN { for (i = 0; i < 3000; i++) print (i * 7919) % 50000 "," (i * 104729) % 20000 ",1" }'
"""


def patients(path):
    """Rows of 64 numbers, none longer than 128."""
    pd.DataFrame(load_digits(), columns=[f"lab{i:02}" for i in range(64)]).to_parquet(path)


def digits(path):
    """The built-in digits as a table."""
    pd.DataFrame(load_digits(), columns=[f"pixel{i:02}" for i in range(64)]).to_csv(path, index=False)


def patients_as_exported(path):
    """The table of docs/guide/checking.md as a program of an office writes it: two rows a person, commas, a city."""
    rng = np.random.default_rng(0)
    age, income, visits = rng.normal(50, 15, 400), rng.normal(40_000, 9_000, 400), rng.poisson(3, 400)
    rows = {"patient_id": np.arange(400) // 2 + 1, "age": age.round(), "income": [f"{x:,.2f}" for x in income]}
    pd.DataFrame({**rows, "visits": visits, "city": rng.choice(["Rome", "Oslo"], 400)}).to_csv(path, index=False)


def people(path):
    """The table of docs/guide/scales.md."""
    rng = np.random.default_rng(0)
    health = rng.standard_normal(5000)
    age = np.clip(50 + 12 * health + 8 * rng.standard_normal(5000), 18, 100).round()
    income = np.clip(40_000 + 15_000 * rng.standard_normal(5000), 0, 200_000).round()
    visits = np.clip(4 + 2 * health + rng.standard_normal(5000), 0, 30).round()
    pd.DataFrame({"age": age, "income": income, "visits": visits}).to_csv(path, index=False)


def bounds(path):
    """Public limits of its columns."""
    path.write_text("column,low,high\nage,0,120\nincome,0,200000\nvisits,0,50\n")


def film_ids():
    """Ids of films; one of them is asked for by a page."""
    return 1143 + np.arange(N_FILMS)


def rating_table(names=("user", "item", "rating")):
    """Ratings of films, from 1 to 5."""
    data = synthetic_ratings(N_USERS, N_FILMS, seed=5)
    return pd.DataFrame(dict(zip(names, (data.users + 1, film_ids()[data.items], data.ratings), strict=True)))


def ratings(path):
    """Them, as a file of the kind that its name says."""
    table = rating_table()
    table.to_parquet(path) if path.suffix == ".parquet" else table.to_csv(path, index=False)


def my_ratings(path):
    """What one person says about five films."""
    pd.DataFrame({"item": film_ids()[[3, 9, 20, 31, 50]], "rating": [5.0, 4.0, 1.0, 2.0, 4.5]}).to_csv(
        path, index=False
    )


def items(path):
    """The catalogue: titles and what is public about films."""
    genres = synthetic_ratings(N_USERS, N_FILMS, seed=5).item_table()["genres"]
    facts = {"item": film_ids(), "title": [f"Film {i}, The" for i in film_ids()], "genres": genres}
    pd.DataFrame({**facts, "year": 1960 + np.arange(N_FILMS) % 50}).to_csv(path, index=False)


def movielens_ratings(path):
    """Ratings in the columns of MovieLens."""
    table = rating_table(("userId", "movieId", "rating")).assign(timestamp=964982703)
    with gzip.open(path, "wt") as file:
        table.to_csv(file, index=False)


def movies(path):
    """The catalogue in the columns of MovieLens."""
    items(path)
    pd.read_csv(path).rename(columns={"item": "movieId"})[["movieId", "title", "genres"]].to_csv(path, index=False)


def visit_table(n_users):
    """Eight visits of every customer, and what was spent."""
    data = shared_representation(n_users, 50, 2, n_records=8, noise=0.3, seed=0)
    table = pd.DataFrame(data.X, columns=[f"x{i:02}" for i in range(50)])
    return table.assign(spend=data.y, customer=data.users)


def visits(path):
    """Visits of many customers."""
    visit_table(2000).to_parquet(path)


def my_visits(path):
    """Those of one."""
    visit_table(1).drop(columns="customer").to_csv(path, index=False)


def tomorrow(path):
    """Visits of this one that are to come."""
    visit_table(2).drop(columns=["customer", "spend"])[8:12].to_csv(path, index=False)


def harvest_table():
    """The table of docs/guide/trace.md."""
    data = trace_records(20_500, (5, 4), 1, design="rank_one", noise=0.5, seed=3)
    table = pd.DataFrame(np.hstack(data.X), columns=["ph", "clay", "rain", "slope", "sun", "N", "P", "K", "lime"])
    return table.assign(harvest=30 + data.y)


def harvests(path):
    """What is known."""
    harvest_table()[:20_000].to_csv(path, index=False)


def fields(path):
    """Fields and treatments before a harvest."""
    harvest_table()[20_000:].drop(columns="harvest").to_csv(path, index=False)


def day(path):
    """Updates of a large matrix, of a day."""
    rng = np.random.default_rng(len(path.stem) + ord(path.stem[-1]))
    rows, columns = rng.integers(0, 50_000, 3000), rng.integers(0, 20_000, 3000)
    pd.DataFrame({"row": rows, "column": columns, "delta": 1.0}).to_csv(path, index=False)


def film_model(path):
    """A recommender of films."""
    model = PrivateCompletion(4, epsilon=5.0, delta=1e-6, rating_range=(1, 5), items=film_ids())
    model.fit(rating_table()).save(path)


def ratings_budget(path):
    """A ledger of the ratings; two fits of epsilon 1 were paid."""
    with Ledger(path) as ledger:
        account = ledger.create("ratings-2026", epsilon=3, delta=1e-6, unit="user")
        for _ in range(3):
            PrivateCompletion(2, epsilon=1.0, delta=1e-6, rating_range=(1, 5), items=film_ids(), ledger=account).fit(
                rating_table()
            )


def visits_budget(path):
    """A ledger of visits, from which something was paid."""
    with Ledger(path) as ledger:
        ledger.create("visits-2026", epsilon=3, delta=1e-6).charge(Gaussian(9.0), note="annual report")


def clone(path):
    """The project as it stands, as a clone of it with a `.venv`."""
    here, left_out = Path(__file__).parents[1], shutil.ignore_patterns("__pycache__", "*.nb[ic]", ".*_cache")
    for name in ("src", "tests", "docs", "benchmarks", "examples"):
        shutil.copytree(here / name, path / name, ignore=left_out)
    for name in ("pyproject.toml", "Makefile", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        shutil.copy(here / name, path)
    author = ["-c", "user.name=reader", "-c", "user.email=reader@example.org"]
    for words in (["init", "-q"], ["add", "."], [*author, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", *words], cwd=path, check=True)
    program(path / ".venv" / "bin" / "python", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')


def program(path, script):
    """A program of this reader's own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script)
    path.chmod(0o755)


# Files that every page means in the same way, and those of one page.
COMMON = {
    "patients.parquet": patients,
    "digits.csv": digits,
    "people.csv": people,
    "bounds.csv": bounds,
    "ratings.parquet": ratings,
    "ratings.csv": ratings,
    "ratings.csv.gz": movielens_ratings,
    "movies.csv": movies,
    "items.csv": items,
    "mine.csv": my_ratings,
    "visits.parquet": visits,
    "tomorrow.csv": tomorrow,
    "harvests.csv": harvests,
    "fields.csv": fields,
    "day1.csv": day,
    "day2.csv": day,
}
OF_PAGE = {
    "docs/guide/checking.md": {"patients.csv": patients_as_exported},
    "docs/guide/first_release.md": {"model.hush": film_model},
    "docs/guide/on_device.md": {"model.hush": film_model, "my-ratings.csv": my_ratings},
    "docs/guide/personalization.md": {"mine.csv": my_visits},
    "docs/guide/planning.md": {"budget.db": ratings_budget},
    "docs/guide/recommenders.md": {"model.hush": film_model, "budget.db": ratings_budget},
    "docs/guide/statement.md": {"model.hush": film_model, "budget.db": visits_budget},
}
