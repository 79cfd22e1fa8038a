"""Attacks on readers of updates: one record is one update and writes nothing for others, whatever it holds."""

import io
import logging
import random
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from hushrank.data import delimited
from hushrank.data.updates.live import LiveUpdates
from hushrank.data.updates.reading import read_updates
from hushrank.exceptions import InvalidParameter

SHAPE = (5, 6)
FILES, MUTATIONS = 300, 2000
HEADER = ("row", "column", "delta", "user", "note")


def to_tuples(chunks):
    """Updates in their order, each as bytes: NaN is equal to itself, and an id may be any text."""
    found = []
    for chunk in chunks:
        ids = [b"-"] * len(chunk)
        if chunk.users is not None:
            ids = [None if user is None else str(user).encode("utf-8", "replace") for user in cells(chunk.users)]
        found += zip(chunk.rows.tolist(), chunk.columns.tolist(), map(repr, chunk.deltas.tolist()), ids, strict=True)
    return found


def cells(users):
    if pa.types.is_large_string(users.type):
        return [cell.as_buffer().to_pybytes().decode("latin-1") if cell.is_valid else None for cell in users]
    return users.to_pylist()


def read(data, most=2**20, needs_users=True):
    return to_tuples(read_updates(data, shape=SHAPE, owner="A", needs_users=needs_users).chunks(most))


class Trickle:
    """A file that gives its bytes in pieces of random sizes."""

    def __init__(self, content, rng, largest=7):
        self._file, self._rng, self._largest = io.BytesIO(content), rng, largest

    def read1(self, most):
        return self._file.read(self._rng.randrange(1, self._largest + 1))


def read_live(content, rng, most=2**20, largest=7, **options):
    stream = LiveUpdates(Trickle(content, rng, largest), owner="A", shape=SHAPE, needs_users=True, **options)
    return to_tuples(chunk for chunk, _ in stream.chunks(most))


# One record, one update.


MARKS = [
    "a",
    "7",
    "07",
    "+7",
    "7.0",
    "u2",
    " ",
    "\u00e9",
    '"',
    ",",
    "\n",
    "\r\n",
    "\t",
    "1_0",
    "-",
    "0",
    "NA",
    ";",
    "\0",
]


def random_text(rng, longest=5):
    return "".join(rng.choice(MARKS) for _ in range(rng.randrange(longest)))


def random_record(rng):
    """Row, column, delta, user, and a note with lines that look like records."""
    numbers = [rng.choice([str(rng.randrange(-1, 7)), repr(rng.gauss(0, 1)), random_text(rng, 3)]) for _ in range(3)]
    user = rng.choice([str(rng.randrange(4)), random_text(rng, 3)])
    note = random_text(rng) + "".join(f"{rng.randrange(4)},1,9,u,x\n" for _ in range(rng.randrange(5)))
    return (*numbers, user, note)


def well_formed(records, newline, quote_all):
    """A file as RFC 4180 has it."""

    def field(text):
        must = any(mark in text for mark in ',"\r\n') or text == "" or text != text.strip()
        return '"' + text.replace('"', '""') + '"' if must or quote_all else text

    return newline.join(",".join(map(field, record)) for record in [HEADER, *records]).encode()


def test_changing_one_record_changes_one_update(tmp_path, monkeypatch):
    """In a file and in a stream, of which both read the same."""
    rng, path = random.Random(1), tmp_path / "x.csv"
    for _ in range(FILES):
        with monkeypatch.context() as patch:
            patch.setattr(delimited, "CHUNK_BYTES", rng.choice([40, 150, 2**22]))
            patch.setattr(delimited, "LONGEST_RECORD", rng.choice([60, 2**24, 2**24]))
            records, both = [random_record(rng) for _ in range(rng.randrange(1, 9))], []
            changed, form = rng.randrange(len(records)), (rng.choice(["\n", "\r\n"]), rng.random() < 0.5)
            for _ in range(2):
                content = well_formed(records, *form)
                path.write_bytes(content)
                found = read(path, rng.choice([1, 3, 2**20]))
                assert len(found) == len(records)
                assert read_live(content, rng, rng.choice([1, 3, 2**20])) == found
                both.append(found[:changed] + found[changed + 1 :])
                records[changed] = random_record(rng)
            assert both[0] == both[1]


ODD_LINES = {
    "nothing": b"",
    "an open quote": b'1,2,"3',
    "an open user": b'1,2,3,"u,x',
    "text after a quote": b'1,2,"3"x,u,-',
    "a stray quote": b'1,2,3,u"v,-',
    "too few": b"1,2,3",
    "too many": b"1,2,3,u,-,-",
    "no commas": b"725",
    "zeros": b"\x00,\x00,\x00,\x00,\x00",
    "not text": b"\xff\xfe,\xff,1,\xc3\x28,\x80",
    "long": b"1,2,3,u," + b"x" * 500,
    "a long user": b"1,2,3," + b"u" * 500 + b",-",
    "lines": b'1,2,3,"' + b"4,4,4,v,-\n" * 60 + b'",-',
    "spaces": b" \t ",
    "carriage returns": b"1\r,2\r,3\r,u\r,-",
    "a mark": b"\xef\xbb\xbf1,2,3,u,-",
    "huge numbers": b"9" * 400 + b",1e999,-1e999,u,-",
}


