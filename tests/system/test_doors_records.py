"""Attacks on records of users: one person's records are one person's, through every reader, wherever they are kept."""

import os
import random
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushrank.data import delimited
from hushrank.data.records import out_of_core
from hushrank.data.records.histories import find_users, read_histories
from hushrank.data.records.reading import read_records
from hushrank.engine.local import LocalEngine
from hushrank.exceptions import InvalidParameter

FILES, MUTATIONS = 400, 300


def canonical(text):
    """The canonical form of an id; empty for none."""
    text = text.strip(" \t\n\v\f\r")
    return str(int(text.split(".")[0])) if re.fullmatch(r"[+-]?[0-9]+(\.0*)?", text) else text


def contributions(source, ids):
    """Bits of each user's records by canonical id, from the blocks that kernels would see."""
    own = []
    for block in source.blocks():
        spans = [slice(*block.indptr[i : i + 2]) for i in range(len(block))]
        own += [(block.X[span].tobytes(), block.y[span].tobytes()) for span in spans]
    return dict(zip(dict.fromkeys(user for user in map(canonical, ids) if user), own, strict=True))


MARKS = ["a", "7", "07", "+7", "7.0", "u2", " ", "é", '"', ",", "\n", "\r\n", "1_0", "-", "0", "NA", ";"]


def random_text(rng, longest=5):
    return "".join(rng.choice(MARKS) for _ in range(rng.randrange(longest)))


def random_record(rng):
    """User, two numbers, an answer and a note with lines that look like records."""
    note = random_text(rng) + "".join(f"{rng.randrange(4)},1,2,3,x\n" for _ in range(rng.randrange(3)))
    user = rng.choice([str(rng.randrange(4)), random_text(rng, 3)])
    number = rng.choice([repr(rng.gauss(0, 1)), str(rng.randrange(3)), random_text(rng, 2)])
    return (user, number, repr(rng.gauss(0, 1)), str(rng.randrange(3)), note)


def well_formed(records):
    """A file as RFC 4180 has it, every field in quotes."""
    rows = [("user", "a", "b", "target", "note"), *records]
    quoted = [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    return ("\n".join(quoted) + "\n").encode()


def set_low(patch, rng):
    """Everything in files, in pieces of a few records."""
    for name in ("GROUPED_IN_MEMORY", "GROUPED_BESIDE_DATA", "PARTED_IN_MEMORY"):
        patch.setattr(out_of_core, name, 0)
    for name in ("CHUNK_BYTES", "PART_BYTES"):
        patch.setattr(out_of_core, name, rng.choice([1, 70, 300]))


def test_changing_one_record_changes_one_contribution(tmp_path, monkeypatch):
    rng, path = random.Random(1), tmp_path / "x.csv"
    for _ in range(FILES):
        with monkeypatch.context() as patch:
            patch.setattr(delimited, "CHUNK_BYTES", rng.choice([40, 150, 2**22]))
            if rng.random() < 0.5:
                set_low(patch, rng)
            records = [random_record(rng) for _ in range(rng.randrange(1, 9))]
            path.write_bytes(well_formed(records))
            before = contributions(read_records(path, features=["a", "b"], owner="A"), [own[0] for own in records])
            changed = rng.randrange(len(records))
            old, records[changed] = records[changed], random_record(rng)
            path.write_bytes(well_formed(records))
            after = contributions(read_records(path, features=["a", "b"], owner="A"), [own[0] for own in records])
        touched = {canonical(old[0]), canonical(records[changed][0])}
        assert {user: own for user, own in before.items() if user not in touched} == {
            user: own for user, own in after.items() if user not in touched
        }


def test_a_note_with_line_breaks_is_one_record(tmp_path):
    note = "great!\n" + "".join(f"{victim},9,9,9,x\n" for victim in range(150))
    found = []
    for text in (note, "dull"):
        table = pd.DataFrame({"user": [900, 901], "a": [0.5, 0.25], "target": [1, 2], "b": [3, 4], "note": [text, "-"]})
        table.to_csv(tmp_path / "x.csv", index=False)
        source = read_records(tmp_path / "x.csv", features=["a", "b"], owner="A")
        assert source.n_users == 2
        found.append(contributions(source, ["900", "901"]))
    assert found[0] == found[1]


@pytest.mark.parametrize("kind", ["csv", "parquet", "table", "blocks"])
def test_an_id_has_one_canonical_form_in_every_format(tmp_path, kind):
    same, apart = ["7", "07", "+7", "7.0", " 7", "7."], ["1_0", "10", "7e0", "seven", "7.5", "NA", "nan", "x"]
    users = same + apart
    table = pd.DataFrame({"user": users, "a": 1.0, "target": 2.0}).astype({"user": "string"})
    table.to_csv(tmp_path / "x.csv", index=False)
    table.to_parquet(tmp_path / "x.parquet")
    blocks = iter([([[1.0]], [2.0], [user]) for user in users])
    data = {"csv": tmp_path / "x.csv", "parquet": tmp_path / "x.parquet", "table": table, "blocks": blocks}[kind]
    assert read_records(data, owner="A").n_users == 1 + len(apart)


def sum_first_numbers(block, state):
    """A kernel that adds up in floating point, where the order of a user's records matters."""
    total = np.zeros(1, np.int64)
    for user in range(len(block)):
        sums = 0.0
        for x in block.X[block.indptr[user] : block.indptr[user + 1], 0]:
            sums += float(np.clip(np.nan_to_num(x, posinf=0, neginf=0), -1e9, 1e9))
        total += np.int64(np.rint(sums * 2.0**20))
    return total


@pytest.mark.parametrize("threads", [1, 2])
def test_another_persons_missing_number_moves_no_bit(monkeypatch, threads):
    """It makes floats of integers, and with them float64 of float32: sums of all others stay as they are."""
    rng = np.random.default_rng(1)
    X = rng.integers(-(2**15), 2**15, (300, 2)).astype(np.int16)
    users = rng.integers(0, 20, 300)
    users[-1], X[-1] = 99, 0
    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "user": users, "target": 0.1})
    missing = table.copy()
    missing.loc[299, "a"] = np.nan  # pandas makes the column float64
    assert missing["a"].dtype == np.float64
    engine, totals = LocalEngine(threads, block_rows=3), []
    for data in (table, missing):
        for is_low in (False, True):
            with monkeypatch.context() as patch:
                if is_low:
                    set_low(patch, random.Random(2))
                totals.append(engine.total(read_records(data, owner="A"), sum_first_numbers, None).tolist())
    assert len({tuple(total) for total in totals}) == 1


