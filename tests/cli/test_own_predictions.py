"""Predictions with a private representation, for one person or many, for people, for machines and in files."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hushrank.cli.own_predictions import SHOWN_COEFFICIENTS
from hushrank.cli.predict import command
from hushrank.cli.tables import SHOWN_LINES
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.evaluation.synthetic import shared_representation
from hushrank.exceptions import InvalidParameter
from report_support import Document

N_USERS, NAMES = 900, ["<script>", "[red]b", "c", "d"]
DATA = shared_representation(N_USERS, len(NAMES), 2, n_records=6, noise=0.1, seed=6)
IDS = {
    "int64": pa.array([user * 7 - 1000 for user in range(N_USERS)]),
    "uint64": pa.array([2**64 - 1 - user for user in range(N_USERS)], pa.uint64()),
    "str": pa.array([f'[u], "the\n{user}th"' for user in range(N_USERS)]),
}


def to_table(X, y=None, ids=None):
    """Columns in another order than those of the model."""
    columns = {name: X[:, j] for j, name in reversed(list(enumerate(NAMES)))}
    return pa.table({**columns, **({} if ids is None else {"user": ids}), **({} if y is None else {"target": y})})


@pytest.fixture(scope="module")
def model():
    return PrivateRepresentation(2, epsilon=8.0, delta=1e-6).fit(
        pa.table({**{name: DATA.X[:, j] for j, name in enumerate(NAMES)}, "user": DATA.users, "target": DATA.y})
    )


@pytest.fixture
def folder(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    model.save("model.hush")
    pa.csv.write_csv(to_table(DATA.X[:6], DATA.y[:6]), "mine.csv")
    pa.csv.write_csv(to_table(DATA.fresh_X[:5]), "new.csv")
    pa.csv.write_csv(to_table(DATA.X[:180], DATA.y[:180], DATA.users[:180]), "many.csv")
    return tmp_path


def run(line):
    return CliRunner().invoke(command, line.split())


def rows(output):
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]


def test_one_person(folder, model):
    head = model.personalize(DATA.X[:6], DATA.y[:6])
    result = run("model.hush --records mine.csv --new new.csv")
    assert result.exit_code == 0, result.exception
    expected = DATA.fresh_X[:5] @ head.coef_
    assert rows(result.output) == [[str(i + 1), f"{value:.6g}"] for i, value in enumerate(expected)]
    found = json.loads(run("model.hush --records mine.csv --new new.csv --json").stdout)["predictions"]
    assert [line["prediction"] for line in found] == pytest.approx(expected, rel=1e-9)
    assert all(set(line) == {"prediction"} for line in found)


def test_without_new_records_it_shows_coefficients_and_their_quality(folder, model):
    head = model.personalize(DATA.X[:6], DATA.y[:6])
    result = run("model.hush --records mine.csv")
    assert result.exit_code == 0, result.exception
    order = np.argsort(-abs(head.coef_))[:SHOWN_COEFFICIENTS]
    assert rows(result.output) == [[NAMES[j], f"{head.coef_[j]:+.4g}"] for j in order]
    (person,) = json.loads(run("model.hush --records mine.csv --json").stdout)["people"]
    assert person["user"] is None and person["records"] == 6
    assert person["error"] < 0.5 * person["error_of_model_alone"]
    assert person["coefficients"] == pytest.approx(dict(zip(NAMES, head.coef_, strict=True)))
    assert "for you: 6 own records, each predicted from the others; root mean squared errors" in result.output
    for name, words in (("error", "own records and model"), ("error_of_model_alone", "model alone")):
        assert f"{words} {person[name]:.4g}" in result.output


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_predictions_return_to_whom_they_belong(folder, model, kind, form):
    rng = np.random.default_rng(3)
    write = pa.csv.write_csv if form == "csv" else pq.write_table
    own, asked = rng.permutation(180), rng.permutation(150)  # thirty people, in no order
    write(to_table(DATA.X[own], DATA.y[own], IDS[kind].take(DATA.users[own])), f"own.{form}")
    write(to_table(DATA.fresh_X[asked], None, IDS[kind].take(DATA.fresh_users[asked])), f"asked.{form}")
    expected, ids = [], IDS[kind].take(DATA.fresh_users[asked]).to_pylist()
    for i in asked:
        mine = DATA.users == DATA.fresh_users[i]
        expected.append(DATA.fresh_X[i] @ model.personalize(DATA.X[mine], DATA.y[mine]).coef_)
    line = f"model.hush --records own.{form} --new asked.{form}"
    result = run(f"{line} --out found.{form}")
    assert result.exit_code == 0, result.exception
    assert len(rows(result.output)) >= SHOWN_LINES and f"predictions written to found.{form}" in result.output
    if form == "parquet":
        found = pq.read_table("found.parquet")
        assert found["user"].type == IDS[kind].type or kind == "str"
    else:
        options = pa.csv.ParseOptions(newlines_in_values=True)
        text = pa.csv.ConvertOptions(column_types={"user": pa.string()})
        found = pa.csv.read_csv("found.csv", parse_options=options, convert_options=text)
        ids = [str(user) for user in ids]
    assert found["user"].to_pylist() == ids
    assert found["prediction"].to_pylist() == pytest.approx(expected, rel=1e-9)
    printed = json.loads(run(f"{line} --json").stdout)["predictions"]
    assert [line["user"] for line in printed] == ids
    assert [line["prediction"] for line in printed] == pytest.approx(expected, rel=1e-9)


def test_ids_of_two_formats_meet(folder):
    pq.write_table(to_table(DATA.fresh_X[:2], None, pa.array([29, 3])), "asked.parquet")
    found = json.loads(run("model.hush --records many.csv --new asked.parquet --json").stdout)["predictions"]
    pa.csv.write_csv(to_table(DATA.fresh_X[:2], None, pa.array(["029", "3.0"])), "asked.csv")
    again = json.loads(run("model.hush --records many.csv --new asked.csv --json").stdout)["predictions"]
    assert [line["user"] for line in found] == [29, 3] and [line["user"] for line in again] == ["029", "3.0"]
    assert [line["prediction"] for line in found] == [line["prediction"] for line in again]


def test_ids_that_are_no_text_come_back_byte_by_byte(folder):
    header, first = (folder / "many.csv").read_bytes().split(b"\n")[:2]
    numbers = first.split(b",")
    place = header.split(b",").index(b'"user"')
    lines = [b",".join([*numbers[:place], name, *numbers[place + 1 :]]) for name in (b"\xff\xfe", b"ann", b"\xc3\xbc")]
    (folder / "odd.csv").write_bytes(b"\n".join([header, *lines, b""]))
    result = run("model.hush --records odd.csv --new odd.csv --out found.csv")
    assert result.exit_code == 0, result.exception
    found = [line.split(b",")[0].strip(b'"') for line in (folder / "found.csv").read_bytes().splitlines()]
    assert found == [b"user", b"\xff\xfe", b"ann", b"\xc3\xbc"]
    printed = json.loads(run("model.hush --records odd.csv --new odd.csv --json").stdout)["predictions"]
    assert [line["user"].encode("utf-8", "surrogateescape") for line in printed] == found[1:]
    assert run("model.hush --records odd.csv").exit_code == 0
    (folder / "own.csv").write_bytes(b"\n".join([header, lines[0], b""]))
    assert run("model.hush --records own.csv --report page.html").exit_code == 0


def test_many_people_have_a_line_each(folder, model):
    result = run("model.hush --records many.csv")
    assert result.exit_code == 0, result.exception
    first = [row for row in rows(result.output) if row[0]]
    assert [row[0] for row in first] == [str(user) for user in range(SHOWN_LINES)]
    assert {row[1] for row in first} == {"6"} and "and 10 more people: --json shows all" in result.output
    found = json.loads(run("model.hush --records many.csv --json").stdout)["people"]
    assert [person["user"] for person in found] == [str(user) for user in range(30)]
    assert [row[2] for row in first] == [f"{person['error']:.4g}" for person in found[:SHOWN_LINES]]


def test_names_of_columns_are_options(folder, model):
    table = to_table(DATA.X[:12], DATA.y[:12], DATA.users[:12])
    pq.write_table(table.rename_columns([*reversed(NAMES), "patient", "days"]), "own.parquet")
    pq.write_table(to_table(DATA.fresh_X[5:6], None, [1]).rename_columns([*reversed(NAMES), "patient"]), "new.parquet")
    line = "model.hush --records own.parquet --new new.parquet --user patient --target days --out found.csv"
    assert run(line).exit_code == 0
    assert (folder / "found.csv").read_text().splitlines()[0] == '"patient","prediction"'
    expected = DATA.fresh_X[5] @ model.personalize(DATA.X[6:12], DATA.y[6:12]).coef_
    assert pa.csv.read_csv("found.csv")["prediction"].to_pylist() == pytest.approx([expected], rel=1e-9)


def test_what_is_missing_is_said_on_stderr(folder, capsys):
    (folder / "odd.csv").write_text("<script>,[red]b,c,d,user,target\n1,2,3,4,ann,1\n1,,3,4,ann,1\n2,1,3,4,bob,0\n")
    (folder / "asked.csv").write_text("<script>,[red]b,c,d,user\n1,2,3,4,eve\n1,x,3,4,ann\n")
    line = "model.hush --records odd.csv --new asked.csv --out found.csv --json"
    command.main(line.split(), standalone_mode=False)
    printed = capsys.readouterr()
    assert printed.err.splitlines() == [
        "hushrank: own records with a missing number are not used.",
        "hushrank: users without own records are predicted by the mean of all people.",
        "hushrank: new records with a missing number are not predicted.",
    ]
    eve, ann = json.loads(printed.out)["predictions"]
    assert eve["prediction"] is not None and ann == {"user": "ann", "prediction": None}
    assert (folder / "found.csv").read_text().splitlines()[2] == '"ann",'


def test_a_column_that_may_name_people_and_is_not_used_is_told(folder, capsys):
    (folder / "odd.csv").write_text("<script>,[red]b,c,d,patient,target\n1,2,3,4,7,1\n2,1,3,4,8,0\n")
    command.main(["model.hush", "--records", "odd.csv", "--json"], standalone_mode=False)
    assert "column 'patient' is not used. If it says whose each is: --user patient" in capsys.readouterr().err
    command.main(["model.hush", "--records", "odd.csv", "--user", "patient", "--json"], standalone_mode=False)
    assert "patient" not in capsys.readouterr().err


def test_labels(folder):
    data = shared_representation(1000, 4, 1, n_records=10, noise=0.0, seed=4, labels=True, head_norm=3.0)
    model = PrivateRepresentation(1, epsilon=8.0, delta=1e-6, loss="logistic").fit(data.X, data.y, data.users)
    model.save("labels.hush")  # learned from an array: columns have no names
    pa.csv.write_csv(to_table(data.X[:10], data.y[:10]), "mine.csv")
    pa.csv.write_csv(to_table(data.fresh_X[:4]), "new.csv")
    head = model.personalize(data.X[:10, ::-1], data.y[:10])  # the columns as the file has them
    result = run("labels.hush --records mine.csv --new new.csv --report page.html")
    assert result.exit_code == 0, result.exception
    chances = head.predict_proba(data.fresh_X[:4, ::-1])[:, 1]
    labels = head.predict(data.fresh_X[:4, ::-1])
    assert [row[1:] for row in rows(result.output)] == [
        [str(label), f"{chance:.3f}"] for label, chance in zip(labels, chances, strict=True)
    ]
    assert "shares of wrong labels" in run("labels.hush --records mine.csv").output
    assert "probability of 1" in Document((folder / "page.html").read_text()).text


def test_the_page_is_for_one_person(folder):
    result = run("model.hush --records mine.csv --new new.csv --report page.html")
    assert result.exit_code == 0 and "page, for one person only, written to page.html" in result.output
    page = (folder / "page.html").read_text()
    assert "<script" not in page and "<script> " in Document(page).text
    predictions = json.loads(run("model.hush --records mine.csv --new new.csv --json").stdout)["predictions"]
    assert all(f"{line['prediction']:.6g}" in Document(page).text for line in predictions)
    before = sorted(path.name for path in folder.iterdir())
    pa.csv.write_csv(to_table(DATA.X[:6], DATA.y[:6], ["ann"] * 6), "ann.csv")
    pa.csv.write_csv(to_table(DATA.X[:2], None, ["ann", "bob"]), "asked.csv")
    for line in ("--records many.csv", "--records ann.csv --new asked.csv --out found.csv"):
        result = run(f"model.hush {line} --report other.html")
        assert result.exit_code == 2 and "a page for one person, and there are records of several" in result.output
    assert sorted(path.name for path in folder.iterdir()) == sorted([*before, "ann.csv", "asked.csv"])
    assert run("model.hush --records ann.csv --report other.html").exit_code == 0
    assert "for user ann alone" in Document((folder / "other.html").read_text()).text


def test_a_model_that_learned_nothing_says_so(folder, model):
    model = PrivateRepresentation.load("model.hush")
    model.head_covariance_ = np.zeros((2, 2))
    model.save("empty.hush")
    assert "people rely on their own records" in run("empty.hush --records mine.csv").output
    assert run("empty.hush --records mine.csv --report page.html").exit_code == 0
    assert "from your own records alone" in Document((folder / "page.html").read_text()).text


def test_nothing_is_learned_and_the_inputs_stay_as_they_are(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    first, second = (run("model.hush --records mine.csv --new new.csv --json") for _ in range(2))
    assert first.stdout == second.stdout
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--records none.csv", "X of own records must be an existing file"),
        ("--records new.csv", "no column 'target'"),
        ("--records mine.csv --user who", "no column 'who'"),
        ("--records mine.csv --new none.csv", "file of new records must be an existing"),
        ("--records many.csv --new new.csv", "a table with the column 'user'"),
    ],
)
def test_bad_input(folder, line, message):
    error = run(f"model.hush {line}").exception
    assert isinstance(error, InvalidParameter) and message in str(error) and "\n" not in str(error)


def test_a_broken_record_is_refused_and_not_passed_over(folder):
    for name, option in (("mine.csv", ""), ("new.csv", "--new new.csv")):
        good = (folder / name).read_text()
        (folder / name).write_text(f"{good}1,2\n")
        error = run(f"model.hush --records mine.csv {option} --json").exception
        assert isinstance(error, InvalidParameter) and "a CSV file whose records have" in str(error)
        (folder / name).write_text(good)