@pytest.mark.parametrize("kind", ODD_LINES)
@pytest.mark.parametrize("longest", [100, 2**24])
def test_an_odd_line_is_one_update_and_its_neighbors_stay(tmp_path, monkeypatch, kind, longest):
    monkeypatch.setattr(delimited, "LONGEST_RECORD", longest)
    rng, path = random.Random(kind), tmp_path / "x.csv"
    before, after = b"0,1,0.5,ann,-\n3,3,-1,bob,\n", b'2,2,2,"eve",-\n4,5,1e-3,"a, b",""\n'
    content = b"row,column,delta,user,note\n" + before + ODD_LINES[kind] + b"\n" + after
    for chunk in (1, 30, 2**22):
        monkeypatch.setattr(delimited, "CHUNK_BYTES", chunk)
        path.write_bytes(content)
        found = read(path)
        assert found[:2] == [(0, 1, "0.5", b"ann"), (3, 3, "-1.0", b"bob")] and len(found) == 5
        assert found[3:] == [(2, 2, "2.0", b"eve"), (4, 5, "0.001", b"a, b")]
        for largest in (1, 7, 1000):
            assert read_live(content, rng, largest=largest) == found


def test_a_null_of_a_parquet_file_is_one_update(tmp_path):
    whole = {"row": [0, 1, 2], "column": [3, 4, 5], "delta": [1, 2, 3], "user": [7, 8, 9]}
    for index, name in enumerate(whole):
        for place in range(3):
            parts = {own: [None if (own, k) == (name, place) else cell for k, cell in enumerate(cells)]
                     for own, cells in whole.items()}  # fmt: skip
            pq.write_table(pa.table(parts), tmp_path / "x.parquet")
            found, missing = read(tmp_path / "x.parquet"), (-1, -1, "nan", None)[index]
            expected = [list(update) for update in read(pa.table(whole))]
            expected[place][index] = missing
            assert found == [tuple(update) for update in expected]


MIXED = [7, "ann", None, "", "07", 2**64 - 1, -1, float("nan"), "\ud800", 2**70]


def test_ids_of_mixed_types_are_their_own_in_lists_and_blocks():
    rows, deltas = [0] * len(MIXED), list(range(len(MIXED)))
    whole = read_updates(rows, rows, deltas, MIXED, shape=SHAPE, owner="A", needs_users=True)
    together = to_tuples(whole.chunks())
    first = ([0], [0], [0.5], ["first"])
    blocks = iter([first, *(([0], [0], [float(k)], [user]) for k, user in enumerate(MIXED))])
    apart = to_tuples(read_updates(blocks, shape=SHAPE, owner="A", needs_users=True).chunks())[1:]
    assert together == apart
    for place in range(len(MIXED)):
        others = [user if k != place else "other" for k, user in enumerate(MIXED)]
        changed = to_tuples(read_updates(rows, rows, deltas, others, shape=SHAPE, owner="A", needs_users=True).chunks())
        assert changed[:place] + changed[place + 1 :] == together[:place] + together[place + 1 :]


# The same updates from every format, in every order.


def honest(rng, n_updates):
    return {
        "row": rng.integers(-1, 6, n_updates),
        "column": rng.integers(-1, 7, n_updates),
        "delta": np.where(rng.random(n_updates) < 0.1, np.inf, rng.normal(size=n_updates).round(3)),
        "user": [f"u{k}" for k in rng.integers(0, 9, n_updates)],
    }


def forms_of(parts, folder):
    frame = pd.DataFrame(parts).astype({"user": "string"})
    table = pa.Table.from_pandas(frame, preserve_index=False)
    frame.to_csv(folder / "x.csv", index=False)
    pq.write_table(table, folder / "x.parquet", row_group_size=17)
    (folder / "parts").mkdir(exist_ok=True)
    half = len(frame) // 2
    pq.write_table(table[:half], folder / "parts" / "0.parquet")
    pq.write_table(table[half:].select(["user", "delta", "column", "row"]), folder / "parts" / "1.parquet")
    vectors = tuple(table[name] for name in HEADER[:4])
    forms = [frame, pl.from_arrow(table), table, folder / "x.csv", folder / "x.parquet", folder / "parts"]
    return [
        *forms,
        iter([table[:half], tuple(vector[half:] for vector in vectors)]),
        lambda: [frame[:half], frame[half:]],
    ]


