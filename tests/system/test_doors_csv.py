"""Attacks on the reader of CSV and TSV files: one record writes nothing for other people, whatever its text holds."""

import gzip
import io
import random
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hushrank.cli.small_tables import read_catalogue, read_own_ratings
from hushrank.data import delimited
from hushrank.data.delimited import DelimitedText
from hushrank.data.inspection import inspect
from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.grouping import Tally
from hushrank.data.ratings.rating_columns import read_rating_file
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.rows.reading import read_rows
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.exceptions import InvalidParameter

N_ITEMS = 6
FILES, PARTS = 10_000, 20
QUICK_PARTS = 6  # by `make test`; the others by `make audit`


def canonical(text):
    """The canonical form of an id; empty for none."""
    text = text.strip(" \t\n\v\f\r")
    return str(int(text.split(".")[0])) if re.fullmatch(r"[+-]?[0-9]+(\.0*)?", text) else text


def test_a_text_with_line_breaks_is_one_record(tmp_path):
    """Violation 2: the lines of one user's review became ratings of other users."""
    review = "great!\n" + "".join(f"{victim},0,5,x\n" for victim in range(150))
    for text in (review, "dull"):
        table = pd.DataFrame({"user": [900, 901], "item": [0, 1], "rating": [1, 2], "review": [text, "ok"]})
        table.to_csv(tmp_path / "x.csv", index=False)
        ratings = read_ratings(tmp_path / "x.csv", owner="A", items=N_ITEMS, rating_range=(1, 5))
        assert ratings.n_users == 2
        [block] = ratings.blocks()
        assert block.items.tolist() == [0, 1] and block.values.tolist() == [-1.0, -0.5]


def test_the_count_of_an_item_moves_by_its_sensitivity_at_most(tmp_path):
    """The same end to end: item counts of two neighbors, with the same noise, differ as one user may make them."""
    rng = np.random.default_rng(1)
    counts = []
    for text in ("fine", "fine\n" + "".join(f"{900 + k},3,5,x\n" for k in range(150))):
        rows = [(user, int(rng.integers(N_ITEMS)), 3, "-") for user in range(200)]
        rows[7] = (7, 3, 5, text)
        rng = np.random.default_rng(1)  # the same ratings for both
        pd.DataFrame(rows, columns=["user", "item", "rating", "review"]).to_csv(tmp_path / "x.csv", index=False)
        model = PrivateCompletion(1, epsilon=1.0, delta=1e-6, rating_range=(1, 5), items=N_ITEMS, random_state=1)
        counts.append(model.fit(tmp_path / "x.csv").item_counts_)
    assert np.array_equal(*counts)


def test_a_text_with_line_breaks_is_one_row(tmp_path):
    """PrivateCovariance was hit as well: 40 lines of a note became 40 people."""
    for note in ("-", "a\n" * 40, "x\n1.0,1.0,y\n" * 40, '"\n1.0,1.0,\n"', "\r\n", '""'):
        table = pd.DataFrame({"a": [0.5, 0.25], "b": [0.5, 0.75], "note": [note, "-"]})
        table.to_csv(tmp_path / "x.csv", index=False)
        X = np.vstack(list(read_rows(tmp_path / "x.csv", owner="A", columns=["a", "b"]).blocks()))
        assert X.tolist() == [[0.5, 0.5], [0.25, 0.75]]
        assert inspect(tmp_path / "x.csv", columns=["a", "b"]).n_samples == 2
    rows = read_rows(tmp_path / "x.csv", owner="A", columns=["a", "b"])
    assert PrivateCovariance(row_norm=1.0, epsilon=1.0).fit(rows).n_ == 2


MARKS = ["a", "7", "07", "+7", "7.0", "u2", " ", "é", '"', ",", "\n", "\r\n", "\t", "1_0", "-", "0", "NA", ";"]


def random_text(rng, longest=5):
    return "".join(rng.choice(MARKS) for _ in range(rng.randrange(longest)))


def random_record(rng):
    """User, item, rating, review and a number: ids odd and plain, numbers mostly."""
    user = rng.choice([str(rng.randrange(6)), random_text(rng, 3)])
    item = rng.choice([str(rng.randrange(N_ITEMS)), random_text(rng, 2)])
    rating = rng.choice([str(rng.randrange(7)), f"{rng.uniform(0, 6):.3f}", random_text(rng, 2)])
    review = random_text(rng) + "".join(f"{rng.randrange(6)},1,5,x,2\n" for _ in range(rng.randrange(3)))
    return (user, item, rating, review, repr(rng.gauss(0, 1)))


