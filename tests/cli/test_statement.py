"""`hushrank statement`: written, read back and compared, for people and for machines, and every wrong turn one line."""

import hashlib
import json
import sqlite3
import sys
from dataclasses import fields

import pytest
import yaml
from click.testing import CliRunner

import hushrank
from hushrank.cli import main as main_module
from hushrank.cli.main import BAD_INPUT
from hushrank.cli.statement import PUBLISHER, command
from hushrank.privacy.events import Pure
from hushrank.report.statement import ledger_statement, model_statement
from hushrank.report.statement_fields import NOT_STATED, Publisher
from hushrank.report.statement_file import read_statement
from hushrank.report.statement_page import statement_page
from statement_support import PARAMETERS, REGISTRY, RHO, chained, every_name, fill_ledger, seeded, small

MODELS = {"pca": "PrivatePCA", "cov": "PrivateCovariance", "rec": "PrivateCompletion", "fac": "Factorization"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, model in MODELS.items():
        small(model).save(f"{name}.hush")
    seeded().save("seed.hush")
    fill_ledger("budget.db").close()
    return tmp_path


def run(line):
    result = CliRunner().invoke(command, line.split() if isinstance(line, str) else line)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def refused(line, monkeypatch, capsys):
    """The one line on stderr of a command that ends with exit code 2."""
    words = line.split() if isinstance(line, str) else line
    monkeypatch.setattr(sys, "argv", ["hushrank", "statement", *words])
    with pytest.raises(SystemExit) as stop:
        main_module.main()
    printed = capsys.readouterr()
    assert stop.value.code == BAD_INPUT and printed.out == "" and printed.err.count("\n") == 1
    assert "Traceback" not in printed.err
    return printed.err


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_stated_and_verified(folder, name):
    words = ["--name", "Model of 2026", "--curator", "City library", "--date", "2026-11-18"]
    result = run([f"{name}.hush", *words])
    statement = read_statement("statement.yaml")
    model = small(MODELS[name])
    assert statement.event == model.privacy_.event and statement.budget == model._check_parameters()
    digest = hashlib.sha256((folder / f"{name}.hush").read_bytes()).hexdigest()
    assert statement == model_statement(
        model, Publisher(name="Model of 2026", curator="City library", date="2026-11-18"), file_sha256=digest
    )
    assert (folder / "statement.html").read_text(encoding="utf-8") == statement_page(statement)
    assert result.output.startswith("statement written to statement.yaml\npage written to statement.html\n")
    assert f"statement: SHA-256 {statement.sha256} of numbers and record" in result.output
    assert f"file: SHA-256 {digest}" in result.output
    found = set(every_name(yaml.safe_load((folder / "statement.yaml").read_text(encoding="utf-8"))))
    assert found in (REGISTRY, REGISTRY - {RHO})
    checked = run("statement.yaml")
    assert checked.output.startswith("statement.yaml is in order\n") and "This shows damage" in checked.output
    assert "not stated by the publisher: registry_author, intended_use" in checked.output
    assert "ask again with --use, --url, --author, --population, --actors" in " ".join(result.output.split())
    assert "ask again" not in checked.output  # options are for a model or a ledger
    compared = run(f"statement.yaml --against {name}.hush").output
    assert compared.endswith(f"compared with {name}.hush: it is about this file\n")


def test_machines_are_told_event_and_budget(folder):
    written = json.loads(run("cov.hush --json").output)
    model = small("PrivateCovariance")
    assert written["statement"] == "statement.yaml" and written["page"] == "statement.html"
    assert written["guarantee"] == model.privacy_.to_dict() and written["budget"]["epsilon"] == 2.0
    assert "deployment.data_curator" in written["not_stated"]
    checked = json.loads(run("statement.yaml --json --against cov.hush").output)
    assert checked["in_order"] is True and checked["page"] is None and checked["against"] == "it is about this file"
    for name in ("event", "budget", "guarantee", "sha256", "file_sha256", "release"):
        assert checked[name] == written[name]


def test_a_ledger_is_stated_compared_and_goes_on(folder):
    line = "budget.db --dataset pure --out pure.yaml --html pure.html"
    result = run(line)
    assert "of data set pure, charges: 2" in result.output and "event: Pure(epsilon=0.1" in result.output
    assert "--without-notes leaves them out" in result.output
    with hushrank.Ledger("budget.db") as ledger:
        statement = read_statement("pure.yaml")
        assert statement == ledger_statement(ledger["pure"]) and statement.head == ledger["pure"].verify()
        assert len(ledger["pure"].history()) == 3  # nothing was charged
        assert "all of its record is in the ledger\n" in run("pure.yaml --against budget.db").output
        ledger["pure"].charge(Pure(0.5))
        told = run("pure.yaml --against budget.db").output
        assert "all of its record is in the ledger; 1 charge was made since" in told
    assert "the hash is that of entry 2 of the ledger" in run(f"pure.yaml --against {statement.head}").output
    assert "the hash is that of its numbers and its record" in run(f"pure.yaml --against {statement.sha256}").output
    assert "that of all its fields\n" in run(f"pure.yaml --against {statement.fields_sha256}").output
    short = run("budget.db --dataset pure --without-notes --out short.yaml --html short.html")
    assert "leaves them out" not in short.output and "red" not in (folder / "short.yaml").read_text()
    url = f"sqlite:///{folder}/budget.db"
    assert "charges: 0" in run([url, "--dataset", "empty", "--out", "e.yaml", "--html", "e.html"]).output
    assert "all of its record is in the ledger" in run(["e.yaml", "--against", url]).output
    assert str(folder) not in (folder / "e.yaml").read_text()
    with hushrank.Ledger("budget.db") as ledger:
        ledger["pure"].charge(Pure(0.01), note="a stream, provided that all is well")
    assert "of which 4 take for granted what this statement does not say" in run("pure.yaml --against budget.db").output


def test_what_is_compared_is_not_overwritten(folder):
    run("budget.db --dataset pure")
    run("pca.hush --out pca.yaml --html pca.html")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    url = f"sqlite:///{folder}/budget.db"
    for line in (
        "statement.yaml --against budget.db --html budget.db --force",
        f"statement.yaml --against {url} --html budget.db --force",
        "statement.yaml --against budget.db --html budget.db-journal",
        "pca.yaml --against pca.hush --html pca.hush --force",
    ):
        result = run(line)
        assert result.exit_code == 2 and "would overwrite what is compared" in result.output
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_passwords_of_a_ledger_are_not_shown(folder, monkeypatch, capsys):
    run("budget.db --dataset pure")
    for rest in ("//ann:SECRETPW@localhost:1/db", "//ann:a::SECRETPW@127.0.0.1:1/db", "//ann:12/SECRETPW@h:1/db"):
        shown = refused(["statement.yaml", "--against", f"postgresql:{rest}"], monkeypatch, capsys)
        assert "SECRETPW" not in shown and "postgresql:" in shown
    for line in (["postgresql:ann:SECRETPW@h/db"], ["statement.yaml", "--against", "postgresql:ann:SECRETPW@h/db"]):
        assert "SECRETPW" not in refused(line, monkeypatch, capsys)


def test_the_only_data_set_needs_no_name(folder):
    with hushrank.Ledger("one.db") as ledger:
        ledger.create("lonely", epsilon=1)
    assert "of data set lonely, charges: 0" in run("one.db").output


def test_a_statement_that_was_filled_in_has_its_page(folder):
    run("cov.hush")
    path = folder / "statement.yaml"
    path.write_text(path.read_text().replace(f"data_curator: {NOT_STATED}", "data_curator: <b>City</b> [red]library"))
    before = path.read_bytes()
    result = run("statement.yaml --html filled.html")
    assert "page written to filled.html" in result.output and path.read_bytes() == before
    page = (folder / "filled.html").read_text()
    assert "<b>" not in page and "&lt;b&gt;City&lt;/b&gt; [red]library" in page


def test_what_was_stated_otherwise_is_named(folder):
    run("cov.hush")
    path = folder / "statement.yaml"
    path.write_text(path.read_text().replace("The data are in one place", "The data are nowhere"))
    assert "it is about this file; stated otherwise than by hushrank: deployment.model.model_type_description" in (
        run("statement.yaml --against cov.hush").output
    )


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("none.hush", "cannot read none.hush: No such file or directory."),
        (".", "cannot read .: it is not an ordinary file."),
        ("seed.hush", "MUST NOT BE RELEASED, and gets no statement: it was made with a seed"),
        ("budget.db", "--dataset must name a data set of the ledger: both, empty, patients 2026, promised, pure."),
        ("budget.db --dataset nobody", "has no data set 'nobody'"),
        ("budget.db --dataset promised --without-notes", "notes of 'promised' cannot be left out"),
        ("pca.hush --dataset pure", "--dataset is for a ledger, and this is a model."),
        ("pca.hush --without-notes", "--without-notes is for a ledger, and this is a model."),
        ("pca.hush --against pca.hush", "--against is for a statement, and this is a model."),
        ("pca.hush --date 2026-02-30", "--date must be a day as YYYY-MM-DD."),
        ("pca.hush --url file:///etc/passwd", "--url must be an address that begins with https://"),
        ("pca.hush --out pca.hush", "--out pca.hush would overwrite the model."),
        ("budget.db --dataset pure --out budget.db", "would overwrite the ledger."),
        ("pca.hush --out x.yaml --html ./x.yaml", "--out and --html name one file."),
        ("pca.hush --out none/x.yaml", "cannot write none/x.yaml: No such file or directory."),
        ("pca.hush --html taken.html", "--html taken.html exists already. --force replaces it."),
        ("good.yaml --name x", "--name is for a model or a ledger; edit the statement itself."),
        ("good.yaml --out x.yaml", "--out is for a model or a ledger"),
        ("good.yaml --html good.yaml", "--html good.yaml would overwrite the statement."),
        ("good.yaml --against cov.hush", "good.yaml does not agree with cov.hush: its record is not that of this"),
        ("good.yaml --against budget.db", "it is about a model, and not about a ledger."),
        ("good.yaml --against good.yaml", "--against must be a model file, a ledger or a hash of 64 digits."),
        ("good.yaml --against " + "0" * 64, "does not have this hash: it is not the statement that was published."),
        ("good.yaml --against none.db", "cannot read none.db"),
        ("good.yaml --against " + "0" * 63, "must be a hash of 64 digits 0-9 and a-f; this one has 63."),
        ("good.yaml --against " + "A" * 64, "does not have this hash: it is not the statement that was published."),
        ("taken.html", "taken.html is no privacy statement in order: it is a page for people"),
        ("bad.yaml", "bad.yaml is no privacy statement in order: it was changed or damaged"),
        ("words.txt", "words.txt is no privacy statement"),
        ("zip.hush", "zip.hush is not a hushrank model, or it is damaged."),
        ("empty.db", "empty.db"),
        ("postgresql://nobody@", "Ledger|ledger|database"),
    ],
)
def test_wrong_turns_are_one_line_and_write_nothing(folder, line, message, monkeypatch, capsys):
    run("pca.hush --out good.yaml --html taken.html")
    (folder / "bad.yaml").write_text((folder / "good.yaml").read_text().replace("Asked for", "Asked of"))
    (folder / "words.txt").write_text("a: [b\n\x1b[31m")
    (folder / "zip.hush").write_bytes(b"PK\3\4 and so on")
    sqlite3.connect("empty.db").executescript("CREATE TABLE t (x); DROP TABLE t;")
    before = {path.name for path in folder.iterdir()}
    said = refused(line, monkeypatch, capsys)
    assert any(part in said for part in message.split("|")) and "\x1b" not in said
    assert {path.name for path in folder.iterdir()} - before <= {"empty.db-journal"}


