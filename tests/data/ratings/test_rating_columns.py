"""Columns of tables and files: types before values, every id a user, the same users from every kind of source."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.ratings import out_of_core, rating_columns
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.grouping import Tally
from hushrank.data.ratings.rating_columns import RatingCsv, RatingParquet, RatingTable, read_rating_file
from hushrank.exceptions import InvalidParameter
from piece_support import ENOUGH, sent, write_folder
from rating_support import user, users_of

NAN = math.nan
ITEMS = Catalogue(["tea", "jam", "rye"])
# One user with a rating of an unknown item only, one with an infinite one only, a repeated rating, a clipped one.
COLUMNS = {
    "user": ["eve", "ann", "bob", "ann", "joe", "ann", "eve"],
    "item": ["rye", "tea", "oil", "rye", "jam", "rye", "jam"],
    "rating": [5.0, 1.0, 3.0, 2.0, math.inf, 4.0, 1e30],
    "extra": [None, 1, 2, 3, 4, 5, 6],
}
USERS = sorted([user(i1=1, i2=1), user(i0=-1, i2=0), user(), user()])
TALLY = Tally(n_read=7, n_unknown=1, n_not_finite=1, n_clipped=1, n_repeated=1)

FORMS = {
    "pandas": lambda columns: pd.DataFrame(columns).astype({"user": "string", "item": "string"}),
    "pandas category": lambda columns: (
        pd.DataFrame(columns)
        .astype({"user": "string", "item": "string"})
        .astype({"user": "category", "item": "category"})
    ),
    "polars": pl.DataFrame,
    "polars category": lambda columns: pl.DataFrame(columns).with_columns(pl.col("user", "item").cast(pl.Categorical)),
    "Arrow": pa.table,
    "Arrow batch": pa.RecordBatch.from_pydict,
    "Arrow chunks": lambda columns: pa.concat_tables([pa.table(columns)[:3], pa.table(columns)[3:]]),
}


def read(source):
    tally = Tally()
    return sorted(users_of(source.read(tally))), tally


def read_table(data, items=ITEMS, rating_range=(1, 5)):
    return read(RatingTable(data, items, rating_range, "A"))


def read_file(path, items=ITEMS, rating_range=(1, 5)):
    return read(read_rating_file(path, items, rating_range, "A"))


def refusal_of(call, *args):
    with pytest.raises(InvalidParameter) as refusal:
        call(*args)
    assert "\n" not in str(refusal.value)
    return str(refusal.value)


# Tables.


@pytest.mark.parametrize("form", FORMS)
def test_tables_of_every_form(form):
    assert read_table(FORMS[form](COLUMNS)) == (USERS, TALLY)


@pytest.mark.parametrize("dtype", ["int64", "int8", "uint16", "uint64"])
def test_integer_ids_and_ratings_of_other_types(dtype):
    columns = {"user": np.array([3, 9, 3], dtype), "item": np.array([0, 2, 1], dtype), "rating": [1, 3, 5]}
    expected = sorted([user(i0=-1, i1=1), user(i2=0)])
    for rating in ("int8", "float32", "float16"):
        table = pa.table({**columns, "rating": np.array(columns["rating"], rating)})
        assert read_table(table, Catalogue(3)) == (expected, Tally(n_read=3))
    assert read_table(pd.DataFrame(columns), Catalogue(3))[0] == expected
    assert read_table(pa.table({**columns, "rating": [False, True, True]}), Catalogue(3), (0, 1))[0] == sorted(
        [user(i0=-1, i1=1), user(i2=1)]
    )


def test_unsigned_users_beyond_int64_stay_apart():
    users = pa.array([2**64 - 1, 2**64 - 2, 1, 2**64 - 1], pa.uint64())
    found, _ = read_table(pa.table({"user": users, "item": [0, 0, 0, 1], "rating": [1, 1, 1, 1]}), Catalogue(2))
    assert found == sorted([user(i0=-1, i1=-1), user(i0=-1), user(i0=-1)])


def test_nulls_are_ignored_row_by_row():
    columns = {"user": [1, None, 2, 3], "item": [0, 0, None, 1], "rating": [5.0, 5.0, 5.0, None]}
    found, tally = read_table(pa.table(columns), Catalogue(2))
    assert found == sorted([user(i0=1), user(), user()])
    assert tally == Tally(n_read=4, n_without_user=1, n_unknown=1, n_not_finite=1)
    assert read_table(pl.DataFrame(columns), Catalogue(2)) == (found, tally)


@pytest.mark.parametrize("name", ["user", "item", "rating"])
def test_a_column_without_any_value_is_no_reason_to_refuse(name):
    columns = {"user": [1, 2], "item": [0, 1], "rating": [1.0, 5.0], name: pa.nulls(2)}
    found, tally = read_table(pa.table(columns), Catalogue(2))
    assert found == ([] if name == "user" else [user(), user()]) and tally.n_read == 2


def test_implicit_feedback_needs_no_ratings():
    table = pa.table({"user": ["a", "b", "a", "a"], "item": ["tea", "tea", "tea", "oil"]})
    expected = sorted([user(i0=1), user(i0=1)]), Tally(n_read=4, n_unknown=1, n_repeated=1)
    assert read_table(table, ITEMS, None) == expected
    ignored = table.append_column("rating", pa.array(["not", "read", "at", "all"]))
    assert read_table(ignored, ITEMS, None) == expected


def test_tables_without_rows():
    empty = pa.table({"user": pa.array([], pa.int64()), "item": pa.array([], pa.int64()), "rating": pa.array([], "f8")})
    assert read_table(empty, Catalogue(2)) == ([], Tally())


ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4), st.floats(0, 6) | st.just(NAN)), max_size=40)


@given(ROWS, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40)
def test_any_order_out_of_core_and_of_any_type_of_id(rows, random):
    def table(rows, convert):
        users, items, ratings = zip(*rows, strict=True) if rows else ((), (), ())
        return pl.DataFrame(
            {"user": [convert(u) for u in users], "item": list(items), "rating": list(ratings)},
            schema={"user": pl.Int64 if convert is int else pl.String, "item": pl.Int64, "rating": pl.Float64},
        )

    expected = read_table(table(rows, int), Catalogue(4))
    random.shuffle(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rating_columns, "BATCH_ROWS", 5)
        patch.setattr(out_of_core, "CHUNK_RATINGS", 4)
        patch.setattr(out_of_core, "PARTED_IN_MEMORY", 9)
        patch.setattr(out_of_core, "GROUPED_IN_MEMORY", 20)
        assert read_table(table(rows, int), Catalogue(4)) == expected
        assert read_table(table(rows, "user {}".format), Catalogue(4)) == expected


# Files.


def test_parquet_files_and_folders(tmp_path):
    table = pa.table(COLUMNS)
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
    assert read_file(tmp_path / "x.parquet") == read_file(str(tmp_path / "x.parquet")) == (USERS, TALLY)
    folder = tmp_path / "folder"
    folder.mkdir()
    pq.write_table(table[:2], folder / "1.parquet")
    pq.write_table(table[2:].select(["rating", "item", "user"]), folder / "2.PQ")
    assert read_file(folder) == (USERS, TALLY)


def test_files_of_a_folder_may_differ_in_width_but_not_in_kind(tmp_path):
    one, two = tmp_path / "1.parquet", tmp_path / "2.parquet"
    pq.write_table(pa.table({"user": pa.array([7], pa.int8()), "item": [0], "rating": [1.0]}), one)
    pq.write_table(pa.table({"user": pa.array([7], pa.int32()), "item": [1], "rating": [5]}), two)
    assert read_file(tmp_path, Catalogue(2))[0] == [user(i0=-1, i1=1)]
    for users, kinds in ((pa.array(["7"]), "int and str"), (pa.array([7], pa.uint64()), "int and uint64")):
        pq.write_table(pa.table({"user": users, "item": [1], "rating": [5]}), two)
        expected = f"X of A must be Parquet files with users of one type; got {kinds!r}."
        assert refusal_of(read_rating_file, tmp_path, Catalogue(2), (1, 5), "A") == expected
    pq.write_table(pa.table({"user": pa.nulls(1), "item": [1], "rating": [5]}), two)
    assert read_file(tmp_path, Catalogue(2))[0] == [user(i0=-1)]


def write_csv(path, columns):
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *lines]))


def test_csv_files(tmp_path):
    write_csv(tmp_path / "x.CSV", COLUMNS)
    assert read_file(tmp_path / "x.CSV") == (USERS, TALLY)


def test_bad_lines_of_a_csv_file_are_ignored_and_counted(tmp_path):
    content = 'item,user,rating\n0,7,5\n0,07,5\n1,7,x\n"1","7","3"\n\n1,7\n1,,3\nx,9,3\n1,7,3,3\n+1,8.0,4\n'
    (tmp_path / "x.csv").write_text(content)
    found, tally = read_file(tmp_path / "x.csv", Catalogue(2))
    assert found == sorted([user(i0=1, i1=0), user(), user(i1=0.5)])  # 07 is user 7
    assert tally == Tally(n_read=10, n_without_user=4, n_unknown=1, n_not_finite=1, n_repeated=1)
    (tmp_path / "y.csv").write_text("user,item\n7,1\n7,1\n")
    assert read_file(tmp_path / "y.csv", Catalogue(2), None) == ([user(i1=1)], Tally(n_read=2, n_repeated=1))


def test_all_sources_agree(tmp_path):
    rng = np.random.default_rng(0)
    columns = {"user": rng.integers(0, 50, 900), "item": rng.integers(-1, 40, 900), "rating": rng.uniform(0, 6, 900)}
    expected = read_table(pl.DataFrame(columns), Catalogue(40))
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    write_csv(tmp_path / "x.csv", columns)
    for source in ("x.parquet", "x.csv"):
        assert read_file(tmp_path / source, Catalogue(40)) == expected
    assert expected[1].n_repeated > 0 and len(expected[0]) == 50


# Refusals.

IDS = "a table with int or str ids in the columns user and item"
GOOD = {"user": [1], "item": [0], "rating": [1.0]}
REFUSED = [
    (pa.table({"user": [1], "item": [0]}), "a table with the columns user, item, rating; got no column 'rating'"),
    (pa.table({"u": [1]}), "a table with the columns user, item, rating; got no column 'user'"),
    (pa.table([[1], [1]], ["user", "user"]), "a table whose column names differ; got \"two columns 'user'\""),
    (pd.DataFrame([[1, 1]], columns=["x", "x"]), "a table whose column names differ; got \"two columns 'x'\""),
    (pa.table({**GOOD, "user": [1.5]}), f"{IDS}; got \"column 'user' of type double\""),
    (pa.table({**GOOD, "user": [b"x"]}), f"{IDS}; got \"column 'user' of type binary\""),
    (pl.DataFrame({**GOOD, "item": [True]}), f"{IDS}; got \"column 'item' of type bool\""),
    (
        pa.table({**GOOD, "rating": ["7.25"]}),
        "a table with real numbers in the column rating; got \"column 'rating' of type string\"",
    ),
    (
        pd.DataFrame({**GOOD, "rating": [1j]}),
        "a table of ids and real numbers; got \"column 'rating' of type Unknown\"",
    ),
    (
        pl.LazyFrame(GOOD),
        "data that can be read: collect() the lazy frame, or pass the path of its Parquet file; got 'LazyFrame'",
    ),
]


@pytest.mark.parametrize(("table", "message"), REFUSED)
def test_unsuitable_tables_are_refused_before_values_are_read(table, message):
    assert refusal_of(RatingTable, table, Catalogue(3), (1, 5), "A") == f"X of A must be {message}."


def test_types_are_checked_in_every_file(tmp_path):
    pq.write_table(pa.table(GOOD), tmp_path / "1.parquet")
    for wrong, message in (({"user": [0.5]}, IDS), ({"item": ["x"]}, "str ids as in the column item")):
        pq.write_table(pa.table({**GOOD, **wrong}), tmp_path / "2.parquet")
        assert message in refusal_of(read_rating_file, tmp_path, Catalogue(3), (1, 5), "A")


@pytest.mark.parametrize(
    ("items", "ids", "stored"), [(Catalogue(3), ["0"], "str"), (ITEMS, [0], "int"), (ITEMS, np.array([0], "u8"), "int")]
)
def test_a_catalogue_of_the_other_type_is_refused(items, ids, stored):
    message = refusal_of(RatingTable, pa.table({**GOOD, "item": ids}), items, (1, 5), "A")
    assert message == f"items of A must be {stored} ids as in the column item; got '{items.kind} ids'."


def test_unknown_missing_and_damaged_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.parquet").write_bytes(b"secret 7.25")
    (tmp_path / "x.csv").write_text("user,item\n1,2\n")
    (tmp_path / "folder").mkdir()
    listed = ".parquet, .pq, .csv, .tsv, .csv.gz, .tsv.gz, .csv.zst, .tsv.zst"
    known = f"a folder of Parquet or CSV files or a file ending in {listed}"
    expected = {
        "x.npz": f"{known}; got \"x.npz; did you mean 'x.parquet'?\"",
        "y.csv": "an existing file; got 'y.csv'",
        "x.csv": "a table with the columns user, item, rating; got no column 'rating'",
        "x.parquet": "a readable Parquet file; got 'x.parquet: damaged, or of another kind'",
        "folder": "a folder with Parquet or CSV files; got 'folder: none found'",
    }
    for name, message in expected.items():
        assert refusal_of(read_rating_file, name, Catalogue(3), (1, 5), "A") == f"X of A must be {message}."


def test_a_file_that_changes_before_it_is_read_is_refused(tmp_path):
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table(GOOD), path)
    source = RatingParquet([path], Catalogue(3), (1, 5), "A")
    pq.write_table(pa.table({"user": [1]}), path)
    assert refusal_of(source.read, Tally()) == (
        "X of A must be a readable Parquet file; got 'x.parquet: damaged, or of another kind'."
    )


@pytest.mark.parametrize("storage", ["python", "pyarrow"])
def test_text_that_is_not_unicode_stops_nothing_and_merges_no_users(storage):
    halves = ["\ud800", "\udc00", "ann", None]
    if storage == "python":
        users = pd.array(halves, dtype=pd.StringDtype("python"))
        data = pd.DataFrame({"user": users, "item": pd.array(["tea", "\ud800", "tea", "jam"], users.dtype)})
    else:
        texts = pa.array([b"\xed\xa0\x80", b"\xff", b"ann", None], pa.large_binary()).view(pa.large_string())
        data = pa.table({"user": texts, "item": pa.array(["tea", "oil", "tea", "jam"])})
    tally = Tally()
    block = RatingTable(data, ITEMS, None, "A").read(tally)
    assert sorted(users_of(block)) == sorted([user(i0=1), user(), user(i0=1)])
    assert (tally.n_unknown, tally.n_without_user) == (1, 1)


def test_a_category_that_is_not_unicode_is_refused_without_showing_it():
    categories = pd.Categorical(pd.array(["\ud800", "ann"], dtype=pd.StringDtype("python")))
    data = pd.DataFrame({"user": categories, "item": pd.array(["tea", "jam"], "string")})
    with pytest.raises(InvalidParameter, match="column 'user' of type") as caught:
        RatingTable(data, ITEMS, None, "A")
    assert "\ud800" not in str(caught.value)


# Pieces.


def batches_of(source):
    return [
        row for ids, items, ratings in source.batches() for row in zip(ids.to_pylist(), items, ratings, strict=True)
    ]


@pytest.mark.parametrize("enough", ENOUGH)
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_pieces_are_the_whole(tmp_path, kind, enough):
    folder = write_folder(tmp_path / "x", pa.table(COLUMNS), kind)
    paths = sorted(folder.iterdir())
    source = (RatingParquet if kind == "parquet" else RatingCsv)(paths, ITEMS, (1, 5), "A")
    pieces = source.pieces(enough)
    parts = sent(pieces)
    assert len(batches_of(source)) == 7 and all(part.n_users is None for part in parts)
    assert [row for part in parts for row in batches_of(part)] == batches_of(source)
    counts = [len(batches_of(part)) for part in parts]
    assert [piece.n_entries for piece in pieces] == (counts if kind == "parquet" else [None] * 3)
    paths[0].unlink()  # a piece opens its own file alone
    assert batches_of(parts[-1]) == batches_of(source.pieces(enough)[-1].read())
    assert RatingTable(pa.table(COLUMNS), ITEMS, (1, 5), "A").pieces(enough) is None


def test_files_without_rows_have_no_pieces_and_no_users(tmp_path):
    paths = sorted(write_folder(tmp_path / "x", pa.table(COLUMNS)[:0], "csv").iterdir())
    source = RatingCsv(paths, ITEMS, (1, 5), "A")
    assert source.n_users == 0 and source.pieces() == []


def test_folders_of_csv_files(tmp_path):
    folder = write_folder(tmp_path / "x", pa.table(COLUMNS), "csv")
    assert read_file(folder) == (USERS, TALLY)
    (folder / "4.tsv").write_text('rating\titem\tuser\n5\ttea\t"zoe\n5\tjam\tann"\n')  # one user, of two lines
    found, tally = read_file(folder)
    assert found == sorted([*USERS, user(i0=1)]) and tally.n_read == 8
    (folder / "5.csv").write_text("user,item\n1,2\n")
    message = "X of A must be a table with the columns user, item, rating; got no column 'rating'."
    assert refusal_of(read_rating_file, folder, ITEMS, (1, 5), "A") == message
