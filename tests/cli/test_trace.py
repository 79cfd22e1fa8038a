"""`hushrank trace`: journeys through every design and form, what is printed and kept secret, and what is refused."""

import json
import logging
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import hushrank
from hushrank.cli import fit
from hushrank.cli import main as main_module
from hushrank.cli.trace import SHOWN, command, say_doubts, say_errors, say_gain
from hushrank.data.records.measurements import Measurements
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.evaluation.trace_data import trace_records
from hushrank.privacy.ledger import Ledger

N, N_BROKEN, SHAPE = 4019, 1013, (4, 3)  # four digits, so that no released number looks like one of them
NAMES = {
    "dense": [f"m{i}{j}" for i in range(4) for j in range(3)],
    "rank_one": ["ph", "[red]clay", "b[/x]", "<i>sun", "N", "P", "K"],
    "entry": ["row", "column"],
}
DATA = {design: trace_records(N, SHAPE, 1, design=design, noise=0.2, seed=4) for design in NAMES}
FEW = "--rank 1 --epsilon 16 --delta 1e-6 --quiet"
DESIGNS = {
    "dense": "--design dense --shape 4 3",
    "rank_one": "--design rank_one --x ph,[red]clay,b[/x],<i>sun --z N,P,K",
    "entry": "--design entry --shape 4 3",
}
TERMS = {"rank": 1, "epsilon": 16.0, "delta": 1e-6}


def numbers(design):
    X = DATA[design].X
    return np.column_stack(X) if isinstance(X, tuple) else X.reshape(N, -1)


def frame(design):
    table = pd.DataFrame(numbers(design), columns=NAMES[design]).assign(target=DATA[design].y)
    return table[table.columns[::-1]] if design == "rank_one" else table


@pytest.fixture(scope="module")
def data_folder(tmp_path_factory):
    """All designs in all forms; the tests only read here."""
    folder = tmp_path_factory.mktemp("measurements")
    for design in NAMES:
        table = frame(design)
        table.to_csv(folder / f"{design}.csv", index=False)
        table.to_parquet(folder / f"{design}.parquet")
        (folder / design).mkdir()
        table[:1500].to_parquet(folder / design / "1.parquet")
        table[1500:].to_parquet(folder / design / "2.parquet")
        np.save(folder / f"{design}.npy", numbers(design).reshape(N, 4, 3) if design == "dense" else numbers(design))
        np.save(folder / f"{design}_answers.npy", DATA[design].y)
    frame("entry").assign(user="ann").to_csv(folder / "users.csv", index=False)
    return folder


@pytest.fixture
def folder(data_folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)  # handlers would outlive the test
    for path in data_folder.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


@pytest.fixture(scope="module")
def models():
    """Of the library, from arrays and with a seed."""
    fitted = {}
    for design, data in DATA.items():
        model = PrivateTraceRegression(**TERMS, design=design, shape=SHAPE, random_state=5)
        fitted[design] = model.fit(data.X, data.y)
    return fitted


def run(line):
    return CliRunner().invoke(command, line.split())


def rows(output):
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]


def ended(line, monkeypatch, capsys):
    """Exit code, stdout and stderr of the whole command."""
    monkeypatch.setattr(sys, "argv", ["hushrank", "trace", *line.split()])
    with pytest.raises(SystemExit) as stop:
        main_module.main()
    return stop.value.code or 0, *capsys.readouterr()


@pytest.mark.parametrize("design", NAMES)
@pytest.mark.parametrize("form", [".csv", ".parquet", "", ".npy"])
def test_every_design_in_every_form_gives_the_model_of_the_library(folder, models, design, form):
    words = DESIGNS[design] if form != ".npy" else f"--design {design} --target {design}_answers.npy --shape 4 3"
    result = run(f"{design}{form} {words} {FEW} --seed 5 --threads 1 --json")
    assert result.exit_code == 0, result.exception
    printed, model = json.loads(result.stdout), models[design]
    assert model.coef_.any() and printed["coef_"] == model.coef_.tolist()
    assert (printed["intercept_"], printed["gain_"]) == (model.intercept_, model.gain_)
    assert printed.get("feature_names_in_") == (None if form == ".npy" else NAMES[design])
    assert printed["privacy_"] == model.privacy_.to_dict() and printed["privacy_"]["unit"] == "record"


