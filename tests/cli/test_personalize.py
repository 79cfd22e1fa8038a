"""`hushrank personalize`: options reach the estimator, input of every kind, and what is printed and written."""

import json
import logging
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import hushrank
from hushrank.cli.personalize import command, say_gain
from hushrank.estimators.personalization import head_prior
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.evaluation.synthetic import shared_representation
from hushrank.exceptions import BudgetExceeded, InvalidParameter
from hushrank.privacy.ledger import Ledger

N_USERS, NAMES = 1500, ["age", "[red]dose", "b[/x]", "<i>w", "e", "f"]
DATA = shared_representation(N_USERS, len(NAMES), 2, n_records=6, noise=0.1, seed=2)
FEW = "--components 2 --epsilon 4 --delta 1e-6 --quiet"


def to_table(data, user="user", target="target"):
    columns = {name: data.X[:, j] for j, name in enumerate(NAMES)}
    return pa.table({user: [f"u{code}" for code in data.users], **columns, target: data.y})


RECORDS = to_table(DATA)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)  # handlers would outlive the test
    shuffled = RECORDS.take(np.random.default_rng(0).permutation(len(RECORDS)))
    pa.csv.write_csv(shuffled, "records.csv")
    pq.write_table(shuffled, "records.parquet")
    (tmp_path / "parts").mkdir()
    pq.write_table(shuffled.slice(0, 4000), "parts/a.parquet")
    pq.write_table(shuffled.slice(4000), "parts/b.parquet")
    pq.write_table(to_table(DATA, "patient", "days"), "named.parquet")
    return tmp_path


def run(line):
    return CliRunner().invoke(command, line.split())


def rows(output):
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]


@pytest.fixture(scope="module")
def model():
    return PrivateRepresentation(2, epsilon=4.0, delta=1e-6, random_state=5).fit(DATA.X, DATA.y, DATA.users)


@pytest.mark.parametrize("source", ["records.csv", "records.parquet", "parts"])
def test_every_kind_of_input_in_any_order_gives_the_model_of_the_library(folder, model, source):
    result = run(f"{source} {FEW} --seed 5 --threads 1 --json")
    assert result.exit_code == 0, result.exception
    printed = json.loads(result.stdout)
    assert printed["embedding_"] == model.embedding_.tolist() and printed["gains_"] == model.gains_.tolist()
    assert printed["feature_names_in_"] == NAMES
    assert printed["privacy_"] == model.privacy_.to_dict() and printed["privacy_"]["unit"] == "user"


def test_columns_are_chosen_by_name_and_in_order(folder):
    line = f"named.parquet --user patient --target days --features e,age,f {FEW} --seed 5 --json"
    printed = json.loads(run(line).stdout)
    chosen = [NAMES.index(name) for name in ("e", "age", "f")]
    expected = PrivateRepresentation(2, epsilon=4.0, delta=1e-6, random_state=5)
    expected.fit(DATA.X[:, chosen], DATA.y, DATA.users)
    assert printed["feature_names_in_"] == ["e", "age", "f"]
    assert printed["embedding_"] == expected.embedding_.tolist()


def test_the_table_shows_what_was_released(folder):
    result = run(f"records.parquet {FEW} --out model[1].hush")
    assert result.exit_code == 0, result.exception
    model, text = hushrank.load("model[1].hush"), " ".join(result.output.split())
    assert "private representation of 6 features: 2 directions, shared by all users" in text
    gain, noise = model.gains_.max(), model.gain_deviation_
    assert "heads stand above the noise: they predict a user's records better than the user's mean" in text
    assert f"(largest gain {gain:.3g} of at most 1, its noise {noise:.2g})" in text
    shown = "".join("".join(row) for row in rows(result.output)).replace(" ", "")
    assert model.n_significant_ == 2 and "2 of 2 directions stand above the noise" in text and "noise" not in shown
    for loadings in model.directions_.T:
        mean = loadings @ model.embedding_ @ model.head_mean_
        order = np.argsort(-abs(loadings), kind="stable")[:3]
        leading = ", ".join(f"{NAMES[j]} ({loadings[j]:+.3f})" for j in order)
        assert leading.replace(" ", "") in shown and f"{mean:.4g}" in shown
    assert "delta=1e-06, neighbors=replace, unit=user" in text and "model written to model[1].hush" in text


def test_nothing_above_the_noise_is_said_plainly(folder, monkeypatch):
    monkeypatch.setattr(head_prior, "best_scale", lambda *_: 0.0)  # what a gain within its noise leads to
    result = run(f"records.parquet {FEW} --components 1 --out model")
    assert result.exit_code == 0, result.exception
    assert not hushrank.load("model").head_covariance_.any() and rows(result.output) == []
    text = " ".join(result.output.split())
    assert "1 direction, shared by all users nothing stood above the noise: users rely on their own records" in text


