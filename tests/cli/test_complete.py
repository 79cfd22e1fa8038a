"""`hushrank complete`: options reach the estimator, input of every kind, and what is printed and written."""

import json
import logging
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hushrank
from feature_support import N_ITEMS as N_FILMS
from feature_support import assert_equal_models, facts, recommender, tastes
from hushrank.cli import main as main_module
from hushrank.cli.complete import SHOWN, command
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.evaluation.synthetic import synthetic_ratings
from hushrank.exceptions import BudgetExceeded, InvalidParameter
from hushrank.privacy.ledger import Ledger

N_ITEMS = 30
BASIC = "--rating-range 1 5 --rank 2 --epsilon 8 --delta 1e-6 --quiet"
RATINGS = synthetic_ratings(400, N_ITEMS, seed=2, ratings_per_user=12.0).table()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)  # handlers would outlive the test
    pa.csv.write_csv(RATINGS, "ratings.csv")
    pq.write_table(RATINGS, "ratings.parquet")
    (tmp_path / "parts").mkdir()
    pq.write_table(RATINGS.slice(0, 1000), "parts/a.parquet")
    pq.write_table(RATINGS.slice(1000), "parts/b.parquet")
    (tmp_path / "catalogue.csv").write_text("item,title\n" + "".join(f"{j},t{j}\n" for j in range(N_ITEMS)))
    return tmp_path


def run(line):
    return CliRunner().invoke(command, line.split())


def rows(output):
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]


@pytest.mark.parametrize("source", ["ratings.csv", "ratings.parquet", "parts"])
@pytest.mark.parametrize("items", [f"{N_ITEMS}", "catalogue.csv"])
def test_every_kind_of_input_gives_the_model_of_the_library(folder, source, items):
    result = run(f"{source} --items {items} {BASIC} --seed 5 --threads 1 --json")
    assert result.exit_code == 0, result.exception
    terms = {"epsilon": 8.0, "delta": 1e-6, "rating_range": (1, 5), "items": N_ITEMS, "random_state": 5}
    model = PrivateCompletion(2, **terms).fit(RATINGS)
    printed = json.loads(result.stdout)
    assert printed["item_means_"] == model.item_means_.tolist()
    assert printed["items_"] == list(range(N_ITEMS))
    assert printed["privacy_"] == model.privacy_.to_dict() and printed["privacy_"]["unit"] == "user"


def test_the_table_shows_what_was_released(folder):
    result = run(f"ratings.parquet --items {N_ITEMS} {BASIC} --out model[1].hush")
    assert result.exit_code == 0, result.exception
    model = hushrank.load("model[1].hush")
    shown, factors = rows(result.output)[:SHOWN], rows(result.output)[SHOWN:]
    assert [row[0] for row in shown] == [str(i + 1) for i in range(SHOWN)]
    assert [row[0] for row in factors] == [str(i + 1) for i in range(model.n_factors_)]
    popular, best = (np.argsort(-values, kind="stable")[:SHOWN] for values in (model.item_counts_, model.item_means_))
    assert [int(row[1]) for row in shown] == popular.tolist() and [int(row[3]) for row in shown] == best.tolist()
    assert [float(row[4]) for row in shown] == pytest.approx(model.item_means_[best], rel=1e-3)
    assert f"{model.n_factors_} of at most 2 factors" in result.output
    assert "delta=1e-06, neighbors=replace, unit=user" in result.output
    assert "model written to model[1].hush" in result.output


def test_options_reach_the_estimator(folder):
    line = f"ratings.csv --items {N_ITEMS} {BASIC} --method als --no-offsets --neighbors add_remove --n-max 500"
    assert run(f"{line} --out model").exit_code == 0
    model = hushrank.load("model")
    assert (model.method, model.offsets, model.neighbors, model.n_max) == ("als", False, "add_remove", 500)
    assert model.item_features_.shape[1] == 0
    line = f"ratings.csv --items {N_ITEMS} --rank 2 --epsilon 8 --delta 1e-6 --quiet --feedback implicit --users 450"
    result = run(f"{line} --unobserved-weight 0.5 --out model --force")
    assert result.exit_code == 0, result.exception
    model = hushrank.load("model")
    assert (model.feedback, model.unobserved_weight, model.n_users) == ("implicit", 0.5, 450)
    assert "most popular" in result.output and "highest mean" not in result.output