def test_every_format_and_order_gives_the_same_updates(tmp_path):
    rng = np.random.default_rng(1)
    parts = honest(rng, 60)
    expected = list(zip(parts["row"].tolist(), parts["column"].tolist(), map(repr, parts["delta"].tolist()),
                        (user.encode() for user in parts["user"]), strict=True))  # fmt: skip
    for _ in range(3):
        order = rng.permutation(60)
        shuffled = {name: np.array(cells)[order] for name, cells in parts.items()}
        for data in forms_of(shuffled, tmp_path):
            found = read(data, most=int(rng.integers(1, 70)))
            assert found == [expected[k] for k in order] and Counter(found) == Counter(expected)
        content = (tmp_path / "x.csv").read_bytes()
        assert read_live(content, random.Random(1)) == [expected[k] for k in order]
    made = sp.coo_array((parts["delta"], (parts["row"] % 5, parts["column"] % 6)), SHAPE)
    assert Counter(update[2] for update in read(made, needs_users=False)) == Counter(update[2] for update in expected)


@pytest.mark.parametrize("most", [1, 2, 7, 59, 60, 61])
def test_chunks_of_any_size_have_the_same_updates(tmp_path, most):
    parts = honest(np.random.default_rng(2), 60)
    whole = read(pa.table({**parts, "user": pa.array(parts["user"])}))
    for data in forms_of(parts, tmp_path):
        source = read_updates(data, shape=SHAPE, owner="A", needs_users=True)
        chunks = list(source.chunks(most))
        assert all(len(chunk) <= most for chunk in chunks) and to_tuples(chunks) == whole
        if source.can_repeat:
            blocks = list(source.blocks(most))
            kept = [block.deltas[i] for block in blocks for i in range(len(block))]
            valid = [u for u in whole if 0 <= u[0] < 5 and 0 <= u[1] < 6 and u[2] != "inf"]
            assert [repr(float(delta)) for delta in kept] == [update[2] for update in valid]


# Files of strangers.


def mutated(content, rng):
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        place, kind = rng.randrange(len(data)), rng.randrange(4)
        if kind == 0:
            data[place] = rng.randrange(256)
        elif kind == 1:
            del data[place : place + rng.randrange(20)]
        elif kind == 2:
            data[place:place] = rng.randbytes(rng.randrange(9))
        else:
            data[place] = rng.choice(b'",\n\r\x00')
        data = data or bytearray(b"x")
    return bytes(data)


def outcome(call):
    """Updates, or None if the data were refused in one line; any other error ends the test."""
    try:
        return call()
    except InvalidParameter as refusal:
        assert "\n" not in str(refusal) and "725" not in str(refusal)
        return None


@pytest.mark.parametrize("name", ["x.csv", "numbers.parquet", "words.parquet"])
def test_a_mutated_file_is_read_or_refused(tmp_path, capfd, name):
    rng, path, n_refused = random.Random(name), tmp_path / name, 0
    columns = {"row": [0, 1, 2] * 9, "column": [3, 4, 5] * 9, "delta": [725.5, 1, 2] * 9}
    pq.write_table(pa.table({**columns, "user": [1, 725, 3] * 9}), tmp_path / "numbers.parquet")
    pq.write_table(pa.table({**columns, "user": ["a", None, "u725"] * 9}), tmp_path / "words.parquet")
    (tmp_path / "x.csv").write_text("row,column,delta,user,note\n" + '0,3,725.5,u725,"a\nb"\n1,4,1,,x\n' * 5)
    original = path.read_bytes()
    for _ in range(MUTATIONS):
        content = mutated(original, rng)
        path.write_bytes(content)
        found = outcome(lambda: read(path))
        n_refused += found is None
        if name == "x.csv":
            assert outcome(lambda content=content: read_live(content, rng, largest=60)) == found
    assert 0 < n_refused < MUTATIONS
    assert capfd.readouterr() == ("", "")


def test_nothing_private_is_said_above_info(tmp_path, capfd, caplog):
    """Counts are for the data holder, at INFO; values are said nowhere."""
    content = b'row,column,delta,user\n725,725,725.5,u725\n0,0,"725\n1,1,1,u725\n,,,\n'
    (tmp_path / "x.csv").write_bytes(content)
    table = pa.table({"row": [725, 0], "column": [0, None], "delta": [725.5, None], "user": ["u725", None]})
    pq.write_table(table, tmp_path / "x.parquet")
    odd = ([725, 0.5], ["x725", 0], [None, "725"], [725.5, "u725"])
    first = ([0], [0], [1.0], ["a"])
    with caplog.at_level(logging.DEBUG):
        for data in (table, tmp_path / "x.csv", tmp_path / "x.parquet", iter([first, odd])):
            source = read_updates(data, shape=SHAPE, owner="A", needs_users=True)
            assert sum(len(block) for block in source.blocks()) <= 2
            if source.can_repeat:
                assert any("725" in str(update) for update in to_tuples(source.chunks()))
        assert len(read_live(content, random.Random(1))) == 4
        assert outcome(lambda: read(iter([odd]))) is None
    assert capfd.readouterr() == ("", "")
    assert all(record.levelno <= logging.INFO and "725" not in record.getMessage() for record in caplog.records)
    assert len(caplog.records) == 4
