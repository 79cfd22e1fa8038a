"""Measurements: every form of the data gives the same blocks, and what does not fit is refused before it is read."""

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data.records import features, origins, spooling
from hushrank.data.records.blocks import RecordBlock
from hushrank.data.records.columns import ONE_A_PERSON
from hushrank.data.records.measurements import Measurements, read_measurements
from hushrank.data.records.reading import read_records
from hushrank.data.records.record_files import CsvOrigin, ParquetOrigin
from hushrank.engine.local import LocalEngine
from hushrank.exceptions import InvalidParameter
from piece_support import ENOUGH, sent, write_folder

RNG = np.random.default_rng(0)
N, ROWS, COLUMNS = 30, 2, 3
SIZES = {"n_rows": ROWS, "n_columns": COLUMNS}
MATRICES, Y = RNG.standard_normal((N, ROWS, COLUMNS)), RNG.standard_normal(N)
LEFT, RIGHT = RNG.standard_normal((N, ROWS)), RNG.standard_normal((N, COLUMNS))
INDICES = np.stack([RNG.integers(-1, ROWS + 1, N), RNG.integers(-1, COLUMNS + 1, N)], axis=1)
DESIGNS = {
    "dense": MATRICES,
    "rank_one": np.hstack([LEFT, RIGHT]),
    "entry": INDICES.astype(np.float64),
}


def read(X, y=None, *, design, shape=(ROWS, COLUMNS), features=None):
    return read_measurements(X, y, design=design, shape=shape, owner="A", features=features)


def bits_of(source, max_rows=8192):
    blocks = list(source.blocks(max_rows))
    assert all(isinstance(block, RecordBlock) and 0 < len(block) <= max_rows for block in blocks)
    return b"".join(block.X.tobytes() for block in blocks), b"".join(block.y.tobytes() for block in blocks)


def names_of(design):
    return [f"c{j}" for j in range(DESIGNS[design][0].size)]


def table_of(design, **more):
    flat = DESIGNS[design].reshape(N, -1)
    return pa.table({**more, **dict(zip(names_of(design), flat.T, strict=True)), "target": Y})


def forms(design, path):
    """Data of every kind, by name: positional arguments of `read`."""
    whole, table = DESIGNS[design], table_of(design)
    flat = whole.reshape(N, -1)
    np.save(path / "X.npy", whole)
    np.save(path / "flat.npy", flat)
    np.save(path / "y.npy", Y)
    pq.write_table(table, path / "x.parquet", row_group_size=7)
    (path / "folder").mkdir()
    pq.write_table(table[:11], path / "folder" / "0.parquet")
    pq.write_table(table[11:].select(table.column_names[::-1]), path / "folder" / "1.parquet")
    table.to_pandas().to_csv(path / "x.csv", index=False)
    parts = [slice(start, start + 4) for start in range(0, N, 4)]
    tables = [table[part.start : part.stop] for part in parts]
    found = {
        "array": (whole, Y), "flat array": (flat, Y), "lists": (whole.tolist(), Y.tolist()),
        "Fortran order": (np.asfortranarray(whole), Y), "other bytes": (whole.astype(">f8"), Y.astype(">f8")),
        "Arrow": (table,), "pandas": (table.to_pandas(),), "polars": (pl.from_arrow(table), "target"),
        "table beside answers": (table.drop(["target"]), Y), "Parquet": (path / "x.parquet",),
        "folder": (str(path / "folder"),), "CSV": (path / "x.csv",), "npy": (path / "X.npy", path / "y.npy"),
        "flat npy": (str(path / "flat.npy"), Y), "blocks": (((whole[part], Y[part]) for part in parts),),
        "flat blocks": (iter([(flat[part], Y[part]) for part in parts]),),
        "function": (lambda: ((whole[part].tolist(), Y[part]) for part in parts),),
        "tables": (iter(tables),), "function of tables": (lambda: map(pl.from_arrow, tables),),
        "batches": (iter(table.to_batches(9)),),
    }  # fmt: skip
    pairs = {"rank_one": (LEFT, RIGHT), "entry": (INDICES[:, 0], INDICES[:, 1])}
    if design in pairs:
        pair = pairs[design]
        found["pair"] = pair, Y
        found["pair of lists"] = tuple(part.tolist() for part in pair), Y
        found["blocks of pairs"] = ((((pair[0][part], pair[1][part]), Y[part]) for part in parts),)
    if design == "rank_one":
        np.save(path / "left.npy", LEFT)
        np.save(path / "right.npy", RIGHT)
        found["npy pair"] = (path / "left.npy", path / "right.npy"), path / "y.npy"
        names = names_of(design)
        tables_of_pair = tuple(table.select(part) for part in (names[:ROWS], names[ROWS:]))
        found["pair of tables"] = tables_of_pair, Y
    return found