def test_options_reach_the_estimator(folder):
    line = "dense.npy --target dense_answers.npy --design-covariance identity --intercept 0.5 --x-scale 2 --y-scale 3"
    assert run(f"{line} {FEW} --privacy label --neighbors add_remove --n-max 9000 --out model").exit_code == 0
    model = hushrank.load("model")
    assert (model.shape, model.design_covariance, model.privacy, model.n_max) == (None, "identity", "label", 9000)
    assert (model.intercept, model.x_scale, model.y_scale, model.neighbors) == (0.5, 2.0, 3.0, "add_remove")
    assert model.coef_.shape == SHAPE


@pytest.mark.parametrize("design", NAMES)
def test_what_is_printed_is_what_was_released(folder, design):
    result = run(f"{design}.parquet {DESIGNS[design]} {FEW} --out model[1].hush")
    assert result.exit_code == 0, result.exception
    model, text = hushrank.load("model[1].hush"), " ".join(result.output.split())
    assert text.startswith("private matrix of 4 rows and 3 columns, of rank 1 the matrix stands above the noise: it")
    assert say_gain(model) in text and say_errors(model) in text
    assert f"intercept: {model.intercept_:.4g}; singular values: {model.singular_values_[0]:.4g}" in text
    expected, names = [], NAMES[design]
    for place in np.argsort(-abs(model.coef_), axis=None, kind="stable")[:SHOWN]:
        i, j = divmod(int(place), 3)
        where = [names[i], names[4 + j]] if design == "rank_one" else [str(i), str(j)]
        value, deviation = model.coef_[i, j], model.coef_deviation_[i, j]
        mark = "noise" if abs(value) < 2 * deviation else ""
        own = [names[place]] if design == "dense" else []
        expected.append([*where, *own, f"{value:.4g}", f"{deviation:.2g}", mark])
    assert rows(result.output) == expected
    assert "delta=1e-06, neighbors=replace, unit=record" in text and "model written to model[1].hush" in text
    assert "taken for public" not in text


def test_columns_without_names_are_numbers(folder):
    result = run(f"rank_one.npy --target rank_one_answers.npy --design rank_one --shape 4 3 {FEW} --out model")
    found = {tuple(row[:2]) for row in rows(result.output)}
    assert len(found) == SHOWN and found <= {(str(i), str(j)) for i in range(4) for j in range(3)}


def test_that_measurements_are_public_is_said(folder):
    result = run(f"entry.parquet {DESIGNS['entry']} {FEW} --privacy label --out model")
    text = " ".join(result.output.split())
    assert "answers alone are hidden: measurements are taken for public, and the result may show them" in text
    assert "unit=label" in text


@pytest.mark.parametrize(
    ("options", "words"), [("", "only the intercept was learned"), ("--intercept 2.5", "nothing was learned")]
)
def test_nothing_above_the_noise_is_said_plainly(folder, options, words):
    table = frame("rank_one")
    table["target"] = np.random.default_rng(0).permutation(table["target"])  # of other measurements
    table[:300].to_csv("noise.csv", index=False)
    result = run(f"noise.csv {DESIGNS['rank_one']} --rank 2 --epsilon 0.1 --delta 1e-6 {options} --seed 1 --out model")
    assert result.exit_code == 0, result.exception
    model, text = hushrank.load("model"), " ".join(result.output.split())
    assert not model.coef_.any() and rows(result.output) == []
    assert f"columns, which is zero nothing stood above the noise: {words}, and every prediction is" in text
    assert f"is {model.intercept_:.4g} (gain {model.gain_:.3g} of at most 1" in text
    assert f"typical size of an error: {model.spread_:.3g} (median, with noise)" in text


