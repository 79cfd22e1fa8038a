"""Statements of every estimator and of ledgers: the registry's fields and no others, and back to event and budget."""

from dataclasses import replace

import numpy as np
import pytest
import yaml

import hushrank
from hushrank.exceptions import InvalidParameter, NotFitted, StatementError
from hushrank.privacy.figures import at_most
from hushrank.registry import RELEASES
from hushrank.report.statement import Statement, flavor_of, ledger_statement, model_statement
from hushrank.report.statement_fields import NOT_STATED, Publisher, check_fields, not_stated
from hushrank.report.statement_file import read_yaml, to_yaml
from statement_support import (
    ACCOUNTS,
    N_SECRET,
    REGISTRY,
    RHO,
    SMALL,
    changed,
    every_name,
    fill_ledger,
    forged,
    seeded,
    small,
)  # fmt: skip

LOSS = ("deployment", "privacy_loss")
PARAMETERS = (*LOSS, "privacy_parameters")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory):
    with fill_ledger(tmp_path_factory.mktemp("ledger") / "budget.db") as ledger:
        yield ledger


def check_whole(statement):
    """The registry's fields at every level, read back as others would read them and as we do."""
    names = set(every_name(statement.fields))
    assert names in (REGISTRY, REGISTRY - {RHO})
    check_fields(statement.fields)
    text = to_yaml(statement)
    assert yaml.safe_load(text) == statement.fields  # a reader of YAML who knows nothing of us
    back = read_yaml(text)
    assert back == statement and to_yaml(back) == text
    assert (back.event, back.budget, back.guarantee) == (statement.event, statement.budget, statement.guarantee)
    return back


def test_every_release_is_tried():
    assert {type(small(name)).__name__ for name in SMALL} == set(RELEASES) - {"TurnstileSketch"}


@pytest.mark.parametrize("name", SMALL)
def test_a_model_has_the_fields_and_comes_back(name):
    model = small(name)
    statement = model_statement(model)
    back = check_whole(statement)
    assert back.event == model.privacy_.event and back.guarantee == model.privacy_
    assert back.budget == model._check_parameters() and back.budget.epsilon >= model.privacy_.epsilon * (1 - 1e-9)
    deployment = statement.fields["deployment"]
    given = model.privacy_
    assert deployment["privacy_loss"]["privacy_unit"] == given.unit
    assert deployment["dp_flavor"]["name"] == ("Approximate DP" if given.delta else "Pure DP")
    parameters = deployment["privacy_loss"]["privacy_parameters"]
    assert parameters["epsilon"] == float(at_most(given.epsilon)) and parameters["delta"] == given.delta
    assert ("rho" in parameters) == ("Gaussian" in str(given.event) and "Pure" not in str(given.event))
    assert deployment["model"]["release_type"] == ("Continual" if name == "again" else "One-shot")
    assert (given.premise in deployment["privacy_loss"]["privacy_unit_description"]) and statement.head is None


@pytest.mark.parametrize("name", ["PrivatePCA", "PrivateCompletion", "Factorization", "features"])
def test_a_file_of_a_model_has_the_same_statement(name, tmp_path):
    small(name).save(tmp_path / "model.hush")
    assert model_statement(hushrank.load(tmp_path / "model.hush")) == model_statement(small(name))


@pytest.mark.parametrize("with_notes", [True, False])
@pytest.mark.parametrize("name", ACCOUNTS)
def test_a_ledger_has_the_fields_and_comes_back(ledger, name, with_notes):
    if name == "promised" and not with_notes:
        return  # its premise is in a note
    account = ledger[name]
    statement = ledger_statement(account, with_notes=with_notes)
    back = check_whole(statement)
    assert back.budget == account.budget and back.head == account.verify()
    assert list(back.record.events) == [entry.event for entry in account.history()[1:]]
    deployment = statement.fields["deployment"]
    assert deployment["privacy_loss"]["privacy_parameters"]["epsilon"] == account.budget.epsilon
    assert deployment["model"]["release_type"] == ("Continual" if account.last().number > 1 else "One-shot")