def test_ids_that_are_texts(folder):
    table = RATINGS.set_column(1, "item", pa.array([f"[i]{j}" for j in RATINGS["item"].to_pylist()]))
    pa.csv.write_csv(table, "texts.csv")
    (folder / "texts_catalogue.csv").write_text("item\n" + "".join(f"[i]{j}\n" for j in range(N_ITEMS)))
    result = run(f"texts.csv --items texts_catalogue.csv {BASIC} --out model")
    assert result.exit_code == 0, result.exception
    assert rows(result.output)[0][1].startswith("[i]")
    assert hushrank.load("model").items_[3] == "[i]3"


def test_the_ledger_is_charged_and_refuses(folder):
    with Ledger("budget.db") as ledger:
        ledger.create("ratings", epsilon=9.0, delta=1e-6, neighbors="replace", unit="user")
        line = f"ratings.csv --items {N_ITEMS} {BASIC} --out model --ledger budget.db --dataset ratings"
        assert run(line).exit_code == 0
        before = (folder / "model").read_bytes()
        assert isinstance(run(f"{line} --force").exception, BudgetExceeded)
        assert (folder / "model").read_bytes() == before and len(ledger["ratings"].history()) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"none.csv --items 30 {BASIC} {{}}", "X of PrivateCompletion must be an existing file"),
        (f"ratings.csv --items none.csv {BASIC} {{}}", "file of catalogue must be an existing file"),
        (f"ratings.csv --items 0 {BASIC} {{}}", "items of PrivateCompletion must be a count >= 1"),
        ("ratings.csv --items 30 --rank 2 --epsilon 1 --delta 1e-6 {}", "rating_range of PrivateCompletion"),
        (f"ratings.csv --items 30 {BASIC} --rating-range 5 1 {{}}", "rating_range of PrivateCompletion"),
        (f"ratings.csv --items 30 {BASIC} --delta 0 {{}}", "delta of PrivateCompletion must be > 0, because"),
        (f"ratings.csv --items 30 {BASIC} --rank 0 {{}}", "rank of PrivateCompletion"),
        (f"ratings.csv --items 30 {BASIC} --rank 31 {{}}", "rank of PrivateCompletion must be at most the number"),
        (f"ratings.csv --items 30 {BASIC} --feedback implicit --method factored_gradient {{}}", "method of Private"),
        (f"catalogue.csv --items 30 {BASIC} {{}}", "X of PrivateCompletion must be a table with the columns user"),
    ],
)
def test_bad_input_charges_nothing_and_writes_nothing(folder, line, message):
    with Ledger("budget.db") as ledger:
        ledger.create("ratings", epsilon=9.0, delta=1e-6, neighbors="replace", unit="user")
        result = run(line.format("--out model --ledger budget.db --dataset ratings"))
        assert isinstance(result.exception, InvalidParameter) and message in str(result.exception)
        assert len(ledger["ratings"].history()) == 1 and not (folder / "model").exists()


@pytest.mark.parametrize("missing", ["--items", "--rank", "--epsilon", "--delta"])
def test_what_has_no_default(folder, missing):
    words = f"ratings.csv --items {N_ITEMS} {BASIC} --json".split()
    place = words.index(missing)
    result = CliRunner().invoke(command, words[:place] + words[place + 2 :])
    assert result.exit_code == 2 and f"Missing option '{missing}'" in result.output


