"""Journeys with ratings: from a table as people have it to recommendations, with the wrong turns on the way."""

import gzip
import json

import numpy as np
import pytest

from hushrank.evaluation.synthetic import synthetic_ratings
from journey_support import Traveler

N_USERS, N_ITEMS = 400, 40
TERMS = "--rating-range 1 5 --rank 2 --epsilon 5"
NAMED = "--user-col userId --item-col movieId"


@pytest.fixture
def traveler(tmp_path, monkeypatch, capsys):
    return Traveler(tmp_path, monkeypatch, capsys)


def movie_ratings(first_id=1, separator=","):
    """A table as the well-known ones are: ids from 1, a rating, and a time that nobody asked for."""
    data = synthetic_ratings(N_USERS, N_ITEMS, seed=3)
    rows = zip(data.users + first_id, data.items + first_id, data.ratings, strict=True)
    lines = [separator.join(("userId", "movieId", "rating", "timestamp"))]
    lines += [separator.join((str(u), str(i), f"{r:g}", "964982703")) for u, i, r in rows]
    return "\n".join(lines) + "\n"


def movies(first_id=1):
    """The catalogue with titles, of which some are meant to annoy."""
    names = [f'"Movie, The ({number})"' for number in range(N_ITEMS)]
    names[0] = '"[red]Bold[/red] \x1b[31mMovie"'
    return "movieId,title\n" + "".join(f"{number + first_id},{name}\n" for number, name in enumerate(names))


def test_1_from_a_download_to_recommendations_and_an_evaluation(traveler):
    traveler.write("ratings.csv", movie_ratings())
    traveler.write("movies.csv", movies())
    traveler.run("ledger create budget.db movies --epsilon 8 --delta 1e-6 --unit user")
    budget = "--ledger budget.db --dataset movies"

    # The names of the columns are not ours: the messages have the options to paste.
    fit = f"complete ratings.csv --items movies.csv {TERMS} {budget} --out model.hush"
    traveler.refused(fit, "movies.csv", "Did you mean --item-col movieId?")
    traveler.refused(f"{fit} --item-col movieId", "no column 'user'", "--user-col userId --item-col movieId")
    traveler.refused(f"{fit} --user-col userID --item-col movieId", "no column 'userID'", "--user-col userId")

    checked = traveler.run(f"{fit} {NAMED} --check")
    assert "not private" in checked.out.lower() and set(traveler.charges().values()) == {0}

    fitted = traveler.run(f"{fit} {NAMED} --titles movies.csv")
    assert "Movie, The" in fitted.out and "\x1b[31m" not in fitted.out
    assert list(traveler.charges().values()) == [1] and "at most epsilon =" in fitted.out + fitted.err

    own = f"recommend model.hush --user 7 --ratings ratings.csv {NAMED} --titles movies.csv --n 3"
    assert "Movie, The" in traveler.run(own).out
    traveler.refused(own.replace("--user 7", "--user 7000000"), "7000000")

    evaluated = traveler.run(f"evaluate ratings.csv --items movies.csv {NAMED} {TERMS} --delta 1e-6 --quiet")
    assert "not private" in evaluated.out.lower() + evaluated.err.lower()
    assert "item means" in evaluated.out and "popularity" in evaluated.out

    paid = f"evaluate ratings.csv --items movies.csv {NAMED} {TERMS}"
    bought = traveler.run(f"{paid.replace('--epsilon 5', '--epsilon 1')} --pay-epsilon 1 {budget} --quiet")
    assert "may be published" in bought.out and list(traveler.charges().values()) == [2]

    shown = traveler.run("show model.hush --titles movies.csv --item-col movieId")
    assert "Movie, The" in shown.out and "user" in shown.out
    traveler.run("report model.hush --out report.html --titles movies.csv --item-col movieId")
    page = (traveler.folder / "report.html").read_text(encoding="utf-8")
    assert "Movie, The" in page and "http://" not in page.replace("http://www.w3.org", "")
    assert list(traveler.charges().values()) == [2]