def test_of_a_secret_number_of_people_nothing_is_told():
    statement = model_statement(small("secret"))
    assert str(N_SECRET) not in to_yaml(statement) and "0.137" not in to_yaml(statement)


def test_what_the_publisher_says_is_where_it_belongs_and_nothing_is_made_up():
    silent = model_statement(small("PrivatePCA"))
    assert set(silent.not_stated) == {
        "registry_author", "deployment.short_name", "deployment.data_curator", "deployment.intended_use",
        "deployment.publication_date", "deployment.additional_information_url", "deployment.dp_flavor.data_domain",
        "deployment.model.actors", "deployment.implementation.pre_processing_eda_hyperparameter_tuning",
        "deployment.implementation.justification",
    }  # fmt: skip
    words = {name: f"said of {name}" for name in Publisher.__slots__ if name not in ("date", "url")}
    spoken = model_statement(
        small("PrivatePCA"), Publisher(**words, date="2026-11-18", url="https://example.org/components")
    )
    text = to_yaml(spoken)
    assert spoken.not_stated == [] and NOT_STATED not in text and silent.fields["approved"] is False
    folded = " ".join(text.split())
    assert all(said in folded for said in (*words.values(), "2026-11-18", "https://example.org/components"))
    assert spoken.record == silent.record and spoken.sha256 == silent.sha256


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ((*PARAMETERS, "epsilon"), 1.0, "privacy_parameters.epsilon contradicts its record, which says 2"),
        ((*PARAMETERS, "epsilon"), 2.1, "privacy_parameters.epsilon contradicts"),
        ((*PARAMETERS, "delta"), 1e-9, "privacy_parameters.delta contradicts its record, which says 1e-06"),
        ((*PARAMETERS, "rho"), 0.01, "privacy_parameters.rho contradicts"),
        ((*PARAMETERS, "epsilon"), None, "epsilon is missing"),
        ((*PARAMETERS, "delta"), None, "delta is missing"),
        ((*LOSS, "privacy_unit"), "user", "privacy_unit contradicts its record, which says 'row'"),
        (("deployment", "dp_flavor", "name"), "Pure DP", "dp_flavor.name contradicts"),
        (("deployment", "dp_flavor", "name"), "Zero Concentrated DP", "dp_flavor.name contradicts"),
        ((*LOSS, "privacy_parameters_description"), "epsilon = 2", "it has no hash at the end"),
        ((*LOSS, "privacy_unit_description"), "Any one person is hidden.", "privacy_unit_description contradicts"),
        (("deployment", "dp_flavor", "unprotected_quantities"), "None.", "follows 'The number of rows is public.'"),
        (("deployment", "model", "model_type"), "Local", "model_type contradicts its record, which says 'Central'"),
    ],
)
def test_numbers_that_contradict_the_record_are_refused(path, value, message):
    fields = model_statement(small("PrivateCovariance")).fields
    with pytest.raises(ValueError, match=message):
        Statement.from_fields(changed(fields, path, value))


@pytest.mark.parametrize("name", SMALL)
def test_what_follows_from_the_record_stands_first_and_more_may_follow(name):
    fields = model_statement(small(name)).fields
    unit = (*LOSS, "privacy_unit_description")
    for path in (unit, ("deployment", "dp_flavor", "unprotected_quantities")):
        told = fields
        for part in path:
            told = told[part]
        longer = Statement.from_fields(changed(fields, path, f"{told.replace(' ', chr(10), 1)} And more."))
        assert longer.budget == small(name)._check_parameters()
    assert Statement.from_fields(changed(fields, unit, None)).record == Statement.from_fields(fields).record


def test_rho_is_refused_where_the_record_has_none_and_may_be_left_out():
    pure = model_statement(small("PrivatePCA")).fields
    with pytest.raises(ValueError, match="rho contradicts its record"):
        Statement.from_fields(changed(pure, (*PARAMETERS, "rho"), 0.5))
    gaussian = model_statement(small("PrivateCovariance"))
    left = Statement.from_fields(changed(gaussian.fields, (*PARAMETERS, "rho"), None))
    assert left.record == gaussian.record
    exact = changed(gaussian.fields, (*PARAMETERS, "epsilon"), small("PrivateCovariance").privacy_.epsilon)
    assert Statement.from_fields(exact).budget == gaussian.budget


