"""What `fit` does with data: the schema, names of columns, and every kind of source."""

import warnings
from html import escape

import numpy as np
import pandas as pd
import pytest

from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.exceptions import BudgetWarning, DataWarning, InvalidParameter
from hushrank.privacy.ledger import Ledger
from hushrank.privacy.noise.source import NoiseSource
from hushrank.privacy.words import in_words

X = np.random.default_rng(0).standard_normal((30, 4))


def pca(**parameters):
    return PrivatePCA(2, **{"row_norm": 1.0, "epsilon": 1.0, **parameters})


class Recorder:
    """Stands in for engine, ledger account and mechanism, and notes who was called."""

    def __init__(self):
        self.calls = []

    def charge(self, event, key=None, neighbors=None, unit=None, note=""):
        self.calls.append(("charge", event, key, str(neighbors), str(unit), note))

    def total(self, *arguments, **options):
        self.calls.append("total")
        self.options = options
        return LocalEngine(1).total(*arguments, **options)


def test_the_ledger_is_charged_with_the_whole_plan_before_data_are_summed():
    recorder = Recorder()
    model = pca(ledger=recorder, engine=recorder, center="private").fit(X)
    charge, *rest = recorder.calls
    assert charge[:2] == ("charge", model.plan(X.shape).event) and charge[3:] == ("replace", "row", "PrivatePCA")
    assert rest == ["total", "total"]
    assert recorder.options == {"verbose": 0, "label": "PrivatePCA: second moment (2)"}
    model.fit(X)
    keys = [call[2] for call in recorder.calls if call[0] == "charge"]
    assert len(set(keys)) == 2  # another fit is another release


def test_a_crash_after_the_charge_loses_budget_and_leaves_the_old_model(tmp_path):
    class Broken(Recorder):
        def total(self, *arguments, **options):
            raise OSError("disk gone")

    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("data", epsilon=3.0, neighbors="replace", unit="row")
        model = pca(ledger=ledger["data"]).fit(X)
        before = model.components_
        model.engine = Broken()
        with pytest.raises(OSError, match="disk gone"):
            model.fit(X)
        assert ledger["data"].left().epsilon == 1.0
        assert model.components_ is before


def test_names_of_columns_are_kept_and_those_of_rows_are_not(tmp_path):
    table = pd.DataFrame(X, columns=list("abcd"), index=[f"patient {i}" for i in range(30)])
    model = pca().fit(table)
    assert model.feature_names_in_.tolist() == list("abcd") and model.n_features_in_ == 4
    model.save(tmp_path / "model")
    assert b"patient" not in (tmp_path / "model").read_bytes()
    loaded = PrivatePCA.load(tmp_path / "model")
    assert loaded.feature_names_in_.tolist() == list("abcd") and loaded.feature_names_in_.dtype == object
    assert loaded.transform(table).shape == (30, 2)
    assert not hasattr(model.fit(X), "feature_names_in_")


@pytest.mark.parametrize("source", ["csv", "parquet", "npy", "folder", "function"])
def test_fit_reads_files_and_streams_like_arrays(tmp_path, source):
    table = pd.DataFrame(X, columns=list("abcd"))
    data = tmp_path / f"rows.{source}"
    if source == "csv":
        table.to_csv(data, index=False)
    elif source == "parquet":
        table.to_parquet(data)
    elif source == "npy":
        np.save(data, X)
    elif source == "folder":
        data.mkdir()
        table[:11].to_parquet(data / "1.parquet")
        table[11:].to_parquet(data / "2.parquet")
    else:
        data = lambda: iter([X[:3], X[3:]])  # noqa: E731
    expected = pca(random_state=5, center="private").fit(X)
    assert np.array_equal(pca(random_state=5, center="private").fit(data).components_, expected.components_)


def test_a_notebook_shows_the_guarantee_open_and_in_words():
    plain = pca()._repr_mimebundle_()
    assert "guarantee" not in plain["text/html"] and plain["text/plain"] == repr(pca())
    model = pca(delta=1e-6, random_state=3).fit(X)
    shown = model._repr_mimebundle_()
    assert "<details open><summary>guarantee</summary>" in shown["text/html"]
    assert escape(in_words(model.privacy_)) in shown["text/html"] and "made with a seed" in shown["text/html"]
    assert escape(str(model.privacy_)) in shown["text/html"] and shown["text/plain"] == repr(model)


# What is said and tried before a charge.

RATED = np.where(np.arange(200).reshape(40, 5) % 3 > 0, 3.0, np.nan)
USERS = np.repeat(np.arange(10), 3)
CHECKED = {
    "pca": (lambda **terms: pca(**terms), (X,)),
    "covariance": (lambda **terms: PrivateCovariance(row_norm=1.0, epsilon=1.0, **terms), (X,)),
    "low rank": (lambda **terms: PrivateLowRank(rank=1, row_norm=1.0, epsilon=1.0, **terms), (X,)),
    "completion": (
        lambda **terms: PrivateCompletion(1, epsilon=1.0, delta=1e-6, rating_range=(1, 5), **terms), (RATED,),
    ),
    "representation": (
        lambda **terms: PrivateRepresentation(1, epsilon=1.0, delta=1e-6, **terms), (X, X[:, 0], USERS),
    ),
    "trace": (
        lambda **terms: PrivateTraceRegression(1, epsilon=1.0, delta=1e-6, design="rank_one", shape=(2, 2), **terms),
        (X, X[:, 0]),
    ),
}  # fmt: skip


