"""Files of statements: hand edits are kept, each byte of the chained part counts, a stranger's file is one line."""

import os

import pytest
import yaml

from hushrank.exceptions import StatementError
from hushrank.report import statement_file
from hushrank.report.statement import Publisher, ledger_statement, model_statement
from hushrank.report.statement_file import MOST_BYTES, read_statement, read_yaml, to_yaml
from hushrank.report.statement_page import statement_page
from statement_support import fill_ledger, small

LOADERS = [yaml.BaseLoader, *([yaml.CBaseLoader] if hasattr(yaml, "CBaseLoader") else [])]
KEY = "privacy_parameters_description: |-\n"


@pytest.fixture(params=LOADERS, ids=lambda loader: loader.__name__)
def loader(request, monkeypatch):
    monkeypatch.setattr(statement_file, "_LOADER", request.param)


@pytest.fixture(scope="module")
def statements(tmp_path_factory):
    with fill_ledger(tmp_path_factory.mktemp("ledger") / "budget.db") as ledger:
        of_ledger = ledger_statement(ledger["pure"], Publisher(name="<b>\u20ac: #1", use="one\ntwo"))
    return {"model": model_statement(small("PrivateCovariance"), file_sha256="ab" * 32), "ledger": of_ledger}


@pytest.fixture(scope="module")
def text(statements):
    return to_yaml(statements["model"])


def chained_part(text):
    """Where the chained part begins and ends, with the indentation of its lines."""
    start = text.index(KEY) + len(KEY)
    return start, text.index("\n  model:", start)


@pytest.mark.parametrize("name", ["model", "ledger"])
def test_a_statement_comes_back(statements, name, loader, tmp_path):
    path = tmp_path / "statement.yaml"
    path.write_text(to_yaml(statements[name]), encoding="utf-8")
    assert read_statement(path) == statements[name]


@pytest.mark.parametrize("name", ["model", "ledger"])
def test_an_edit_of_any_byte_of_the_chained_part_is_noticed(statements, name):
    data = to_yaml(statements[name]).encode()
    start, end = chained_part(to_yaml(statements[name]))
    start, end = (len(to_yaml(statements[name])[:place].encode()) for place in (start, end))
    assert data[start:end].count(b"\n") >= 7
    for place in range(start, end):
        others = {data[place] ^ 1, data[place] ^ 128, 13 if data[place] == 10 else data[place] ^ 16}
        for other in others:
            edited = bytes([*data[:place], other, *data[place + 1 :]])
            with pytest.raises(StatementError):
                read_yaml(edited.decode("utf-8", "replace"))


def test_the_reader_in_python_notices_edits_as_well(statements, monkeypatch):
    monkeypatch.setattr(statement_file, "_LOADER", yaml.BaseLoader)
    text = to_yaml(statements["model"])
    start, end = chained_part(text)
    for place in range(start, end, 29):
        with pytest.raises(StatementError):
            read_yaml(text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :])


def test_lines_may_end_as_on_windows_and_in_no_other_way(text, loader):
    assert read_yaml(text.replace("\n", "\r\n")) == read_yaml(text)
    for end in ("\r", "\x85", "\u2028", "\u2029"):
        with pytest.raises(StatementError, match="which could hide an edit"):
            read_yaml(text.replace("JSON:\n", f"JSON:{end}"))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("short_name: not stated by the publisher", "short_name: Covariances of 2026  # by hand"),
        ("short_name: not stated by the publisher", "short_name:"),
        ("publication_date: not stated by the publisher", "publication_date: 2026-11-18"),
        ("registry_author: not stated by the publisher", 'registry_author: "Ann: \\u20ac"'),
        ("justification: not stated by the publisher", "justification: >-\n      folded\n      twice"),
        ("  additional_information_url: not stated by the publisher\n", ""),
        ("approved: false", "approved: true"),
        ("epsilon: 2.0", "epsilon: 2"),
        ("delta: 1.0e-06", "delta: 1e-6"),
        ("delta: 1.0e-06", "delta: 0.000001"),
        ("    name: Approximate DP", "    name: 'Approximate DP'"),
    ],
)
def test_a_publisher_may_edit_by_hand(text, loader, old, new):
    assert old in text
    edited = read_yaml(text.replace(old, new))
    assert edited.record == read_yaml(text).record


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon: 2.0", "epsilon: 1.0", "privacy_parameters.epsilon contradicts its record, which says 2"),
        ("epsilon: 2.0", "epsilon: '2.0'", "epsilon must be a number"),
        ("epsilon: 2.0", "epsilon: .inf", "epsilon must be a number"),
        ("epsilon: 2.0", "epsilon: 1e999", "epsilon must be a number"),
        ("epsilon: 2.0", "epsilon: 0x2", "epsilon must be a number"),
        ("epsilon: 2.0", "epsilon: 1:0", "epsilon must be a number"),
        ("epsilon: 2.0", "epsilon: 02", "epsilon must be a number"),  # other readers of YAML take 010 for eight
        ("epsilon: 2.0", "epsilon: 02.0", "epsilon must be a number"),
        ("epsilon: 2.0", "epsilon: +2.0", "epsilon must be a number"),
        (
            "additional_information_url: not stated by the publisher",
            "additional_information_url: javascript:alert(1)",
            "additional_information_url must be an address that begins with https",
        ),
        ("approved: false", "approved: no", "approved must be true or false"),
        ("approved: false", "approved: 'false'", "approved must be true or false"),
        ("approved: false", "approved: false\napproved: true", "line 2 has the field 'approved' a second time"),
        ("approved: false", "approved: false\nmu: 0.2", "'mu' is no field of the registry"),
        ("approved: false", "approved: !!python/object:os.system false", "line 1 has a tag"),
        ("approved: false", "approved: !x false", "line 1 has a tag"),
        ("approved: false", "approved: &a false", "line 1 has an anchor"),
        ("registry_author: not", "registry_author: &a not", "line 2 has an anchor"),
        ("approved: false", "<<: {approved: false}", "line 1: what stands there is no field of the registry"),
        ("approved: false", "approved: [false]", "line 1 has a list"),
        ("approved: false", "approved: {no: x}", "line 1 has fields inside of what holds none"),
        ("data_curator: not", "data_curator: {x: y} #", "line 5 has fields inside of what holds none"),
        ("approved: false", "? [approved]\n: false", "something else than the name of a field"),
        ("approved: false\n", "", "the field approved is missing"),
        ("publication_date: not stated by the publisher", "publication_date: 18.11.26", "a day as YYYY-MM-DD"),
        ("registry_author: not", "registry_author: a: not", "is no privacy statement: .* in line 2"),
        ("registry_author: not", "registry_author: *a #", "alias"),
    ],
)
def test_other_edits_are_refused(text, loader, old, new, message):
    with pytest.raises(StatementError, match=message) as refusal:
        read_yaml(text.replace(old, new))
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 500


