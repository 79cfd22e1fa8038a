"""The page of a statement: plain words with its numbers, what is not promised, the hash, and nothing that runs."""

import re

import pytest

from hushrank.report.statement import Publisher, Statement, ledger_statement, model_statement
from hushrank.report.statement_fields import NOT_STATED
from hushrank.report.statement_page import SHOWN_CHARGES, statement_page
from model_support import HOSTILE
from report_support import Document
from statement_support import ACCOUNTS, SMALL, changed, fill_ledger, small


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    with fill_ledger(tmp_path_factory.mktemp("ledger") / "budget.db") as ledger:
        yield ledger


def check_page(statement):
    """Whole, self-contained, with the words and the hash."""
    page = statement_page(statement)
    text = Document(page).text
    assert "<script" not in page and not re.search(r"(src|href)=|url\(|@import", page)
    assert "prefers-color-scheme: dark" in page and 'lang="en"' in page
    for sentence in statement.sentences():
        assert sentence in text
    for part in ("What was published", "What is protected, and what is not", "What is not promised", "How to check it"):
        assert part in text
    assert statement.sha256 in text and "hushrank statement statement.yaml" in text
    assert page == statement_page(statement)
    return text


@pytest.mark.parametrize("name", SMALL)
def test_the_page_of_a_model(name):
    statement = model_statement(small(name), file_sha256="ab" * 32)
    text = check_page(statement)
    given = statement.guarantee
    assert "ab" * 32 in text and "--against MODEL" in text and "Head of the chain" not in text
    assert (f"Anything at all, unless {given.premise}:" in text) == bool(given.premise) == ("Anything at all" in text)
    assert ("Delta," in text) == bool(given.delta)
    assert statement.fields["deployment"]["implementation"]["mechanisms"] in text


@pytest.mark.parametrize("name", ACCOUNTS)
def test_the_page_of_a_ledger(ledger, name):
    statement = ledger_statement(ledger[name])
    text = check_page(statement)
    assert f"the budget of the data set {name}:" in text and statement.head in text and "--against LEDGER" in text
    assert all(entry.note in text for entry in ledger[name].history())
    assert "rounding inside the computer is not covered" not in text and "is not in a ledger" in text  # it cannot say


def test_what_the_publisher_adds_is_on_the_page_and_so_is_the_name_of_the_file():
    fields = model_statement(small("PrivatePCA")).fields
    told = fields["deployment"]["privacy_loss"]["privacy_unit_description"]
    path = ("deployment", "privacy_loss", "privacy_unit_description")
    page = statement_page(Statement.from_fields(changed(fields, path, f"{told} A row is a visit.")), "our visits.yaml")
    assert f"{told} A row is a visit." in Document(page).text
    assert "hushrank statement 'our visits.yaml'" in Document(page).text
    assert "hushrank statement ./-x.yaml" in Document(statement_page(Statement.from_fields(fields), "-x.yaml")).text
    without = statement_page(Statement.from_fields(changed(fields, path, None)))
    assert f"Protected is one row of the data. {told}" in Document(without).text


def test_notes_that_were_left_out_are_not_on_the_page(ledger):
    account = ledger["patients 2026"]
    text = check_page(ledger_statement(account, with_notes=False))
    assert "annual report" not in text and account.last().time[:10] not in text and "one more" not in text


def test_the_numbers_are_those_of_the_statement():
    text = check_page(model_statement(small("PrivateCovariance")))
    assert "Epsilon, here 2, says how much" in text and "at most a factor of 7.39 (e^2)" in text
    assert "at most 1 in 1,000,000" in text
    assert "epsilon delta factor right guess, at most 2 1e-06 7.39 58.9 %" in text  # Phi(mu / 2), mu = 0.4483
    pure = check_page(model_statement(small("PrivatePCA")))
    assert "1 0 2.72 73.2 %" in pure  # e / (1 + e)


def test_each_charge_stands_with_its_worth(ledger):
    text = check_page(ledger_statement(ledger["both"]))
    assert "1 " in text and "pure 0.25" in text and "0.445 + pure 0.5" in text
    assert "Charges, in their order; each epsilon is what it is worth alone, at delta = 1e-06" in text
    assert "Charges, in their order" not in check_page(ledger_statement(ledger["empty"]))


def test_of_very_many_charges_the_last_are_shown(tmp_path, ledger, monkeypatch):
    monkeypatch.setattr("hushrank.report.statement_page.SHOWN_CHARGES", 2)
    text = check_page(ledger_statement(ledger["patients 2026"]))
    assert "the last 2 of 4" in text and SHOWN_CHARGES == 200
    assert text.count("annual report") == 1  # of charge 3; charge 4 has none


def test_what_strangers_wrote_is_escaped(ledger):
    words = {name: f"{HOSTILE} {name}" for name in Publisher.__slots__ if name not in ("date", "url")}
    for statement in (
        model_statement(small("PrivatePCA"), Publisher(**words, url="https://a.b/<i>")),
        ledger_statement(ledger["pure"], Publisher(**words)),
    ):
        page = statement_page(statement)
        text = Document(page).text
        assert "<script" not in page and "<b>" not in page and "<i>" not in page
        assert all(word in text for word in words.values())
        assert text.startswith(f"Privacy statement: {HOSTILE} name")


def test_what_nobody_stated_is_said_to_be_so():
    text = check_page(model_statement(small("PrivatePCA")))
    assert text.startswith("Privacy statement Privacy statement Something was computed")
    assert text.count(NOT_STATED) >= 8


def test_who_is_protected_is_told_by_the_unit():
    assert "once: protected is one row of the data." in check_page(model_statement(small("PrivatePCA")))
    answers = check_page(model_statement(small("PrivateTraceRegression")))
    assert "Protected is the answer in one record, and nothing else of it." in answers
    users = check_page(model_statement(small("PrivateCompletion")))
    assert "Protected is one user and everything that comes from this user." in users
    assert "in the data more than once" not in users