def test_a_publisher_may_edit_everything_else():
    fields = model_statement(small("PrivateCovariance")).fields
    kept = ("privacy_parameters", "privacy_unit", "dp_flavor.name", "approved", "_type", "interactivity", "date", "url")
    texts = [name for name in REGISTRY if not any(part in name for part in kept)]
    begins = ("privacy_unit_description", "unprotected_quantities")  # with what follows from the record
    for name in texts:
        path = name.split(".")
        inside = fields
        for part in path:
            inside = inside[part]
        if isinstance(inside, str):
            before = f"{inside} " if name.endswith(begins) else ""
            assert Statement.from_fields(changed(fields, path, f"{before}Filled in by hand: 1.5 \u20ac")).budget
    approved = changed(changed(fields, ("approved",), True), ("deployment", "publication_date"), "2026-11-18")
    assert Statement.from_fields(approved).fields["approved"] is True


def test_a_forger_who_makes_the_hash_anew_must_agree_with_himself():
    fields = model_statement(small("PrivateCovariance")).fields
    smaller = forged(fields, ("epsilon = 2, delta", "epsilon = 1, delta"), ('"epsilon":2.0', '"epsilon":1.0'))
    with pytest.raises(ValueError, match="weaker than its parameters ask for"):
        Statement.from_fields(smaller)


def test_what_gets_no_statement():
    with pytest.raises(StatementError, match="MUST NOT BE RELEASED"):
        model_statement(seeded())
    with pytest.raises(NotFitted):
        model_statement(hushrank.PrivatePCA(1, row_norm=1.0, epsilon=1.0))
    with pytest.raises(InvalidParameter, match="a fitted model of a class in PrivatePCA"):
        model_statement(np.eye(3))
    sketch = hushrank.TurnstileSketch((4, 3), 2, epsilon=1.0, delta=1e-6)
    with pytest.raises(NotFitted):  # a sketch is a secret; what `factorize` returns has a statement
        model_statement(sketch)


def test_the_flavor_is_that_of_delta():
    given = small("PrivateCovariance").privacy_
    assert flavor_of(given) == "Approximate DP"
    assert flavor_of(replace(given, delta=0.0, event=small("PrivatePCA").privacy_.event)) == "Pure DP"


def test_machines_are_told_the_same(ledger):
    told = model_statement(small("PrivateCovariance"), file_sha256="0a" * 32).to_dict()
    assert told["kind"] == "model" and told["release"] == "PrivateCovariance" and told["file_sha256"] == "0a" * 32
    assert told["guarantee"] == small("PrivateCovariance").privacy_.to_dict()
    assert told["budget"] == {"epsilon": 2.0, "delta": 1e-6, "neighbors": "replace", "unit": "row"}
    known = ledger_statement(ledger["pure"]).to_dict()
    assert known["charges"] == 2 and known["head"] == ledger["pure"].verify() and "guarantee" not in known
    assert known["event"]["type"] == "Composed" and len(known["event"]["events"]) == 2


def test_open_fields_are_found():
    assert not_stated({"a": "", "b": {"c": f"x: {NOT_STATED}", "d": "y"}, "e": 1.0, "f": " \n"}) == ["a", "b.c", "f"]


@pytest.mark.parametrize("unit", ["entry", "row", "rank1", "frobenius"])
def test_of_a_stream_the_size_of_what_is_hidden_is_stated(unit):
    sketch = hushrank.TurnstileSketch((4, 3), 2, epsilon=2.0, delta=1e-6, unit=unit, kind="full", bound=2.5)
    loss = model_statement(sketch.factorize()).fields["deployment"]["privacy_loss"]
    assert "at most 2.5" in loss["privacy_unit_description"] and "in part only" in loss["privacy_unit_description"]
    assert "Bound: 2.5." in loss["privacy_parameters_description"]
