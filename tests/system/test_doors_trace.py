"""Attacks on trace regressions: what a record and a function reach, whose predictions are whose, who holds the state.

The first three questions of docs/privacy/doors.md for `PrivateTraceRegression`. Its readers are attacked in
`test_doors_measurements.py`, its files in `test_doors_trace_models.py`.
"""

import copy
import os
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fork_support import fork, outcome_of
from hushrank.data import delimited
from hushrank.data.records import origins, spooling, stores
from hushrank.engine.local import LocalEngine
from hushrank.estimators.trace.record_sums import StartState, sum_gradients, sum_start
from hushrank.evaluation.trace_data import trace_records
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.ledger import Ledger
from record_support import sum_lattice
from representation_support import assert_equal_models
from trace_fit_support import regression
from trace_support import make_design, make_tangent, make_whitening

SHAPE, N = (4, 3), 60
WIDTHS = {"dense": 12, "rank_one": 7, "entry": 2}
DATA = {design: trace_records(N, SHAPE, 1, seed=4, design=design) for design in WIDTHS}


def numbers_of(design):
    """Measurements as rows of numbers, and answers."""
    data = DATA[design]
    return data.X.reshape(N, -1) if design == "dense" else np.column_stack(data.X).astype(float), data.y


def made(design="dense", **terms):
    return regression(1, **{"design": design, "shape": SHAPE, "epsilon": 200.0, **terms})


@pytest.fixture
def low_thresholds(monkeypatch):
    """Every internal threshold so low that this little data passes it many times."""
    for module, name, value in (
        (origins, "MAX_BLOCK_BYTES", 300), (spooling, "SPOOLED_IN_MEMORY", 0), (stores, "_PIECE_BYTES", 64),
        (delimited, "CHUNK_BYTES", 200), (delimited, "MOST_FIELDS", 24),
    ):  # fmt: skip
        monkeypatch.setattr(module, name, value)


def table_of(design, order):
    X, y = numbers_of(design)
    return pa.table({**{f"c{j}": X[order, j] for j in range(WIDTHS[design])}, "target": y[order]})


def forms_of(design, order, folder):
    """The same records in every form, by name: X and y of a fit; X alone is also predicted where it is no stream."""
    X, y = (part[order] for part in numbers_of(design))
    table, parts = table_of(design, order), [slice(start, start + 7) for start in range(0, N, 7)]
    shaped = X.reshape(N, *SHAPE) if design == "dense" else X
    pairs = {"rank_one": lambda X: (X[:, :4], X[:, 4:]), "entry": lambda X: (X[:, 0], X[:, 1])}
    np.save(folder / "X.npy", shaped)
    np.save(folder / "y.npy", y)
    pq.write_table(table, folder / "x.parquet", row_group_size=9)
    table.to_pandas().to_csv(folder / "x.csv", index=False)
    found = {
        "array": (shaped, y), "flat": (X, y), "lists": (X.tolist(), y.tolist()), "Arrow": (table, None),
        "polars": (pl.from_arrow(table), None), "pandas": (table.to_pandas(), "target"),
        "npy": (folder / "X.npy", folder / "y.npy"), "Parquet": (str(folder / "x.parquet"), None),
        "CSV": (folder / "x.csv", "target"), "iterator": (iter([(shaped[part], y[part]) for part in parts]), None),
        "function": (lambda: ((X[part], y[part]) for part in parts), None),
        "tables": (iter([table[:33], pl.from_arrow(table)[33:]]), None),
    }  # fmt: skip
    return found | ({"pair": (pairs[design](X), y)} if design in pairs else {})


STREAMS = ("iterator", "function", "tables")

# 1. What one record reaches, and what a function of somebody else's making does


@pytest.mark.parametrize("design", WIDTHS)
@pytest.mark.parametrize("privacy", ["record", "label"])
def test_every_format_gives_the_same_bits(design, privacy, tmp_path, low_thresholds):
    terms = {"privacy": privacy, "random_state": 3, "epsilon": 5.0}
    order = np.random.default_rng(8).permutation(N)
    expected = made(design, **terms).fit(*numbers_of(design))
    for name, data in forms_of(design, order, tmp_path).items():
        if name == "CSV" and privacy == "label":
            with pytest.raises(InvalidParameter, match=r"^X of PrivateTraceRegression must be no CSV file for privacy"):
                made(design, **terms).fit(*data)
            continue
        found = made(design, **terms).fit(*data)
        for attribute in ("coef_", "intercept_", "singular_values_", "gain_", "residual_", "spread_"):
            assert np.array_equal(getattr(found, attribute), getattr(expected, attribute)), (name, attribute)


