"""Attacks on private representations: whom a head belongs to, what a record reaches, who holds the state, what is kept.

The four questions of docs/privacy/doors.md for `PrivateRepresentation`, `personalize` and `Heads`.
"""

import copy
import os
import pickle
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hushrank
from forgery_support import forge, in_array, in_header
from fork_support import fork, outcome_of
from hushrank.base import NEVER_SAVED
from hushrank.data.records import grouping, histories, out_of_core, sources, stores
from hushrank.engine.local import LocalEngine
from hushrank.estimators.personalization import heads as heads_module
from hushrank.estimators.personalization.user_sums import count_mean_squares, count_moment_norms
from hushrank.evaluation.synthetic import shared_representation
from hushrank.exceptions import InvalidParameter, ModelFileError
from hushrank.privacy.ledger import Ledger
from mutation_support import KINDS, mutate
from representation_support import MODES, assert_equal_models, representation

D, N = 4, 60
DATA = shared_representation(N, D, 2, n_records=5, noise=0.1, seed=4, unequal=True)
NAMES = [f"x{j}" for j in range(D)]
IDS = {
    "int64": (pa.int64(), lambda user: user * 7 - 100),
    "uint64": (pa.uint64(), lambda user: 2**64 - 1 - user),
    "str": (pa.string(), lambda user: f"\u00fcser \u2028{user},\n\0"),
}


def to_pandas(table):
    """A table of pandas with texts as such: older versions have them as objects, which are refused."""
    frame = table.to_pandas()
    return frame.astype({name: "string" for name in frame if frame[name].dtype == object})


FORMS = {"arrow": lambda table: table, "polars": pl.from_arrow, "pandas": to_pandas}
FILLED = 1234.5678901  # a number that is found again in bytes


def table_of(kind="int64", order=None):
    """The records as an Arrow table, with ids of a kind, and for whom each record is."""
    order = np.arange(len(DATA.y)) if order is None else order
    dtype, name = IDS[kind]
    ids = pa.array([name(int(user)) for user in DATA.users[order]], dtype)
    columns = {name: DATA.X[order, j] for j, name in enumerate(NAMES)}
    return pa.table({"user": ids, **columns, "target": DATA.y[order]}), DATA.users[order]


@pytest.fixture(scope="module")
def model():
    return representation(epsilon=20.0, random_state=3).fit(table_of()[0])


@pytest.fixture
def low_thresholds(monkeypatch):
    """Every internal threshold so low that this little data passes it many times."""
    for name in ("GROUPED_IN_MEMORY", "GROUPED_BESIDE_DATA", "PARTED_IN_MEMORY"):
        monkeypatch.setattr(out_of_core, name, 0)
    for module, name, value in (
        (out_of_core, "CHUNK_BYTES", 300), (out_of_core, "PART_BYTES", 300), (grouping, "MAX_BLOCK_RECORDS", 9),
        (grouping, "BATCH_IDS", 5), (histories, "BATCH_RECORDS", 7), (sources, "BATCH_RECORDS", 7),
        (stores, "_PIECE_BYTES", 64), (heads_module, "NUMBERS_AT_ONCE", 3 * D),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)


# 1. What one user's records reach


def formats_of(X, y, users, folder):
    """The same records in every form that a fit reads, by name; ids are texts with quotes and line breaks."""
    ids = np.array([f'u{user}, "the\n{user}th"' for user in users], object)
    table = pa.table({"user": pa.array(ids, pa.string()), **dict(zip(NAMES, X.T, strict=True)), "target": y})
    cells = ['"' + one.replace('"', '""') + '"' for one in ids]
    rows = [",".join([cell, *map(repr, map(float, x)), repr(float(t))]) for cell, x, t in zip(cells, X, y, strict=True)]
    (folder / "one.csv").write_text("\n".join([",".join(["user", *NAMES, "target"]), *rows]) + "\n")
    pq.write_table(table, folder / "one.parquet", row_group_size=50)
    (folder / "many").mkdir()
    for part, start in enumerate(range(0, len(y), 97)):
        pq.write_table(table[start : start + 97], folder / "many" / f"part-{part}.parquet")
    return {
        "array": (X, y, ids.tolist()), "arrow": (table,), "polars": (pl.from_arrow(table),),
        "pandas": (to_pandas(table),), "csv": (folder / "one.csv",), "parquet": (str(folder / "one.parquet"),),
        "folder": (folder / "many",), "tables": (lambda: iter([table[:33], table[33:]]),),
        "iterator": (iter([(X[:50], y[:50], ids[:50].tolist()), (X[50:], y[50:], ids[50:].tolist())]),),
    }  # fmt: skip


