"""Objects of Dask: nothing is computed before blocks are read, and what is read is what pandas and NumPy would have."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("dask.dataframe", reason="needs the extra dask")

import dask
import dask.array as da
import dask.bag as db
import dask.dataframe as dd

from hushrank.data.lazy_blocks import GivenBlocks, LazyBlocks, is_lazy_collection, is_lazy_pair, lazy_records
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.records.measurements import read_measurements
from hushrank.data.records.reading import read_records
from hushrank.data.rows.reading import read_rows
from hushrank.data.updates.reading import read_updates
from hushrank.exceptions import InvalidParameter
from regrouping_support import group_at, travel

RNG = np.random.default_rng(0)
N = 23
X, Z, Y = RNG.standard_normal((N, 3)), RNG.standard_normal((N, 2)), RNG.standard_normal(N)
USERS = RNG.choice(np.array(["ann", "bob", "7", "07"]), N)
FRAME = pd.DataFrame(
    {"a": X[:, 0], "b": np.arange(N), "target": Y, "user": pd.array(USERS, dtype="string"), "row": np.arange(N) % 5,
     "column": np.arange(N) % 3, "delta": Y, "item": np.arange(N) % 4, "rating": np.round(Y) + 3}
)  # fmt: skip
NUMBERS = FRAME[["a", "b", "target"]]


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def framed(frame, edges=(0, 4, 4, 11, N)):
    """A dask frame with these partitions, one of them without rows, and the list of those that were computed."""
    computed = []

    def part(number):
        computed.append(number)
        return frame.iloc[edges[number] : edges[number + 1]]

    return dd.from_map(part, range(len(edges) - 1), meta=frame.iloc[:0]), computed


def arrayed(array, chunks, computed=None):
    """A dask array that records which blocks were computed."""
    computed = [] if computed is None else computed

    def noted(block, block_id):
        computed.append(block_id)
        return block

    lazy = da.from_array(array, chunks=chunks, asarray=False)
    return da.map_blocks(noted, lazy, dtype=array.dtype, meta=np.empty((0,) * array.ndim, array.dtype))


def unknown(array, chunks):
    """An array that does not know the lengths of its chunks."""
    lazy = da.from_array(array, chunks=chunks)
    return lazy[da.from_array(np.ones(len(array), bool), chunks=lazy.chunks[0])]


def pieces_of(source):
    """Sources of all pieces, as another process would make them."""
    return [travel(piece.read)(*travel(dask.compute(*piece.needs))) for piece in source.pieces()]


# One way to look at everything: bits of what is read.


def bits_of_rows(sources):
    return np.concatenate([block for source in sources for block in source.blocks(5)]).tobytes()


def bits_of_records(sources):
    blocks = [block for source in sources for block in source.blocks(5)]
    return [np.concatenate([getattr(block, name) for block in blocks]).tobytes() for name in ("X", "y")]


def bits_of_updates(sources):
    chunks = [chunk for source in sources for chunk in source.chunks(5)]
    return [
        np.concatenate([getattr(chunk, name) for chunk in chunks]).tobytes() for name in ("rows", "columns", "deltas")
    ]


def bits_of_users(sources):
    found = []
    for source in sources:
        for block in source.blocks(2):
            arrays = [getattr(block, name) for name in ("items", "values", "X", "y") if hasattr(block, name)]
            spans = [slice(*block.indptr[user : user + 2]) for user in range(len(block))]
            found += [[array[span].tobytes() for array in arrays] for span in spans]
    return sorted(found)


A = {"owner": "A"}
RATED = {"items": 4, "rating_range": (1, 5), **A}
RANK_ONE, ENTRY, DENSE = ({"design": design, **A} for design in ("rank_one", "entry", "dense"))
CUBES, CELLS = X[:, :, None] * Z[:, None, :], (np.arange(N) % 4, np.arange(N) % 5)


def as_frames(*arrays):
    return [framed(pd.DataFrame(array, columns=[f"x{j}" for j in range(array.shape[1])]) if array.ndim > 1
            else pd.Series(array))[0] for array in arrays]  # fmt: skip


# Name -> how data of Dask are read, how the same of pandas or NumPy, and what is looked at.
KINDS = {
    "rows of a frame": (lambda: read_rows(framed(NUMBERS)[0], **A), lambda: read_rows(NUMBERS, **A), bits_of_rows),
    "columns": (
        lambda: read_rows(framed(FRAME)[0], columns=["target", "a"], **A),
        lambda: read_rows(FRAME, columns=["target", "a"], **A),
        bits_of_rows,
    ),
    "rows of an array": (lambda: read_rows(arrayed(X, (4, 2)), **A), lambda: read_rows(X, **A), bits_of_rows),
    "single": (
        lambda: read_rows(arrayed(X.astype("f4"), (4, 2)), **A),
        lambda: read_rows(X.astype("f4"), **A),
        lambda sources: np.concatenate([block for one in sources for block in one.blocks()]).astype("f8").tobytes(),
    ),
    "unknown lengths": (lambda: read_rows(unknown(X, (4, 2)), **A), lambda: read_rows(X, **A), bits_of_rows),
    "complex": (
        lambda: read_rows(arrayed(X * 1j, (4, 2)), allow_complex=True, **A),
        lambda: read_rows(X * 1j, allow_complex=True, **A),
        bits_of_rows,
    ),
    "records of a frame": (
        lambda: read_records(framed(FRAME[["a", "b", "target"]])[0], **A),
        lambda: read_records(FRAME[["a", "b", "target"]], **A),
        bits_of_records,
    ),
    "records of columns": (
        lambda: read_records(framed(FRAME)[0], "delta", features=["b", "a"], users=None, **A),
        lambda: read_records(FRAME, "delta", features=["b", "a"], **A),
        bits_of_users,
    ),
    "records of arrays": (
        lambda: read_records(arrayed(X, (4, 2)), arrayed(Y, 5), **A),
        lambda: read_records(X, Y, **A),
        bits_of_records,
    ),
    "records of unknown lengths": (
        lambda: read_records(unknown(X, (4, 2)), arrayed(Y, 4), **A),
        lambda: read_records(X, Y, **A),
        bits_of_records,
    ),
    "a frame and an array": (
        lambda: read_records(framed(NUMBERS[["a", "b"]])[0], arrayed(Y, ((4, 0, 7, 12),)), **A),
        lambda: read_records(NUMBERS[["a", "b"]], Y, **A),
        bits_of_records,
    ),
    "a frame and series": (
        lambda: read_records(*as_frames(X, Y), framed(FRAME["user"])[0], **A),
        lambda: read_records(X, Y, USERS, **A),
        bits_of_users,
    ),
    "users of arrays": (
        lambda: read_records(arrayed(X, (4, 2)), arrayed(Y, 5), arrayed(USERS, 9), **A),
        lambda: read_records(X, Y, USERS, **A),
        bits_of_users,
    ),
    "dense": (
        lambda: read_measurements(arrayed(CUBES, (4, 2, 1)), arrayed(Y, 5), **DENSE),
        lambda: read_measurements(CUBES, Y, **DENSE),
        bits_of_records,
    ),
    "pairs": (
        lambda: read_measurements((arrayed(X, (4, 2)), arrayed(Z, (7, 1))), arrayed(Y, 5), **RANK_ONE),
        lambda: read_measurements((X, Z), Y, **RANK_ONE),
        bits_of_records,
    ),
    "pairs of frames": (
        lambda: read_measurements(tuple(as_frames(X, Z)), as_frames(Y)[0], **RANK_ONE),
        lambda: read_measurements((X, Z), Y, **RANK_ONE),
        bits_of_records,
    ),
    "entries": (
        lambda: read_measurements(tuple(arrayed(c, 4) for c in CELLS), arrayed(Y, 5), shape=(4, 5), **ENTRY),
        lambda: read_measurements(CELLS, Y, shape=(4, 5), **ENTRY),
        bits_of_records,
    ),
    "measurements of a frame": (
        lambda: read_measurements(framed(FRAME)[0], features=["row", "column"], shape=(5, 3), **ENTRY),
        lambda: read_measurements(FRAME, features=["row", "column"], shape=(5, 3), **ENTRY),
        bits_of_records,
    ),
    "updates": (
        lambda: read_updates(framed(FRAME)[0], shape=(5, 3), **A),
        lambda: read_updates(FRAME, shape=(5, 3), **A),
        bits_of_updates,
    ),
    "updates of users": (
        lambda: read_updates(framed(FRAME)[0], shape=(5, 3), needs_users=True, **A),
        lambda: read_updates(FRAME, shape=(5, 3), needs_users=True, **A),
        lambda sources: [c for source in sources for chunk in source.chunks(5) for c in chunk.users.to_pylist()],
    ),
    "ratings": (lambda: read_ratings(framed(FRAME)[0], **RATED), lambda: read_ratings(FRAME, **RATED), bits_of_users),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_read_here_is_what_pandas_and_numpy_have(kind):
    lazy, eager, look = KINDS[kind]
    source, expected = lazy(), eager()
    assert look([source]) == look([expected]) and source.can_repeat and look([source]) == look([expected])
    assert source.sizes == expected.sizes


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_together_are_the_whole(kind):
    lazy, eager, look = KINDS[kind]
    source = lazy()
    if look is not bits_of_users:
        assert look(pieces_of(source)) == look([eager()])
        assert len(source.pieces()) > 1
        return
    for n_places in (1, 3, 50):
        moved = lazy().regrouped(group_at(n_places, 3))
        assert type(moved) is not type(source) and moved.n_users == eager().n_users
        assert look([moved]) == look(travel(piece.read)() for piece in moved.pieces()) == look([eager()])


def test_lengths_of_pieces_are_told_where_they_are_known():
    assert [piece.n_entries for piece in read_rows(arrayed(X, (10, 2)), **A).pieces()] == [10, 10, 3]
    for lazy in (unknown(X, (10, 2)), framed(NUMBERS, (0, 10, 20, N))[0]):
        assert [piece.n_entries for piece in read_rows(lazy, **A).pieces()] == [None] * 3


# Nothing is computed early.


def test_nothing_is_computed_when_a_source_is_made():
    frame, computed = framed(FRAME)
    arrays = [arrayed(X, (4, 2), computed), arrayed(Y, 5, computed), arrayed(USERS, 9, computed)]
    people = [read_records(frame, **A), read_records(*arrays, **A), read_ratings(frame, **RATED)]
    pair = arrays[0], arrays[0]
    others = [read_rows(frame[["a", "b"]], **A), read_rows(arrays[0], **A), read_updates(frame, shape=(5, 3), **A)]
    others.append(read_measurements(pair, arrays[1], **RANK_ONE))
    for source in [*people, *others]:
        assert source.sizes and source.n_samples is None and len(source.empty_block()) == 0
    assert all(source.pieces() for source in others)
    assert all(source.regrouped(group_at(2)) is not source for source in people)
    assert computed == []


def test_partitions_are_computed_one_after_the_other():
    frame, computed = framed(NUMBERS)
    source = read_rows(frame, **A)
    blocks = source.blocks()
    next(blocks)
    assert computed == [0]
    assert list(blocks) and computed == [0, 1, 2, 3]
    [piece, *_] = source.pieces()
    dask.compute(*piece.needs)
    assert computed == [0, 1, 2, 3, 0]


def test_a_generator_of_blocks_begins_with_the_types():
    lazy = LazyBlocks(framed(NUMBERS)[0], owner="A")
    blocks = list(lazy())
    assert [len(block) for block in blocks] == [0, 4, 0, 7, 12] and blocks[0].dtypes.equals(NUMBERS.dtypes)
    pairs = list(LazyBlocks(arrayed(X, (9, 2)), arrayed(Z, 5), arrayed(Y, N), owner="A", is_pair=True)())
    assert [(x.shape, z.shape, y.shape) for (x, z), y in pairs][:2] == [((0, 3), (0, 2), (0,)), ((9, 3), (9, 2), (9,))]
    given = GivenBlocks("types", "block")
    assert list(given()) == list(given()) == ["types", "block"]


def test_dask_is_not_imported_before_somebody_brings_it():
    code = (
        "import sys, numpy as np\n"
        "from hushrank.data.rows.reading import read_rows\n"
        "from hushrank.data.ratings.reading import read_ratings\n"
        "from hushrank.data.updates.reading import read_updates\n"
        "list(read_rows(np.ones((3, 2)), owner='A').blocks())\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('dask', 'distributed')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# Types that a partition has and Dask does not state.


def mixed(frame, number, **columns):
    """A dask frame of two partitions of which one has other columns than Dask states."""
    halves = [frame.iloc[: N // 2], frame.iloc[N // 2 :]]
    halves[number] = halves[number].assign(**{name: make(halves[number][name]) for name, make in columns.items()})
    lazy = dd.from_map(lambda k: halves[k], [0, 1], meta=frame.iloc[:0])
    return lazy, pd.concat(halves)


def texts(column):
    return column.astype(object).map(lambda cell: f" {cell} ")


@pytest.mark.parametrize("number", [0, 1])
def test_a_partition_of_other_types_is_read_cell_by_cell(number):
    rows = read_rows(mixed(NUMBERS, number, b=texts)[0], **A)
    assert bits_of_rows([rows]) == bits_of_rows(pieces_of(rows)) == bits_of_rows([read_rows(NUMBERS, **A)])
    records = read_records(mixed(FRAME, number, b=texts, target=texts, user=texts)[0], features=["a", "b"], **A)
    assert bits_of_users([records]) == bits_of_users([read_records(FRAME, features=["a", "b"], **A)])
    updates = read_updates(mixed(FRAME, number, row=texts, delta=texts)[0], shape=(5, 3), **A)
    assert bits_of_updates(pieces_of(updates)) == bits_of_updates([read_updates(FRAME, shape=(5, 3), **A)])


def test_one_cell_that_is_no_number_stops_nothing():
    odd = NUMBERS.astype({"b": object})
    odd.iloc[15, 1] = "seven"
    lazy = dd.from_map(lambda k: [NUMBERS.iloc[:9], odd.iloc[9:]][k], [0, 1], meta=NUMBERS.iloc[:0])
    for sources in ([read_rows(lazy, **A)], pieces_of(read_rows(lazy, **A))):
        found = np.concatenate([block for source in sources for block in source.blocks()])
        expected = NUMBERS.to_numpy(float)
        expected[15, 1] = np.nan
        assert np.array_equal(found, expected, equal_nan=True)


def test_objects_and_empty_partitions():
    with dask.config.set({"dataframe.convert-string": False}):
        lazy = dd.from_pandas(FRAME.astype({"user": object, "rating": object}), npartitions=4)
        source = read_ratings(lazy, **RATED)
    assert lazy._meta["user"].dtype == object
    assert bits_of_users([source]) == bits_of_users([read_ratings(FRAME, **RATED)])
    empty = read_rows(framed(NUMBERS.iloc[:0], (0, 0, 0))[0], **A)
    assert list(empty.blocks()) == [] and [list(part.blocks()) for part in pieces_of(empty)] == [[], []]


def test_a_column_may_have_any_name():
    frame = NUMBERS.rename(columns={"a": "chunks", "b": "rechunk", "target": "npartitions"})
    assert bits_of_rows([read_rows(framed(frame)[0], **A)]) == bits_of_rows([read_rows(NUMBERS, **A)])


# Refusals.


def refusal_of(read, *data, **options):
    with pytest.raises(InvalidParameter) as refusal:
        source = read(*data, owner="A", **options)
        list(source.blocks())
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 200
    return str(refusal.value)


LAZY_X, LAZY_Y = da.from_array(X, chunks=(4, 2)), da.from_array(Y, chunks=5)  # six chunks and five
ALIGNED = "must be dask collections of as many partitions as X, or an array with chunks of known length; got"


@pytest.mark.parametrize(
    "other", [db.from_sequence([1, 2]), dask.delayed(np.ones)((3, 2)), dd.from_pandas(FRAME["a"]).sum()]
)
def test_other_objects_of_dask_are_refused(other):
    name = type(other).__name__
    requirement = f"must be a dask DataFrame, Series or array; got {name!r}."
    assert is_lazy_collection(other)
    assert (
        refusal_of(read_rows, other)
        == refusal_of(read_ratings, other, items=3, rating_range=(1, 5))
        == f"X of A {requirement}"
    )
    assert (
        refusal_of(read_updates, other, shape=(2, 2))
        == refusal_of(read_records, other, LAZY_Y)
        == f"X of A {requirement}"
    )
    assert refusal_of(read_records, LAZY_X, other) == f"y of A {requirement}"
    assert refusal_of(read_records, LAZY_X, LAZY_Y, other) == f"users of A {requirement}"
    assert refusal_of(read_ratings, other, rating_range=(1, 5)).startswith(("items of A must be", "X of A must be"))


@pytest.mark.parametrize(
    ("y", "got"),
    [
        (LAZY_Y[:-1], f"'shape ({N - 1},)'"),
        (framed(FRAME["a"])[0], "'4 partitions'"),
        (unknown(Y, 5), "'5 partitions'"),
    ],
)
def test_lengths_that_differ_are_refused(y, got):
    assert refusal_of(read_records, LAZY_X, y) == f"y of A {ALIGNED} {got}."
    assert refusal_of(read_records, LAZY_X, LAZY_Y, y) == f"users of A {ALIGNED} {got}."


def test_pairs_that_differ_are_refused():
    short = da.from_array(Z[:-1], chunks=4)
    assert refusal_of(read_measurements, (LAZY_X, short), LAZY_Y, design="rank_one") == (
        f"X of A {ALIGNED} 'shape ({N - 1}, 2)'."
    )
    for y in (None, Y, "target"):
        message = refusal_of(read_measurements, (LAZY_X, LAZY_X), y, design="rank_one")
        assert message.startswith("y of A must be of Dask as X is")
    assert is_lazy_pair((LAZY_X, LAZY_X)) and not is_lazy_pair((LAZY_X, X)) and not is_lazy_pair([LAZY_X, LAZY_X])


def test_partitions_that_do_not_belong_together_are_refused_when_they_are_read():
    frame = framed(NUMBERS[["a", "b"]], (0, 10, N))[0]
    expected = "X of A must be blocks with a record for each answer and user; got"
    for y in (da.from_array(Y, chunks=((11, 12),)), framed(FRAME["a"], (0, 9, N))[0]):
        assert refusal_of(read_records, frame, y).startswith(expected)
    assert refusal_of(read_records, frame, framed(FRAME["a"], (0, 10, N))[0], da.from_array(USERS, 12)).startswith(
        expected
    )


def test_columns_of_one_folder_belong_together(tmp_path):
    """Of which Dask reads several files at once where few of many columns are asked for, and one where many are."""
    wide = pd.DataFrame({f"x{j}": np.arange(40.0) + j for j in range(30)} | {"target": np.arange(40.0)})
    for number in range(4):
        wide[10 * number : 10 * number + 10].to_parquet(tmp_path / f"{number}.parquet")
    frame = dd.read_parquet(tmp_path)
    X, y = frame[[f"x{j}" for j in range(30)]], frame["target"]
    assert len(X.to_delayed()) > len(y.to_delayed())
    blocks = list(lazy_records(X, y, None, "A")[0]())
    assert np.array_equal(np.concatenate([one.iloc[:, 0] for one, _ in blocks]), np.arange(40.0))
    assert all(np.array_equal(one.iloc[:, 0], answers) for one, answers in blocks)


def test_sizes_that_nobody_knows_are_refused():
    narrow = LAZY_X[:, da.from_array(np.array([True, False, True]), chunks=2)]
    assert refusal_of(read_rows, narrow).endswith(f"whose other sizes are known; got 'shape ({N}, nan)'.")
    assert refusal_of(read_rows, LAZY_X.sum()).endswith("got 'shape ()'.")
    assert refusal_of(read_records, LAZY_X, LAZY_X.sum()).startswith("y of A must be a dask array of rows")
    assert refusal_of(read_rows, LAZY_Y).startswith("X of A must be of two dimensions")


@pytest.mark.parametrize(
    ("y", "users", "name", "got"),
    [(Y, None, "y", "ndarray"), (LAZY_Y, USERS, "users", "ndarray"), (None, LAZY_Y, "y", "NoneType"),
     (LAZY_Y, "user", "users", "str"), ("target", LAZY_Y, "y", "str")],
)  # fmt: skip
def test_answers_and_users_are_of_dask_or_columns(y, users, name, got):
    with pytest.raises(InvalidParameter) as refusal:
        lazy_records(LAZY_X, y, users, "A")
    expected = "must be of Dask as X is, or the name of a column, both of y and users; got"
    assert str(refusal.value) == f"{name} of A {expected} {got!r}."


def test_what_is_not_of_dask_is_not_lazy():
    assert not any(map(is_lazy_collection, (X, FRAME, None, "x.csv", [1], iter([X]), lambda: X)))
    assert all(map(is_lazy_collection, (LAZY_X, framed(FRAME)[0], framed(FRAME["a"])[0])))


def test_types_are_refused_before_anything_is_computed():
    frame, computed = framed(FRAME.assign(when=pd.Timestamp("2020-01-01")))
    assert refusal_of(read_rows, frame[["a", "when"]]).startswith("X of A must be a table of real numbers")
    assert refusal_of(read_ratings, frame.drop(columns="item"), items=4, rating_range=(1, 5)).startswith(
        "X of A must be"
    )
    assert refusal_of(read_updates, frame.drop(columns="delta"), shape=(5, 3)).startswith(
        "updates of A must be a table"
    )
    assert refusal_of(read_rows, arrayed(USERS[:, None], (4, 1), computed)).startswith("X of A must be numbers")
    assert computed == []
