"""Attacks on measurements: one person's record is one record, through every reader, as often as it is read."""

import gc
import os
import random
import threading

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data import delimited
from hushrank.data.records import origins, spooling
from hushrank.data.records.measurements import read_measurements
from hushrank.data.records.new_measurements import read_new_measurements
from hushrank.engine.local import LocalEngine
from hushrank.exceptions import InvalidParameter

FILES, MUTATIONS = 200, 300
SHAPE = (2, 2)
WIDTHS = {"dense": 4, "rank_one": 4, "entry": 2}


def read(X, y=None, *, design, features=None):
    return read_measurements(X, y, design=design, shape=SHAPE, owner="A", features=features)


def contributions(source, max_rows=8192):
    """Bits of each record in their order, from the blocks that kernels would see; float32 is exact in float64."""
    own = []
    for block in source.blocks(max_rows):
        own += [(x.astype(np.float64).tobytes(), y.tobytes()) for x, y in zip(block.X, block.y, strict=True)]
    return own


def set_low(patch, rng):
    """Streams in files, in pieces of a few records."""
    patch.setattr(spooling, "SPOOLED_IN_MEMORY", rng.choice([0, 100]))
    patch.setattr(origins, "MAX_BLOCK_BYTES", rng.choice([1, 70, 300]))


# One person's record is one record.

MARKS = ["a", "7", "1.5", "-2", " ", "é", '"', ",", "\n", "\r\n", "1_0", "-", "0", "nan", "inf", ";", "1e400", "\0"]


def random_text(rng, longest=5):
    return "".join(rng.choice(MARKS) for _ in range(rng.randrange(longest)))


def random_record(rng, width):
    """Numbers, an answer, and a note with lines that look like records."""
    note = random_text(rng) + "".join(",".join("9" * (width + 2)) + "\n" for _ in range(rng.randrange(3)))
    numbers = [
        rng.choice([repr(rng.gauss(0, 1)), str(rng.randrange(3)), random_text(rng, 2)]) for _ in range(width + 1)
    ]
    return (*numbers, note)


def well_formed(records, width):
    """A file as RFC 4180 has it, every field in quotes."""
    rows = [(*(f"c{j}" for j in range(width)), "target", "note"), *records]
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    return ("\n".join(quoted) + "\n").encode()


@pytest.mark.parametrize("design", WIDTHS)
def test_changing_one_record_changes_one_contribution(tmp_path, monkeypatch, design):
    rng, path, width = random.Random(design), tmp_path / "x.csv", WIDTHS[design]
    names = [f"c{j}" for j in range(width)]
    for _ in range(FILES):
        with monkeypatch.context() as patch:
            patch.setattr(delimited, "CHUNK_BYTES", rng.choice([40, 150, 2**22]))
            patch.setattr(origins, "MAX_BLOCK_BYTES", rng.choice([1, 70, 2**25]))
            records = [random_record(rng, width) for _ in range(rng.randrange(1, 9))]
            changed, found = rng.randrange(len(records)), []
            for _ in range(2):
                path.write_bytes(well_formed(records, width))
                found.append(contributions(read(path, design=design, features=names), rng.choice([1, 3, 8192])))
                records[changed] = random_record(rng, width)
        assert len(found[0]) == len(found[1]) == len(records)
        assert all(before == after for i, (before, after) in enumerate(zip(*found, strict=True)) if i != changed)


def test_a_note_with_line_breaks_is_one_record(tmp_path):
    note, found = "great!\n" + "0,1,9,x\n" * 150, []
    for text in (note, "dull"):
        table = pd.DataFrame({"row": [0, 1], "column": [1, 0], "target": [0.5, 1.5], "note": [text, "-"]})
        table.to_csv(tmp_path / "x.csv", index=False)
        found.append(contributions(read(tmp_path / "x.csv", design="entry", features=["row", "column"])))
        new = read_new_measurements(
            tmp_path / "x.csv", design="entry", shape=SHAPE, columns=["row", "column"], owner="A"
        )
        assert new.tolist() == [[0, 1], [1, 0]]
    assert found[0] == found[1] and len(found[0]) == 2


def as_table(X, y):
    return pa.table({**{f"c{j}": X.reshape(len(X), -1)[:, j] for j in range(X[0].size)}, "target": y})


