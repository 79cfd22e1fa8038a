"""One rule for stored records: missing fields have defaults, unknown ones are refused, later ones stay unwritten."""

from dataclasses import dataclass

import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Pure
from hushrank.privacy.records import from_fields, later, to_fields


@dataclass(frozen=True)
class First:
    """As the first version wrote it."""

    size: float
    is_round: bool = False


@dataclass(frozen=True)
class Second:
    """The same with a field that was added."""

    size: float
    is_round: bool = False
    color: str = later("red")


def test_old_records_are_read_with_defaults():
    stored = to_fields(First(2.0, True))
    assert Second(**from_fields(Second, stored, "test")) == Second(2.0, True, "red")


def test_a_later_field_is_written_only_where_it_says_something():
    """So old readers and hashes of the text keep working; fields of the first version are always written."""
    assert to_fields(Second(2.0)) == to_fields(First(2.0)) == {"size": 2.0, "is_round": False}
    assert to_fields(Second(2.0, color="blue")) == {"size": 2.0, "is_round": False, "color": "blue"}
    assert First(**from_fields(First, to_fields(Second(2.0)), "test")) == First(2.0)


def test_what_says_more_than_this_version_knows_is_refused():
    with pytest.raises(
        InvalidParameter, match=r"^description of test .*: 'color' was made by a newer version of hushrank"
    ):
        from_fields(First, to_fields(Second(2.0, color="blue")), "test")


def test_a_missing_field_without_default_is_refused():
    with pytest.raises(InvalidParameter, match=r"^description of test must be a First of size, is_round; got \{\}\.$"):
        from_fields(First, {}, "test")


def test_fields_of_the_first_format_are_written_at_their_defaults_too():
    assert to_fields(Pure(0.5)) == {"epsilon": 0.5, "bounded_range": False}