class Strange:
    """A function of measurements that doubles them, but for one of them, of which it makes something else."""

    def __init__(self, x, way):
        self.x, self.way, self.kept = x, way, []

    def __call__(self, *parts):
        is_it = np.array_equal(parts[0], self.x)
        made = tuple(2.0 * part for part in parts)
        if self.way == "remembers and changes":  # arguments and results of other records
            for array in self.kept:
                array[...] = 1e9
            self.kept += [*parts, *made]
        elif self.way == "changes its argument":
            for part in parts:
                part[...] = 1e9
        elif self.way == "fills one array again and again":
            self.kept = self.kept or [np.empty_like(part) for part in made]
            for array, part in zip(self.kept, made, strict=True):
                array[...] = part
            made = tuple(self.kept)
        elif is_it:
            made = WAYS[self.way](made)
        return made if len(made) > 1 else made[0]


def fail(*parts):
    raise MemoryError("no room for 7.25")


WAYS = {
    "clean": lambda made: made,
    "raises": fail,
    "nothing": lambda made: (None,) * len(made),
    "not numbers": lambda made: tuple(part * np.nan for part in made),
    "text": lambda made: ("a text",) * len(made),
    "another shape": lambda made: tuple(part[:-1] for part in made),
    "too many axes": lambda made: tuple(np.stack([part, part]) for part in made),
    "huge": lambda made: tuple(part * 1e300 for part in made),
    "complex": lambda made: tuple(part * 1j for part in made),
    "too many parts": lambda made: (*made, made[0]),
    "remembers and changes": None,
    "changes its argument": None,
    "fills one array again and again": None,
}


@pytest.mark.parametrize("design", ["dense", "rank_one"])
@pytest.mark.parametrize("way", WAYS)
def test_a_function_that_goes_wrong_spoils_one_record_only(design, way):
    X, y = numbers_of(design)
    before, lattice, trigger = X.copy(), sum_lattice(1.0), X[17, :4] if design == "rank_one" else X[17].reshape(SHAPE)
    source = made(design)._read(X, y)
    others = made(design)._read(np.delete(X, 17, axis=0), np.delete(y, 17))
    kernels = (
        (sum_start, lambda design: (StartState(design, make_whitening("matrix", SHAPE), 0.1), lattice)),
        (sum_gradients, lambda design: (design, make_tangent(SHAPE, 1), lattice)),
    )
    for kernel, state in kernels:
        strange, clean = (make_design(design, SHAPE, Strange(trigger, one)) for one in (way, "clean"))
        with_it = LocalEngine(1, block_rows=13).total(source, kernel, state(strange))
        without = LocalEngine(1, block_rows=59).total(others, kernel, state(clean))
        alone = with_it - without
        assert (alone.astype(object) ** 2).sum() <= lattice.squared_bound
        if way == "clean" or WAYS[way] is None:
            whole = LocalEngine(1).total(source, kernel, state(clean))
            assert np.array_equal(with_it, whole) and alone.any()
        elif way != "huge":
            assert not alone.any()  # counts as nothing
    assert np.array_equal(X, before)


@pytest.mark.parametrize("way", ["raises", "not numbers", "huge", "changes its argument"])
def test_a_fit_with_such_a_function_says_nothing(way, capfd):
    (X, y), before = numbers_of("dense"), numbers_of("dense")[0].copy()
    model = made(design_covariance=Strange(X[17].reshape(SHAPE), way), privacy="label").fit(X, y)
    assert np.isfinite(model.coef_).all() and np.array_equal(X, before)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("design", WIDTHS)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("privacy", ["record", "label"])
def test_odd_data_are_fitted_like_any_other(design, neighbors, privacy):
    X, y = numbers_of(design)
    odd = {
        "nobody": (X[:0], y[:0]), "one": (X[:1], y[:1]), "constant answers": (X, np.full(N, 7.0)),
        "answers of nothing": (X, np.zeros(N)), "not numbers": (X * np.nan, y * np.nan), "no answers": (X, y * np.nan),
        "zeros": (0.0 * X, y), "one measurement": (np.tile(X[:1], (N, 1)), y), "infinite": (X + np.inf, y + np.inf),
        "largest": (X * 1e300, y * 1e300), "smallest": (X * 5e-324, y * 5e-324),
    }  # fmt: skip
    if neighbors == "replace":  # whose number is public: they are refused before the charge
        with pytest.raises(InvalidParameter, match="at least one person"):
            made(design, neighbors=neighbors, privacy=privacy, epsilon=1.0).fit(*odd.pop("nobody"))
    for name, data in odd.items():
        model = made(design, neighbors=neighbors, privacy=privacy, epsilon=1.0).fit(*data)
        assert np.isfinite(model.coef_).all() and np.isfinite(model.intercept_), name
        assert min(model.residual_, model.spread_, model.gain_deviation_) > 0.0, name
        model._check_learned(model._learned())