@pytest.mark.parametrize(
    ("learned", "words"),
    [
        ({"gains_": np.array([0.3, 0.61, 0.2]), "gain_deviation_": 0.01}, "heads stand above the noise"),
        (
            {"gains_": np.array([0.3, 0.61, 0.2]), "gain_deviation_": 0.01},
            "(largest gain 0.61 of at most 1, its noise 0.01)",
        ),
        ({}, "was not checked"),
    ],
)
def test_gains_in_words(learned, words):
    model = SimpleNamespace(head_covariance_=np.eye(2), **learned)
    assert words in say_gain(model)
    if learned:
        model.head_covariance_ = np.zeros((2, 2))
        assert say_gain(model).startswith("nothing stood above the noise: users rely on their own records")


def test_options_reach_the_estimator(folder):
    line = f"records.csv {FEW} --method altmin --neighbors add_remove --n-max 5000 --x-scale 2 --y-scale 3"
    assert run(f"{line} --out model").exit_code == 0
    model = hushrank.load("model")
    assert (model.method, model.neighbors, model.n_max) == ("altmin", "add_remove", 5000)
    assert (model.x_scale, model.y_scale) == (2.0, 3.0)
    lines = (folder / "records.csv").read_text().splitlines(keepends=True)
    (folder / "few.csv").write_text("".join(lines[:401]))  # a choice scores each record thousands of times
    line = "few.csv --components 1 --method exponential --loss logistic --epsilon 4 --delta 0 --quiet --out model"
    result = run(f"{line} --force")
    assert result.exit_code == 0, result.exception
    assert hushrank.load("model").loss == "logistic" and "was not checked" in result.output


def test_the_ledger_is_charged_and_refuses(folder):
    with Ledger("budget.db") as ledger:
        ledger.create("records", epsilon=5.0, delta=1e-6, neighbors="replace", unit="user")
        line = f"records.parquet {FEW} --out model --ledger budget.db --dataset records"
        assert run(line).exit_code == 0
        before = (folder / "model").read_bytes()
        assert isinstance(run(f"{line} --force").exception, BudgetExceeded)
        assert (folder / "model").read_bytes() == before and len(ledger["records"].history()) == 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (f"none.csv {FEW} {{}}", "X of PrivateRepresentation must be an existing file"),
        (
            f"records.npy {FEW} {{}}",
            "X of PrivateRepresentation must be a folder of Parquet or CSV files or a file ending in",
        ),
        (f"records.csv --user patient {FEW} {{}}", "no column 'patient'"),
        (f"named.parquet {FEW} {{}}", "no column 'target'"),
        (f"named.parquet --target days {FEW} {{}}", "no column 'user'"),
        (f"records.csv --features age,z {FEW} {{}}", "X of PrivateRepresentation must be a table with the column 'z'"),
        (f"records.csv --features age,user {FEW} {{}}", "features of PrivateRepresentation must be None or a list"),
        (f"records.csv {FEW} --components 7 {{}}", "n_components of PrivateRepresentation must be at most the number"),
        (f"records.csv {FEW} --delta 0 {{}}", "delta of PrivateRepresentation must be > 0"),
        (f"records.csv {FEW} --x-scale 0 {{}}", "x_scale of PrivateRepresentation"),
    ],
)
def test_bad_input_charges_nothing_and_writes_nothing(folder, line, message):
    with Ledger("budget.db") as ledger:
        ledger.create("records", epsilon=9.0, delta=1e-6, neighbors="replace", unit="user")
        result = run(line.format("--out model --ledger budget.db --dataset records"))
        assert isinstance(result.exception, InvalidParameter) and message in str(result.exception)
        assert len(ledger["records"].history()) == 1 and not (folder / "model").exists()


@pytest.mark.parametrize("target", ["records.parquet", "./records.parquet"])
def test_data_are_not_overwritten(folder, target):
    before = (folder / target).read_bytes()
    result = run(f"records.parquet {FEW} --out {target}")
    assert result.exit_code == 2 and "would overwrite" in result.output
    assert (folder / target).read_bytes() == before
    result = run(f"parts {FEW} --out parts/model.hush")
    assert result.exit_code == 2 and "would overwrite" in result.output


def test_help_says_what_is_public_and_what_is_not():
    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    for part in ("Heads are not part of it", "hushrank predict", "hushrank plan personalize --help"):
        assert part in text