def test_other_readers_of_yaml_find_the_same_numbers(text, loader):
    for written in ("2", "2.0", "2.", "0.2e+1", "2.0e0", "20e-1", "2e0", "200.0e-2"):
        found = yaml.safe_load(text.replace("epsilon: 2.0", f"epsilon: {written}"))
        value = found["deployment"]["privacy_loss"]["privacy_parameters"]["epsilon"]
        assert value == written or float(value) == 2.0  # YAML 1.1 takes some of them for texts, none for other numbers
        read_yaml(text.replace("epsilon: 2.0", f"epsilon: {written}"))


def test_the_page_is_told_from_the_statement(statements, loader, tmp_path):
    (tmp_path / "page.html").write_text(statement_page(statements["model"]), encoding="utf-8")
    with pytest.raises(StatementError, match="it is a page for people; its statement is the file in YAML"):
        read_statement(tmp_path / "page.html")


def test_a_private_file_is_not_shown(loader, tmp_path):
    for text in ("alice.smith@clinic.org HIV positive: yes\n", "Alice: x\n", "approved: false\n0415-222: x\n"):
        (tmp_path / "people.txt").write_text(text)
        with pytest.raises(StatementError, match=r"line \d: what stands there is no field") as refusal:
            read_statement(tmp_path / "people.txt")
        assert not any(word in str(refusal.value) for word in ("alice", "Alice", "HIV", "0415"))


STRANGE = {
    "empty": b"",
    "comment": b"# nothing\n",
    "null": b"null",
    "list": b"- a\n- b\n",
    "word": b"approved",
    "binary": bytes(range(256)),
    "utf-16": "approved: false".encode("utf-16"),
    "control": b"approved: \x07",
    "two": b"a: b\n---\nc: d\n",
    "deep map": b"".join(b" " * i + b"deployment:\n" for i in range(400)),
    "deep flow": b"deployment: " * 1 + b"{deployment: " * 50_000,
    "deep list": b"[" * 500_000,
    "laughs": b"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n",
    "long key": b"? " + b"x" * 100_000 + b"\n: y\n",
    "wide": b"".join(b"k%d: v\n" % i for i in range(20_000)),
    "zip": b"PK\3\4" + b"\0" * 100,
    "open quote": b'approved: "' + b"x" * 1000,
    "directive": b"%TAG ! tag:x,2000:\n---\napproved: !y false\n",
    "huge number": b"approved: false\nregistry_author: a\ndeployment: {short_name: " + b"9" * 10**6 + b"}",
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_file_is_one_line(name, loader, tmp_path):
    path = tmp_path / "statement.yaml"
    path.write_bytes(STRANGE[name])
    with pytest.raises(StatementError, match=r"statement.yaml is no privacy statement") as refusal:
        read_statement(path)
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 500


def test_a_file_cut_off_anywhere_is_refused(text):
    for end in range(0, chained_part(text)[1], 7):
        with pytest.raises(StatementError):
            read_yaml(text[:end])


def test_what_is_no_file_of_text_is_refused(tmp_path):
    with pytest.raises(StatementError, match=r"cannot read .*none.yaml: No such file"):
        read_statement(tmp_path / "none.yaml")
    with pytest.raises(StatementError, match="it is not an ordinary file"):
        read_statement(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(StatementError, match="it is not an ordinary file"):
        read_statement(tmp_path / "pipe")
    small("PrivatePCA").save(tmp_path / "model.hush")
    with pytest.raises(StatementError, match=r"model\.hush is no privacy statement"):
        read_statement(tmp_path / "model.hush")
    with (tmp_path / "huge").open("wb") as file:
        file.truncate(MOST_BYTES + 1)
    with pytest.raises(StatementError, match="it has more than 8 MB"):
        read_statement(tmp_path / "huge")


def test_what_is_too_long_to_be_read_is_not_written(statements, monkeypatch):
    monkeypatch.setattr(statement_file, "MOST_BYTES", 2000)
    with pytest.raises(StatementError, match="its history is too long for one"):
        to_yaml(statements["ledger"])


def test_texts_of_strangers_are_texts_in_yaml(statements):
    whole = yaml.safe_load(to_yaml(statements["ledger"]))
    assert whole["deployment"]["short_name"] == "<b>\u20ac: #1" and whole["deployment"]["intended_use"] == "one\ntwo"
    assert whole["approved"] is False
