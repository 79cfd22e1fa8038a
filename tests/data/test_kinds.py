"""What kind of table a file is, and which command suits it."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

from hushrank.data.kinds import tell_kind
from hushrank.exceptions import InvalidParameter

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(RNG.standard_normal((50, 3)), columns=["age", "income", "height"])
RATED = pd.DataFrame(
    {"userId": np.repeat(np.arange(10), 6), "movieId": np.tile(np.arange(6), 10), "rating": 3.5, "timestamp": 10**9}
)
TABLES = {
    "rows": PEOPLE,
    "ratings": RATED,
    "entries": pd.DataFrame({"doc": np.repeat(np.arange(10), 9), "term": np.tile(np.arange(9), 10), "count": 1}),
    "records": PEOPLE.assign(user=np.arange(50) // 5, target=1.0),
    "updates": pd.DataFrame({"row": [0], "col": [1], "delta": [1.0]}),
}


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".tsv.gz"])
@pytest.mark.parametrize("kind", TABLES)
def test_kinds_are_told_apart(tmp_path, kind, suffix):
    path = tmp_path / f"my table{suffix}"
    separator = "\t" if ".tsv" in suffix else ","
    TABLES[kind].to_parquet(path) if suffix == ".parquet" else TABLES[kind].to_csv(path, sep=separator, index=False)
    found = tell_kind(path)
    commands = {
        "rows": "check pca",
        "ratings": "check complete",
        "records": "check personalize",
        "updates": "check stream",
    }
    assert found.kind == kind and commands.get(kind, "pivot") in found.command
    assert f"'{path}'" in found.command or kind == "entries"


def test_other_names_of_ratings_are_named(tmp_path):
    RATED.to_parquet(tmp_path / "part.parquet")
    found = tell_kind(tmp_path)
    assert " --user-col userId --item-col movieId --items" in found.command
    RATED[["userId", "movieId"]].rename(columns={"userId": "user", "movieId": "item"}).to_csv(tmp_path / "x.csv")
    TABLES["ratings"].rename(columns={"userId": "user", "movieId": "item"}).to_csv(tmp_path / "y.csv", index=False)
    assert "-col" not in tell_kind(tmp_path / "y.csv").command
    RATED[["userId", "movieId"]].to_csv(tmp_path / "z.csv", index=False)
    assert "--feedback implicit" in tell_kind(tmp_path / "z.csv").command


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_columns_of_text_are_left_out(tmp_path, suffix):
    table, path = (
        PEOPLE.assign(city="Rome, Italy", age=np.where(np.arange(50) < 5, np.nan, 30.0)),
        tmp_path / f"a{suffix}",
    )
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    found = tell_kind(path)
    assert "--columns age,income,height " in found.command
    assert [finding.name for finding in found.findings] == ["rows", "columns_without_numbers", "missing_numbers"]
    assert "'age' (10 %)" in found.findings[2].text


def test_arrays_are_rows(tmp_path):
    np.save(tmp_path / "a.npy", PEOPLE)
    scipy.sparse.save_npz(tmp_path / "b.npz", scipy.sparse.eye_array(7, format="csr"))
    assert tell_kind(tmp_path / "a.npy").kind == tell_kind(tmp_path / "b.npz").kind == "rows"
    assert "7 rows and 7 columns" in tell_kind(tmp_path / "b.npz").findings[0].text


def test_a_header_alone_is_told_by_its_names(tmp_path):
    (tmp_path / "a.csv").write_text("age,income\n")
    (tmp_path / "b.csv").write_text("user,item,rating\n")
    assert tell_kind(tmp_path / "a.csv").kind == "rows" and tell_kind(tmp_path / "b.csv").kind == "ratings"


def test_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "a.xlsx").write_text("no table")
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    (tmp_path / "a.parquet").write_text("no table")
    for name in ("a.xlsx", "a.csv", "a.parquet", "gone.csv", "gone.parquet"):
        with pytest.raises(InvalidParameter):
            tell_kind(tmp_path / name)
