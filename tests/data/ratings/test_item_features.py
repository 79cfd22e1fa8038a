"""Public item features: exact encodings, the same from every form and order of rows, and nothing but clean refusals."""

import copy
import pickle
from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.item_features import FeatureColumn, ItemFeatures, check_item_features, read_item_features
from hushrank.exceptions import InvalidParameter

NAN = np.nan
FOUR = Catalogue(["tea", "jam", "rye", "oil"])
DATA = {
    "year": [1990, 2000, None, 1],
    "item": ["jam", "tea", "oil", "unknown"],
    "genres": ["Drama|Comedy", " Drama", "", "Western"],
    "is_old": [True, False, False, True],
}
COLUMNS = (
    FeatureColumn("year", "number", ""), FeatureColumn("genres", "word", "Comedy"),
    FeatureColumn("genres", "word", "Drama"), FeatureColumn("is_old", "number", ""),
)  # fmt: skip
THIRD = 1 / 3
VALUES = [[2000, 0, 1, 0], [1990, 1, 1, 1], [1995, 0.5, 1, THIRD], [1995, 0.5, 1, 0]]
TYPICAL = [1995, 0.5, 1, THIRD]
# The same with NaN for what is missing: what an array of these features would be.
PLAIN = np.array([[2000, 0, 1, 0], [1990, 1, 1, 1], [NAN, NAN, NAN, NAN], [NAN, NAN, NAN, 0]])

LISTS = {**DATA, "genres": [["Drama", "Comedy"], ["Drama "], [], ["Western"]]}


def refused(call, *arguments):
    with pytest.raises(InvalidParameter) as error:
        call(*arguments)
    assert (error.value.name, error.value.owner) == ("item_features", "Owner") and "\n" not in str(error.value)
    return str(error.value).removeprefix("item_features of Owner must be ")


def read(features, catalogue=FOUR):
    return read_item_features(features, catalogue, "Owner")


TABLES = {
    "pyarrow": pa.table(DATA),
    "lists": pa.table(LISTS),
    "batch": pa.RecordBatch.from_pydict(DATA),
    "dictionary": pa.table({**DATA, "genres": pa.array(DATA["genres"]).dictionary_encode()}),
    "chunks": pa.concat_tables([pa.table(DATA).slice(0, 1), pa.table(DATA).slice(1)]),
    "pandas": pd.DataFrame(DATA),
    "pandas with an index": pd.DataFrame(DATA, index=[7, 7, 8, 9]),
    "pandas of objects": pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in DATA.items()}),
    "pandas of lists": pd.DataFrame(LISTS),
    "pandas nullable": pd.DataFrame(DATA).convert_dtypes(),
    "pandas categories": pd.DataFrame(DATA).astype({"genres": "category"}),
    "polars": pl.DataFrame(DATA),
    "polars lists": pl.DataFrame(LISTS),
    "polars categories": pl.DataFrame(DATA).with_columns(pl.col("genres").cast(pl.Categorical)),
}


@pytest.mark.parametrize("form", TABLES)
def test_every_table_gives_the_same_features(form):
    check_item_features(TABLES[form], "Owner")
    features = read(TABLES[form])
    assert features.columns == COLUMNS and features.names == ["year", "Comedy", "Drama", "is_old"]
    assert features.values.tolist() == VALUES and features.typical.tolist() == TYPICAL
    assert features.values.dtype == features.typical.dtype == np.float64 and features.values.flags.c_contiguous


@pytest.mark.parametrize("form", [np.array, np.asfortranarray, scipy.sparse.csr_array, scipy.sparse.dok_matrix])
def test_matrices_give_the_values_of_the_table(form):
    features = read(form(PLAIN))
    assert features.columns == tuple(FeatureColumn(str(j), "number", "") for j in range(4))
    assert features.names == ["0", "1", "2", "3"]
    assert features.values.tolist() == VALUES and features.typical.tolist() == TYPICAL
    assert features.values.flags.c_contiguous


def test_what_was_given_stays_as_it_was_and_is_not_shared():
    given = PLAIN.copy()
    features = read(given)
    features.values[:] = 7.0
    assert np.array_equal(given, PLAIN, equal_nan=True)
    frame = pd.DataFrame(DATA)
    read(frame)
    pd.testing.assert_frame_equal(frame, pd.DataFrame(DATA))