def well_formed(records, rng, mark=","):
    """A file as RFC 4180 has it, fields quoted where they must be and now and then where not."""

    def field(text):
        must = any(sign in text for sign in f'{mark}"\r\n') or text == "" or text != text.strip()
        return '"' + text.replace('"', '""') + '"' if must or rng.random() < 0.1 else text

    newline = rng.choice(["\n", "\r\n"])
    lines = [mark.join(map(field, record)) for record in [("user", "item", "rating", "review", "x"), *records]]
    return (newline.join(lines) + newline * rng.randrange(2)).encode()


CATALOGUE = Catalogue(N_ITEMS)


def contributions(path, records):
    """Each user's items and values by canonical id, from the block that kernels would see."""
    block = read_rating_file(path, CATALOGUE, (1.0, 5.0), "A").read(Tally())
    users = dict.fromkeys(user for user in (canonical(record[0]) for record in records) if user)
    spans = [slice(*block.indptr[i : i + 2]) for i in range(len(block))]
    own = [(block.items[span].tobytes(), block.values[span].tobytes()) for span in spans]
    return dict(zip(users, own, strict=True))


def numbers(path):
    return np.vstack([np.empty((0, 2)), *read_rows(path, owner="A", columns=["rating", "x"]).blocks()])


def records_read(path):
    found = []
    for fields in DelimitedText(path, "A").fields(range(5)):
        found += zip(*(fields.column(j).to_pylist() for j in range(5)), strict=True)
    return found


@pytest.mark.parametrize(
    "part", [*range(QUICK_PARTS), *(pytest.param(k, marks=pytest.mark.audit) for k in range(QUICK_PARTS, PARTS))]
)
def test_changing_one_record_changes_one_contribution(part, tmp_path, monkeypatch):
    """Well-formed files are read as by pandas, and neighbors differ in one row and in the users of one record."""
    rng = random.Random(part)
    path = tmp_path / "x.csv"
    for file in range(FILES // PARTS):
        monkeypatch.setattr(delimited, "CHUNK_BYTES", rng.choice([40, 150, 2**22, 2**22]))
        records = [random_record(rng) for _ in range(rng.randrange(1, 7))]
        content = well_formed(records, rng)
        path.write_bytes(content)
        table = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
        cells = table.itertuples(index=False, name=None)
        stripped = [tuple(cell.strip(" \t\n\v\f\r").encode() for cell in row) for row in cells]
        assert records_read(path) == stripped and len(stripped) == len(records)
        before, rows = contributions(path, records), numbers(path) if file % 2 else None

        changed = rng.randrange(len(records))
        old, records[changed] = records[changed], random_record(rng)
        path.write_bytes(well_formed(records, rng))
        after = contributions(path, records)
        touched = {canonical(old[0]), canonical(records[changed][0])}
        assert {user: own for user, own in before.items() if user not in touched} == {
            user: own for user, own in after.items() if user not in touched
        }
        if rows is not None:
            other_rows = numbers(path)
            assert np.array_equal(np.delete(rows, changed, 0), np.delete(other_rows, changed, 0), equal_nan=True)


PACK = {"": bytes, ".gz": gzip.compress, ".zst": lambda content: pa.Codec("zstd").compress(content, asbytes=True)}


@pytest.mark.parametrize("suffix", [".tsv", ".csv.gz", ".tsv.gz", ".csv.zst", ".tsv.zst"])
def test_one_record_changes_one_contribution_in_every_kind_of_file(suffix, tmp_path, monkeypatch):
    """The same for tabs and compressed files, read a few bytes at a time: all kinds hold the same records."""
    rng = random.Random(suffix)
    kind, _, packing = suffix[1:].partition(".")
    path, mark = tmp_path / f"x{suffix}", "\t" if kind == "tsv" else ","
    pack = PACK[f".{packing}" if packing else ""]
    for _ in range(40):
        monkeypatch.setattr(delimited, "CHUNK_BYTES", rng.choice([40, 150, 2**22]))
        records = [random_record(rng) for _ in range(rng.randrange(1, 7))]
        path.write_bytes(pack(well_formed(records, rng, mark)))
        assert records_read(path) == [tuple(cell.strip(" \t\n\v\f\r").encode() for cell in row) for row in records]
        before, rows, changed = contributions(path, records), numbers(path), rng.randrange(len(records))
        old, records[changed] = records[changed], random_record(rng)
        path.write_bytes(pack(well_formed(records, rng, mark)))
        touched = {canonical(old[0]), canonical(records[changed][0])}
        after = contributions(path, records)
        assert {user: before[user] for user in before if user not in touched} == {
            user: after[user] for user in after if user not in touched
        }
        assert np.array_equal(np.delete(rows, changed, 0), np.delete(numbers(path), changed, 0), equal_nan=True)


def test_damage_beyond_the_header_is_the_fault_of_the_file_and_shows_nothing_of_it(tmp_path):
    """Found while the data are read, as with Parquet: after the charge, and whoever's record it hits."""
    table = pd.DataFrame({"user": range(5000), "item": 1, "rating": np.random.default_rng(0).random(5000)})
    table.to_csv(tmp_path / "x.csv.gz", index=False)
    whole = (tmp_path / "x.csv.gz").read_bytes()
    (tmp_path / "x.csv.gz").write_bytes(whole[:-100])
    model = PrivateCompletion(1, epsilon=1.0, delta=1e-6, rating_range=(1, 5), items=N_ITEMS)
    with pytest.raises(InvalidParameter) as refusal:
        model.fit(tmp_path / "x.csv.gz")
    shown = str(refusal.value)
    assert shown == "X of PrivateCompletion must be a readable CSV file; got 'x.csv.gz: damaged, or of another kind'."
    assert not hasattr(model, "item_means_")


SAME = ["7", "07", "+7", "7.0", " 7", "7."]
APART = ["1_0", "10", "7e0", "seven", "7.5", "NA", "nan", "x"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "table"])
def test_an_id_has_one_canonical_form_in_every_format(tmp_path, kind):
    """7, 07, 7.0 and +7 were four users, and 1_0 was item 10 in one place and unknown in another."""
    users = SAME + APART
    table = pd.DataFrame({"user": users, "item": [0] * len(users), "rating": [3] * len(users)}).astype(
        {"user": "string"}
    )
    if kind == "csv":
        table.to_csv(tmp_path / "x.csv", index=False)
    elif kind == "parquet":
        table.to_parquet(tmp_path / "x.parquet")
    data = table if kind == "table" else tmp_path / f"x.{kind}"
    assert read_ratings(data, owner="A", items=1, rating_range=(1, 5)).n_users == 1 + len(APART)


