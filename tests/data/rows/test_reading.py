"""One entry for all data: the same rows, and so the same total bits, from every kind of source."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.data.rows.reading import read_rows
from hushrank.data.source import MAX_BLOCK_BYTES, MAX_BLOCK_ROWS
from hushrank.engine.local import LocalEngine
from hushrank.exceptions import InvalidParameter
from hushrank.linalg.integer_sums import integer_gram, integer_gram_complex, integer_sum_l1

NAMES = ["a", "b", "c"]
LATTICE = (2.0, 4**18)


def sample(n=300):
    """Rows that float32 represents, some clipped, some zero, some not finite."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3)).astype(np.float32).astype(np.float64)
    X[::7] *= 64
    X[3::11] = 0
    X[5::13, 1] = np.nan
    X[6::17, 2] = -np.inf
    return X


def gram_and_count(block, lattice):
    return integer_gram(block, *lattice), integer_sum_l1(np.ones((len(block), 1)), 1.0, 1)


def parquet_folder(X, folder):
    for i, part in enumerate(np.array_split(X, 3)):
        pq.write_table(pa.table(list(part.T), names=NAMES), folder / f"{i}.parquet", row_group_size=40)
    return folder


def saved(write):
    """A source that writes X to a file first."""

    def source(X, folder):
        path = folder / f"x.{write.__name__}"
        write(X, path)
        return path

    return source


def parquet(X, path):
    pq.write_table(pa.table(list(X.T), names=NAMES), path)