FORMATS = ("array", "arrow", "polars", "pandas", "csv", "parquet", "folder", "tables", "iterator")


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_gives_the_same_bits_and_one_user_one_contribution(form, tmp_path, low_thresholds):
    order = np.random.default_rng(3).permutation(len(DATA.y))
    X, y, users = DATA.X[order], DATA.y[order], DATA.users[order]
    changed, others = np.where((users == 7)[:, np.newaxis], 1e5 - X, X), np.where(users == 7, np.nan, y)
    data, neighbor = [], []
    for folder, found, numbers in (("data", data, (X, y)), ("neighbor", neighbor, (changed, others))):
        (tmp_path / folder).mkdir()
        found += formats_of(*numbers, users, tmp_path / folder)[form]
    estimator = representation(random_state=3)
    expected = representation(random_state=3).fit(DATA.X, DATA.y, DATA.users)
    read, moved = estimator._read(*data), estimator._read(*neighbor)
    grid = np.geomspace(1e-3, 1e3, 2000)  # everybody in a cell of their own, nearly
    for kernel in (count_moment_norms, count_mean_squares):
        before, after = (LocalEngine(2).total(source, kernel, (None, grid)) for source in (read, moved))
        assert before.sum() == after.sum() == N and (before > 0).sum() > 0.8 * N
        assert np.abs(before - after).sum() == 2  # out of one cell, into another
    for name in ("embedding_", "head_mean_", "head_covariance_", "noise_", "gains_"):
        assert np.array_equal(getattr(estimator.fit(read), name), getattr(expected, name)), name


# 2. To whom answers return


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("form", FORMS)
def test_heads_belong_to_their_users(model, kind, form, low_thresholds):
    table, users = table_of(kind, np.random.default_rng(8).permutation(len(DATA.y)))
    name, order = IDS[kind][1], list(dict.fromkeys(users.tolist()))
    asked = FORMS[form](table)
    heads = model.personalize(asked, "target")
    assert heads.users.tolist() == [name(user) for user in order] and len(heads) == N
    alone = {user: model.personalize(DATA.X[DATA.users == user], DATA.y[DATA.users == user]) for user in order}
    for i, user in enumerate(order):
        assert np.array_equal(heads.coef_[i], alone[user].coef_)
        assert np.array_equal(heads[name(user)].coef_, alone[user].coef_)
    # New records in another order, of known and unknown users.
    rows = table.select(NAMES).take(np.arange(len(users))[::-1])
    ids = table["user"].take(np.arange(len(users))[::-1]).to_pylist()
    ids[3] = ids[11] = name(10**6)
    found = heads.predict(FORMS[form](rows), pa.array(ids, IDS[kind][0]))
    X = np.column_stack([rows[one].to_numpy() for one in NAMES])
    for i, (x, user) in enumerate(zip(X, users[::-1], strict=True)):
        own = model.embedding_ @ model.head_mean_ if i in (3, 11) else alone[user].coef_
        assert found[i] == pytest.approx(x @ own, rel=1e-12, abs=1e-15)


def test_nobody_vanishes_and_nobody_is_two(model):
    X, y = DATA.X[:3], DATA.y[:3]
    for users in ([1, None, 2], ["a", "", "b"], [None] * 3):
        with pytest.raises(InvalidParameter, match="of PrivateRepresentation must be"):
            model.personalize(X, y, users)
    with pytest.raises(InvalidParameter, match="of PrivateRepresentation must be"):
        model.personalize(X, y, ["7", "07", "b"])
    heads = model.personalize(X, y, pa.array([1, 2**63, 2**64 - 1], pa.uint64()))
    assert heads.users.tolist() == [1, 2**63, 2**64 - 1]


# 3. Forks, threads, copies


class ForkingEngine:
    """Adds up like the local engine, after it has forked in the sum number `at`; the child reports what it came to."""

    def __init__(self, at):
        self.left, self.parent, self.engine = at, os.getpid(), LocalEngine(threads=1)
        self.reader, self.report = os.pipe()

    def total(self, *arguments, **options):
        self.left -= 1
        if not self.left:
            self.child = fork()
        return self.engine.total(*arguments, **options)


@pytest.mark.parametrize(("mode", "at"), [("gradient", 1), ("gradient", 9), ("altmin, blocks", 12), ("exponential", 2)])
def test_a_fit_that_forks_pays_once_and_gives_one_model(mode, at, tmp_path):
    terms = {"epsilon": 1.0, "delta": 1e-6, **MODES[mode]}
    budget = {"epsilon": 2.0, "delta": terms["delta"], "unit": "user"}
    account, engine = Ledger(tmp_path / "budget.db").create("records", **budget), ForkingEngine(at)
    fitted = representation(**terms, ledger=account, engine=engine)
    try:
        outcome = f"returned {fitted.fit(DATA.X, DATA.y, DATA.users)}"
    except BaseException as error:
        if os.getpid() == engine.parent:
            raise
        outcome = f"{type(error).__name__}: {error}"
    if os.getpid() != engine.parent:
        os.write(engine.report, outcome.encode())
        os._exit(0)
    os.close(engine.report)
    told = outcome_of(engine.child, engine.reader)
    assert told.partition(":")[0] in ("KeystreamMisuse", "StateMisuse") and "before a fork" in told
    assert fitted.privacy_.epsilon <= 1.0 and account.last().number == 1


