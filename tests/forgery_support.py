"""Model files by a stranger's hand: taken apart, changed, and put together with every checksum right."""

import contextlib
import functools
import hashlib
import io
import json
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

import hushrank
from hushrank.estimators.completion.methods import AlternatingLeastSquares
from hushrank.exceptions import ModelFileError

X = np.random.default_rng(0).standard_normal((40, 4))
ROWS = {"row_norm": 2.0, "epsilon": 1.0, "radius": "public", "random_state": 1}
RADIUS = {**ROWS, "radius": "private"}
STARS = {"epsilon": 5.0, "delta": 1e-6, "random_state": 1}
RATINGS = np.where(np.random.default_rng(1).random((50, 12)) < 0.5, np.nan, np.tile(np.arange(12) % 5 + 1.0, (50, 1)))

FACTS = {"genre": ["Comedy|Drama", "Drama", "Horror"] * 4, "year": [1950 + 7 * j % 50 for j in range(12)]}
TASTES = np.where(np.isnan(RATINGS), np.nan, 3.0 + 2.0 * (np.arange(12) % 3 == np.arange(50)[:, None] % 3))


def fit_models():
    """Honest models of every class, by name."""
    many = sp.random(40, 400, density=0.05, format="csr", random_state=1)
    return {
        "pca": hushrank.PrivatePCA(2, **ROWS, center="private").fit(pd.DataFrame(X, columns=list("abcd"))),
        "pca_gaussian": hushrank.PrivatePCA(2, **ROWS, delta=1e-6, neighbors="add_remove").fit(X),
        "pca_drawn": hushrank.PrivatePCA(1, **ROWS, mechanism="exponential", field="complex").fit(X),
        "covariance": hushrank.PrivateCovariance(**ROWS, rank=2, center=[0.5, 0, 0, 0], neighbors="add_remove").fit(X),
        "covariance_complex": hushrank.PrivateCovariance(**ROWS, field="complex").fit(X + 1j * X[::-1]),
        "low_rank": hushrank.PrivateLowRank(eigenvalues=[1.0, 0.5], **ROWS).fit(X),
        "low_rank_drawn": hushrank.PrivateLowRank(1, **ROWS, mechanism="exponential").fit(X),
        "pca_radius": hushrank.PrivatePCA(2, **RADIUS, delta=1e-6, center="private", neighbors="add_remove").fit(X),
        "completion": hushrank.PrivateCompletion(3, **STARS, rating_range=(1, 5), items=12).fit(RATINGS),
        "completion_text": hushrank.PrivateCompletion(
            2,
            **STARS,
            feedback="implicit",
            method=AlternatingLeastSquares(sweeps=1),
            items=[f"film {j}" for j in range(12)],
        ).fit(RATINGS),
        "completion_many": hushrank.PrivateCompletion(
            2, **STARS, rating_range=(0, 1), items=[f"long name {j}" for j in range(400)]
        ).fit(many),
        "completion_features": hushrank.PrivateCompletion(
            2, **{**STARS, "epsilon": 50.0}, rating_range=(1, 5), item_features=pa.table({"item": range(12), **FACTS}),
            items=12, new_items=[4, 7],
        ).fit(TASTES),
        "completion_features_text": hushrank.PrivateCompletion(
            2, **STARS, feedback="implicit", items=[f"film {j}" for j in range(12)],
            item_features=pa.table({"item": [f"film {j}" for j in range(12)], **FACTS}),
        ).fit(RATINGS).add_items(["a new film"]),
    }  # fmt: skip


def honest_files(folder):
    """Their files, as bytes by name."""
    files = {}
    for name, model in fit_models().items():
        model.save(folder / "model")
        files[name] = (folder / "model").read_bytes()
    return files


def peak_of_loading(path):
    """Largest memory in use while a file is loaded, and the model, or None if it was refused."""
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    model = None
    with contextlib.suppress(ModelFileError):
        model = hushrank.load(path)
    return tracemalloc.get_traced_memory()[1] - before, model


@functools.cache
def _parts(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = members.pop("header.json")
    del members["header.sha256"]
    return header, members


def take_apart(data):
    """Header and members of a model file."""
    header, members = _parts(data)
    return json.loads(header), dict(members)


def put_together(header, members, compression=zipfile.ZIP_STORED):
    """Bytes of a model file of these parts; a header that is bytes already is taken as it is."""
    if isinstance(header, dict):
        sums = {name: hashlib.sha256(data).hexdigest() for name, data in members.items()}
        header = json.dumps({**header, "arrays": sums}, sort_keys=True).encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compression)
        archive.writestr(zipfile.ZipInfo("header.json"), header, compression)
        archive.writestr(zipfile.ZipInfo("header.sha256"), hashlib.sha256(header).hexdigest(), compression)
    return buffer.getvalue()


def forge(path, change):
    """Change header and members of the file in place by a function of both."""
    header, members = take_apart(path.read_bytes())
    changed = change(header, members)
    path.write_bytes(put_together(header if changed is None else changed, members))


def to_member(array):
    """Bytes of an array, of whatever dtype."""
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asanyarray(array), version=(1, 0))
    return buffer.getvalue()


def from_member(data):
    """The array of honest bytes."""
    return np.lib.format.read_array(io.BytesIO(data))


def with_head(text, data):
    """An npy member with this text as its header, and these bytes."""
    head = text.encode()
    head += b" " * (-(len(head) + 11) % 64) + b"\n"
    return b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head + data


def in_header(*keys, value):
    """A change that sets one entry of the content."""

    def change(header, members):
        section = header["content"]
        for key in keys[:-1]:
            section = section[key]
        section[keys[-1]] = value

    return change


def in_array(name, value):
    """A change that replaces an array, wherever the file keeps it."""

    def change(header, members):
        header["content"]["attributes"].pop(name, None)
        for ending in (".text.npy", ".ends.npy"):
            members.pop(name + ending, None)
        members[f"{name}.npy"] = value if isinstance(value, bytes) else to_member(value)

    return change


def together(*changes):
    """One change after another."""

    def change(header, members):
        for one in changes:
            one(header, members)

    return change