def test_a_file_that_exists_is_kept_unless_forced(folder, monkeypatch, capsys):
    run("pca.hush")
    before = (folder / "statement.yaml").read_bytes()
    assert "exists already" in refused("cov.hush", monkeypatch, capsys)
    assert (folder / "statement.yaml").read_bytes() == before
    run("cov.hush --force")
    assert read_statement("statement.yaml").record.release == "PrivateCovariance"


def test_nothing_is_written_where_the_second_place_is_taken(folder, monkeypatch, capsys):
    (folder / "statement.html").write_text("mine")
    assert "--html statement.html exists already" in refused("pca.hush", monkeypatch, capsys)
    assert not (folder / "statement.yaml").exists() and (folder / "statement.html").read_text() == "mine"


def test_a_disk_that_fails_leaves_no_half_of_a_file(folder, monkeypatch, capsys):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("hushrank.archive.atomic.os.fsync", fail)
    assert "cannot write statement.yaml: No space left on device." in refused("pca.hush", monkeypatch, capsys)
    assert [path.name for path in folder.iterdir() if "statement" in path.name] == []


def test_signs_that_steer_a_terminal_are_spelled_out(folder):
    with hushrank.Ledger("red.db") as ledger:
        ledger.create("[red]rows[/]", epsilon=1)
    assert "of data set [red]rows[/], charges: 0" in run("red.db").output