class Untouched:
    """An account that nobody may charge, and an engine that nobody may ask."""

    def charge(self, *arguments, **terms):
        raise AssertionError("charged")

    def total(self, *arguments, **terms):
        raise AssertionError("summed")


@pytest.mark.parametrize("name", CHECKED)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_a_check_spends_draws_and_changes_nothing(name, neighbors, monkeypatch):
    monkeypatch.setattr(NoiseSource, "__init__", lambda *_: pytest.fail("noise"))
    make, data = CHECKED[name]
    model = make(ledger=Untouched(), engine=Untouched(), neighbors=neighbors)
    before = dict(vars(model))
    check = model.check(*data)
    assert vars(model) == before and check.subject == type(model).__name__
    assert {"n_samples", "n_users"} & set(check.counts) and "do not publish" in str(check)
    assert all(finding.level in ("problem", "warning", "note") for finding in check.findings)


def test_a_check_leaves_a_fitted_model_as_it_was():
    model = pca().fit(X)
    before = dict(vars(model))
    model.check(X)
    assert all(vars(model)[name] is value for name, value in before.items()) and vars(model).keys() == before.keys()


def test_a_check_refuses_what_fit_refuses():
    for wrong in ({"n_components": 9}, {"epsilon": -1.0}, {"row_norm": None}):
        model = pca(ledger=Untouched()).set_params(**wrong)
        messages = set()
        for learn in (model.fit, model.check):
            with pytest.raises(InvalidParameter) as refusal:
                learn(X)
            messages.add(str(refusal.value))
        assert len(messages) == 1


def test_resources_and_notes_are_those_of_the_plan():
    check = pca().check(X)
    assert check.resources == pca().plan(X.shape).resources and len(check.resources) == 3
    assert {f.text for f in check.findings if f.name == "plan"} == set(pca().plan(X.shape).notes)


WARNED = {
    "epsilon": ({"epsilon": 21.0}, X, BudgetWarning, "epsilon = 21 promises"),
    "delta": ({"delta": 0.04}, X, BudgetWarning, "1 / 30, one over the number of rows"),
    "names": ({}, pd.DataFrame(X, columns=["a", "b", "c", "user_id"]), DataWarning, "column 'user_id' looks"),
}


@pytest.mark.parametrize("kind", WARNED)
def test_a_warning_that_is_an_error_leaves_the_ledger_uncharged(kind):
    terms, data, category, message = WARNED[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error", category)
        with pytest.raises(category, match=message):
            pca(**terms, ledger=Untouched()).fit(data)
        check = pca(**terms).check(data)  # says it, and does not warn
    assert any(message in finding.text for finding in check.findings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pca(**terms).fit(data)
    assert [(str(one.message)[:8], one.filename) for one in caught] == [(str(caught[0].message)[:8], __file__)]


def test_warnings_rest_on_public_facts_alone():
    """The same ones for all values; a number of rows is secret under add_remove, and no value of a file is read."""
    assert pca(neighbors="add_remove", delta=0.5)._public_count(read_rows(X, owner="A")) is None
    assert pca(delta=0.5)._public_count(read_rows(X, owner="A")) == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pca(neighbors="add_remove", delta=0.4).fit(np.full_like(X, np.nan))
    assert pca(neighbors="add_remove", delta=0.04, n_samples=100)._public_count(None) == 100


def test_memory_that_is_not_free_is_warned_of(monkeypatch):
    monkeypatch.setattr("hushrank.engine.memory.free_memory", lambda: 1e6)
    with pytest.warns(DataWarning, match="of memory beside the data, and 0.001 GB are free now"):
        pca().fit(X)


def test_a_check_says_what_the_ledger_would_refuse(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("people", epsilon=0.5)
        found = pca(ledger=account).check(X)
        assert found.has_problems and "asked for epsilon = 1" in str(found) and account.last().number == 0
        assert not pca(ledger=ledger.create("more", epsilon=5)).check(X).has_problems
        dear = pca(ledger=ledger.create("both", epsilon=30, delta=1e-6)).check(X)
        assert [finding.level for finding in dear.findings if finding.name == "price"] == ["warning"]


@pytest.mark.parametrize("name", CHECKED)
def test_nobody_is_refused_before_the_charge_where_the_number_of_people_is_public(name, tmp_path):
    make, data = CHECKED[name]
    nobody = [array[:0] for array in data]
    for act in ("fit", "check"):
        with pytest.raises(InvalidParameter, match="at least"):
            getattr(make(ledger=Untouched()), act)(*nobody)


@pytest.mark.parametrize("suffix", ["", ".parquet", ".csv"])
def test_tables_of_ratings_without_rows_are_refused_before_the_charge(suffix, tmp_path):
    table, path = pd.DataFrame({"user": [1], "item": [2], "rating": [3.0]})[:0], tmp_path / f"ratings{suffix}"
    if suffix:
        table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    make = CHECKED["completion"][0]
    for neighbors in ("replace", "add_remove"):
        model = make(items=3, ledger=Untouched(), neighbors=neighbors)
        refusal = (
            InvalidParameter if neighbors == "replace" else AssertionError
        )  # by the account that nobody may charge
        with pytest.raises(refusal, match="at least one person" if neighbors == "replace" else "charged"):
            model.fit(path if suffix else table)


def test_a_header_alone_is_no_secret_under_add_remove(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,c,d\n", encoding="utf-8")
    with pytest.raises(InvalidParameter, match="at least 1 row"):
        pca(ledger=Untouched()).fit(path)
    assert pca(neighbors="add_remove").fit(path).components_.shape[1] == 4
