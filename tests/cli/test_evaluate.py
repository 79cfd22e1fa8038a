"""`hushrank evaluate`: numbers that say what they are, payment, and refusals before anything is spent."""

import json
import re

import pyarrow.csv
import pytest
from click.testing import CliRunner

import hushrank as hr
from evaluation_support import N_ITEMS, made_up
from hushrank.cli.evaluate import command
from hushrank.exceptions import BudgetExceeded, ModelFileError

FIT = f"--items {N_ITEMS} --rating-range 1 5 --rank 2 --epsilon 20 --delta 1e-6"


@pytest.fixture(scope="module")
def model():
    terms = {"epsilon": 20.0, "delta": 1e-6, "rating_range": (1, 5), "items": N_ITEMS}
    return hr.PrivateCompletion(2, **terms).fit(made_up().table())


@pytest.fixture
def folder(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    model.save("model.hush")
    pyarrow.csv.write_csv(made_up().table(), "ratings.csv")
    return tmp_path


def printed(line, capsys):
    command.main(f"{line} --threads 1".split(), standalone_mode=False)
    output, errors = capsys.readouterr()
    assert errors == ""
    return output


def refused(line):
    result = CliRunner().invoke(command, line.split())
    assert result.exit_code != 0
    return str(result.exception) if not isinstance(result.exception, SystemExit) else result.output


def rows(output):
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]
    return {name: numbers for name, *numbers in lines}


def test_a_fit_of_a_part_is_measured_on_the_rest(folder, capsys):
    output = printed(f"ratings.csv {FIT} --k 5 --reference", capsys)
    assert "NOT PRIVATE" in output and "Do not publish" in output and "Nothing was charged" in output
    table = rows(output)
    assert "Recall@5" in output and len(table) == 5 and table["the model"][0] > "0.5"
    assert table["the mean of all ratings, without privacy"][1] == "-"
    assert "guarantee" not in output and sorted(path.name for path in folder.iterdir()) == ["model.hush", "ratings.csv"]


def test_a_model_may_stand_beside_the_ratings(folder, capsys):
    outputs = {printed(line, capsys) for line in ("ratings.csv --model model.hush", "model.hush ratings.csv")}
    assert len(outputs) == 1 and printed("ratings.csv model.hush", capsys) in outputs
    assert "model.hush is a model by its name: hushrank evaluate RATINGS --model model.hush" in refused("model.hush")
    for line in ("ratings.csv other.csv", "model.hush ratings.csv other.hush", "model.hush ratings.csv --model m.hush"):
        assert "One table of ratings and at most one model are measured; got " in refused(line)


def test_a_model_that_exists_is_measured(folder, capsys, model):
    table = rows(printed("ratings.csv --model model.hush", capsys))
    expected = hr.evaluate(model, "ratings.csv").scores
    assert table == {
        score.name: [f"{score.rmse:.4f}", "-" if score.recall is None else f"{score.recall:.4f}"] for score in expected
    }


def test_paid_numbers_have_intervals_and_both_guarantees(folder, capsys):
    output = printed("ratings.csv --model model.hush --pay-epsilon 20 --out paid.hush", capsys)
    assert "NOT PRIVATE" not in output and "may be published" in output and "written to paid.hush" in output
    assert re.search(r"guarantee of the numbers: epsilon=(19\.9|20)", output)
    assert "with that of the model: epsilon=3" in output
    paid = hr.load("paid.hush")
    rmse = paid.scores()[0].rmse
    assert rows(output)["the model"][0] == f"{rmse.value:.3f} [{rmse.low:.3f}, {rmse.high:.3f}]"


def test_noise_is_called_noise(folder, capsys):
    output = printed("ratings.csv --model model.hush --pay-epsilon 1e-3 --no-baselines --seed 1", capsys)
    assert output.count("below the noise") == 2


def test_json_says_whether_it_is_private(folder, capsys):
    exact = json.loads(printed("ratings.csv --model model.hush --json", capsys))
    assert exact["private"] is False and exact["guarantee"] is None and "NOT PRIVATE" in exact["notes"][0]
    paid = json.loads(printed("ratings.csv --model model.hush --json --pay-epsilon 1", capsys))
    assert paid["private"] is True and paid["guarantee"]["epsilon"] <= 1.0
    assert paid["with_model"]["epsilon"] > 20.0 and len(paid["scores"][0]["rmse_interval"]) == 2


def test_implicit_feedback_shows_recall_alone(folder, capsys):
    line = f"ratings.csv --items {N_ITEMS} --feedback implicit --rank 2 --epsilon 20 --delta 1e-6"
    output = printed(line, capsys)
    assert "RMSE" not in output and len(rows(output)["the model"]) == 1


def test_the_ledger_is_charged_for_both_at_once_or_for_nothing(folder, capsys):
    with hr.Ledger("budget.db") as ledger:
        account = ledger.create("ratings", epsilon=3.0, delta=1e-6, unit="user")
        fit = FIT.replace("--epsilon 20", "--epsilon 1")
        charged = "--ledger budget.db --dataset ratings"
        with pytest.raises(BudgetExceeded):
            command.main(f"ratings.csv {fit} --pay-epsilon 2.9 {charged}".split(), standalone_mode=False)
        assert len(account.history()) == 1
        printed(f"ratings.csv {fit} --pay-epsilon 1 {charged}", capsys)
        printed(f"ratings.csv --model model.hush --pay-epsilon 0.5 {charged}", capsys)
        assert len(account.history()) == 3


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ratings.csv", "Missing option '--rank', or '--model'"),
        (f"ratings.csv {FIT.replace('--items 24', '')}", "Missing option '--items'"),
        ("ratings.csv --model model.hush --rank 2", "--rank is about a fit"),
        ("ratings.csv --model model.hush --out paid.hush", "--out is for numbers that are paid for"),
        ("ratings.csv --model model.hush --ledger budget.db --dataset a", "--ledger is for numbers that are paid for"),
        ("ratings.csv --model model.hush --pay-epsilon 1 --ledger budget.db", "--ledger and --dataset go together"),
        ("ratings.csv --model model.hush --pay-delta 1e-6", "pay_delta of evaluate must be None"),
        ("ratings.csv --model model.hush --pay-epsilon 1 --out ratings.csv", "would overwrite"),
        ("ratings.csv --model model.hush --held-out 1.5", "held_out of PrivateEvaluation must be"),
        ("gone.csv --model model.hush", "an existing file"),
        ("ratings.csv --model ratings.csv", "is not a hushrank model"),
    ],
)
def test_refusals(folder, line, message):
    assert message in refused(line)
    assert not (folder / "paid.hush").exists()


def test_a_model_of_another_class_is_refused(folder):
    hr.PrivateEvaluation(epsilon=1.0).fit(made_up().table(), hr.load("model.hush")).save("paid.hush")
    with pytest.raises(ModelFileError, match="holds a 'PrivateEvaluation', not a PrivateCompletion"):
        command.main(["ratings.csv", "--model", "paid.hush"], standalone_mode=False)


def test_a_seed_is_repeatable_and_marked(folder, capsys):
    line = "ratings.csv --model model.hush --pay-epsilon 1 --seed 3"
    first, second = printed(line, capsys), printed(line, capsys)
    assert first == second and "MUST NOT BE PUBLISHED" in first
