"""The chain of hashes: every change of what was written is found, and at the right entry."""

from dataclasses import fields, replace
from fractions import Fraction

import pytest

from hushrank.exceptions import LedgerError
from hushrank.privacy.events import Gaussian, Pure
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger import chain
from hushrank.privacy.ledger.chain import NO_HASH, Row, follow, read_row, seal, verify, write_event
from hushrank.privacy.ledger.currency import Terms, write_fraction

TERMS = Terms.of(Budget(1.0))
OTHER = Terms.of(Budget(2.0))


def make_chain(*epsilons, terms=TERMS):
    rows = [chain.first_row("data", "2026-01-01T00:00:00+00:00", terms)]
    spent = Fraction(0)
    for number, epsilon in enumerate(epsilons, 1):
        spent += Fraction(epsilon)
        cost, total = write_fraction(Fraction(epsilon)), write_fraction(spent)
        event = write_event(Pure(epsilon))
        rows.append(seal(Row("data", number, "now", "charge", event, cost, total, None, "", rows[-1].hash), terms))
    return rows


def reseal(rows, terms=TERMS):
    """What a forger would do: the same contents with hashes that agree again."""
    made, before = [], NO_HASH
    for row in rows:
        made.append(seal(replace(row, previous=before), terms))
        before = made[-1].hash
    return made


ROWS = make_chain(0.25, 0.5, 0.25)


def test_a_chain_verifies_to_its_last_hash():
    assert verify("data", TERMS, ROWS) == ROWS[-1].hash
    assert verify("data", TERMS, ROWS[:1]) == ROWS[0].hash
    assert reseal(ROWS) == ROWS


def test_the_hash_covers_every_field_and_the_terms():
    changes = {"number": 7, "key": "k"}
    hashes = {chain.digest(ROWS[1], TERMS), chain.digest(ROWS[1], OTHER)}
    names = [field.name for field in fields(Row) if field.name != "hash"]
    for name in names:
        hashes.add(chain.digest(replace(ROWS[1], **{name: changes.get(name, "changed")}), TERMS))
    assert len(hashes) == 2 + len(names)


@pytest.mark.parametrize("number", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time", "later"),
        ("kind", "gift"),
        ("event", write_event(Pure(0.125))),
        ("event", "not JSON"),
        ("cost", "1/8"),
        ("spent", "1/8"),
        ("key", "k"),
        ("note", "n"),
        ("note", b"bytes"),
        ("hash", "f" * 64),
        ("hash", None),
        ("previous", "f" * 64),
    ],
)
def test_a_changed_field_is_found_where_it_is(number, name, value):
    rows = [replace(row, **{name: value}) if row.number == number else row for row in ROWS]
    with pytest.raises(LedgerError, match=f"data set 'data' is damaged at entry {number}: "):
        verify("data", TERMS, rows)


def test_an_entry_that_was_sealed_again_breaks_the_next_one():
    rows = list(ROWS)
    rows[1] = seal(replace(rows[1], note="changed"), TERMS)
    with pytest.raises(LedgerError, match="at entry 2: it does not continue the entry before"):
        verify("data", TERMS, rows)


@pytest.mark.parametrize("gone", [0, 1, 2])
def test_a_missing_entry_is_found(gone):
    with pytest.raises(LedgerError, match=f"at entry {gone}: it is missing"):
        verify("data", TERMS, [row for row in ROWS if row.number != gone])


def test_no_entries_at_all():
    with pytest.raises(LedgerError, match="at entry 0: it is missing"):
        verify("data", TERMS, [])


def test_a_chain_sealed_anew_must_still_add_up():
    changed = {
        "the cost is not that of the event": {"event": write_event(Pure(0.125))},
        "the cost is not that": {"cost": "1/8"},
        "the running total is wrong": {"spent": "5/8"},
        "the running total is wrong$": {"spent": "7/8"},
        "its total is not within the cap": {"spent": "1/8"},  # below its own cost
        "event of Account.charge must be made of Pure": {"event": write_event(Gaussian(1.0))},
        "description of from_dict must be": {"event": '{"type":"Gift"}'},
        "not a fraction in lowest terms": {"cost": "2/4"},
        "maximum recursion depth exceeded": {"event": "[" * 100_000},
        "its kind is wrong": {"kind": "create"},
    }
    for problem, change in changed.items():
        rows = reseal([replace(row, **change) if row.number == 2 else row for row in ROWS])
        with pytest.raises(LedgerError, match=f"at entry 2: {problem}"):
            verify("data", TERMS, rows)