def test_threads_copies_and_pickles_do_not_disturb_each_other(model):
    estimator = representation(random_state=1)
    expected = representation(random_state=1).fit(DATA.X, DATA.y, DATA.users)
    with ThreadPoolExecutor(4) as pool:
        for fitted in pool.map(lambda _: estimator.fit(DATA.X, DATA.y, DATA.users), range(8)):
            assert fitted is estimator
    assert_equal_models(estimator, expected)
    other = copy.deepcopy(estimator).fit(DATA.X[::-1], DATA.y, DATA.users)
    assert not np.array_equal(other.embedding_, expected.embedding_)
    for same in (estimator, copy.copy(estimator), pickle.loads(pickle.dumps(estimator))):
        assert_equal_models(same, expected)


# 4. What is kept, what a file from a stranger does, what is printed


def test_heads_hold_no_records_and_models_no_heads_and_no_ids(tmp_path):
    X, users = DATA.X.copy(), np.array([f"zaphod-{user}" for user in DATA.users])
    X[users == "zaphod-5", 2] = FILLED
    for neighbors in ("replace", "add_remove"):
        fitted = representation(neighbors=neighbors).fit(X, DATA.y, users)
        before = pickle.dumps(fitted)
        heads = fitted.personalize(X, DATA.y, users)
        assert pickle.dumps(fitted) == before
        fitted.save(tmp_path / "model")
        secrets = [FILLED, *heads.coef_[:3, 0].tolist()]
        for content in (before, (tmp_path / "model").read_bytes()):
            assert all(np.float64(number).tobytes() not in content for number in secrets)
            assert all("zaphod".encode(code) not in content for code in ("utf-8", "utf-16-le", "utf-32-le"))
    sent = pickle.dumps(heads)
    assert b"zaphod-5" in sent and np.float64(FILLED).tobytes() not in sent
    assert pickle.loads(sent).predict(X[:4], users[:4]) == pytest.approx(heads.predict(X[:4], users[:4]))


def honest_files(folder):
    files = {}
    for name, mode in (("squared", "gradient"), ("labels", "gradient, labels"), ("chosen", "exponential")):
        representation(**MODES[mode], random_state=1).fit(table_of()[0]).save(folder / "model")
        files[name] = (folder / "model").read_bytes()
    return files


def describe(found):
    learned = {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found._learned().items()
    }
    return learned, found.get_params(deep=False)


def test_mutated_files_are_refused_or_could_be_honest(tmp_path):
    files, outcomes = honest_files(tmp_path), {kind: [0, 0] for kind in KINDS}
    for number in range(900):
        data, kind = mutate(files, list(files)[number % 3], np.random.default_rng([17, number]))
        (tmp_path / "model").write_bytes(data)
        try:
            found = hushrank.load(tmp_path / "model")
        except ModelFileError:  # any other error ends the test
            outcomes[kind][0] += 1
            continue
        outcomes[kind][1] += 1
        assert all(not getattr(found, hidden) for hidden in NEVER_SAVED)
        assert found.privacy_.epsilon <= found.epsilon * (1 + 1e-9)
        rows = np.ones((3, found.n_features_in_))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers may be huge, and answers may overflow
            assert found.transform(rows).shape == (3, found.n_components) and found.predict(rows).shape == (3,)
            assert found.personalize(rows, np.arange(3.0), [1, 2, 1]).predict(rows, [1, 2, 3]).shape == (3,)
        found.save(tmp_path / "again")
        assert describe(hushrank.load(tmp_path / "again")) == describe(found) and repr(found)
    assert all(refused and loaded for refused, loaded in outcomes.values()), outcomes


@pytest.mark.parametrize(
    "change",
    [
        in_array("embedding_", np.ones((D, 2))), in_array("embedding_", np.eye(D, 3)), in_array("gains_", np.zeros(4)),
        in_array("head_covariance_", -np.eye(2)), in_array("head_covariance_", np.array([[1.0, 0.5], [0.4, 1.0]])),
        in_header("attributes", "noise_", value=0.0), in_header("attributes", "gain_deviation_", value=-1.0),
        in_header("parameters", "method", value={"name": "exponential"}), in_array("heads_", np.ones((N, 2))),
        in_header("parameters", "loss", value="hinge"), in_header("parameters", "n_components", value=3),
        in_header("parameters", "delta", value=0.0), in_header("attributes", "user_ids_", value=["a"]),
    ],
)  # fmt: skip
def test_forged_models_are_refused(change, tmp_path):
    representation(random_state=1).fit(table_of()[0]).save(tmp_path / "model")
    hushrank.load(tmp_path / "model")
    forge(tmp_path / "model", change)
    with pytest.raises(ModelFileError):
        hushrank.load(tmp_path / "model")


def test_a_fit_prints_nothing(tmp_path):
    table, _ = table_of("str")
    table.to_pandas().assign(x0=lambda t: t.x0.where(t.index % 9 > 0)).to_csv(tmp_path / "records.csv", index=False)
    code = """
import hushrank as hr
for neighbors in ("replace", "add_remove"):
    for method, delta in (("gradient", 1e-6), ("altmin", 1e-6), (hr.ExponentialSelection(2, 9), 0.0)):
        model = hr.PrivateRepresentation(2, epsilon=1.0, delta=delta, method=method, neighbors=neighbors)
        model.fit("records.csv").personalize("records.csv", "target")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