@pytest.mark.parametrize("max_rows", [1, 7, 8192])
@pytest.mark.parametrize("design", DESIGNS)
def test_every_form_gives_the_same_blocks_as_often_as_asked(tmp_path, monkeypatch, design, max_rows):
    monkeypatch.setattr(spooling, "SPOOLED_IN_MEMORY", 5 * DESIGNS[design][0].nbytes)
    expected = DESIGNS[design].tobytes(), Y.tobytes()
    for kind, data in forms(design, tmp_path).items():
        source = read(*data, design=design)
        assert source.can_repeat and source.design == design
        assert source.sizes == {**SIZES, "n_features": DESIGNS[design][0].size}
        for _ in range(2):
            assert bits_of(source, max_rows) == expected, kind
        assert all(block.X.shape[1:] == DESIGNS[design].shape[1:] for block in source.blocks(max_rows))
        assert source.empty_block().X.shape == (0, *DESIGNS[design].shape[1:])


def test_what_is_known_without_reading(tmp_path):
    data = forms("rank_one", tmp_path)
    without = {"CSV", "blocks", "flat blocks", "function", "tables", "function of tables", "batches", "blocks of pairs"}
    named = {"Arrow", "pandas", "polars", "table beside answers", "Parquet", "folder", "CSV", "tables", "batches",
             "function of tables", "pair of tables"}  # fmt: skip
    for kind, given in data.items():
        source = read(*given, design="rank_one")
        assert source.n_samples == (None if kind in without else N)
        assert source.columns == (tuple(names_of("rank_one")) if kind in named else None)


@pytest.mark.parametrize("design", ["dense", "rank_one"])
def test_the_form_of_the_data_may_tell_the_size(tmp_path, design):
    told = {"dense": MATRICES, "rank_one": (LEFT, RIGHT)}[design]
    for data in ((told, Y), (iter([(told, Y)]),)):
        source = read(*data, design=design, shape=None)
        assert source.sizes == {**SIZES, "n_features": DESIGNS[design][0].size}
        assert bits_of(source) == (DESIGNS[design].tobytes(), Y.tobytes())


def test_entries_are_row_after_row():
    """A matrix that is written by columns, or a turned size, must not be taken for it."""
    [block] = read(np.arange(6.0)[None], [0.0], design="dense").blocks()
    assert block.X.tolist() == [[[0, 1, 2], [3, 4, 5]]]
    [block] = read(([[1, 2]], [[3, 4, 5]]), [0.0], design="rank_one").blocks()
    assert block.X.tolist() == [[1, 2, 3, 4, 5]]
    [block] = read(([1], [2]), [0.0], design="entry").blocks()
    assert block.X.tolist() == [[1, 2]]


# Precision.


def test_single_precision_stays_single_where_the_types_say_so(tmp_path):
    single = MATRICES.astype(np.float32)
    np.save(tmp_path / "X.npy", single)
    table = pa.table(list(single.reshape(N, -1).T), names=list("abcdef"))
    pq.write_table(table.append_column("target", pa.array(Y)), tmp_path / "x.parquet")
    pair = (LEFT.astype(np.float32), RIGHT.astype(np.float16))
    for data in ((single, Y), (tmp_path / "X.npy", Y), (table, Y), (tmp_path / "x.parquet",)):
        source = read(*data, design="dense")
        assert bits_of(source, 7)[0] == single.tobytes() and source.empty_block().X.dtype == np.float32
    source = read(pair, Y, design="rank_one")
    assert bits_of(source)[0] == np.hstack(pair).tobytes() and next(source.blocks()).X.dtype == np.float32
    for data in ((single.tolist(), Y), (iter([(single, Y)]),), (lambda: iter([(single, Y)]),)):
        assert next(read(*data, design="dense").blocks()).X.dtype == np.float64
    assert next(read(INDICES.astype(np.int8), Y, design="entry").blocks()).X.dtype == np.float64


def test_arrays_of_floats_are_not_copied():
    for X in (MATRICES, MATRICES.astype(np.float32)):
        for data in (X, X.reshape(N, -1)):
            [block] = read(data, Y, design="dense").blocks()
            assert np.shares_memory(block.X, X) and np.shares_memory(block.y, Y)


