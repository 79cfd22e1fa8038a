"""`hushrank complete`: options reach the estimator, input of every kind, and what is printed and written."""

import json
import logging

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hushrank
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
    shown = rows(result.output)
    assert [row[0] for row in shown] == [str(i + 1) for i in range(SHOWN)]
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
    result = run(f"{line} --unobserved-weight 0.5 --out model")
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
        assert isinstance(run(line).exception, BudgetExceeded)
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
    for part in ("columns user, item and rating", "must not be read off the data", "hushrank plan complete --help"):
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


@pytest.mark.parametrize("count", ["+-5", "1000000000000", "99999999999999999999999"])
def test_odd_counts_of_items_are_one_clear_line(folder, count):
    result = run(f"ratings.parquet --items {count} {BASIC} --out model.hush")
    assert result.exit_code == 2 or isinstance(result.exception, InvalidParameter)
    assert not (folder / "model.hush").exists()