def test_help_says_what_is_public_and_what_is_not():
    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    parts = ("columns user, item and rating", "must not be read off the data", "hushrank plan complete --help",
             "--item-features and costs no budget", "Never compute them from the ratings")  # fmt: skip
    for part in parts:
        assert part in text


@pytest.mark.parametrize("target", ["ratings.parquet", "./ratings.parquet", "ledger.db"])
def test_neither_data_nor_ledger_is_overwritten(folder, target):
    with Ledger("ledger.db") as ledger:
        ledger.create("users", epsilon=10.0, delta=1e-5, neighbors="replace", unit="user")
    before = (folder / target).read_bytes()
    budget = "--ledger ledger.db --dataset users"
    result = run(f"ratings.parquet --items {N_ITEMS} {BASIC} {budget} --out {target}")
    assert result.exit_code == 2 and "would overwrite" in result.output
    assert (folder / target).read_bytes() == before


def test_a_model_does_not_land_among_the_data(folder):
    result = run(f"parts --items {N_ITEMS} {BASIC} --out parts/model.hush")
    assert result.exit_code == 2 and "would overwrite" in result.output
    assert sorted(path.name for path in (folder / "parts").iterdir()) == ["a.parquet", "b.parquet"]


# Public facts about items


@pytest.fixture
def films(folder):
    """Ratings that follow tastes, and facts about their items in files of both kinds."""
    users, items = np.nonzero(~np.isnan(tastes()))
    pa.csv.write_csv(pa.table({"user": users, "item": items, "rating": tastes()[users, items]}), "tastes.csv")
    shuffled = facts().take(np.random.default_rng(1).permutation(N_FILMS))
    pa.csv.write_csv(shuffled, "facts.csv")
    pq.write_table(facts(), "facts.parquet")
    pq.write_table(facts().set_column(1, "genre", pa.array([[text] for text in facts()["genre"].to_pylist()])), "l.pq")
    (folder / "new.csv").write_text("item\n11\n3\n")
    pq.write_table(pa.table({"item": [3, 11]}), "new.parquet")
    return folder


TASTES = "--rating-range 1 5 --rank 2 --epsilon 20 --delta 1e-6 --quiet --threads 1"


@pytest.mark.parametrize("features", ["facts.csv", "facts.parquet", "l.pq"])
@pytest.mark.parametrize("new", ["", "--new-items new.csv", "--new-items new.parquet"])
def test_files_of_facts_give_the_model_of_the_library(films, features, new):
    expected = recommender(items=N_FILMS, item_features=facts(), new_items=[3, 11] if new else None).fit(tastes())
    result = run(f"tastes.csv --items {N_FILMS} --item-features {features} {new} {TASTES} --seed 1 --out model --json")
    assert result.exit_code == 0, result.exception
    printed = json.loads(result.stdout)
    assert printed["item_means_"] == expected.item_means_.tolist()
    assert printed["feature_map_"] == expected.feature_map_.tolist()
    assert printed["feature_columns_"] == expected.feature_columns_.tolist()
    assert_equal_models(hushrank.load("model"), expected)


def test_one_file_is_catalogue_and_facts(films, capsys):
    line = f"tastes.csv --items facts.csv --item-features facts.csv {TASTES} --out model"
    command.main(line.split(), standalone_mode=False)
    output, errors = capsys.readouterr()
    model = hushrank.load("model")
    assert sorted(model.items_.tolist()) == list(range(N_FILMS))
    assert model.feature_names_ == ["Comedy", "Drama", "Horror", "Western", "year", "year squared"]
    assert "public item features in 6 columns: users have own slopes on them" in " ".join(output.split())
    assert errors == ""


