"""What kind of table a file is, and which command suits it."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse

from hushrank.data.delimited import LONGEST_RECORD
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
    "edges": pd.DataFrame({"src": [0, 1], "dst": [1, 2], "weight": [0.5, 2]}),
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
        "edges": "check stream",
    }
    assert found.kind == kind and commands.get(kind, "pivot") in found.command
    assert "my table" in found.command


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
    assert [finding.name for finding in found.findings] == ["rows", "not_numbers", "not_numbers"]
    told = {finding.numbers["cause"]: finding for finding in found.findings[1:]}
    assert told["text"].numbers["columns"] == ["city"] and told["missing"].numbers["shares"] == [0.1]
    assert "'age'" in told["missing"].text and "10 % of the first 50 records" in told["missing"].text


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_numbers_in_another_writing_are_rewritten_and_ids_left_out(tmp_path, suffix):
    table, path = PEOPLE.round(2).assign(customer_id=[f"c{i // 2}" for i in range(50)]), tmp_path / f"a{suffix}"
    table["income"] = [f"{i},5" for i in range(50)]
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    found = tell_kind(path)
    assert found.kind == "rows" and found.command.startswith("rewrite 'income' as numbers")
    assert "--columns" not in found.command and '.groupby("customer_id")' in found.command and "'c1" not in str(found)
    plain = table.drop(columns="customer_id").assign(city="Rome")
    plain.to_csv(path, index=False) if suffix == ".csv" else plain.to_parquet(path)
    assert "or without:\nhushrank check pca" in tell_kind(path).command
    assert "--columns age,height " in tell_kind(path).command
    assert [finding.name for finding in found.findings] == ["rows", "not_numbers", "not_numbers", "repeated_people"]
    table.set_index("customer_id").to_parquet(tmp_path / "b.parquet")
    assert "repeated_people" in [finding.name for finding in tell_kind(tmp_path / "b.parquet").findings]


@pytest.mark.parametrize(
    "columns",
    [
        {"customer": np.arange(60), "age": np.arange(60) % 30, "income": "1234,5"},
        {"customer": [f"c{i}" for i in range(60)], "age": np.arange(60) % 30, "children": np.arange(60) % 4},
        {"customer": np.arange(60), "age": "1,5", "children": np.arange(60) % 4},
        {"name": [f"n{i}" for i in range(60)], "city": ["Rome", "Oslo"] * 30, "age": np.arange(60) % 30},
        {"account": [f"n{i}" for i in range(60)], "country": ["it", "no"] * 30, "age": np.arange(60) % 30},
    ],
)
def test_people_with_texts_are_no_entries_of_a_matrix(tmp_path, columns):
    pd.DataFrame(columns).to_csv(tmp_path / "a.csv", index=False)
    assert tell_kind(tmp_path / "a.csv").kind == "rows"


def test_texts_that_come_in_pairs_are_entries(tmp_path):
    pairs = [(f"p{i:02}", f"q{j:02}", 1 + j % 3) for i in range(20) for j in range(20)]
    pd.DataFrame(pairs, columns=["a", "b", "c"]).to_csv(tmp_path / "a.csv", index=False)
    assert tell_kind(tmp_path / "a.csv").kind == "entries"


MESSY = {
    "an index": (",age,income\n0,1,2\n", "column_without_name", "--columns age,income "),
    "texts": ("name,city\nann,Rome\nbob,Oslo\n", "not_numbers", "there is no column of numbers"),
    "one column": ("age\n3\n4\n", "rows", "--components 1 "),
    "a header": ("age,income\n", "no_records", "mend the file"),
    "a title": ("Export of May\n\nage,income\n1,2\n", "unreadable_records", "mend the file"),
    "bare commas": ("age,income\n1,2,5\n2,3,5\n", "unreadable_records", "mend the file"),
    "a mark": ("\ufeffage,income\n1,2\n", "rows", "hushrank check pca"),
}


@pytest.mark.parametrize("case", MESSY)
def test_messy_files_are_told_with_what_to_do(tmp_path, case):
    content, name, command = MESSY[case]
    (tmp_path / "a.csv").write_text(content)
    found = tell_kind(tmp_path / "a.csv")
    assert found.kind == "rows" and name in [finding.name for finding in found.findings] and command in found.command


def test_columns_of_different_sizes_ask_for_limits(tmp_path):
    PEOPLE.assign(income=30_000.0).to_csv(tmp_path / "a.csv", index=False)
    np.save(tmp_path / "a.npy", PEOPLE * [1, 1, 1000])
    (tmp_path / "b.csv").write_text("age,rate\n40,3\n0,0\n60,5\n")
    limits = " --column-bounds BOUNDS.csv --center private --standardize after "
    for name, line in (("a.csv", "column,low,high"), ("a.npy", "low,high")):
        told = tell_kind(tmp_path / name).command
        assert f"BOUNDS.csv, {line} and" in told and limits in told and "--row-norm" not in told
    assert " --row-norm BOUND --center private " in tell_kind(tmp_path / "b.csv").command


def test_people_with_several_rows_are_brought_together_or_have_answers(tmp_path):
    path = tmp_path / "a.csv"
    visits = PEOPLE.assign(student_id=[f"s{i // 2}" for i in range(50)], city="Rome")
    visits.to_csv(path, index=False)
    found = tell_kind(path)
    assert found.kind == "rows" and "check pca" not in found.command and found.command.startswith("people have several")
    visits.assign(exam_score=1.0).to_csv(path, index=False)
    found = tell_kind(path)
    terms = " --user student_id --target exam_score --features age,income,height --components 2 "
    assert found.kind == "records" and terms in found.command and "groupby" in found.command
    visits.assign(exam_score=1.0, student_id=range(50)).to_csv(path, index=False)
    assert tell_kind(path).kind == "rows"
    visits.assign(Target=1.0, student_id=range(50)).to_csv(path, index=False)  # nobody has two records
    assert tell_kind(path).kind == "rows"


def test_lines_of_people_are_like_ratings_and_others_are_answers(tmp_path):
    pairs = {"patient_id": np.arange(60) % 20, "procedure": [f"p{i % 7}" for i in range(60)], "bill": np.arange(60.0)}
    pd.DataFrame(pairs).to_csv(tmp_path / "a.csv", index=False)
    told = tell_kind(tmp_path / "a.csv")
    assert told.kind == "ratings" and " --user-col patient_id --item-col procedure --rating-col bill " in told.command
    pd.DataFrame(pairs).rename(columns={"patient_id": "hospital"}).to_csv(tmp_path / "b.csv", index=False)
    told = tell_kind(tmp_path / "b.csv")
    assert told.kind == "entries" and "--row hospital --column procedure --target bill" in told.command


def test_problems_of_every_kind_are_mended_first(tmp_path):
    path = tmp_path / "a.csv"
    RATED.assign(rating="3,5").to_csv(path, index=False)
    found = tell_kind(path)
    assert found.command == f"rewrite 'rating' as numbers, and look again:\nhushrank check {path}"
    assert [one.level for one in found.findings] == ["note", "problem"]
    for header in ("user,item,rating", "user,age,target", "src,dst", "row,column,delta", "customer_id,age"):
        path.write_text(f"{header}\n")
        found = tell_kind(path)
        assert found.command.startswith("mend the file") and "no_records" in [one.name for one in found.findings]


def test_arrays_are_rows(tmp_path):
    np.save(tmp_path / "a.npy", PEOPLE)
    scipy.sparse.save_npz(tmp_path / "b.npz", scipy.sparse.eye_array(7, format="csr"))
    assert tell_kind(tmp_path / "a.npy").kind == tell_kind(tmp_path / "b.npz").kind == "rows"
    assert "7 rows and 7 columns" in tell_kind(tmp_path / "b.npz").findings[0].text


def test_arrays_without_rows_are_a_problem_and_complex_ones_name_their_field(tmp_path):
    np.save(tmp_path / "a.npy", np.empty((0, 5)))
    found = tell_kind(tmp_path / "a.npy")
    assert [one.level for one in found.findings] == ["note", "problem"] and found.command.startswith("mend the file")
    assert found.findings[1].name == "no_records"
    np.save(tmp_path / "b.npy", np.ones((9, 3)) * [1, 1j, 1000])  # limits of columns are for real ones
    line = tell_kind(tmp_path / "b.npy").command
    assert " --field complex " in line and "BOUNDS" not in line
    assert "--field" not in tell_kind(_saved(tmp_path / "c.npy", np.ones((9, 3)))).command


def _saved(path, X):
    np.save(path, X)
    return path


NO_IDS = {
    "null": pa.nulls(4),
    "list": pa.array([[1], [1], [2], None]),
    "struct": pa.array([{"a": 1}] * 4),
    "map": pa.array([[("a", 1)]] * 4, pa.map_(pa.string(), pa.int64())),
}


@pytest.mark.parametrize("kind", NO_IDS)
def test_users_of_types_without_ids_are_told(tmp_path, kind):
    numbers = pa.array([1.0, 2.0, 3.0, 4.0])
    pq.write_table(pa.table({"user": NO_IDS[kind], "age": numbers, "target": numbers}), tmp_path / "a.parquet")
    found = tell_kind(tmp_path / "a.parquet")
    assert found.kind == "rows" and "--columns age,target " in found.command
    assert found.findings[1].numbers["columns"] == ["user"]
    pq.write_table(pa.table({"user": NO_IDS[kind], "item": numbers, "rating": numbers}), tmp_path / "b.parquet")
    found = tell_kind(tmp_path / "b.parquet")
    assert found.kind == "ratings" and found.command.startswith("mend the file")
    assert found.findings[-1].text == "column 'user' holds no ids: they must be integers or texts"


def test_ids_of_users_with_a_point_are_ids(tmp_path):
    PEOPLE.assign(user=[f"{i // 5}.5" for i in range(50)], target=1.0).to_csv(tmp_path / "a.csv", index=False)
    assert tell_kind(tmp_path / "a.csv").kind == "records"


def test_files_of_a_folder_without_rows_are_passed_over(tmp_path):
    for name, table in (("1", PEOPLE[:0]), ("2", PEOPLE[:0]), ("3", PEOPLE.assign(customer_id=3))):
        pq.write_table(pa.Table.from_pandas(table, preserve_index=False), tmp_path / f"part-{name}.parquet")
    found = tell_kind(tmp_path)
    assert "customer_id" in found.names and "repeated_people" in [one.name for one in found.findings]
    (tmp_path / "part-3.parquet").unlink()
    assert "no_records" in [one.name for one in tell_kind(tmp_path).findings]


UPDATES = pd.DataFrame({"row": [0, 1, 2, 3], "column": 1, "delta": 0.5, "user": ["a", "a", "b", "b"]})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_people_with_several_updates_are_hidden_as_users(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"

    def tell(table):
        table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
        return tell_kind(path)

    found = tell(UPDATES)
    assert [one.name for one in found.findings] == ["updates", "repeated_people"]
    assert "hides one update of an entry, not a person with all updates" in found.findings[1].text
    assert " --unit user --bound BOUND " in found.command and "rename" not in found.command
    renamed = tell(UPDATES.rename(columns={"user": "customer_id"})).command
    assert '"customer_id": "user"' in renamed and "_updates.csv --shape" in renamed and "--unit user" in renamed
    alone = tell(UPDATES.assign(user=["a", "b", "c", "d"]))
    assert "--unit" not in alone.command and len(alone.findings) == 1
    floats = tell(UPDATES.assign(user=[1.0, 1.0, None, 2.0])).command  # of a table a stream takes no floats as ids
    assert "--unit user" in floats and ("to_csv" in floats) == (suffix == ".parquet")


def test_names_that_no_command_can_hold_are_mended_first(tmp_path):
    records = {"user": np.arange(40) // 4, "x, kg": 1.0, "y, cm": 2.0, "city": "Rome", "target": 1.0}
    path = tmp_path / "a.csv"
    pd.DataFrame(records).to_csv(path, index=False)
    told = "take commas out of the names of columns, which --features separates by them, and look again:"
    assert tell_kind(path).command == f"{told}\nhushrank check {path}"
    pd.DataFrame(records).drop(columns="city").to_csv(path, index=False)  # all others: they need not be listed
    assert "check personalize" in tell_kind(path).command
    PEOPLE.assign(city="Rome").rename(columns={"age": "age\nin years"}).to_csv(path, index=False)
    told = "take line breaks out of the names of columns, and look again:"
    assert tell_kind(path).command == f"{told}\nhushrank check {path}"
    PEOPLE.rename(columns={"age": "age\nin years"}).to_csv(path, index=False)
    assert "check pca" in tell_kind(path).command
    PEOPLE.to_csv(tmp_path / "a\nb.csv", index=False)
    assert tell_kind(tmp_path / "a\nb.csv").command == "give the file a name without line breaks, and look again"


def test_a_record_that_is_too_long_is_not_said_to_have_other_fields(tmp_path):
    (tmp_path / "a.csv").write_text(f"age,note\n1,{'x' * LONGEST_RECORD}\n2,b\n")
    [found] = [one for one in tell_kind(tmp_path / "a.csv").findings if one.name == "unreadable_records"]
    assert "1 of the first 2 records (50 %) cannot be read" in found.text and "or more than 16 MiB" in found.text


def test_a_header_alone_is_told_by_its_names(tmp_path):
    (tmp_path / "a.csv").write_text("age,income\n")
    (tmp_path / "b.csv").write_text("user,item,rating\n")
    assert tell_kind(tmp_path / "a.csv").kind == "rows" and tell_kind(tmp_path / "b.csv").kind == "ratings"


def test_files_of_other_kinds_are_refused(tmp_path):
    (tmp_path / "a.xlsx").write_text("no table")
    (tmp_path / "a.csv").write_text("1,2\n3,4\n")
    (tmp_path / "a.parquet").write_text("no table")
    with pytest.raises(InvalidParameter, match=r"people\.csv; did you mean 'peoples\.csv'"):
        PEOPLE.to_csv(tmp_path / "peoples.csv")
        tell_kind(tmp_path / "people.csv")
    for name in ("a.xlsx", "a.csv", "a.parquet", "gone.csv", "gone.parquet"):
        with pytest.raises(InvalidParameter):
            tell_kind(tmp_path / name)
    with pytest.raises(InvalidParameter, match="an existing file; got 'an empty name'"):
        tell_kind("")


def test_folders_of_csv_files_are_told_by_the_first_with_records(tmp_path):
    folder = tmp_path / "my table"
    folder.mkdir()
    (folder / "0.csv").write_text("movieId,userId\n")
    RATED.to_csv(folder / "1.csv", index=False)
    found = tell_kind(folder)
    assert found.kind == "ratings" and found.names == list(RATED.columns)
    assert "hushrank check complete" in found.command and "my table'" in found.command
    (tmp_path / "none").mkdir()
    with pytest.raises(InvalidParameter, match=r"a folder with Parquet or CSV files; got 'none: none found'"):
        tell_kind(tmp_path / "none")