def test_a_stream_that_turns_bad_stops_by_its_form_and_never_by_a_value():
    good = (np.ones((2, 2)), [1.0, 2.0], [1, 2])
    odd = [
        (np.full((2, 2), np.nan), [np.inf, -0.0], [None, ""]),
        ([["x", None], [1j, 2**80]], ["?", None], ["\ud800", 3.0]),
    ]
    source = read_records(iter([good, *odd, good]), owner="A")
    assert source.n_users == 4 and sum(len(block.y) for block in source.blocks()) == 6
    for bad in ((np.ones((2, 3)), [1.0, 2.0], [1, 2]), (np.ones((2, 2)), [1.0], [1, 2]), "7.25", None, (1, 2, 3)):
        source = read_records(iter([good, bad]), owner="A")
        with pytest.raises(InvalidParameter) as refusal:
            list(source.blocks())
        assert "\n" not in str(refusal.value) and "7.25" not in str(refusal.value)
        with pytest.raises(InvalidParameter, match="data that can be read again"):
            list(source.blocks())  # what was read is not taken for all there is


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    columns = {"a": [0.5, 1.5, None] * 9, "b": pa.array([1, 2, 3] * 9, pa.int8()), "target": [1.0, 2, 3] * 9}
    pq.write_table(pa.table({"user": [1, 2, 3] * 9, **columns}), folder / "numbers.parquet")
    pq.write_table(pa.table({"user": ["a", "b", None] * 9, **columns}), folder / "words.parquet", row_group_size=5)
    (folder / "table.csv").write_text("user,a,target\n" + '1,2,3\n"a\nb",1,5\n' * 5)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("name", ["numbers.parquet", "words.parquet", "table.csv"])
def test_a_mutated_file_is_read_or_refused(originals, tmp_path, name):
    rng, path, n_refused = random.Random(name), tmp_path / name, 0
    for _ in range(MUTATIONS):
        data = bytearray(originals[name])
        for _ in range(rng.choice([1, 1, 2, 5])):
            place = rng.randrange(len(data))
            data[place : place + rng.randrange(9)] = rng.randbytes(rng.randrange(9))
        path.write_bytes(bytes(data))
        for read in (
            lambda: read_records(path, owner="A", needs_users=True).n_users,
            lambda: read_histories(path, owner="A"),
        ):
            try:
                read()
            except InvalidParameter as refusal:
                n_refused += 1
                assert "\n" not in str(refusal)
    assert n_refused > 0


def test_histories_return_to_whom_they_belong():
    """Every user's own block is what a call for that user alone gives, and new rows find their owner."""
    rng = np.random.default_rng(3)
    X, y, users = rng.standard_normal((200, 3)), rng.standard_normal(200), rng.choice([f"u{k}" for k in range(30)], 200)
    histories = read_histories(X, y, users, owner="A")
    for code, user in enumerate(histories.ids):
        alone = read_histories(X[users == user], y[users == user], owner="A").block
        span = slice(*histories.block.indptr[code : code + 2])
        assert histories.block.X[span].tobytes() == alone.X.tobytes()
        assert histories.block.y[span].tobytes() == alone.y.tobytes()
    asked = rng.permutation([*users, "nobody"])
    found = find_users(histories, asked)
    assert [None if code < 0 else histories.ids[code] for code in found] == [
        None if user == "nobody" else user for user in asked
    ]


def test_no_file_of_records_is_left_behind(tmp_path, monkeypatch):
    """Temporary files have no name; what a process leaves when it is killed is nothing."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    set_low(monkeypatch, random.Random(4))
    source = read_records(np.ones((50, 2)), np.ones(50), np.arange(50) % 7, owner="A")
    blocks = source.blocks(1)
    next(blocks)
    assert os.listdir(tmp_path) == []
    assert sum(len(block.y) for block in blocks) > 0
