"""The fields of a statement: the registry's names at every level, and what each may hold."""

import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.report.statement import model_statement
from hushrank.report.statement_fields import FIELDS, NOT_STATED, OPTIONAL, Publisher, check_fields, is_date, walk
from statement_support import REGISTRY, changed, every_name, small

FULL = model_statement(small("PrivateCovariance")).fields


def test_the_fields_are_those_of_the_registry_at_every_level():
    assert set(every_name(FIELDS)) == REGISTRY
    assert OPTIONAL <= {name.rpartition(".")[2] for name in REGISTRY}
    for name in ("short_name", "data_curator", "intended_use", "publication_date", "data_product_description"):
        assert name not in OPTIONAL  # the first tier is asked for


def test_no_further_field_is_taken_at_any_level():
    check_fields(FULL)
    levels = [(), *(tuple(name.split(".")) for name in REGISTRY if isinstance(_at(FULL, name.split(".")), dict))]
    assert len(levels) == 8
    for level in levels:
        with pytest.raises(ValueError, match=r"'.*mu' is no field of the registry"):
            check_fields(changed(FULL, (*level, "mu"), "0.2"))


def _at(fields, path):
    for name in path:
        fields = fields[name]
    return fields


@pytest.mark.parametrize("name", sorted(REGISTRY))
def test_a_field_may_be_missing_where_the_registry_does_not_ask_for_it(name):
    left = changed(FULL, name.split("."), None)
    if name.rpartition(".")[2] in OPTIONAL:
        check_fields(left)
    else:
        with pytest.raises(ValueError, match=rf"the field {name} is missing"):
            check_fields(left)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("approved", "yes", "approved must be true or false"),
        ("registry_author", True, "registry_author must be a text"),
        ("deployment", "x", "'deployment' must have fields inside it"),
        ("deployment.short_name", {"x": "y"}, "short_name must be a text"),
        ("deployment.publication_date", "18.11.2026", "publication_date must be a day as YYYY-MM-DD"),
        ("deployment.dp_flavor.name", "Gaussian DP", "must be one of Pure DP, Approximate DP"),
        ("deployment.privacy_loss.privacy_parameters.epsilon", "1", "epsilon must be a number"),
        ("deployment.privacy_loss.privacy_parameters.delta", True, "delta must be a number"),
        ("deployment.model.release_type", "Twice", "must be one of One-shot, Continual"),
    ],
)
def test_values_of_another_kind_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        check_fields(changed(FULL, name.split("."), value))


@pytest.mark.parametrize("value", ["", NOT_STATED, "2026-11-18"])
def test_a_day_may_be_open(value):
    check_fields(changed(FULL, ("deployment", "publication_date"), value))


def test_days_of_the_calendar():
    assert is_date("2024-02-29")
    for text in ("2025-02-29", "20251118", "2025-W01-1", "2025-1-1", "x", "\u0662\u0660\u0662\u0665-01-01"):
        assert not is_date(text)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"date": "2026-13-01"}, "date of Publisher must be a day as YYYY-MM-DD"),
        ({"url": "javascript:alert(1)"}, "url of Publisher must be an address"),
        ({"url": "https://a b"}, "url of Publisher must be an address"),
        ({"name": "a\x1b[31m"}, "name of Publisher must be a printable text"),
        ({"name": " a"}, "without spaces around it"),
        ({"curator": "x" * 5001}, "at most 5000 characters"),
        ({"use": 3}, "use of Publisher must be a printable text"),
    ],
)
def test_what_a_publisher_says_is_checked(values, message):
    with pytest.raises(InvalidParameter, match=message):
        Publisher(**values)
    Publisher(name="one\ntwo", date="2026-11-18", url="https://example.org/a?b=c")


def test_walking_finds_every_leaf():
    assert dict(walk({"a": {"b": 1, "c": {"d": 2}}, "e": 3})) == {"a.b": 1, "a.c.d": 2, "e": 3}
