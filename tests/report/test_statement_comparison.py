"""What a statement is compared with shows whether it is true: the model, the ledger, a hash from elsewhere."""

from dataclasses import replace

import pytest

from hushrank.exceptions import LedgerError
from hushrank.privacy.events import Pure
from hushrank.report.statement import Publisher, Statement, ledger_statement, model_statement, statement_of_record
from hushrank.report.statement_comparison import changed_fields, compare_with_ledger, compare_with_model, known_hash
from statement_support import changed, fill_ledger, small

ONE, OTHER = "1a" * 32, "2b" * 32


def test_a_statement_is_about_its_model_and_no_other():
    model = small("PrivateCovariance")
    statement = model_statement(model, Publisher(name="x", product="y"), file_sha256=ONE)
    assert compare_with_model(statement, model) == [] == compare_with_model(statement, model, ONE)
    with pytest.raises(ValueError, match="its record is not that of this model"):
        compare_with_model(statement, small("PrivatePCA"))
    with pytest.raises(ValueError, match="another file, of a model with the same guarantee"):
        compare_with_model(statement, model, OTHER)
    assert compare_with_model(model_statement(model), model, OTHER) == []  # it names no file


def test_what_was_stated_otherwise_is_named():
    model = small("PrivateCovariance")
    fields = model_statement(model).fields
    path = ("deployment", "implementation", "mechanisms")
    edited = Statement.from_fields(changed(changed(fields, path, "nothing"), ("registry_author",), "Ann"))
    assert compare_with_model(edited, model) == [".".join(path)]
    assert changed_fields(edited, edited) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("deployment", "privacy_loss", "privacy_unit_description"), None),
        (("deployment", "model", "actors"), "Nobody."),
        (("deployment", "dp_flavor", "data_domain"), "Everything."),
        (("deployment", "implementation", "pre_processing_eda_hyperparameter_tuning"), "Nothing was done before."),
        (("deployment", "additional_dp_information", "composition"), "Nothing adds up."),
        (("deployment", "model", "release_type"), "Continual"),
        (("deployment", "privacy_loss", "privacy_parameters", "rho"), None),
        (("deployment", "additional_information_url"), None),
    ],
)
def test_a_field_in_part_or_missing_or_approved_is_named_as_well(path, value):
    model = small("PrivateCovariance")
    edited = Statement.from_fields(changed(model_statement(model).fields, path, value))
    assert compare_with_model(edited, model) == [".".join(path)]


def test_approval_is_the_registrys_and_lines_may_be_broken_anywhere():
    model = small("PrivateCovariance")
    fields = model_statement(model).fields
    path = ("deployment", "dp_flavor", "data_domain")
    told = fields["deployment"]["dp_flavor"]["data_domain"].replace(" ", "\n")
    edited = Statement.from_fields(changed(changed(fields, ("approved",), True), path, told))
    assert compare_with_model(edited, model) == []
    approved = Statement.from_fields(changed(fields, ("approved",), True))
    assert known_hash(approved, Statement.from_fields(fields).fields_sha256) == "the hash is that of all its fields"


def test_what_the_publisher_adds_behind_is_not_named():
    model = small("PrivateCovariance")
    words = Publisher(population="Visitors.", actors="The clinic.", preparation="None.", author="Ann", use="Research.")
    assert compare_with_model(model_statement(model, words), model) == []


def test_a_ledger_may_go_on_and_may_not_go_back(tmp_path):
    with fill_ledger(tmp_path / "a.db") as ledger, fill_ledger(tmp_path / "b.db") as other:
        statement = ledger_statement(ledger["pure"])
        assert compare_with_ledger(statement, ledger) == (0, [], [])
        ledger["pure"].charge(Pure(0.5))
        assert compare_with_ledger(statement, ledger) == (1, [], [])
        ledger["pure"].charge(Pure(0.01), note="a stream, provided that all is well")
        assert compare_with_ledger(statement, ledger) == (2, [4], [])
        path = ("deployment", "implementation", "mechanisms")
        edited = Statement.from_fields(changed(statement.fields, path, "Exact perfect noise."))
        assert compare_with_ledger(edited, ledger).changed == [".".join(path)]
        with pytest.raises(ValueError, match="is not that of the ledger"):
            compare_with_ledger(statement, other)
        with pytest.raises(ValueError, match="about a model, and not about a ledger"):
            compare_with_ledger(model_statement(small("PrivatePCA")), ledger)
        with pytest.raises(ValueError, match="about a ledger, and not about a model"):
            compare_with_model(statement, small("PrivatePCA"))
    with fill_ledger(tmp_path / "c.db") as third:
        lonely = third.create("lonely", epsilon=1)
        with pytest.raises(LedgerError, match="has no data set 'lonely'"), fill_ledger(tmp_path / "d.db") as fourth:
            compare_with_ledger(ledger_statement(lonely), fourth)


def test_a_published_hash_is_that_of_the_statement_or_of_a_charge_that_was_computed_again(tmp_path):
    with fill_ledger(tmp_path / "a.db") as ledger:
        heads = [entry.hash for entry in ledger["pure"].history()]
        full, short = (ledger_statement(ledger["pure"], with_notes=notes) for notes in (True, False))
    for number, head in enumerate(heads):
        assert f"that of entry {number} of the ledger; other fields may" in known_hash(full, head)
        assert known_hash(short, head) is None  # they prove nothing
    assert known_hash(full, full.fields_sha256) == "the hash is that of all its fields"
    assert "numbers and its record; other fields may" in known_hash(short, short.sha256)
    assert known_hash(full, ONE) is None is known_hash(full, short.sha256)
    edited = Statement.from_fields(changed(full.fields, ("registry_author",), "Ann"))
    assert known_hash(edited, full.fields_sha256) is None and known_hash(edited, full.sha256)


def test_a_premise_cannot_be_left_out(tmp_path):
    """A record that our own command refuses to write: without the notes of a data set that states a premise."""
    with fill_ledger(tmp_path / "a.db") as ledger:
        record = ledger_statement(ledger["promised"]).record
        rows = tuple(replace(row, time="", key=None, note="") for row in record.rows)
        without = statement_of_record(replace(record, rows=rows, has_notes=False))
        assert without.guarantee.premise == ""
        with pytest.raises(ValueError, match="leaves out what the notes of charges 1 take for granted"):
            compare_with_ledger(without, ledger)