def test_double_precision_is_never_rounded():
    for narrow in (np.float32, np.int16, bool):
        mixed = (LEFT.astype(narrow), RIGHT)
        assert next(read(mixed, Y, design="rank_one").blocks()).X[:, ROWS:].tobytes() == RIGHT.tobytes()
        blocks = iter([(LEFT.astype(narrow), Y), (LEFT, Y)])
        source = read(blocks, design="rank_one", shape=(1, 1))
        assert np.concatenate([block.X for block in source.blocks()])[N:].tobytes() == LEFT.tobytes()


def test_blocks_are_small(monkeypatch):
    for module in (features, origins):
        monkeypatch.setattr(module, "MAX_BLOCK_BYTES", 4 * 6 * 8)
    for data in ((MATRICES, Y), (iter([(MATRICES, Y)]),)):
        blocks = list(read(*data, design="dense").blocks())
        assert max(map(len, blocks)) == 4 and sum(map(len, blocks)) == N
    many = read(np.zeros((20_000, 2)), np.zeros(20_000), design="entry")
    monkeypatch.undo()
    assert [len(block) for block in many.blocks(10**6)] == [8192, 8192, 3616]


# Values.


ODD = [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0, 0.5, -1.0, 2.0**53, 2.0**63, 2.0**64]


@pytest.mark.parametrize("design", DESIGNS)
def test_any_values_come_through(design):
    X, y = DESIGNS[design].copy(), Y.copy()
    X.reshape(N, -1)[: len(ODD), 0], y[: len(ODD)] = ODD, ODD[::-1]
    for data in ((X, y), (iter([(X[:5], y[:5]), (X[5:], y[5:])]),)):
        assert bits_of(read(*data, design=design)) == (X.tobytes(), y.tobytes())


def test_sums_do_not_depend_on_blocks(tmp_path):
    def count(block, state):
        return np.rint(2.0**20 * block.X).astype(np.int64).sum(axis=0)

    expected = count(next(read(MATRICES, Y, design="dense").blocks()), None).tolist()
    for data in forms("dense", tmp_path).values():
        source = read(*data, design="dense")
        for engine in (LocalEngine(1), LocalEngine(2, block_rows=3)):
            assert engine.total(source, count, None).tolist() == expected
    nothing = LocalEngine(1).total(read(MATRICES[:0], [], design="dense"), count, None)
    assert nothing.tolist() == np.zeros((ROWS, COLUMNS)).tolist()


# Columns and sources.


def test_columns_may_be_chosen(tmp_path):
    table = table_of("rank_one", user=["x"] * N, note=["7.25"] * N)
    pq.write_table(table, tmp_path / "x.parquet")
    table.to_pandas().to_csv(tmp_path / "x.csv", index=False)
    names = names_of("rank_one")
    data = [table, pl.from_arrow(table), tmp_path / "x.parquet", tmp_path / "x.csv", iter([table[:4], table[4:]])]
    for X in data:
        source = read(X, design="rank_one", features=names)
        assert source.columns == tuple(names) and bits_of(source) == (DESIGNS["rank_one"].tobytes(), Y.tobytes())
    turned = read(table, "c0", design="entry", features=["c2", "c1"])
    assert turned.columns == ("c2", "c1") and next(turned.blocks()).X.tolist() == [[*row] for row in zip(
        RIGHT[:, 0], LEFT[:, 1], strict=True)]  # fmt: skip


@pytest.mark.parametrize("name", ["user", "users"])
def test_users_are_refused_unless_columns_are_chosen(tmp_path, name):
    table = table_of("entry", **{name: [1.0] * N})
    pq.write_table(table, tmp_path / "x.parquet")
    table.to_pandas().to_csv(tmp_path / "x.csv", index=False)
    pair = (table_of("entry", **{name: [1.0] * N}), table)
    unit = "records of one person each, the unit that is protected here"
    for X, design in (
        (table, "entry"), (pl.from_arrow(table), "dense"), (tmp_path / "x.parquet", "entry"), (tmp_path, "entry"),
        (tmp_path / "x.csv", "rank_one"), (iter([table]), "entry"), (lambda: [table], "entry"), (pair, "rank_one"),
    ):  # fmt: skip
        with pytest.raises(InvalidParameter) as refusal:
            read(X, Y if X is pair else None, design=design)
        assert str(refusal.value).startswith(f"X of A must be {unit}: ")
        assert str(refusal.value).endswith(f"got \"a column '{name}'\".")