def csv(X, path):
    path.write_text("a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in X.tolist()))


def npy(X, path):
    np.save(path, X)


def npz(X, path):
    np.savez(path, X)


SOURCES = {
    "C order": lambda X, _: X,
    "F order": lambda X, _: np.asfortranarray(X),
    "every other row": lambda X, _: np.repeat(X, 2, axis=0)[::2],
    "float32": lambda X, _: X.astype(np.float32),
    "lists": lambda X, _: X.tolist(),
    "CSR": lambda X, _: sp.csr_matrix(X),
    "sparse array": lambda X, _: sp.coo_array(X),
    "pandas": lambda X, _: pd.DataFrame(X, columns=NAMES),
    "polars": lambda X, _: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda X, _: pa.table(list(X.T), names=NAMES),
    "Parquet": saved(parquet),
    "Parquet folder": parquet_folder,
    "CSV": saved(csv),
    "npy": saved(npy),
    "npz": saved(npz),
    "iterator": lambda X, _: iter(np.array_split(X, 4)),
    "mixed iterator": lambda X, _: iter([X[:50], sp.csr_array(X[50:60]), X[60:60], pd.DataFrame(X[60:])]),
    "Arrow batches": lambda X, _: pa.table(list(X.T), names=NAMES).to_reader(max_chunksize=64),
    "function": lambda X, _: lambda: (part for part in np.array_split(X, 4)),
    "function of a list": lambda X, _: lambda: [pl.DataFrame(X, schema=NAMES)],
}
ONE_PASS = {"iterator", "mixed iterator", "Arrow batches"}
STREAMS = ONE_PASS | {"function", "function of a list"}


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize(("block_rows", "threads"), [(1, 2), (7, 5), (8192, 1)])
def test_every_source_gives_the_same_bits(name, block_rows, threads, tmp_path):
    X = sample()
    expected, _ = gram_and_count(X, LATTICE)
    rows = read_rows(SOURCES[name](X, tmp_path), owner="PCA")
    total, count = LocalEngine(threads, block_rows).total(rows, gram_and_count, LATTICE)
    assert np.array_equal(total, expected) and count.tolist() == [300]


@pytest.mark.parametrize("allow_complex", [False, True])
@pytest.mark.parametrize("name", SOURCES)
def test_every_source_describes_itself(name, allow_complex, tmp_path):
    X = sample()
    rows = read_rows(SOURCES[name](X, tmp_path), owner="PCA", allow_complex=allow_complex)
    assert rows.is_complex == (allow_complex and name in STREAMS)
    assert rows.n_features == 3 and rows.n_samples in (300, None)
    assert rows.columns in (tuple(NAMES), None)
    assert rows.can_repeat == (name not in ONE_PASS)
    reads = [list(rows.blocks(max_rows)) for max_rows in ((11, 299) if rows.can_repeat else (11,))]
    for blocks, max_rows in zip(reads, (11, 299), strict=False):
        assert sum(map(len, blocks)) == 300 and max(map(len, blocks)) <= max_rows
        assert all(block.ndim == 2 and block.dtype.kind == ("c" if rows.is_complex else "f") for block in blocks)


@given(st.permutations(range(60)), st.integers(1, 60), st.integers(1, 3))
@settings(deadline=None, max_examples=25)
def test_the_order_of_the_rows_does_not_matter(order, block_rows, threads):
    X = sample(60)
    rows = read_rows(X[list(order)], owner="PCA")
    total, _ = LocalEngine(threads, block_rows).total(rows, gram_and_count, LATTICE)
    assert np.array_equal(total, gram_and_count(X, LATTICE)[0])


def test_columns_reach_every_source_with_names(tmp_path):
    X = sample()
    for name in ("pandas", "polars", "pyarrow", "Parquet", "Parquet folder", "CSV", "Arrow batches"):
        folder = tmp_path / name
        folder.mkdir()
        rows = read_rows(SOURCES[name](X, folder), owner="PCA", columns=["c", "a"])
        assert rows.columns == ("c", "a")
        assert np.array_equal(np.vstack(list(rows.blocks())), X[:, [2, 0]], equal_nan=True)


# Streams.


def test_large_blocks_of_an_iterator_are_split():
    rows = read_rows(iter([np.zeros((2 * MAX_BLOCK_ROWS + 5, 1)), np.zeros((3, 1))]), owner="PCA")
    assert [len(block) for block in rows.blocks(10**9)] == [8192, 8192, 5, 3]


def test_only_the_first_block_is_read_beforehand():
    taken = []

    def source():
        for i in range(3):
            taken.append(i)
            yield np.full((1, 2), i)

    rows = read_rows(source(), owner="PCA")
    assert taken == [0]
    assert np.vstack(list(rows.blocks())).tolist() == [[0, 0], [1, 1], [2, 2]] and taken == [0, 1, 2]


def test_an_iterator_is_read_once():
    rows = read_rows(iter([np.ones((1, 1))]), owner="PCA")
    list(rows.blocks())
    with pytest.raises(InvalidParameter, match="data that can be read again; got 'an iterator read before'"):
        rows.blocks()


def test_tables_in_a_stream_may_differ_in_the_order_of_their_columns():
    frames = [pd.DataFrame({"a": [1], "b": [2]}), pd.DataFrame({"b": [4], "a": [3]})]
    rows = read_rows(iter(frames), owner="PCA")
    assert rows.columns == ("a", "b") and np.vstack(list(rows.blocks())).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("later", "message"),
    [
        (np.ones((1, 3)), "X of PCA must be blocks of 2 columns; got 'a block of 3 columns'."),
        (np.ones(2), "X of PCA must be of two dimensions"),
        (pd.DataFrame({"a": [1], "z": [2]}), "X of PCA must be a table with the column 'b'"),
        ("7.25", "X of PCA must be blocks that are arrays, sparse matrices or tables; got 'str'."),
        ([[1, 2], [3]], "X of PCA must be blocks of rows of equal length; got 'list'."),
        ([np.ones((2, 1)), np.ones((2, 2))], "X of PCA must be of two dimensions"),
        (np.ma.masked_array(np.ones((1, 2))), "X of PCA must be blocks that are arrays, sparse matrices or tables"),
        (pl.LazyFrame({"a": [1], "b": ["x"]}), "X of PCA must be data that can be read: collect() the lazy frame"),
    ],
)
def test_a_later_block_of_another_kind_is_refused(later, message):
    rows = read_rows(iter([pd.DataFrame({"a": [1], "b": [2]}), later]), owner="PCA")
    with pytest.raises(InvalidParameter) as refusal:
        list(rows.blocks())
    assert str(refusal.value).startswith(message)


@pytest.mark.parametrize(
    "later",
    [
        pd.DataFrame({"a": ["oops", "3.5"], "b": [2, 4]}),
        pl.DataFrame({"b": [2, 4], "a": ["oops", "3.5"]}),
        pa.RecordBatch.from_pydict({"a": ["oops", "3.5"], "b": [2, 4]}),
        np.array([[None, 2], ["3.5", 4]], object),
        np.array([["oops", "2"], ["3.5", "4"]]),
        [[None, 2], [3.5, 4]],
        [[10**400, 2], [3.5, 4]],
        [[2j, 2], [3.5, 4]],
    ],
    ids=lambda later: type(later).__module__.split(".")[0],
)
def test_a_cell_that_is_no_number_spoils_its_own_row_of_a_later_block_only(later):
    rows = read_rows(iter([pd.DataFrame({"a": [1.0], "b": [2.0]}), later]), owner="PCA")
    first, second = rows.blocks()
    assert np.array_equal(np.vstack([first, second]), [[1, 2], [np.nan, 2], [3.5, 4]], equal_nan=True)