@pytest.mark.parametrize("form", TABLES)
def test_the_order_of_rows_does_not_matter_and_that_of_columns_is_kept(form):
    table = TABLES[form]
    arrow = table if isinstance(table, pa.Table) else pa.Table.from_batches([table]) if form == "batch" else None
    for order in ([3, 2, 1, 0], [1, 3, 0, 2]):
        if arrow is not None:
            shuffled = arrow.take(pa.array(order))
        else:
            shuffled = table.iloc[order] if isinstance(table, pd.DataFrame) else table[order]
        features = read(shuffled)
        assert features.columns == COLUMNS and features.values.tolist() == VALUES
        assert features.typical.tolist() == TYPICAL
    turned = read(pa.table(dict(reversed(DATA.items()))))
    assert turned.names == ["is_old", "Comedy", "Drama", "year"]


@pytest.mark.parametrize("features", [*TABLES.values(), PLAIN, scipy.sparse.csr_matrix(PLAIN)])
def test_the_table_of_the_fit_is_encoded_as_in_the_fit(features):
    fitted = read(features)
    values = fitted.encode(features, FOUR, "Owner")
    assert values.tolist() == VALUES and not np.shares_memory(values, fitted.values)


def test_new_items_are_encoded_as_in_the_fit():
    new = pa.table({
        "item": [5, 4, 1, 2],
        "genres": ["Drama|Western", None, "Western", "Comedy"],
        "title": ["a", "b", "c", "d"],  # not in the fit
        "year": [None, 2020, 2021, 1e6],
        "is_old": [0, 1, 0, None],
    })  # fmt: skip
    values = read(pa.table(DATA)).encode(new, Catalogue([1, 2, 3, 4, 5]), "Owner")
    assert values.tolist() == [
        [2000, 0, 0, 0],  # a word that the fit did not meet, and no other: none of those that it met
        [2000, 1, 0, THIRD],  # no year beyond those of the fit
        [1995, 0.5, 1, THIRD],  # no row
        [2000, 0.5, 1, 1],  # no text
        [1995, 0, 1, 0],
    ]
    assert values.flags.c_contiguous


def test_columns_without_a_value_are_of_any_type():
    fitted = read(pa.table(DATA))
    new = pa.table({"item": ["x"], "year": pa.array([""]), "genres": pa.nulls(1), "is_old": pa.nulls(1)})
    assert fitted.encode(new, Catalogue(["x"]), "Owner").tolist() == [TYPICAL]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (
            pa.table({"item": ["x"], "year": [1], "is_old": [1]}),
            "a table with the columns 'item', 'year', 'genres', 'is_old'; got 'columns item, year, is_old'.",
        ),
        (
            pa.table({"item": ["x"], "year": ["1995"], "genres": ["a"], "is_old": [1]}),
            "a table with numbers in the column 'year', as in the fit; got 'words'.",
        ),
        (
            pa.table({"item": ["x"], "year": [1], "genres": [2], "is_old": [1]}),
            "a table with words in the column 'genres', as in the fit; got 'numbers'.",
        ),
        (
            np.zeros((1, 4)),
            "a table with the columns 'item', 'year', 'genres', 'is_old', as in the fit; "
            "got 'a matrix with 4 columns'.",
        ),
        (
            pa.table({**DATA, "item": [1, 2, 3, 4]}),
            "a table with str ids in its column 'item', as in the catalogue; got 'int ids'.",
        ),
        (None, "a 2-D array or sparse matrix of real numbers, a table with a column 'item', or None; got 'NoneType'."),
    ],
)
def test_new_items_with_other_columns_are_refused(features, message):
    assert refused(read(pa.table(DATA)).encode, features, Catalogue(["x"]), "Owner") == message


def test_matrices_of_new_items_have_the_columns_of_the_fit():
    fitted = read(PLAIN)
    assert fitted.encode(np.array([[NAN, 2, NAN, -3]]), Catalogue(1), "Owner").tolist() == [[1995, 1, 1, 0]]
    message = "a matrix with 4 columns, as in the fit; got 'a matrix with 3 columns'."
    assert refused(fitted.encode, np.zeros((1, 3)), Catalogue(1), "Owner") == message