def kinds(X, y, design, path):
    """The same records in every format: positional arguments of `read`."""
    table, parts = as_table(X, y), [slice(start, start + 4) for start in range(0, len(y), 4)]
    np.save(path / "X.npy", X)
    np.save(path / "answers.npy", y)
    pq.write_table(table, path / "x.parquet", row_group_size=5)
    table.to_pandas().to_csv(path / "x.csv", index=False, na_rep="none")
    pairs = {"rank_one": lambda X: (X[:, :2], X[:, 2:]), "entry": lambda X: (X[:, 0], X[:, 1])}
    found = {
        "array": (X, y), "lists": (X.tolist(), y.tolist()), "npy": (path / "X.npy", path / "answers.npy"),
        "Arrow": (table,), "pandas": (table.to_pandas(),), "polars": (pl.from_arrow(table),),
        "Parquet": (path / "x.parquet",), "CSV": (path / "x.csv",),
        "blocks": (iter([(X[part], y[part]) for part in parts]),),
        "function": (lambda: ((X[part], y[part]) for part in parts),),
        "tables": (iter([as_table(X[part], y[part]) for part in parts]),),
    }  # fmt: skip
    if design in pairs:
        found["pair"] = pairs[design](X), y
        found["pairs"] = (iter([(pairs[design](X[part]), y[part]) for part in parts]),)
    return found


def random_numbers(rng, design, n=20):
    """Records that every type up to int16 holds."""
    numbers = rng.integers(-1, 4, (n, WIDTHS[design])).astype(np.int16)
    return numbers.reshape(n, *SHAPE) if design == "dense" else numbers


ODD = [np.nan, np.inf, -np.inf, 1e308, 5e-324, -0.0, 0.1, -7.5, 70_000.0, 2.0**53, 2.0**64]


@pytest.mark.parametrize("design", WIDTHS)
@pytest.mark.parametrize("odd", ODD)
def test_one_odd_number_reaches_one_record_in_every_format(tmp_path, monkeypatch, design, odd):
    """It makes floats of integers, and with them float64 of float32: the numbers of all others stay as they are."""
    set_low(monkeypatch, random.Random(str(odd)))
    rng = np.random.default_rng(3)
    X, y, person = random_numbers(rng, design), rng.integers(0, 9, 20).astype(np.int8), 11
    changed, answers = X.astype(np.float64), y.astype(np.float64)
    changed[person].flat[0], answers[person] = odd, odd
    before = {kind: contributions(read(*data, design=design)) for kind, data in kinds(X, y, design, tmp_path).items()}
    for kind, data in kinds(changed, answers, design, tmp_path).items():
        source = read(*data, design=design)
        after = contributions(source, 3)
        assert after == contributions(source)
        assert [i for i in range(20) if after[i] != before[kind][i]] == [person], kind
        assert np.frombuffer(after[person][0])[0] == odd or odd != odd


@pytest.mark.parametrize("design", WIDTHS)
def test_every_format_and_order_gives_the_same_records(tmp_path, monkeypatch, design):
    set_low(monkeypatch, random.Random(design))
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20, WIDTHS[design])) * 10.0 ** rng.integers(-30, 30, (20, WIDTHS[design]))
    X, y = X.reshape(20, *(SHAPE if design == "dense" else (-1,))), rng.standard_normal(20)
    expected = contributions(read(X, y, design=design))
    for order in (np.arange(20), rng.permutation(20), np.arange(20)[::-1]):
        for kind, data in kinds(X[order], y[order], design, tmp_path).items():
            assert contributions(read(*data, design=design), 7) == [expected[i] for i in order], kind


def test_nulls_and_texts_are_nothing_of_their_own_record_only(tmp_path):
    columns = {
        "c0": pa.array([0, None, 1], pa.int8()),
        "c1": pa.array([1, 1, None], pa.int8()),
        "target": [0.5, None, 2],
    }
    expected = [[0, 1], [np.nan, 1], [1, np.nan]]
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    (tmp_path / "x.csv").write_text("c0,c1,target\n0,1,0.5\n?,1,\n1,,2\n")
    data = [pa.table(columns), pl.from_arrow(pa.table(columns)), pa.table(columns).to_pandas(), tmp_path / "x.parquet",
            tmp_path / "x.csv", iter([pa.table(columns)[:1], pl.from_arrow(pa.table(columns))[1:]]),
            iter([(([0], [1]), [0.5]), (([None, 1], ["1", "none"]), ["-", 2])])]  # fmt: skip
    for X in data:
        [block] = read(X, design="entry").blocks()
        assert np.array_equal(block.X, expected, equal_nan=True)
        assert np.array_equal(block.y, [0.5, np.nan, 2], equal_nan=True)