def test_options_are_those_of_the_publisher():
    assert list(PUBLISHER) == [line.name for line in fields(Publisher)]
    names = {option for parameter in command.params for option in parameter.opts}
    assert {f"--{name.replace('_', '-')}" for name in PUBLISHER} < names


def test_many_events_are_cut_short(folder):
    with hushrank.Ledger("many.db") as ledger:
        account = ledger.create("many", epsilon=9)
        for i in range(13):
            account.charge(Pure((i + 1) / 100))
            account.charge(Pure((i + 1) / 100))
    output = run("many.db").output
    assert output.count("event: 2 x Pure") == 10 and "and 3 other events: --json shows all" in output


def test_the_chained_part_is_as_it_was_written(folder):
    run("pca.hush")
    loaded = yaml.safe_load((folder / "statement.yaml").read_text())
    assert chained(loaded) == chained(model_statement(
        small("PrivatePCA"), file_sha256=hashlib.sha256((folder / "pca.hush").read_bytes()).hexdigest()
    ).fields) and PARAMETERS[-1] == "privacy_parameters_description"  # fmt: skip


def test_the_page_is_beside_the_statement(folder):
    (folder / "visits.html").write_text("a page of something else")
    assert "page written to visits-statement.html\n" in run("pca.hush --out visits.yaml --force").output
    assert (folder / "visits.html").read_text() == "a page of something else"
    run("pca.hush --out a.v1")
    run("pca.hush --out a.v2")
    run("pca.hush --out b.html")
    run("pca.hush --out our-statement.yml")
    names = {"visits.html", "visits-statement.html", "a.v1-statement.html", "a.v2-statement.html", "b.html"}
    assert {path.name for path in folder.glob("*.html")} == {*names, "b.html-statement.html", "our-statement.html"}


def test_an_approval_is_the_registrys_to_tell(folder):
    run("pca.hush")
    place = folder / "statement.yaml"
    assert "has approved it" not in run("statement.yaml").output
    place.write_text(place.read_text().replace("approved: false", "approved: true"))
    assert "the registry has approved it: only the registry can tell" in run("statement.yaml --html new.html").output
    assert "the registry has approved it: only the registry can tell" in (folder / "new.html").read_text()
    assert json.loads(run("statement.yaml --json").output)["approved_by_its_own_words"] is True
