"""The exact record of a ledger: only what it holds, every charge recomputed, notes left out where that is asked for."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import hushrank
from hushrank.cli.statement import say
from hushrank.exceptions import LedgerError, StatementError
from hushrank.privacy import accountant
from hushrank.privacy.events import MOST_NESTED, Composed, Gaussian, Pure, Repeated, leaves
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger import chain
from hushrank.privacy.ledger.currency import Terms
from hushrank.report import statement_ledger
from hushrank.report.statement import ledger_statement
from hushrank.report.statement_ledger import LedgerRecord, cap_event, ledger_record, rows_of
from statement_support import ACCOUNTS, fill_ledger


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    with fill_ledger(tmp_path_factory.mktemp("ledger") / "budget.db") as ledger:
        yield ledger


@pytest.mark.parametrize("name", ACCOUNTS)
def test_budget_charges_and_hashes_come_back(ledger, name):
    account = ledger[name]
    record = ledger_record(account)
    back = LedgerRecord.from_objects(json.loads(json.dumps(record.objects())))
    assert back == record and back.words() == record.words()
    back.check()
    entries = account.history()
    assert back.budget == account.budget and back.terms == account.terms
    assert list(back.events) == [entry.event for entry in entries[1:]]
    assert leaves(back.event) == leaves(Composed([entry.event for entry in entries[1:]]))
    assert back.head == account.verify() and [row.hash for row in back.rows] == [entry.hash for entry in entries]
    assert back.spent == entries[-1].total and back.costs == [entry.paid for entry in entries[1:]]


def test_what_is_promised_is_the_cap(ledger):
    for name in ACCOUNTS:
        record = ledger_record(ledger[name])
        given, cap = record.promise, ledger[name].budget
        assert (given.epsilon, given.delta, given.neighbors, given.unit) == (
            cap.epsilon, cap.delta, cap.neighbors, cap.unit,
        )  # fmt: skip
        assert given.numerics == "idealized" and not given.reproducible  # how noise was drawn is not in a ledger
        at_cap = accountant.epsilon(given.event, given.delta)
        assert at_cap <= cap.epsilon * (1 + 1e-9)
        if name != "both":  # the sum of both parts is what is proved
            assert at_cap >= cap.epsilon * (1 - 1e-8)


def test_one_release_stands_for_the_cap():
    assert cap_event(Terms.of(Budget(2.0))) == Pure(2.0)
    terms = Terms.of(Budget(2.0, 1e-6))
    main = cap_event(terms)
    assert 1 / Fraction(main.noise_multiplier) ** 2 >= terms.cap
    assert 1 / Fraction(main.noise_multiplier) ** 2 <= terms.cap * (1 + Fraction(1, 10**12))
    both = cap_event(Terms.of(Budget(2.0, 1e-6), 0.5))
    assert both.events[1] == Pure(0.5) and both.events[0].noise_multiplier > main.noise_multiplier


def test_the_words(ledger):
    record = ledger_record(ledger["patients 2026"])
    head = ledger["patients 2026"].verify()
    assert record.words() == [
        "epsilon = 3, delta = 1e-06: the chance of any result changes by at most a factor of 20.1 (e^3), and beyond "
        "that factor by at most 1e-06.",
        "As Gaussian noise: mu = 0.647727 of Gaussian, rho = 0.209775 of zero-concentrated differential privacy.",
        "Unit: row. Neighbors: add_remove. Data set of the ledger: patients 2026",
        "Spent until now, by 4 charges, worth epsilon = 0.905 at delta = 1e-6; the promise is that of the whole "
        "budget.",
        "In mu^2: 0.0464815 of 0.41955.",
        f"Head of the chain of charges: {head}",
    ]
    worth = accountant.epsilon(Composed([Repeated(Gaussian(9.0), 3), Gaussian(12.0), Gaussian(20.0)]), 1e-6)
    assert 0.904 < worth <= 0.905
    assert "by 0 charges; the promise" in " ".join(ledger_record(ledger["empty"]).words())
    assert "of the reserved pure part" in " ".join(ledger_record(ledger["both"]).words())
    assert "mu^2" not in " ".join(ledger_record(ledger["pure"]).words())


def test_a_premise_in_a_note_is_told_and_stays(ledger):
    record = ledger_record(ledger["promised"])
    assert record.promise.premise == "what the notes of charges 1 take for granted is so"
    assert "Provided that what the notes of charges 1 take for granted is so." in record.words()
    with pytest.raises(StatementError, match="notes of 'promised' cannot be left out: the promise holds provided"):
        ledger_record(ledger["promised"], with_notes=False)
    many = tuple(replace(record.rows[1], number=number) for number in range(1, 15))
    assert replace(record, rows=many)._premise.startswith(
        "what the notes of charges 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 4"
    )


def test_notes_keys_and_times_can_stay_behind(ledger):
    for name in ("patients 2026", "both", "pure", "empty"):
        full, short = ledger_record(ledger[name]), ledger_record(ledger[name], with_notes=False)
        text = json.dumps(short.objects())
        for row in full.rows:
            assert row.time not in text and all(hidden not in text for hidden in (row.note, row.key) if hidden)
        back = LedgerRecord.from_objects(json.loads(text))
        back.check()
        assert back == short and back.events == full.events and back.spent == full.spent and back.head == full.head


def test_a_record_of_a_ledger_holds_no_place_of_it(tmp_path):
    with fill_ledger(tmp_path / "password.db") as ledger:
        assert "password" not in json.dumps(ledger_record(ledger["pure"]).objects())


def change_row(record, place, **values):
    rows = list(record.rows)
    rows[place] = replace(rows[place], **values)
    return replace(record, rows=tuple(rows))


def resealed(record):
    """The record with hashes that agree again, as a forger would make them."""
    rows, previous = [], chain.NO_HASH
    for row in record.rows:
        rows.append(chain.seal(replace(row, previous=previous), record.terms))
        previous = rows[-1].hash
    return replace(record, rows=tuple(rows))


@pytest.mark.parametrize(
    ("number", "values"),
    [
        (0, {"time": "2020"}), (1, {"note": "x"}), (1, {"key": "x"}), (2, {"time": "x"}), (2, {"cost": "1/82"}),
        (2, {"event": chain.write_event(Gaussian(10.0))}), (3, {"spent": "1/2"}), (4, {"hash": "0" * 64}),
        (4, {"number": 5}), (4, {"previous": "0" * 64}),
    ],
)  # fmt: skip
def test_a_change_breaks_the_chain(ledger, number, values):
    record = ledger_record(ledger["patients 2026"])
    with pytest.raises(ValueError, match=f"damaged at entry {number}|damaged at entry {number + 1}"):
        change_row(record, number, **values).check()


@pytest.mark.parametrize("with_notes", [True, False])
@pytest.mark.parametrize(
    ("number", "values", "message"),
    [
        (2, {"cost": "1/82"}, "the cost is not that of the event"),
        (2, {"event": chain.write_event(Gaussian(10.0))}, "the cost is not that of the event"),
        (4, {"spent": "1/81"}, "the running total is wrong"),
        (4, {"spent": "1/2"}, "not within the cap"),
        (4, {"number": 7}, "it is missing"),
    ],
)
def test_hashes_made_anew_do_not_hide_a_wrong_cost(ledger, number, values, message, with_notes):
    record = change_row(ledger_record(ledger["patients 2026"], with_notes=with_notes), number, **values)
    with pytest.raises(ValueError, match=message):
        resealed(record).check()


def test_a_cap_that_the_budget_is_not_worth_is_refused(ledger):
    record = ledger_record(ledger["empty"])
    terms = replace(record.terms, cap=record.terms.cap * 2)
    with pytest.raises(ValueError, match="the cap is not what the budget is worth"):
        resealed(replace(record, terms=terms, rows=(chain.first_row("empty", "now", terms),))).check()


def test_events_that_take_long_are_refused_before_they_are_added_up(ledger):
    record = ledger_record(ledger["empty"])
    event = chain.write_event(Composed([Gaussian(9.0 + i / 1000) for i in range(1100)]))
    row = replace(record.rows[0], number=1, kind="charge", event=event)
    with pytest.raises(ValueError, match="too large to account for"):
        replace(record, rows=(*record.rows, row)).check()


@pytest.mark.parametrize(
    "change",
    [
        lambda header, rows: [header],
        lambda header, rows: [{**header, "owner": "x"}, *rows],
        lambda header, rows: [{**header, "has_notes": "yes"}, *rows],
        lambda header, rows: [{**header, "dataset": "a\x1b"}, *rows],
        lambda header, rows: [{**header, "dataset": 3}, *rows],
        lambda header, rows: [{**header, "terms": {**header["terms"], "cap": "1/0"}}, *rows],
        lambda header, rows: [{**header, "terms": []}, *rows],
        lambda header, rows: [header, {**rows[0], "owner": "x"}, *rows[1:]],
        lambda header, rows: [header, {**rows[0], "hash": "x"}, *rows[1:]],
        lambda header, rows: [header, rows[0], {**rows[1], "event": None}],
        lambda header, rows: [header, rows[0], {**rows[1], "key": 3}],
        lambda header, rows: [header, rows[0], {**rows[1], "cost": 1}],
        lambda header, rows: [header, rows[0], {name: rows[1][name] for name in rows[1] if name != "time"}],
    ],
)
def test_other_objects_are_refused(ledger, change):
    header, *rows = ledger_record(ledger["patients 2026"]).objects()
    with pytest.raises((ValueError, LedgerError)):
        LedgerRecord.from_objects(change(header, rows)).check()


def test_a_ledger_that_went_on_agrees_and_another_one_does_not(tmp_path):
    with fill_ledger(tmp_path / "one.db") as ledger, fill_ledger(tmp_path / "other.db") as other:
        account = ledger["patients 2026"]
        for with_notes in (True, False):
            record = ledger_record(account, with_notes=with_notes)
            assert not record.check_against(rows_of(account), account.terms)
            with pytest.raises(ValueError, match="its entry 0 is not that of the ledger"):  # made at another time
                record.check_against(rows_of(other["patients 2026"]), account.terms)
            with pytest.raises(ValueError, match="its terms are not those"):
                record.check_against(rows_of(account), ledger["pure"].terms)
            with pytest.raises(ValueError, match="it has charges that the ledger does not hold"):
                record.check_against(rows_of(account)[:-1], account.terms)
        account.charge(Gaussian(30.0))
        assert [row.number for row in record.check_against(rows_of(account), account.terms)] == [account.last().number]


def test_a_damaged_ledger_gets_no_statement(tmp_path):
    with fill_ledger(tmp_path / "budget.db") as ledger:
        account = ledger["pure"]

        class Forgetful:
            name, terms, verify = "pure", account.terms, account.verify

            def history(self):
                return account.history()[:1] + account.history()[2:]

        with pytest.raises(StatementError, match="'pure' gets no statement: data set 'pure' is damaged at entry 1"):
            ledger_record(Forgetful())


def test_a_premise_of_the_terms_is_told(ledger):
    """No command makes such terms; a file may hold them."""
    record = ledger_record(ledger["promised"])
    terms = Terms.of(replace(record.budget, premise="no user appears twice"))
    assert replace(record, terms=terms).promise.premise == (
        "no user appears twice; what the notes of charges 1 take for granted is so"
    )
    told = replace(record, terms=terms, rows=record.rows[:1])
    assert "Provided that no user appears twice." in told.words()


def test_a_ledger_says_of_which_size_its_unit_is_only_where_it_knows(tmp_path):
    with hushrank.Ledger(tmp_path / "budget.db") as ledger:
        rows = ledger.create("rows", epsilon=2, delta=1e-6, neighbors="add_remove", unit="row")
        terms = {"epsilon": 0.5, "delta": 1e-6, "neighbors": "add_remove", "ledger": rows}
        hushrank.PrivateCovariance(row_norm=1.0, **terms).fit(np.eye(3))
        assert ledger_record(rows).promise.premise == ""
        hushrank.TurnstileSketch((4, 3), 2, **terms, unit="row", kind="full").factorize()
        record = ledger_record(rows)
        assert record.rows[2].note.endswith(
            "provided that what is added to a row, clipped and rounded, never has a norm above 1"
        )
        assert record.promise.premise == "what the notes of charges 2 take for granted is so"


def test_charges_that_take_long_to_add_up_are_refused(ledger, monkeypatch):
    record = ledger_record(ledger["patients 2026"])
    monkeypatch.setattr(statement_ledger, "MOST_WORK", 3 + 2**2 - 1)
    with pytest.raises(ValueError, match="its charges take too long to add up"):
        record.check()


def test_a_stream_of_before_in_an_account_of_rows_is_taken_to_keep_its_bound(tmp_path):
    """Its note says nothing of it."""
    with hushrank.Ledger(tmp_path / "budget.db") as ledger:
        for unit in ("row", "entry"):
            account = ledger.create(f"of {unit}", epsilon=2, delta=1e-6, neighbors="add_remove", unit=unit)
            account.charge(Gaussian(20.0), note="PrivatePCA")
            account.charge(Gaussian(20.0), note="TurnstileSketch")
        record = ledger_record(ledger["of row"])
        assert record.promise.premise == "rows are within the bounds of charges 2, of streams"
        with pytest.raises(StatementError, match="notes of 'of row' cannot be left out"):
            ledger_record(ledger["of row"], with_notes=False)
        assert ledger_record(ledger["of entry"]).promise.premise == ""


def test_what_is_nested_too_deeply_gets_no_statement(tmp_path, monkeypatch):
    event = Pure(1e-9)
    for _ in range(MOST_NESTED - 1):
        event = Repeated(event, 1)
    with hushrank.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("deep", epsilon=1)
        account.charge(event)
        account.charge(event)
        statement = ledger_statement(account)  # both together have a level more, and are described
        assert statement.to_dict()["charges"] == 2 and len(list(say(statement))) > 4
        monkeypatch.setattr(chain, "MOST_NESTED", 1000)
        account.charge(Repeated(event, 1))
        with pytest.raises(StatementError, match="gets no statement: a charge is nested too deeply for a statement"):
            ledger_record(account)
