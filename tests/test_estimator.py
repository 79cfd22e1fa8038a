"""What `fit` does with data: the schema, names of columns, and every kind of source."""

from html import escape

import numpy as np
import pandas as pd
import pytest

from hushrank.engine.local import LocalEngine
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.privacy.ledger import Ledger
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