def test_items_mean_the_same_in_training_and_in_serving(tmp_path):
    spellings = {
        "10": 10,
        "1_0": None,
        "010": 10,
        "+10": 10,
        "10.0": 10,
        "\u0661\u0660": None,
        " 10 ": 10,
        "": None,
        "-0": 0,
    }
    for text, item in spellings.items():
        (tmp_path / "x.csv").write_text(f'user,item,rating\n1,"{text}",5\n')
        [block] = read_ratings(tmp_path / "x.csv", owner="A", items=11, rating_range=(1, 5)).blocks()
        own = read_own_ratings(tmp_path / "x.csv", pa.int64())
        assert block.items.tolist() == ([] if item is None else [item]) and own["item"].to_pylist() == [item]
    pq.write_table(pa.table({"item": ["007", "x"]}), tmp_path / "items.parquet")
    (tmp_path / "items.csv").write_text("item\n007\nx\n")
    for name in ("items.parquet", "items.csv"):
        catalogue = Catalogue(read_catalogue(tmp_path / name))
        assert catalogue.positions(["7", "07", "X", "x"]).tolist() == [0, 0, -1, 1]


def test_own_ratings_with_a_broken_record_are_refused_not_shortened(tmp_path):
    from hushrank.cli.main import cli

    table = pd.DataFrame({"user": [1, 2], "item": [0, 1], "rating": [3, 3]})
    model = PrivateCompletion(1, epsilon=1.0, delta=1e-6, rating_range=(1, 5), items=2).fit(table)
    model.save(tmp_path / "model.hush")
    for broken in ("7,1\n", '7,"1,5\n', "7,1,5,5\n"):
        (tmp_path / "own.csv").write_text("user,item,rating\n8,1,5\n" + broken)
        arguments = ["recommend", str(tmp_path / "model.hush"), "--ratings", str(tmp_path / "own.csv")]
        result = CliRunner().invoke(cli, arguments)
        assert "a CSV file whose records have 3 fields, as its header" in str(result.exception)