def test_a_stream_that_turns_bad_stops_by_its_form_and_never_by_a_value():
    good = ((np.ones((2, 2)), np.ones((2, 2))), [1.0, 2.0])
    odd = [
        ((np.full((2, 2), np.nan), [[1e400, -0.0], ["x", None]]), [np.inf, "?"]),
        (([["x", None], [1j, 2**80]], np.ones((2, 2), bool)), [None, "\ud800"]),
    ]
    source = read(iter([good, *odd, good]), design="rank_one")
    assert len(contributions(source)) == 8 == len(contributions(source))
    for bad in (((np.ones((2, 3)), good[0][1]), [1.0, 2.0]), (good[0], [7.25]), "7.25", None, (1, 2), (*good, [1, 2])):
        source = read(iter([good, bad]), design="rank_one")
        with pytest.raises(InvalidParameter) as refusal:
            list(source.blocks())
        assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
        with pytest.raises(InvalidParameter, match="data that can be read again"):
            list(source.blocks())  # what was read is not taken for all there is


# Readers at once.


@pytest.mark.parametrize("kind", ["npy", "blocks", "pairs", "function", "Parquet", "CSV", "pair"])
def test_threads_read_one_source_at_once(tmp_path, monkeypatch, kind):
    set_low(monkeypatch, random.Random(kind))
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((20, 4)), rng.standard_normal(20)
    source = read(*kinds(X, y, "rank_one", tmp_path)[kind], design="rank_one")
    expected, wrong = contributions(read(X, y, design="rank_one")), []

    def work(max_rows):
        wrong.extend(contributions(source, max_rows) != expected for _ in range(5))

    threads = [threading.Thread(target=work, args=(max_rows,)) for max_rows in (1, 3, 7, 8192)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [False] * 20
    total = LocalEngine(2, block_rows=3).total(
        source, lambda block, _: np.rint(block.X * 2**20).astype(int).sum(0), None
    )
    assert total.tolist() == np.rint(X * 2**20).astype(int).sum(axis=0).tolist()


# Files of a stranger, and files that are left.


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("originals"), np.random.default_rng(6)
    X = rng.standard_normal((9, 4)).astype(np.float32)
    np.save(folder / "flat.npy", X)
    np.save(folder / "matrices.npy", X.reshape(9, 2, 2).astype(">i2"))
    pq.write_table(as_table(X, rng.standard_normal(9)), folder / "table.parquet", row_group_size=4)
    (folder / "table.csv").write_text("a,b,c,d,target\n" + '1,2,3,4,5\n"6\n7",1,x,,9\n' * 5)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("name", ["flat.npy", "matrices.npy", "table.parquet", "table.csv"])
def test_a_mutated_file_is_read_or_refused(originals, tmp_path, name):
    rng, path, n_refused, n_read = random.Random(name), tmp_path / name, 0, 0
    y = np.zeros(9) if name.endswith(".npy") else None
    for _ in range(MUTATIONS):
        data = bytearray(originals[name])
        for _ in range(rng.choice([1, 1, 2, 5])):
            place = rng.randrange(len(data) if rng.random() < 0.5 else min(len(data), 90))
            size = rng.randrange(9)
            data[place : place + size] = rng.randbytes(size if rng.random() < 0.7 else rng.randrange(9))
        path.write_bytes(bytes(data))
        for load in (
            lambda: contributions(read(path, y, design="dense")),
            lambda: read_new_measurements(path, design="dense", shape=SHAPE, columns=None, owner="A"),
        ):
            try:
                load()
                n_read += 1
            except InvalidParameter as refusal:
                n_refused += 1
                assert "\n" not in str(refusal)
    assert n_refused > 0 and n_read > 0


@pytest.mark.parametrize("name", ["flat.npy", "table.parquet", "table.csv"])
def test_a_file_that_shrinks_while_it_is_read_is_read_or_refused(originals, tmp_path, name):
    path = tmp_path / name
    for size in range(0, len(originals[name]), 7):
        path.write_bytes(originals[name])
        source = read(path, np.zeros(9) if name.endswith(".npy") else None, design="dense")
        os.truncate(path, size)
        try:
            assert len(contributions(source, 2)) <= 10
        except InvalidParameter as refusal:
            assert "\n" not in str(refusal)


def test_no_file_of_measurements_is_left_behind(tmp_path, monkeypatch):
    """Temporary files have no name; what a process leaves when it is killed is nothing."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    set_low(monkeypatch, random.Random(4))
    source = read(((np.ones((5, 2, 2)), np.ones(5)) for _ in range(9)), design="dense")
    blocks = source.blocks(1)
    next(blocks)
    assert os.listdir(tmp_path) == []
    assert sum(len(block) for block in blocks) == 44
    del source, blocks
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_nothing_is_said(tmp_path, capfd, caplog):
    X, y = np.full((20, 4), np.nan), np.full(20, np.inf)
    with caplog.at_level("INFO", "hushrank"):
        for data in kinds(X, y, "rank_one", tmp_path).values():
            contributions(read(*data, design="rank_one"))
    assert caplog.records == [] and capfd.readouterr() == ("", "")
