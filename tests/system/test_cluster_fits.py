"""Every estimator on a cluster of processes has the bits of one machine, from memory and from files of many parts."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("distributed", reason="needs the extra dask")

import hushrank as hr
from cluster_support import write_parts
from hushrank import estimator
from hushrank.engine import dask_bundles
from hushrank.engine.dask import DaskEngine
from seeded_fits import FITS, SEED, many_rows, measurements, ratings, records


@pytest.fixture
def engine(cluster, monkeypatch):
    """Pieces, places and blocks so small that everything is cut many times."""
    monkeypatch.setattr(dask_bundles, "HELD_BYTES", 1)
    return DaskEngine(cluster, piece_rows=400, place_rows=200, block_rows=100)


def assert_same(model, other):
    mine, theirs = model._learned(), other._learned()
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        if name == "privacy_":
            assert value == theirs[name]
        elif getattr(value, "dtype", None) == np.dtype(object):
            assert list(value) == list(theirs[name])
        else:
            assert np.asarray(value).tobytes() == np.asarray(theirs[name]).tobytes(), name


# One of every sum; `make audit` has all others.
OFTEN = {
    "pca, private center", "pca, complex", "covariance, exponential", "low rank, Wishart",
    "pca, private radius, columns", "pca, private radius and center", "covariance, private radius, scales",
    "completion, spectral, many factors",
    "completion, spectral, no offsets", "completion, spectral, implicit, features", "completion, spectral, features",
    "completion, als, tail", "completion, als, implicit", "completion, factored gradient",
    "personalization, gradient, labels", "personalization, altmin, blocks", "personalization, exponential, labels",
    "trace, dense, labels", "trace, rank_one", "trace, entry",
}  # fmt: skip
SEEDED = [
    pytest.param(name, marks=[] if name in OFTEN else [pytest.mark.audit])
    for name in FITS
    if not name.startswith("stream")
]


def test_every_sum_has_a_fit():
    assert OFTEN <= FITS.keys()


@pytest.mark.parametrize("name", SEEDED)
def test_data_in_memory(engine, name, monkeypatch):
    expected = FITS[name]()
    monkeypatch.setattr(estimator, "find_engine", lambda given: engine)
    assert_same(FITS[name](), expected)


def shuffled(frame):
    return frame.sample(frac=1, random_state=3)


def rating_frame():
    entries = ratings().tocoo()
    return shuffled(pd.DataFrame({"user": entries.row, "item": entries.col, "rating": entries.data}))


def record_frame():
    X, y, users = records()
    return shuffled(pd.DataFrame(X, columns=list("abcd")).assign(target=y, user=[f"user {user}" for user in users]))


def measurement_frame(design):
    X, y = measurements(design)
    X = X.reshape(len(X), -1)
    return pd.DataFrame(X, columns=[f"c{j}" for j in range(X.shape[1])]).assign(target=y)


def row_frame():
    return pd.DataFrame(many_rows(), columns=list("abcd"))


RATED = {"rank": 3, "epsilon": 8.0, "delta": 1e-6, "rating_range": (1, 5), "items": 40}
SHARED = {"n_components": 2, "epsilon": 8.0, "delta": 1e-6}
TRACE = {"rank": 1, "epsilon": 8.0, "delta": 1e-6, "shape": (4, 3)}
ROWS = {"row_norm": 100.0, "epsilon": 1.0}

CASES = {
    "completion, spectral": (hr.PrivateCompletion, RATED, rating_frame),
    "completion, als": (hr.PrivateCompletion, {**RATED, "method": "als"}, rating_frame),
    "completion, gradient": (hr.PrivateCompletion, {**RATED, "method": "factored_gradient"}, rating_frame),
    "completion, implicit": (hr.PrivateCompletion, {**RATED, "feedback": "implicit"}, rating_frame),
    "completion, add_remove": (hr.PrivateCompletion, {**RATED, "neighbors": "add_remove"}, rating_frame),
    "personalization, gradient": (hr.PrivateRepresentation, SHARED, record_frame),
    "personalization, altmin": (hr.PrivateRepresentation, {**SHARED, "method": "altmin"}, record_frame),
    "personalization, exponential": (
        hr.PrivateRepresentation,
        {**SHARED, "method": "exponential", "delta": 0.0},
        record_frame,
    ),
    "trace, dense": (hr.PrivateTraceRegression, {**TRACE, "design": "dense"}, lambda: measurement_frame("dense")),
    "trace, rank_one": (
        hr.PrivateTraceRegression,
        {**TRACE, "design": "rank_one"},
        lambda: measurement_frame("rank_one"),
    ),
    "trace, entry": (hr.PrivateTraceRegression, {**TRACE, "design": "entry"}, lambda: measurement_frame("entry")),
    "pca": (hr.PrivatePCA, {**ROWS, "n_components": 2}, row_frame),
    "covariance": (hr.PrivateCovariance, {**ROWS, "delta": 1e-6}, row_frame),
    "low rank": (hr.PrivateLowRank, {**ROWS, "rank": 2}, row_frame),
}


@pytest.mark.parametrize("name", CASES)
def test_parquet_folders(engine, name, tmp_path):
    kind, parameters, make = CASES[name]
    folder = write_parts(tmp_path / "parts", make().to_dict("list"), 4, 100)
    expected = kind(**parameters, random_state=SEED).fit(folder)
    assert_same(kind(**parameters, random_state=SEED, engine=engine).fit(folder), expected)


@pytest.mark.parametrize("name", ["completion, spectral", "personalization, gradient", "trace, rank_one", "pca"])
def test_csv_folders_and_dask_frames(engine, name, tmp_path):
    import dask.dataframe as dd

    kind, parameters, make = CASES[name]
    frame = make()
    (tmp_path / "texts").mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        frame.iloc[part].to_csv(tmp_path / "texts" / f"{number}.csv.gz", index=False)
    expected = kind(**parameters, random_state=SEED).fit(str(tmp_path / "texts"))
    for data in (str(tmp_path / "texts"), dd.from_pandas(frame, npartitions=3, sort=False)):
        assert_same(kind(**parameters, random_state=SEED, engine=engine).fit(data), expected)


def test_dask_arrays_of_records(engine):
    import dask.array as da

    X, y, users = records()
    terms = {**SHARED, "random_state": SEED}
    lazy = [da.from_array(array, chunks=chunks) for array, chunks in ((X, (100, 2)), (y, 90), (users, 333))]
    assert_same(
        hr.PrivateRepresentation(**terms, engine=engine).fit(*lazy), hr.PrivateRepresentation(**terms).fit(X, y, users)
    )


def test_an_evaluation(engine, tmp_path):
    folder = write_parts(tmp_path / "parts", rating_frame().to_dict("list"), 4, 100)
    model = hr.PrivateCompletion(**RATED, random_state=SEED).fit(folder)
    terms = {"epsilon": 1.0, "delta": 1e-6, "random_state": SEED}
    expected = hr.PrivateEvaluation(**terms).fit(folder, model)
    assert_same(hr.PrivateEvaluation(**terms, engine=engine).fit(folder, model), expected)


def test_a_fit_is_charged_once_and_leaves_nothing_on_the_cluster(engine, cluster, tmp_path):
    folder = write_parts(tmp_path / "parts", rating_frame().to_dict("list"), 4, 100)
    account = hr.Ledger(tmp_path / "budget.db").create("people", epsilon=9.0, delta=1e-6, unit="user")
    model = hr.PrivateCompletion(**RATED, ledger=account, engine=engine).fit(folder)
    assert [charge.event for charge in account.history()[1:]] == [model.privacy_.event]
    assert not [future for future in cluster.futures.values() if "join_place" in str(future)]
    model.save(tmp_path / "model.hush")
    assert hr.load(tmp_path / "model.hush").engine is None


def test_a_check_reads_the_same_files_here(engine, tmp_path):
    folder = write_parts(tmp_path / "parts", rating_frame().to_dict("list"), 4, 100)
    here, there = (hr.PrivateCompletion(**RATED, engine=one).check(folder) for one in (None, engine))
    assert here.counts == there.counts