def test_a_stream_that_turns_bad_was_paid_for_and_leaves_no_model(tmp_path):
    X, y = numbers_of("dense")
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("records", epsilon=99.0, delta=1e-3, unit="record")
        model = made(epsilon=5.0, ledger=ledger["records"]).fit(X, y)
        before = copy.deepcopy(model._learned())
        for bad in ((X[:, :5], y), (X, y[:3]), "text"):
            with pytest.raises(InvalidParameter):
                model.fit(iter([(X, y), bad]))
        assert len(ledger["records"].history()) == 5  # what was read is not known; the charge stays
        assert all(np.array_equal(value, before[name]) for name, value in model._learned().items())


# 2. Whose predictions


@pytest.mark.parametrize("design", WIDTHS)
def test_predictions_return_in_the_order_they_were_asked_in(design, tmp_path, low_thresholds):
    model = made(design).fit(table_of(design, np.arange(N)))
    X = numbers_of(design)[0]
    alone = np.array([model.predict(X[[i]])[0] for i in range(N)])
    assert len(np.unique(alone)) > 5
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(N)
        for name, (asked, _) in forms_of(design, order, tmp_path).items():
            if name in STREAMS:
                with pytest.raises(InvalidParameter, match=r"^X of PrivateTraceRegression must be an array, a tuple"):
                    model.predict(asked)
            else:
                assert np.array_equal(model.predict(asked), alone[order]), name
    shuffled = table_of(design, np.arange(N)).to_pandas().iloc[:, ::-1].assign(more=1.0)
    assert np.array_equal(model.predict(shuffled), alone)  # columns are known by their names


def test_many_predictions_keep_their_owners():
    X = np.random.default_rng(1).standard_normal((50_000, 7))
    model = made("rank_one").fit(*numbers_of("rank_one"))
    found = model.predict(X)
    some = np.random.default_rng(2).permutation(50_000)[:500]
    assert np.array_equal(model.predict(X[some]), found[some]) and np.array_equal(model.predict(X[::-1]), found[::-1])


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


@pytest.mark.parametrize(("design", "at"), [("dense", 1), ("rank_one", 8), ("entry", 12)])
@pytest.mark.parametrize("privacy", ["record", "label"])
def test_a_fit_that_forks_pays_once_and_gives_one_model(design, at, privacy, tmp_path):
    account = Ledger(tmp_path / "budget.db").create("records", epsilon=2.0, delta=1e-5, unit=privacy)
    engine = ForkingEngine(at)
    fitted = made(design, epsilon=1.0, privacy=privacy, ledger=account, engine=engine)
    try:
        outcome = f"returned {fitted.fit(*numbers_of(design))}"
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


def test_threads_copies_and_pickles_do_not_disturb_each_other(tmp_path):
    X, y = numbers_of("rank_one")
    estimator, expected = (made("rank_one", random_state=1) for _ in range(2))
    expected.fit(X, y)
    with ThreadPoolExecutor(4) as pool:
        for fitted in pool.map(lambda _: estimator.fit(X, y), range(8)):
            assert fitted is estimator
    assert_equal_models(estimator, expected)
    other = copy.deepcopy(estimator).fit(X[::-1], y)
    assert other.gain_ != expected.gain_ and not np.array_equal(other.coef_, expected.coef_)
    for same in (estimator, copy.copy(estimator), pickle.loads(pickle.dumps(estimator))):
        assert_equal_models(same, expected)
        assert np.array_equal(same.predict(X), expected.predict(X))
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("records", epsilon=3.5, delta=1e-4, unit="record")
        fresh = made("rank_one", epsilon=1.0, ledger=ledger["records"])
        with ThreadPoolExecutor(4) as pool:
            models = list(pool.map(lambda _: copy.copy(fresh).fit(X, y), range(4)))
        assert len(ledger["records"].history()) == 5  # a copy pays for itself
    assert len({model.coef_.tobytes() + np.float64(model.gain_).tobytes() for model in models}) == 4