@pytest.mark.parametrize(("gain", "shares"), [(0.5, (75, 25)), (0.041, (52, 48)), (1.02, (100, 0))])
def test_gains_in_words(gain, shares):
    model = SimpleNamespace(coef_=np.eye(2), gain_=gain, gain_deviation_=0.0123, residual_=0.25, spread_=1.5)
    said = f"it predicts about {shares[0]} % of the records better than the intercept alone and {shares[1]} % worse"
    assert say_gain(model) == (
        f"the matrix stands above the noise: {said} (gain {gain:.3g} of at most 1, its noise 0.012)"
    )
    assert say_errors(model) == "typical size of an error: 0.25 with the matrix, 1.5 without it (median, with noise)"


@pytest.mark.parametrize("gain", [-0.65, -0.01, 0.03])
def test_a_matrix_that_squared_errors_alone_speak_for_says_so(gain):
    model = SimpleNamespace(coef_=np.eye(2), gain_=gain, gain_deviation_=0.0123, residual_=0.25, spread_=0.2)
    assert say_gain(model).startswith(
        "the matrix stands above the noise by squared errors alone, as where most answers"
    )
    [doubt] = say_doubts(model)
    assert doubt.startswith("DOUBTFUL") and "equal" in doubt and "centered" in doubt and "--y-scale" in doubt


def test_a_smaller_rank_than_asked_for_is_said(folder, monkeypatch):
    def fitted(self, X):
        self.coef_, self.singular_values_ = np.outer([2.0, 0, 0, 0], [1.0, 0, 0]), np.array([2.0, 0.0, 0.0])
        self.intercept_, self.gain_, self.gain_deviation_, self.residual_, self.spread_ = 0.0, 0.5, 0.01, 0.1, 0.2
        self.n_rows_, self.n_columns_, self.privacy_ = 4, 3, "none"

    monkeypatch.setattr(PrivateTraceRegression, "fit", fitted)
    monkeypatch.setattr(PrivateTraceRegression, "save", lambda *_: None)
    text = " ".join(run(f"entry.csv {DESIGNS['entry']} {FEW} --rank 3 --out model").output.split())
    assert "of rank 1 of at most 3 the matrix" in text and "singular values: 2 largest entries" in text


BAD = [
    ("entry.csv {entry} --target cost", "no column 'cost'"),
    ("dense.csv --shape 4 4", "16 numbers, for each record and the shape (4, 4); got '12 numbers'"),
    ("dense.csv", "--shape must be (n_rows, n_columns)"),
    ("rank_one.csv --design rank_one --x ph,lime --z N", "a table with the column 'lime'"),
    ("rank_one.csv {rank_one} --shape 3 4", "--x and --z name 4 and 3 columns, and --shape 3 4 is another size"),
    ("dense.npy --target dense_answers.npy --shape 3 4", "must be measurements of the shape (3, 4)"),
    ("dense.npy", "--target FILE"),
    ("users.csv {entry}", "has a column 'user', and the records of a user are not protected together"),
    ("entry.csv {entry} --rank 4", "--rank must be at most 3"),
    ("entry.csv {entry} --delta 0", "--delta must be > 0"),
    ("entry.csv {entry} --design-covariance given", "'given' is not one of 'private', 'identity'"),
    ("entry.csv {entry} --features row,column", "--features is for --design dense"),
    ("entry.csv {entry} --seed 1", "--seed must be left out where"),
    ("none.csv {entry}", "the data must be an existing file"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_bad_input_is_one_line_charges_nothing_and_writes_nothing(folder, monkeypatch, capsys, line, message):
    with Ledger("budget.db") as ledger:
        ledger.create("bills", epsilon=40.0, delta=1e-5, neighbors="replace", unit="record")
        words, *others = line.format(**DESIGNS).split()
        charged = "--out model --ledger budget.db --dataset bills"
        code, out, err = ended(f"{words} {FEW} {charged} {' '.join(others)}", monkeypatch, capsys)
        assert (code, out, err.count("\n")) == (2, "", 1) and message in err
        assert len(ledger["bills"].history()) == 1 and not (folder / "model").exists()


def test_a_result_without_a_place_is_refused_before_the_charge(folder, monkeypatch, capsys):
    with Ledger("budget.db") as ledger:
        ledger.create("bills", epsilon=40.0, delta=1e-5, neighbors="replace", unit="record")
        line = f"entry.csv {DESIGNS['entry']} {FEW} --ledger budget.db --dataset bills"
        code, out, err = ended(line, monkeypatch, capsys)
        assert (code, out) == (2, "") and "Say where the result goes: --out FILE, or --json for stdout." in err
        assert len(ledger["bills"].history()) == 1


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("entry.csv {entry}", "entry.csv"),
        ("entry.csv {entry}", "./dense/../entry.csv"),
        ("dense.npy --target dense_answers.npy", "dense.npy"),
        ("dense.npy --target dense_answers.npy", "./dense_answers.npy"),
        ("entry {entry}", "entry/model.hush"),
    ],
)
def test_data_are_not_overwritten(folder, data_folder, line, target):
    before = {path: path.read_bytes() for path in data_folder.rglob("*") if path.is_file()}
    result = run(f"{line.format(**DESIGNS)} {FEW} --out {target}")
    assert result.exit_code == 2 and "would overwrite the data or the ledger" in result.output
    assert {path: path.read_bytes() for path in data_folder.rglob("*") if path.is_file()} == before