@pytest.mark.parametrize("source", [iter([]), lambda: []])
def test_streams_without_blocks_are_refused(source):
    with pytest.raises(InvalidParameter, match="X of PCA must be blocks, at least one of them; got 'none'"):
        read_rows(source, owner="PCA")


def test_functions_must_return_blocks():
    with pytest.raises(InvalidParameter, match="a function that returns an iterator of blocks; got <class 'int'>"):
        read_rows(lambda: 3, owner="PCA")


@pytest.mark.parametrize("data", [None, 3, {"a": [1]}, {1, 2}, object()])
def test_other_objects_are_refused(data):
    with pytest.raises(InvalidParameter, match=r"^X of PCA must be "):
        read_rows(data, owner="PCA")


# Complex rows.

COMPLEX_SOURCES = [
    "C order", "F order", "every other row", "lists", "CSR", "sparse array", "npy", "npz", "iterator", "function",
]  # fmt: skip


def complex_sample():
    """Complex rows, some clipped, some zero, some not finite in one part only."""
    Z = np.empty((300, 3), complex)
    Z.real, Z.imag = sample(), np.roll(sample(), 1, axis=0)
    return Z


def complex_gram(block, lattice):
    return integer_gram_complex(block, *lattice)


@pytest.mark.parametrize("name", COMPLEX_SOURCES)
@pytest.mark.parametrize(("block_rows", "threads"), [(7, 2), (8192, 1)])
def test_every_source_gives_the_same_complex_bits(name, block_rows, threads, tmp_path):
    Z = complex_sample()
    rows = read_rows(SOURCES[name](Z, tmp_path), owner="PCA", allow_complex=True)
    assert rows.is_complex and rows.n_features == 3
    totals = LocalEngine(threads, block_rows).total(rows, complex_gram, LATTICE)
    expected = complex_gram(Z, LATTICE)
    assert all(np.array_equal(total, part) and part.any() for total, part in zip(totals, expected, strict=True))


@pytest.mark.parametrize("name", COMPLEX_SOURCES)
def test_complex_data_are_refused_unless_allowed(name, tmp_path):
    source = SOURCES[name](complex_sample(), tmp_path)
    with pytest.raises(InvalidParameter) as refusal:
        read_rows(source, owner="PCA")
    requirement = "real numbers, or field='complex' (Complex data not supported)"
    assert str(refusal.value) == f"X of PCA must be {requirement}; got 'complex numbers'."


def test_complex_rows_made_elsewhere_are_refused_unless_allowed():
    rows = read_rows(complex_sample(), owner="PCA", allow_complex=True)
    assert read_rows(rows, owner="PCA", allow_complex=True) is rows
    with pytest.raises(
        InvalidParameter, match=r"must be real numbers, or field='complex' \(Complex data not supported\)"
    ):
        read_rows(rows, owner="PCA")
    real = read_rows(sample(), owner="PCA", allow_complex=True)
    assert read_rows(real, owner="PCA") is real


def test_no_complex_rows_give_totals_of_zero():
    rows = read_rows(np.empty((0, 3), complex), owner="PCA", allow_complex=True)
    totals = LocalEngine(2).total(rows, complex_gram, LATTICE)
    assert [total.tolist() for total in totals] == [[[0] * 3] * 3] * 2


OF_A_STREAM = {
    "array": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "lists": lambda X: X.tolist(),
    "sparse": sp.csr_array,
    "pandas": lambda X: pd.DataFrame(X, columns=NAMES),
    "complex64": lambda X: X.astype(np.complex64),
    "objects": lambda X: X.astype(object),
    "words": lambda X: X.astype(str),
}


@pytest.mark.parametrize("kind", OF_A_STREAM)
@pytest.mark.parametrize("repeat", [False, True])
def test_real_blocks_of_a_complex_stream_become_complex(kind, repeat):
    Z, X = complex_sample(), sample()
    parts = [Z, OF_A_STREAM[kind](X)]
    for order in (1, -1) if kind not in ("objects", "words") else (1,):
        source = parts[::order]
        rows = read_rows((lambda source=source: source) if repeat else iter(source), owner="PCA", allow_complex=True)
        blocks = list(rows.blocks(97))
        assert rows.is_complex and all(block.dtype.kind == "c" and len(block) <= 97 for block in blocks)
        assert np.array_equal(np.vstack(blocks), np.vstack([Z, X.astype(complex)][::order]), equal_nan=True)