def test_facts_that_tell_nothing_are_said_to(films):
    users, items = np.nonzero(~np.isnan(tastes()))
    noise = np.random.default_rng(1).integers(1, 6, len(users)).astype(float)
    pa.csv.write_csv(pa.table({"user": users, "item": items, "rating": noise}), "noise.csv")
    result = run(f"noise.csv --items {N_FILMS} --item-features facts.csv {TASTES} --out model")
    said = " ".join(result.output.split())
    assert "in 6 columns: found not to tell about users, who have no slopes" in said
    plain = run(f"noise.csv --items {N_FILMS} {TASTES} --out model --force")
    assert plain.exit_code == 0 and "public item features" not in plain.output


def test_a_plan_takes_the_same_options(films):
    terms = f"--users 300 --items {N_FILMS} --rating-range 1 5 --rank 2 --epsilon 20 --delta 1e-6 --json"
    plain, told = (
        CliRunner().invoke(main_module.cli, f"plan complete {terms} {options}".split())
        for options in ("", "--item-features facts.csv --new-items new.parquet")
    )
    told, plain = json.loads(told.stdout), json.loads(plain.stdout)
    assert "without item features" in told.pop("notes")[0] and plain.pop("notes") == [] and told == plain


def test_a_plan_reads_a_catalogue_whose_ids_have_another_name(films):
    (films / "movies.csv").write_text("movieId,title\n7,a\n8,b\n")
    line = "plan complete --users 300 --items movies.csv --rating-range 1 5 --rank 2 --epsilon 20 --delta 1e-6"
    refused = CliRunner().invoke(main_module.cli, line.split())
    assert "Did you mean --item-col movieId?" in str(refused.exception)
    assert CliRunner().invoke(main_module.cli, f"{line} --item-col movieId".split()).exit_code == 0


FACTS_REFUSED = {
    "no file": ("--item-features none.csv", "file of item features must be an existing file ending in"),
    "a folder": ("--item-features parts", "file of item features must be an existing file ending in"),
    "no items": ("--item-features odd.csv", "file of item features must be a table with the column item and other"),
    "items alone": ("--item-features new.csv", "file of item features must be a table with the column item and other"),
    "twice": ("--item-features twice.csv", "--item-features must be a table with one row for each"),
    "two columns": ("--item-features names.csv", "whose column names differ"),
    "unknown": ("--item-features others.csv", "--item-features must be a table with rows of items"),
    "words": ("--item-features words.csv", "--item-features must be a table with int ids in its"),
    "damaged": ("--item-features damaged.parquet", "damaged.parquet"),
    "no offsets": ("--item-features facts.csv --no-offsets", "--item-features must be left out without"),
    "new, unknown": ("--new-items others.csv", "--new-items must be ids of the catalogue; got"),
    "new, all": ("--new-items facts.csv", "--new-items must be fewer than all items of the catalog"),
    "new, no file": ("--new-items none.csv", "file of new items must be an existing file ending in"),
    "new, no offsets": ("--new-items new.csv --no-offsets", "--new-items must be left out without"),
}


@pytest.mark.parametrize("case", FACTS_REFUSED)
def test_wrong_facts_are_one_line_charge_nothing_and_write_nothing(films, case, monkeypatch, capsys):
    options, message = FACTS_REFUSED[case]
    (films / "odd.csv").write_text("film,genre\n1,Drama\n")
    (films / "twice.csv").write_text("item,genre\n1,Drama\n2,Drama\n1,Comedy\n")
    (films / "names.csv").write_text("item,genre,genre\n1,Drama,Comedy\n")
    (films / "others.csv").write_text("item,genre\n100,Drama\n")
    (films / "words.csv").write_text("item,genre\ntea,Drama\n")
    (films / "damaged.parquet").write_bytes((films / "facts.parquet").read_bytes()[:-9])
    with Ledger("budget.db") as ledger:
        ledger.create("tastes", epsilon=50.0, delta=1e-5, neighbors="replace", unit="user")
        budget = "--ledger budget.db --dataset tastes"
        words = f"complete tastes.csv --items {N_FILMS} {options} {TASTES} {budget} --out model".split()
        monkeypatch.setattr(sys, "argv", ["hushrank", *words])
        with pytest.raises(SystemExit) as stop:
            main_module.main()
        assert len(ledger["tastes"].history()) == 1
    printed = capsys.readouterr()
    assert stop.value.code == main_module.BAD_INPUT and printed.out == "" and not (films / "model").exists()
    assert message in printed.err and printed.err.count("\n") == 1 and printed.err.startswith("hushrank: ")


