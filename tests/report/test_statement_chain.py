"""The chained part: every byte of it counts, and a hash that was made anew hides no contradiction."""

import json

import pytest

from hushrank.report.statement_chain import VERSION, hash_of, read_chained, write_chained
from hushrank.report.statement_ledger import ledger_record
from hushrank.report.statement_record import model_record
from statement_support import fill_ledger, sealed, small


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    with fill_ledger(tmp_path_factory.mktemp("ledger") / "budget.db") as ledger:
        pure = ledger["pure"]
        records = {
            "model": model_record(small("PrivateCovariance")),
            "ledger": ledger_record(pure),
            "short": ledger_record(pure, with_notes=False),
        }
    return {name: write_chained(record) for name, record in records.items()}


@pytest.mark.parametrize("name", ["model", "ledger", "short"])
def test_the_record_comes_back(texts, name):
    text = texts[name]
    assert write_chained(read_chained(text)) == text and text.endswith(hash_of(text))
    assert text.count("\n") == text.rstrip().count("\n") and text.isascii()


@pytest.mark.parametrize("name", ["model", "ledger", "short"])
def test_an_edit_of_any_byte_is_noticed(texts, name):
    text = texts[name]
    for place, old in enumerate(text):
        for new in {chr(ord(old) ^ 1), chr(ord(old) ^ 32), " ", "0", ""} - {old}:
            with pytest.raises(ValueError):
                read_chained(text[:place] + new + text[place + 1 :])


def test_lines_cannot_change_places_or_come_twice(texts):
    lines = texts["ledger"].split("\n")
    for i in range(len(lines) - 1):
        swapped = [*lines[:i], lines[i + 1], lines[i], *lines[i + 2 :]]
        with pytest.raises(ValueError):
            read_chained("\n".join(swapped))
    with pytest.raises(ValueError):
        read_chained(texts["ledger"] + "\n" + lines[-1])


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("model", "epsilon = 2, delta", "epsilon = 1, delta", "its words contradict its record"),
        ("model", '"epsilon":2.0', '"epsilon":3.0', "its words contradict its record"),
        ("model", '"neighbors":"replace","numerics"', '"neighbors":"add_remove","numerics"', "another relation"),
        ("model", '"noise_multiplier":2.', '"noise_multiplier":1.', "promises more than its event gives"),
        ("model", '"noise_multiplier":2.', '"noise_multiplier":3.', "its words contradict its record"),
        ("model", '"reproducible":false', '"reproducible":true', "MUST NOT BE RELEASED"),
        ("model", '"reproducible":false', '"reproducible": false', "not written as hushrank writes it"),
        ("model", '"version":1', '"version":1,"version":1', "not written as hushrank writes it"),
        ("model", '"version":1', '"version":2', "made by a newer version of hushrank: version 2; this one reads up to"),
        ("model", '"version":1', '"version":true', "not that of a statement"),
        ("model", "hushrank privacy statement", "statement", "not that of a statement"),
        ("model", '"kind":"model"', '"kind":"sketch"', "of no kind that is known"),
        ("model", '"kind":"model"', '"kind":["model"]', "of no kind that is known"),
        ("model", '"kind":"model"', '"kind":"ledger"', "not that of a ledger"),
        ("model", "The record in full, as JSON:\n", "", "it has no record"),
        ("model", '{"budget"', '[{"budget"', "not written as hushrank writes it"),
        ("ledger", "Spent until now, by 2", "Spent until now, by 1", "its words contradict its record"),
        ("ledger", '"epsilon":0.1', '"epsilon":0.2', "damaged at entry 1: its contents do not match its hash"),
        ("short", '"epsilon":0.1', '"epsilon":0.2', "damaged at entry 1: the cost is not that of the event"),
        ("short", "Head of the chain of charges: ", "Head of the chain of charges: 0", "its words contradict"),
    ],
)
def test_a_hash_made_anew_hides_no_contradiction(texts, name, old, new, message):
    assert old in texts[name]
    with pytest.raises(ValueError, match=message):
        read_chained(sealed(texts[name].replace(old, new)))


def test_other_texts_have_no_hash(texts):
    for text in ("", "\n", "SHA-256 of all lines above: " + "0" * 64, texts["model"] + "\n", "x" * 10**5):
        with pytest.raises(ValueError, match="it has no hash at the end"):
            read_chained(text)


def test_json_that_is_none_is_refused(texts):
    announced = "The record in full, as JSON:\n"
    before = texts["model"].partition(announced)[0] + announced
    for record in ("[" * 10**5, '{"a":NaN}', "3", "", '{"a":1e999}', "{}"):
        with pytest.raises(ValueError):
            read_chained(sealed(f"{before}{record}\nx"))


def test_the_format_is_that_of_version_1(texts):
    """Whoever changes words or objects changes the number, and keeps on reading this."""
    header = json.loads(texts["model"].split("\n")[-2])
    assert VERSION == 1 and set(header) == {
        "format", "version", "kind", "release", "guarantee", "budget", "file_sha256",
    }  # fmt: skip
    assert [line.partition(":")[0].partition(" = ")[0] for line in texts["model"].split("\n")] == [
        "epsilon", "As Gaussian noise", "Unit", "Event", "Asked for", "The record in full, as JSON",
        '{"budget"', "SHA-256 of all lines above",
    ]  # fmt: skip