def test_features_of_a_model_are_taken_as_they_are():
    features = read(pa.table(DATA))
    check_item_features(features, "Owner")
    assert read(features) is features
    encoded = features.encode(features, FOUR, "Owner")
    assert encoded.tolist() == VALUES and not np.shares_memory(encoded, features.values)
    message = "features of the 3 items of the catalogue; got 'features of 4 items'."
    assert refused(read, features, Catalogue(3)) == refused(features.encode, features, Catalogue(3), "Owner") == message
    assert refused(features.encode, read(PLAIN), FOUR, "Owner").startswith("features with the columns of the fit")


def test_features_survive_a_file_and_copies():
    features = read(pa.table(DATA))
    texts = features.to_texts()
    assert len(set(texts)) == 4 and texts[1] == '["genres","word","Comedy"]'
    restored = ItemFeatures.from_texts(texts, features.values, features.typical)
    for other in (restored, copy.deepcopy(features), pickle.loads(pickle.dumps(features))):
        assert other.columns == COLUMNS and other.values.tolist() == VALUES and other.typical.tolist() == TYPICAL
    assert restored.encode(pa.table(DATA), FOUR, "Owner").tolist() == VALUES
    turned = ItemFeatures.from_texts(texts, np.asfortranarray(features.values), features.typical)
    assert turned.values.flags.c_contiguous
    for wrong in ((texts[:3], features.values, features.typical), (texts, features.values[:, :3], features.typical)):
        with pytest.raises(ValueError, match="the values of its item features have the shape"):
            ItemFeatures.from_texts(*wrong)


def test_a_value_that_nobody_has_is_zero_and_constant_columns_stay():
    table = pa.table({"item": [0, 1], "none": pa.nulls(2), "five": [5, 5], "no words": pa.array(["", None])})
    features = read_item_features(table, Catalogue(3), "Owner")
    assert features.names == ["none", "five"] and features.values.tolist() == [[0, 5]] * 3
    assert features.typical.tolist() == [0, 5]
    assert ItemFeatures.from_texts(features.to_texts(), features.values, features.typical).columns == features.columns
    empty = pa.table({"item": [0], "x": pa.array([None], pa.string())})
    assert refused(read, empty, Catalogue(1)) == "a table with a value; got 'columns without any'."


def test_typical_values_lie_among_the_values():
    values = np.full((10, 2), 0.1)
    values[0] = [NAN, 1e100]
    features = read(values, Catalogue(10))
    assert features.typical[0] == 0.1 and np.isfinite(features.typical).all()
    ItemFeatures.from_texts(features.to_texts(), features.values, features.typical)


# Squares.


def squares(*columns):
    """Names of the columns whose squares stand beside them; columns are lists of numbers, called a, b, c, ..."""
    table = {"item": range(len(columns[0])), **dict(zip("abcdefghijkl", columns, strict=False))}
    features = read(pa.table(table), Catalogue(len(columns[0])))
    for j, column in enumerate(features.columns):
        assert column.kind in ("number", "square")
        if column.kind == "square":  # right after its number
            assert features.columns[j - 1] == FeatureColumn(column.source, "number", "")
    return "".join(column.source for column in features.columns if column.kind == "square")


def test_numbers_have_their_squares_about_the_mean_beside_them():
    table = pa.table({"item": [0, 1, 2, 3], "year": [1, 2, 6, None], "kind": ["x", "y", "x", "x"]})
    features = read(table, Catalogue(5))
    assert features.columns == (
        FeatureColumn("year", "number", ""), FeatureColumn("year", "square", ""),
        FeatureColumn("kind", "word", "x"), FeatureColumn("kind", "word", "y"),
    )  # fmt: skip
    assert features.names == ["year", "year squared", "x", "y"]
    mean_square = 14 / 3  # what an item without a year has, and not 0: it is no typical one
    assert features.typical.tolist() == [3, mean_square, 0.75, 0.25]
    assert features.values[:, :2].tolist() == [[1, 4], [2, 1], [6, 9], [3, mean_square], [3, mean_square]]


def test_squares_of_new_items_are_about_the_typical_value_of_the_fit():
    fitted = read(pa.table({"item": [0, 1, 2], "year": [1, 2, 6]}), Catalogue(3))
    new = pa.table({"item": [7, 8, 9], "year": [10, None, 3]})
    assert fitted.encode(new, Catalogue([7, 8, 9]), "Owner").tolist() == [[6, 9], [3, 14 / 3], [3, 0]]
    assert fitted.encode(new.slice(0, 1), Catalogue([7]), "Owner").tolist() == [[6, 9]]  # whatever the others are
    of_array = read(np.array([[1.0], [2.0], [6.0]]), Catalogue(3))
    assert of_array.names == ["0", "0 squared"]
    assert of_array.encode(np.array([[10], [NAN]]), Catalogue(2), "Owner").tolist() == [[6, 9], [3, 14 / 3]]
    message = "a matrix with 1 columns, as in the fit; got 'a matrix with 2 columns'."  # squares are made, not given
    assert refused(of_array.encode, np.zeros((2, 2)), Catalogue(2), "Owner") == message