def test_a_column_that_is_left_out_is_one_line_of_the_command(films, capfd):
    titles = facts(range(40), 40).append_column("title", pa.array([f"title {j}" for j in range(40)]))
    pa.csv.write_csv(titles, "titles.csv")
    words = f"tastes.csv --items 40 --item-features titles.csv {TASTES} --out model".split()
    command.main(words, standalone_mode=False)
    said = capfd.readouterr().err
    assert said.count("\n") <= 1 and "UserWarning" not in said and "fit.py" not in said


@pytest.mark.parametrize("option", ["--items", "--item-features", "--new-items"])
def test_what_a_fit_was_told_is_not_overwritten(films, option):
    given = {"--items": "facts.csv", "--item-features": "facts.parquet", "--new-items": "new.csv"}
    before = (films / given[option]).read_bytes()
    options = " ".join(f"{name} {path}" for name, path in given.items())
    result = run(f"tastes.csv {options} {TASTES} --out {given[option]}")
    assert result.exit_code == 2 and "would overwrite" in result.output
    assert (films / given[option]).read_bytes() == before


def test_a_table_of_movielens(folder):
    """Other names, an extra column, compressed, a catalogue and titles in the file of films."""
    table = RATINGS.rename_columns(["userId", "movieId", "rating"]).append_column("timestamp", RATINGS["user"])
    with pa.CompressedOutputStream("films.csv.gz", "gzip") as file:
        pa.csv.write_csv(table, file)
    titles = "".join(f"{j},Film [{j}]\n" for j in range(N_ITEMS))
    (folder / "films.csv").write_text(f"movieId,title\n{titles}")
    named, seed = "--user-col userId --item-col movieId --items films.csv", f"{BASIC} --seed 5 --threads 1"
    expected = run(f"ratings.csv --items {N_ITEMS} {seed} --json")
    assert run(f"films.csv.gz {named} {seed} --json").stdout == expected.stdout
    result = run(f"films.csv.gz {named} --titles films.csv {seed} --out model.hush")
    assert result.exit_code == 0, result.exception
    popular = np.argsort(-np.array(json.loads(expected.stdout)["item_counts_"]), kind="stable")[:SHOWN]
    assert [row[1] for row in rows(result.output)][:SHOWN] == [f"Film [{j}]" for j in popular]
    error = str(run(f"films.csv.gz --items {N_ITEMS} {seed} --json").exception)
    assert error.endswith("(--user-col userId --item-col movieId)")
    result = run(f"films.csv.gz {named} --titles films.csv {seed} --out films.csv")
    assert result.exit_code == 2 and "--out films.csv would overwrite" in result.output


@pytest.mark.parametrize("count", ["+-5", "1000000000000", "99999999999999999999999"])
def test_odd_counts_of_items_are_one_clear_line(folder, count):
    result = run(f"ratings.parquet --items {count} {BASIC} --out model.hush")
    assert result.exit_code == 2 or isinstance(result.exception, InvalidParameter)
    assert not (folder / "model.hush").exists()


def test_ids_that_are_not_those_of_the_ratings_are_suspected(folder):
    (folder / "other.csv").write_text("item\n" + "".join(f"{1000 + j}\n" for j in range(N_ITEMS)))
    suspected = "no item stands above the noise: there are too few people for this budget, or the ids of --items"
    assert suspected in " ".join(run(f"ratings.csv --items other.csv {BASIC} --out a.hush").output.split())
    assert suspected not in " ".join(run(f"ratings.csv --items {N_ITEMS} {BASIC} --out b.hush").output.split())