def test_sources_are_returned_as_they_are():
    source = read(MATRICES, Y, design="dense")
    assert read_measurements(source, design="dense", owner="A") is source
    for given in ({"y": Y}, {"shape": (ROWS, COLUMNS)}, {"features": ["a"]}):
        with pytest.raises(
            InvalidParameter, match=f"^{next(iter(given))} of A must be None beside a source, which has"
        ):
            read_measurements(source, design="dense", owner="A", **given)
    with pytest.raises(InvalidParameter, match=r"^X of A must be measurements of the design 'entry'; got \"'dense'\""):
        read_measurements(source, design="entry", owner="A")
    records = read_records(LEFT, Y, owner="A")
    with pytest.raises(InvalidParameter, match=r"^X of A must be measurements: an array, .* got 'Records'"):
        read_measurements(records, design="dense", owner="A")
    assert isinstance(source, Measurements)


# Refusals.


def unread():
    """A stream that must not be looked at."""
    raise AssertionError
    yield


UNNAMED = "features of A must be None for data whose columns have no names; got ['a']."
NEEDED = "shape of A must be (n_rows, n_columns), the size of the matrix, which these data do not tell; got None."
REFUSED = {  # design, data, size and names if others, end of the message
    "a design": ("sparse", (unread(),), {}, "one of 'dense', 'rank_one', 'entry'; got 'sparse'."),
    "entries alone": ("entry", (unread(),), {"shape": None}, NEEDED),
    "rows alone": ("dense", (MATRICES.reshape(N, -1), Y), {"shape": None}, NEEDED),
    "too large": ("entry", (unread(),), {"shape": (2**13, 2**13)}, "of at most 16777216 entries; got (8192, 8192)."),
    "turned": ("dense", (MATRICES, Y), {"shape": (3, 2)}, "of the shape (3, 2); got 'those of (2, 3)'."),
    "other columns": ("dense", (LEFT, Y), {}, "6 numbers, for each record and the shape (2, 3); got '2 numbers'."),
    "no answers": ("dense", (MATRICES,), {}, "y of A must be a vector, one number for each record; got None."),
    "a pair alone": (
        "rank_one",
        ((LEFT, RIGHT),),
        {},
        "y of A must be a vector, one number for each record; got None.",
    ),
    "fewer answers": ("rank_one", ((LEFT, RIGHT), Y[1:]), {}, "30 numbers, one for each record; got '29 numbers'."),
    "names of a pair": ("rank_one", ((LEFT, RIGHT), Y), {"features": ["a"]}, UNNAMED),
    "names of an npy file": ("dense", ("x.npy", Y), {"features": ["a"]}, UNNAMED),
    "another file": (
        "dense",
        ("x.npz", Y),
        {},
        "a file ending in .parquet, .pq, .csv, .tsv, .csv.gz, .tsv.gz, .csv.zst, .tsv.zst, .npy; got 'x.npz'.",
    ),
    "no file": ("dense", ("x.csv",), {}, "X of A must be an existing file; got 'x.csv'."),
    "answers beside a file": ("dense", ("x.csv", Y), {}, "a column beside a path, or None; got 'ndarray'."),
    "answers beside blocks": ("dense", (unread(), Y), {}, "a column of the blocks, or None; got 'ndarray'."),
    "users in blocks": ("dense", (iter([(LEFT, Y, Y)]),), {}, "tuples (X, y) or tables; got 'a tuple of 3'."),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refusals_name_the_parameter_and_read_nothing(tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    design, data, given, message = REFUSED[kind]
    with pytest.raises(InvalidParameter) as refusal:
        read(*data, design=design, **given)
    assert str(refusal.value).endswith(message) and "\n" not in str(refusal.value)


@pytest.mark.parametrize("kind", ["parquet", "csv"])
@pytest.mark.parametrize("design", DESIGNS)
def test_pieces_are_measurements_of_the_pieces_of_files(tmp_path, design, kind):
    write_folder(tmp_path / "x", table_of(design), kind)
    paths = sorted((tmp_path / "x").iterdir())
    origin = (ParquetOrigin if kind == "parquet" else CsvOrigin)(paths, None, ONE_A_PERSON, None, "A", "features")
    whole = Measurements(origin, design, (ROWS, COLUMNS))
    assert bits_of(whole) == bits_of(read(table_of(design), design=design))
    for enough in ENOUGH:
        parts = sent(whole.pieces(enough))
        assert all((part.design, part.sizes, part.columns) == (design, whole.sizes, whole.columns) for part in parts)
        X, y = zip(*(bits_of(part, 3) for part in parts), strict=True)
        assert (b"".join(X), b"".join(y)) == bits_of(whole)
    assert read(table_of(design), design=design).pieces() is None