def test_what_the_fit_was_given_has_the_squares_of_the_fit_to_the_last_bit():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        given = 1000.0 + 100.0 * rng.standard_normal((60, 3))
        given[rng.random((60, 3)) < 0.2] = NAN
        fitted = read(given, Catalogue(60))
        assert len(fitted.columns) == 6
        assert np.array_equal(fitted.encode(given, Catalogue(60), "Owner"), fitted.values)


FIVE = [-2, -1, 0, 1, 2]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([FIVE], "a"),
        ([[4, 4, 4, 4, 4]], ""),
        ([[0, 1, 0, 1, 1]], ""),  # two values: squares would say nothing else
        ([[0, 1, 0, None, 1]], ""),
        ([[0, 1, 0.5, None, 1]], "a"),
        ([[None] * 5], ""),
        ([FIVE, [4, 1, 0, 1, 4]], "b"),  # a squared is b
        ([FIVE, [-7, -1, 1, -1, -7]], "b"),  # a line in b
        ([FIVE, [4, 1, 0.1, 1, 4]], "b"),  # nearly
        ([FIVE, [4, 1, 3, 1, 4]], "ab"),
        ([FIVE, [True, False, True, False, True]], "a"),
        ([[0] * 40 + [1, 1000], [*range(42)]], "b"),  # a squared is a line in a itself, nearly
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_squares_are_there_where_they_tell_something_new(columns, expected):
    assert squares(*columns) == expected


def test_up_to_eight_columns_of_numbers_have_squares():
    columns = np.random.default_rng(0).standard_normal((9, 50)).tolist()
    assert squares(*columns[:8]) == "abcdefgh"
    assert squares(*columns) == ""  # an embedding
    # Columns that have no squares anyway do not count.
    assert squares(*columns[:8], [1.0] * 50, [0.0, 1.0] * 25) == "abcdefgh"
    assert len(read(np.array(columns).T, Catalogue(50)).columns) == 9


def test_squares_of_huge_numbers_are_not_made():
    sizes = [np.array([0.0, 1.0, -3.0, 2.0]) * size for size in (9.9e39 / 3, 1e40 / 3, 1e100 / 3, 1e-200, 5e-324)]
    assert [squares(column.tolist()) for column in sizes] == ["a", "", "", "a", "a"]
    assert squares(FIVE, [1e100, -1e100, 0, 1, 2]) == "a"  # beside a huge one, which overflows nothing
    for column in sizes:
        features = read(column[:, np.newaxis], Catalogue(4))
        assert np.isfinite(features.values).all() and np.abs(features.values).max() <= 1e100
        ItemFeatures.from_texts(features.to_texts(), features.values, features.typical)


def test_features_with_squares_survive_a_file():
    table = pa.table({"item": range(5), "a": FIVE, "genre": ["x", "y", "x", None, "x|y"], "b": [3, 1, 4, 1, 5]})
    features = read(table, Catalogue(5))
    texts = features.to_texts()
    assert texts == [
        '["a","number",""]', '["a","square",""]', '["genre","word","x"]', '["genre","word","y"]', '["b","number",""]',
        '["b","square",""]',
    ]  # fmt: skip
    restored = ItemFeatures.from_texts(texts, features.values, features.typical)
    assert restored.columns == features.columns and restored.names == features.names
    assert np.array_equal(restored.encode(table, Catalogue(5), "Owner"), features.values)
    new = pa.table({"item": [9], "a": [5], "genre": ["y"], "b": pa.nulls(1)})
    encoded = restored.encode(new, Catalogue([9]), "Owner")
    assert encoded.tolist() == features.encode(new, Catalogue([9]), "Owner").tolist()
    assert encoded[0, :4].tolist() == [2, 4, 0, 1] and encoded[0, 4:].tolist() == features.typical[4:].tolist()


# Titles.


def shared(n_words, n_texts):
    """A column of so many words in so many texts of one word each."""
    return [f"w{k % n_words:04}" for k in range(n_texts)]


