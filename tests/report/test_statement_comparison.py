"""What a statement is compared with shows whether it is true: the model, the ledger, a hash from elsewhere."""

import pytest

from hushrank.exceptions import LedgerError
from hushrank.privacy.events import Pure
from hushrank.report.statement import Publisher, Statement, ledger_statement, model_statement
from hushrank.report.statement_comparison import changed_fields, compare_with_ledger, compare_with_model, has_hash
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


def test_a_ledger_may_go_on_and_may_not_go_back(tmp_path):
    with fill_ledger(tmp_path / "a.db") as ledger, fill_ledger(tmp_path / "b.db") as other:
        statement = ledger_statement(ledger["pure"])
        assert compare_with_ledger(statement, ledger) == 0
        ledger["pure"].charge(Pure(0.5))
        assert compare_with_ledger(statement, ledger) == 1
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
    assert all(has_hash(full, head) for head in heads) and has_hash(full, full.sha256)
    assert not any(has_hash(short, head) for head in heads) and has_hash(short, short.sha256)  # they prove nothing
    assert not has_hash(full, ONE) and not has_hash(full, short.sha256)