def test_more_than_the_cap_is_found_even_if_all_sums_agree():
    rows = make_chain(0.25, 0.5, 0.5)
    with pytest.raises(LedgerError, match="at entry 3: its total is not within the cap"):
        verify("data", TERMS, rows)
    assert verify("data", OTHER, make_chain(0.25, 0.5, 0.5, terms=OTHER))


def test_raised_caps_are_found():
    with pytest.raises(LedgerError, match="at entry 0: its contents do not match its hash"):
        verify("data", OTHER, ROWS)
    with pytest.raises(LedgerError, match="at entry 0: the caps it states are not those of the data set"):
        verify("data", OTHER, reseal(ROWS, OTHER))
    with pytest.raises(LedgerError, match="at entry 0: the cap is not what the budget is worth"):
        verify("data", Terms(TERMS.budget, Fraction(2)), ROWS)


def test_the_end_of_a_chain_is_followed_from_an_entry():
    before = read_row(ROWS[1], TERMS)
    assert follow("data", TERMS, ROWS[2:], before) == read_row(ROWS[3], TERMS)
    assert follow("data", TERMS, [], before) is before
    assert follow("data", TERMS, ROWS) == read_row(ROWS[3], TERMS)
    with pytest.raises(LedgerError, match="at entry 2: it is missing"):
        follow("data", TERMS, ROWS[3:], before)
    with pytest.raises(LedgerError, match="at entry 2: it does not continue the entry before"):
        follow("data", TERMS, ROWS[2:], replace(before, hash="f" * 64))
    with pytest.raises(LedgerError, match="at entry 2: the running total is wrong"):
        follow("data", TERMS, ROWS[2:], replace(before, spent=Fraction(0)))
    with pytest.raises(LedgerError, match="at entry 0: it is missing"):
        follow("data", TERMS, [])


def test_a_free_creation_only():
    with pytest.raises(LedgerError, match="at entry 0: creating a data set costs nothing"):
        verify("data", TERMS, reseal([replace(ROWS[0], cost="1/8", spent="1/8"), *ROWS[1:]]))


def test_the_last_row_alone_vouches_for_the_caps():
    assert read_row(ROWS[3], TERMS).spent == 1
    with pytest.raises(LedgerError, match="at entry 3: its contents do not match its hash"):
        read_row(ROWS[3], OTHER)


def test_an_entry_is_the_row_read():
    entry = read_row(ROWS[2], TERMS)
    assert (entry.number, entry.kind, entry.event, entry.cost) == (2, "charge", Pure(0.5), Fraction(1, 2))
    assert (entry.spent, entry.hash, entry.previous) == (Fraction(3, 4), ROWS[2].hash, ROWS[1].hash)
    assert entry.to_dict()["event"] == {"type": "Pure", "epsilon": 0.5, "bounded_range": False}
    assert (entry.to_dict()["cost"], entry.to_dict()["spent"]) == ("1/2", "3/4")
    created = read_row(ROWS[0], TERMS)
    assert (created.event, created.kind, created.previous) == (None, "create", NO_HASH)
    assert created.to_dict()["event"] is None


def test_rows_have_the_hashes_they_always_had():
    """Recorded from the first version of the format: ledgers of old verify for ever."""
    first = chain.first_row("data", "2026-01-01T00:00:00+00:00", TERMS)
    assert first.hash == "c6929f757a57c6a816b08a5cea17cb249aca901d66b8d50b350f78dfa8fe415a"
    texts = ("now", "charge", write_event(Pure(0.25)), "1/4", "1/4", None, "note", first.hash)
    row = seal(Row("data", 1, *texts), TERMS)
    assert row.hash == "03f3e9367be1fdbc3ab6b29d211c037ff81294e10a223cf9012193dba84f7c31"
    assert verify("data", TERMS, [first, row]) == row.hash