def test_titles_are_left_out_and_not_asked_for_again():
    n_items = 1025
    table = pa.table({
        "item": range(n_items), "year": range(n_items), "title": [f"t{k}" for k in range(n_items)],
        "genre": [f"g{k % 3}" for k in range(n_items)],
    })  # fmt: skip
    features = read(table, Catalogue(n_items))
    assert features.left_out == ("title",) and features.names == ["year", "year squared", "g0", "g1", "g2"]
    without = read(table.drop_columns(["title"]), Catalogue(n_items))
    assert without.left_out == () and without.columns == features.columns
    assert np.array_equal(without.values, features.values) and np.array_equal(without.typical, features.typical)
    new = pa.table({"item": [5000], "year": [600], "genre": ["g1"]})
    expected = [[600, 88**2, 0, 1, 0]]
    for table in (new, new.append_column("title", pa.array(["t7"])), new.append_column("title", pa.array([7]))):
        assert features.encode(table, Catalogue([5000]), "Owner").tolist() == expected


@pytest.mark.parametrize(
    ("texts", "n_words"),
    [
        (shared(7, 7), 7),  # few categories may have one item each
        (shared(8, 8), 0),
        (shared(8, 9), 8),
        (shared(32, 33), 32),
        (shared(33, 33), 0),
        (shared(33, 65), 0),
        (shared(33, 66), 33),
        (["|".join(shared(33, 33))] * 2, 33),  # two items that share all their words
        (["|".join(shared(33, 33)), "w0000"], 0),
        ([*shared(33, 33), *[None] * 200], 0),
        ([*shared(33, 33), *["w0000"] * 33], 33),
    ],
)
def test_titles_are_columns_of_many_words_that_items_hardly_share(texts, n_words):
    table = pa.table({"item": range(len(texts)), "text": texts, "flag": [k % 2 for k in range(len(texts))]})
    features = read(table, Catalogue(len(texts)))
    assert features.left_out == (() if n_words else ("text",))
    assert features.names[-1] == "flag" and len(features.columns) == n_words + 1


def test_words_of_unknown_items_make_no_titles_and_save_none():
    texts = shared(33, 66)
    table = pa.table({"item": range(66), "text": texts, "flag": [0, 1] * 33})
    assert read(table, Catalogue(66)).left_out == () and read(table, Catalogue(65)).left_out == ("text",)
    assert read(table, Catalogue(7)).left_out == ()


def test_a_table_of_titles_alone_is_refused():
    table = pa.table({"item": range(40), "title": [f"t{k}" for k in range(40)], "plot": [f"p{k}" for k in range(40)]})
    message = "a table with a column that items share words of; got \"'title'\"."
    assert refused(read, table, Catalogue(40)) == message


def test_several_titles_are_told_in_the_order_of_the_table():
    titles = {name: [f"{name}{k}" for k in range(40)] for name in ("z", "a")}
    table = pa.table({"item": range(40), "z": titles["z"], "flag": [0, 1] * 20, "a": titles["a"]})
    assert read(table, Catalogue(40)).left_out == ("z", "a")


# Limits.


def test_too_many_words_that_items_share_are_refused_by_name():
    words = shared(1025, 2050)
    table = pa.table({"item": range(2050), "year": range(2050), "tags": words})
    assert refused(read, table, Catalogue(2050)) == (
        "a table with at most 1024 different words in a column (titles and descriptions are no categories: leave them "
        "out); got \"column 'tags' with 1025\"."
    )
    fewer = table.set_column(2, "tags", pa.array(shared(1024, 2050)))
    features = read(fewer, Catalogue(2050))
    assert len(features.columns) == 2 + 1024
    encoded = features.encode(table.slice(1023, 2), Catalogue([1023, 1024]), "Owner")
    assert encoded[0, 2:].tolist() == [0] * 1023 + [1] and not encoded[1, 2:].any()  # a word that the fit did not meet


def test_too_many_words_together_are_refused_with_the_largest_column():
    columns = {f"c{j}": shared(1020 + (j == 2), 2042) for j in range(5)}
    table = pa.table({"item": range(2042), **columns})
    assert refused(read, table, Catalogue(2042)) == (
        "at most 4096 columns, of which every word is one (column 'c2' has 1021 different words: leave it out if it is "
        "no category); got '5101 columns'."
    )
    assert len(read(table.drop_columns(["c0"]), Catalogue(2042)).columns) == 4081