def test_the_ledger_is_charged_and_refuses_before_data_are_read(folder, monkeypatch, capsys):
    with Ledger("budget.db") as ledger:
        ledger.create("bills", epsilon=17.0, delta=1e-5, neighbors="replace", unit="record")
        line = f"entry.csv {DESIGNS['entry']} {FEW} --out model --ledger budget.db --dataset bills"
        assert ended(line, monkeypatch, capsys)[0] == 0
        before = (folder / "model").read_bytes()
        monkeypatch.setattr(Measurements, "blocks", lambda *_: pytest.fail("the data were read"))
        code, out, err = ended(f"{line} --force", monkeypatch, capsys)
        assert (code, out, err.count("\n")) == (3, "", 1) and "budget exceeded" in err
        assert (folder / "model").read_bytes() == before and len(ledger["bills"].history()) == 2


@pytest.fixture
def broken(folder):
    """Records of which some are no entry, or have no answer."""
    table = frame("entry")
    table.loc[: N_BROKEN // 2, "row"], table.loc[N_BROKEN // 2 : N_BROKEN, "target"] = 99, np.nan
    table.to_csv("broken.csv", index=False)
    return f"broken.csv {DESIGNS['entry']} --rank 1 --epsilon 16 --delta 1e-6"


def numbers_in(text):
    return set(text.replace(",", "").replace("(", " ").split())


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_nothing_private_is_printed(broken, neighbors):
    line = f"-m hushrank trace {broken} --neighbors {neighbors} --out model"
    done = subprocess.run([sys.executable, *line.split()], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "guarantee: " in done.stdout and not numbers_in(done.stdout) & {str(N), str(N_BROKEN), str(N - N_BROKEN)}


@pytest.mark.parametrize(("flag", "is_told"), [("--verbose", True), ("", False), ("--quiet", False)])
def test_counts_are_for_those_who_ask_and_are_called_private(broken, monkeypatch, capsys, flag, is_told):
    monkeypatch.setattr(fit, "sys", SimpleNamespace(stderr=SimpleNamespace(isatty=lambda: True)))
    command.main(f"{broken} --out model {flag}".split(), standalone_mode=False)
    printed = capsys.readouterr()
    assert (str(N) in numbers_in(printed.err)) == is_told == ("(not private)" in printed.err)
    assert str(N) not in numbers_in(printed.out)


def test_help_says_what_is_protected():
    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    for part in ("records of somebody who has several are not protected together", "hushrank plan trace --help"):
        assert part in text
