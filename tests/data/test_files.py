"""What is said of a file that cannot be read, and which files of a folder are read."""

import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data.files import guess_file, parquet_files, refuse_damaged, say_path
from hushrank.data.rows.parquet_rows import ParquetRows
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


def write(path, **options):
    columns = options.pop("columns", {"a": [1, 2, None], "b": [0.5, 1.5, 2.5]})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, **options)
    return path


def test_folders_are_searched_below_hidden_names_aside(tmp_path):
    for name in ("b.parquet", "a.pq", "deep/er/c.PARQUET", ".hidden.parquet", "_x.parquet", "_tmp/y.parquet"):
        write(tmp_path / name)
    (tmp_path / "notes.txt").write_text("no rows")
    (tmp_path / "folder.parquet").mkdir()
    found = [path.relative_to(tmp_path).as_posix() for path in parquet_files(tmp_path, "PCA")]
    assert found == ["a.pq", "b.parquet", "deep/er/c.PARQUET"]
    assert ParquetRows(parquet_files(tmp_path, "PCA"), "PCA", None).n_samples == 9


def test_a_folder_whose_own_name_is_hidden_is_read(tmp_path):
    write(tmp_path / ".cache" / "a.parquet")
    assert len(parquet_files(tmp_path / ".cache", "PCA")) == 1


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(InvalidParameter, match=r"X of PCA must be a folder with Parquet files; got '.*none found'"):
        parquet_files(tmp_path, "PCA")