def test_squares_count_as_columns():
    """Features of more columns than a file may have were fitted, and the model that was paid for could not be saved."""
    columns = {f"c{j}": shared(1020, 2040) for j in range(4)}
    numbers = dict(zip("abcdefgh", np.random.default_rng(0).standard_normal((8, 2040)), strict=True))
    table = pa.table({"item": range(2040), **columns, **numbers})
    features = read(table, Catalogue(2040))
    assert len(features.columns) == 4096
    ItemFeatures.from_texts(features.to_texts(), features.values, features.typical)
    table = table.append_column("more", pa.array([k % 2 for k in range(2040)]))
    assert refused(read, table, Catalogue(2040)).endswith("got '4097 columns'.")


# Nothing else escapes.

CELLS = st.sampled_from([
    None, 0, 1, -2, 2.5, NAN, np.inf, 2**70, -(2**70), 2**64 - 1, True, "", "a", "a|b", " | ", "7", "\u00e9", "\ud800",
    b"x", b"\xff", 1 + 2j, ["a"], ["a", "b|c"], [], [None], [1], [["a"]], ("a",), {"a": 1}, np.float64(2), np.int8(3),
    1e300, np.array(["a"]), np.array([1.5]), pd.NA, pd.NaT, np.datetime64("2020"), pd.Timestamp(0), int, 10**400,
    np.str_("q"),
])  # fmt: skip
NAMES = st.sampled_from(["x", "y", "item", "item ", "", 0, 1.5, None, ("a", 1), "__index_level_0__"])


@st.composite
def frames(draw):
    n_rows = draw(st.integers(0, 4))
    pools = st.lists(CELLS, min_size=1, max_size=3)
    columns = []
    for _ in range(draw(st.integers(0, 2))):
        pool = draw(pools)
        columns.append([draw(st.sampled_from(pool)) for _ in range(n_rows)])
    some_ids = [
        list(range(n_rows)),
        ["a", "b", "7", "z"][:n_rows],
        [0.0, 1.0, NAN, 3.0][:n_rows],
        [7, 7, 0, 1][:n_rows],
    ]
    ids = draw(st.one_of(st.sampled_from(some_ids), st.lists(CELLS, min_size=n_rows, max_size=n_rows)))
    table = pd.DataFrame(index=range(n_rows))
    for j, cells in enumerate([ids, *columns]):
        column = np.empty(n_rows, object)
        for i, cell in enumerate(cells):
            column[i] = cell
        table[j] = pd.Series(column, dtype=object)
    names = ["item", *(draw(NAMES) for _ in columns)]
    return table.set_axis(pd.Index(names, dtype=object, tupleize_cols=False), axis=1)


def outcome(features, catalogue):
    try:
        found = read_item_features(features, catalogue, "Owner")
    except InvalidParameter as error:
        assert (error.name, error.owner) == ("item_features", "Owner") and "\n" not in str(error)
        return None
    assert np.isfinite(found.values).all() and len(set(found.names)) == len(found.columns)
    restored = ItemFeatures.from_texts(found.to_texts(), found.values, found.typical)
    assert np.array_equal(restored.encode(features, catalogue, "Owner"), found.values)
    return found.to_texts(), found.values.tolist(), found.typical.tolist()


@settings(max_examples=150)
@given(frames(), st.sampled_from([Catalogue(4), Catalogue(["a", "b", "7"])]), st.booleans())
def test_any_table_is_encoded_or_refused_whatever_the_order_of_its_rows(frame, catalogue, infers):
    if infers and len(set(frame.columns)) == frame.shape[1]:
        with suppress(OverflowError):  # of pandas 2.2, from integers that no float holds
            frame = frame.infer_objects()
    assert outcome(frame, catalogue) == outcome(frame[::-1], catalogue)


@settings(max_examples=50)
@given(st.sampled_from("?bBhHiIlLqQefdgFDGSUVOMm"), st.lists(st.integers(0, 3), max_size=4), st.booleans())
def test_any_array_is_encoded_or_refused(code, shape, is_masked):
    array = np.zeros(shape, code)
    found = outcome(np.ma.array(array) if is_masked else array, Catalogue(3))
    is_good = len(shape) == 2 and shape[0] == 3 and shape[1] > 0 and code in "?bBhHiIlLqQefd"
    assert (found is not None) == (is_good and not is_masked)