def test_2_ids_that_start_at_one(traveler):
    traveler.write("ratings.csv", movie_ratings().replace("userId,movieId", "user,item"))
    fit = f"ratings.csv --items {N_ITEMS} {TERMS} --delta 1e-6"
    seen = traveler.run(f"complete {fit} --check")
    assert "start at 1" in seen.out
    assert traveler.run(f"check complete {fit}").out == seen.out
    traveler.write("movies.csv", movies())
    well = traveler.run(
        f"complete ratings.csv --items movies.csv --item-col movieId {TERMS} --delta 1e-6 --check", code=2
    )
    assert "start at 1" not in well.out


def test_3_views_without_ratings_in_a_compressed_file(traveler):
    text = movie_ratings(separator="\t")
    with gzip.open(traveler.folder / "views.tsv.gz", "wt", encoding="utf-8") as file:
        file.write(text)
    traveler.write("movies.csv", movies())
    fit = f"complete views.tsv.gz --items movies.csv {NAMED} --feedback implicit --rank 2 --epsilon 5 --delta 1e-6"
    seen = traveler.run(f"{fit} --json --quiet --seed 1")
    assert len(json.loads(seen.out)["item_counts_"]) == N_ITEMS
    broken = (traveler.folder / "views.tsv.gz").read_bytes()
    (traveler.folder / "half.tsv.gz").write_bytes(broken[: len(broken) // 2])
    traveler.run("ledger create budget.db views --epsilon 8 --delta 1e-6 --unit user")
    halved = fit.replace("views.tsv.gz", "half.tsv.gz")
    seen = traveler.run(f"{halved} --ledger budget.db --dataset views --out model.hush", code=2)
    assert "half.tsv.gz" in seen.err and not (traveler.folder / "model.hush").exists()


def test_4_a_factor_of_noise_is_not_a_finding(traveler):
    rng = np.random.default_rng(0)
    rows = "".join(f"{user},{rng.integers(N_ITEMS)},{rng.integers(1, 6)}\n" for user in range(60))
    traveler.write("few.csv", "user,item,rating\n" + rows)
    fit = f"complete few.csv --items {N_ITEMS} --rating-range 1 5 --rank 4 --epsilon 0.1 --delta 1e-6 --out few.hush"
    assert "noise" in traveler.run(fit).out
    own = traveler.write("mine.csv", "item,rating\n3,5\n4,1\n")
    assert "noise" in traveler.run(f"recommend few.hush --ratings {own} --n 3").out
    assert "noise" in traveler.run("show few.hush").out


def test_the_largest_of_many_noisy_counts_is_noise(traveler):
    """Of very many items some have large counts and surely known means by chance; nobody has rated any of them here."""
    traveler.write("none.csv", "user,item,rating\n" + "".join(f"{user},0,good\n" for user in range(300)))
    fit = (
        "complete none.csv --items 1500 --rating-range 1 5 --rank 2 --epsilon 0.05 --delta 1e-6 --out none.hush --quiet"
    )
    assert "1,500 of 1,500 items have a count that is mostly noise" in traveler.run(f"{fit} --seed 1").out
    shown = traveler.run("show none.hush").out
    assert "1,500 of 1,500 items have a mean that is mostly noise" in shown


def test_a_plan_has_the_delta_of_the_account_as_the_fit_has(traveler):
    traveler.run("ledger create budget.db movies --epsilon 2 --delta 1e-6 --unit user")
    sizes = "--users 900 --items 50 --rank 2 --rating-range 1 5"
    planned = traveler.run(f"plan complete {sizes} --epsilon 1 --ledger budget.db --dataset movies")
    assert "delta = 1e-06" in planned.out and "3 fits like this from what is left of movies" in planned.out
    traveler.refused(f"plan complete {sizes} --epsilon 1", "--delta")
