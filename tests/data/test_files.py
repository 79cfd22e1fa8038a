"""What is said of a file that cannot be read, and of files that do not belong together."""

import struct

import pytest

from hushrank.data.files import check_same, guess_file, refuse_damaged, say_path
from hushrank.exceptions import InvalidParameter


@pytest.mark.parametrize(
    "error", [KeyError, ValueError, NotImplementedError, UnicodeError, RecursionError, struct.error]
)
def test_damage_becomes_one_line_without_content(tmp_path, error):
    with pytest.raises(InvalidParameter) as refusal, refuse_damaged(tmp_path / "x.csv", "CSV", "PCA"):
        raise error("secret\nvalue")
    assert str(refusal.value) == "X of PCA must be a readable CSV file; got 'x.csv: damaged, or of another kind'."


def test_the_parameter_that_a_file_is_for_is_named(tmp_path):
    with pytest.raises(InvalidParameter, match=r"^y of PCA must be a readable npy file; got 'x.npy: damaged"):
        with refuse_damaged(tmp_path / "x.npy", "npy", "PCA", "y"):
            raise ValueError


def test_what_is_known_about_an_unreadable_file_is_said(tmp_path):
    with pytest.raises(InvalidParameter, match=r"got 'y: No such file or directory'"):
        with refuse_damaged(tmp_path / "y", "CSV", "PCA"):
            (tmp_path / "y").open()
    with pytest.raises(InvalidParameter, match=r"got 'z: too large for the memory'"):
        with refuse_damaged(tmp_path / "z", "npz", "PCA"):
            raise MemoryError
    for own in (InvalidParameter("A", "x", "y", 1), AssertionError(), KeyboardInterrupt()):
        with pytest.raises(type(own)) as kept, refuse_damaged(tmp_path / "z", "CSV", "PCA"):
            raise own
        assert kept.value is own


def test_a_file_of_a_similar_name_is_guessed(tmp_path):
    for name in ("people.csv", "people.parquet", "rows.csv", ".peoplx.csv"):
        (tmp_path / name).touch()
    assert guess_file(tmp_path / "peoplx.csv") == "; did you mean 'people.csv'?"
    assert guess_file(tmp_path / "People.pq") == "; did you mean 'people.parquet'?"
    assert guess_file(tmp_path / "peple.parquet") == "; did you mean 'people.parquet'?"
    others = ("none.csv", "rows.csv", "gone/people.csv")  # unlike, there, and in no folder
    assert [guess_file(tmp_path / name) for name in others] == ["", "", ""]
    assert say_path(tmp_path / "rows.csv") == str(tmp_path / "rows.csv")
    assert say_path(tmp_path / f"{'x' * 140}.csv").endswith("x.csv")


def test_files_of_other_columns_are_refused_by_name(tmp_path):
    columns = [(tmp_path / "1.csv", {"a", "b"}), (tmp_path / "2.csv", {"b", "a"})]
    check_same(columns, "CSV", "PCA")
    with pytest.raises(InvalidParameter) as refusal:
        check_same([*columns, (tmp_path / "3.csv", {"a", "c"})], "CSV", "PCA")
    got = "\"column 'b' not in all, see 3.csv\""
    assert str(refusal.value) == f"X of PCA must be a folder of CSV files with the same columns; got {got}."
