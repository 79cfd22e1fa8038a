"""Attacks by files: a data file from a stranger is read or refused in one line of ours, whatever its bytes."""

import gzip
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from hushrank.cli.small_tables import read_catalogue, read_own_ratings
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.rows.reading import read_rows
from hushrank.exceptions import InvalidParameter

N_ITEMS, MUTATIONS = 6, 400
SPARSE = ("csr", "csc", "coo", "bsr", "dia")


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """One honest file of every kind."""
    folder = tmp_path_factory.mktemp("originals")
    X = np.random.default_rng(1).uniform(size=(20, N_ITEMS))
    np.save(folder / "array.npy", X)
    np.savez(folder / "array.npz", X)
    np.savez_compressed(folder / "compressed.npz", X)
    for form in SPARSE:
        sp.save_npz(folder / f"{form}.npz", sp.csr_array(np.where(X > 0.5, X, 0)).asformat(form), compressed=False)
    columns = {"item": [0, 1, 2] * 9, "rating": [1.0, 2, 3] * 9}
    pq.write_table(pa.table({"user": [1, 2, 3] * 9, **columns}), folder / "numbers.parquet")
    pq.write_table(pa.table({"user": ["a", "b", None] * 9, **columns}), folder / "words.parquet")
    table = b'user,item,rating\n1,2,3\n"a\nb",1,5\n' * 5
    (folder / "table.csv").write_bytes(table)
    (folder / "table.csv.gz").write_bytes(gzip.compress(table))
    packed = pa.Codec("zstd").compress(table.replace(b",", b"\t"), asbytes=True)
    (folder / "table.tsv.zst").write_bytes(packed)
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def mutated(content, rng):
    data = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5])):
        place = rng.randrange(len(data))
        kind = rng.randrange(4)
        if kind == 0:
            data[place] = rng.randrange(256)
        elif kind == 1:
            del data[place : place + rng.randrange(20)]
        elif kind == 2:
            data[place:place] = rng.randbytes(rng.randrange(9))
        else:
            data = data.replace(b"(20,", rng.choice([b"(99,", b"(9999999999999999999,", b"(-1,", b"(2**64,"]))
        data = data or bytearray(b"x")
    return bytes(data)


READERS = {
    "rows": lambda path: sum(len(block) for block in read_rows(path, owner="A").blocks()),
    "ratings": lambda path: read_ratings(path, owner="A", items=N_ITEMS, rating_range=(1, 5)).n_users,
    "catalogue": read_catalogue,
    "own ratings": lambda path: read_own_ratings(path, pa.int64()),
}
NAMES = [
    "array.npy", "array.npz", "compressed.npz", *(f"{form}.npz" for form in SPARSE),
    "numbers.parquet", "words.parquet", "table.csv", "table.csv.gz", "table.tsv.zst",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:all ratings are taken as one person's")
@pytest.mark.parametrize("name", NAMES)
def test_a_mutated_file_is_read_or_refused(originals, tmp_path, name):
    rng, path, n_refused = random.Random(name), tmp_path / name, 0
    readers = READERS if name.endswith((".parquet", ".csv", ".gz", ".zst")) else {"rows": READERS["rows"]}
    for _ in range(MUTATIONS // len(readers)):
        path.write_bytes(mutated(originals[name], rng))
        for read in readers.values():
            try:
                read(path)
            except InvalidParameter as refusal:
                n_refused += 1
                assert "\n" not in str(refusal)
    assert n_refused > 0