def polars_objects(columns):
    """Complex numbers in polars, which has no type for them."""
    return pl.DataFrame({name: pl.Series(name, list(cells), pl.Object) for name, cells in columns.items()})


LATER_COMPLEX = {
    "array": lambda Z: Z,
    "lists": lambda Z: Z.tolist(),
    "objects": lambda Z: Z.astype(object),
    "sparse": sp.csr_array,
    "pandas": lambda Z: pd.DataFrame(Z),
    "polars": lambda Z: polars_objects(dict(zip("ab", Z.T.tolist(), strict=True))),
}


@pytest.mark.parametrize("kind", LATER_COMPLEX)
@pytest.mark.parametrize("repeat", [False, True])
def test_the_first_block_does_not_decide_how_the_others_are_read(kind, repeat):
    """One person's cell makes a list of numbers complex; that must not move the rows of other people."""
    Z = complex_sample()[:, :2]
    rest = []
    for first in ([[0.5 + 0j, 0.5]], [[0.5, 0.5]]):
        parts = [first, LATER_COMPLEX[kind](Z)]
        rows = read_rows((lambda parts=parts: parts) if repeat else iter(parts), owner="PCA", allow_complex=True)
        head, later = rows.blocks()
        assert rows.is_complex and head.dtype == later.dtype == np.complex128 and head.tolist() == [[0.5, 0.5]]
        assert np.array_equal(later, Z, equal_nan=True)
        rest.append(later)
    assert rest[0].tobytes() == rest[1].tobytes()


def test_real_blocks_made_complex_are_bounded_in_bytes():
    rows = read_rows(iter([np.zeros((1, 100_000), complex), np.zeros((40, 100_000))]), owner="PCA", allow_complex=True)
    sizes = [block.nbytes for block in rows.blocks()]
    assert max(sizes) <= MAX_BLOCK_BYTES and len(sizes) == 3


def test_a_cell_that_is_no_number_spoils_its_own_row_of_a_complex_stream_only():
    """Other rows keep their values when one cell changes the type of their block: one person moves one row."""
    for bad in (None, "oops", 10**400):
        later = [[bad, 2j], [3 + 1j, 4]]
        for block in (later, np.array(later, object)):
            rows = read_rows(iter([np.ones((1, 2), complex), block]), owner="PCA", allow_complex=True)
            _, second = rows.blocks()
            assert np.isnan(second[0, 0]) and second[0, 1] == 2j and second[1].tolist() == [3 + 1j, 4]


@pytest.mark.parametrize("frame", [pd.DataFrame, polars_objects])
def test_the_columns_of_later_complex_tables_are_put_in_order(frame):
    later = frame({"b": [2j, 4.0], "a": [1.0, 3 + 1j]})
    rows = read_rows(iter([pd.DataFrame({"a": [1.0], "b": [2.0]}), later]), owner="PCA", allow_complex=True)
    _, second = rows.blocks()
    assert second.tolist() == [[1, 2j], [3 + 1j, 4]]


@pytest.mark.parametrize("allow_complex", [False, True])
def test_a_complex_table_as_the_first_block_is_refused(allow_complex):
    frame = pd.DataFrame({"a": [1.0], "b": [2j]})
    for source in (frame, iter([frame]), lambda: [frame]):
        with pytest.raises(InvalidParameter, match=r"\(complex data: an array, npy or npz file\); got \"column 'b'"):
            read_rows(source, owner="PCA", allow_complex=allow_complex)


def test_cells_of_a_real_stream_that_are_complex_are_no_numbers():
    def second_block(later):
        rows = read_rows(iter([np.ones((1, 2)), later]), owner="PCA")
        first, second = rows.blocks()
        assert not rows.is_complex and first.dtype == second.dtype == np.float64
        return second

    spoiled = [[np.nan, 1.0], [3.0, 4.0]]
    for dtype in (np.complex64, np.complex128):  # one cell makes the array complex, and spoils its own row only
        block = np.array([[2j, 1], [3, 4]], dtype)
        for later in (block, sp.csr_array(block)):
            assert np.array_equal(second_block(later), spoiled, equal_nan=True)
    for cell in (2j, np.complex128(2j), np.complex64(2j)):
        assert np.array_equal(second_block([[cell, 1.0], [3.0, 4.0]]), spoiled, equal_nan=True)
    for frame in (pd.DataFrame, polars_objects):
        second = second_block(frame({"a": [2j, 3j], "b": [1, 4]}))
        assert np.array_equal(second, [[np.nan, 1], [np.nan, 4]], equal_nan=True)
