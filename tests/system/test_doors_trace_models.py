"""Attacks on trace regressions: what models hold, what a file from a stranger does, and what is printed.

The last question of docs/privacy/doors.md for `PrivateTraceRegression`; the others are in `test_doors_trace.py`.
"""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest

import hushrank
from forgery_support import forge, in_array, in_header, together
from hushrank.base import NEVER_SAVED
from hushrank.evaluation.trace_data import trace_records
from hushrank.exceptions import ModelFileError
from mutation_support import KINDS, mutate
from trace_fit_support import regression

SHAPE, N = (4, 3), 60
WIDTHS = {"dense": 12, "rank_one": 7, "entry": 2}


def numbers_of(design):
    """Measurements as rows of numbers, and answers."""
    data = trace_records(N, SHAPE, 1, seed=4, design=design)
    return data.X.reshape(N, -1) if design == "dense" else np.column_stack(data.X).astype(float), data.y


def table_of(design):
    X, y = numbers_of(design)
    return pd.DataFrame({**{f"c{j}": X[:, j] for j in range(WIDTHS[design])}, "target": y})


def made(design="dense", **terms):
    return regression(1, **{"design": design, "shape": SHAPE, "epsilon": 200.0, **terms})


def test_models_hold_no_records(tmp_path):
    filled = 1234.5678901  # a number that is found again in bytes
    for design in ("dense", "rank_one"):
        X, y = numbers_of(design)
        X[5], y = filled, np.where(np.arange(N) == 5, filled, y)
        for terms in ({}, {"privacy": "label"}, {"neighbors": "add_remove"}):
            model = made(design, **terms).fit(X, y)
            model.save(tmp_path / "model")
            for content in (pickle.dumps(model), (tmp_path / "model").read_bytes(), repr(model).encode()):
                assert np.float64(filled).tobytes() not in content and str(filled).encode() not in content


def honest_files(folder):
    """Models of every design and of labels, as bytes."""
    files = {}
    kinds = {"dense": {}, "rank_one": {"neighbors": "add_remove"}, "entry": {"privacy": "label"}}
    for design, terms in kinds.items():
        made(design, random_state=1, **terms).fit(table_of(design)).save(folder / "model")
        files[design] = (folder / "model").read_bytes()
    return files


def describe(found):
    learned = {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found._learned().items()
    }
    return learned, found.get_params(deep=False)


def test_mutated_files_are_refused_or_could_be_honest(tmp_path):
    files, outcomes = honest_files(tmp_path), {kind: [0, 0] for kind in KINDS}
    for number in range(900):
        data, kind = mutate(files, list(files)[number % 3], np.random.default_rng([23, number]))
        (tmp_path / "model").write_bytes(data)
        try:
            found = hushrank.load(tmp_path / "model")
        except ModelFileError:  # any other error ends the test
            outcomes[kind][0] += 1
            continue
        outcomes[kind][1] += 1
        assert all(not getattr(found, hidden) for hidden in NEVER_SAVED)
        assert found.privacy_.epsilon <= found.epsilon * (1 + 1e-9)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # numbers may be huge, and answers may overflow
            assert found.predict(np.zeros((3, found.n_features_in_))).shape == (3,)
            assert np.linalg.matrix_rank(found.coef_ / max(np.abs(found.coef_).max(), 1e-300), 1e-4) <= found.rank
        found.save(tmp_path / "again")
        assert describe(hushrank.load(tmp_path / "again")) == describe(found) and repr(found)
    assert all(refused and loaded for refused, loaded in outcomes.values()), outcomes


FULL = np.diag([3.0, 2.0, 1.0, 0.0])[:, :3]
RANK_ONE = np.outer([1.0, 2.0, 2.0, 0.0], [0.0, 0.6, 0.8])  # of singular value 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (in_array("coef_", FULL), "coef_ has a rank above that of the model"),
        (together(in_array("coef_", FULL), in_array("singular_values_", np.array([np.sqrt(14.0)]))), "rank above"),
        (together(in_array("coef_", RANK_ONE), in_array("singular_values_", np.array([2.0]))), "not those of coef_"),
        (together(in_array("coef_", 1e300 * RANK_ONE), in_array("singular_values_", np.array([1e300]))), "not those"),
        (in_array("coef_", 0.0 * RANK_ONE), "singular_values_ are not those of coef_"),
        (in_array("singular_values_", np.array([-1.0])), "singular_values_ has numbers below 0"),
        (in_array("singular_values_", np.array([1.0, 0.0])), "singular_values_ has the shape"),
        (in_array("coef_", np.ascontiguousarray(RANK_ONE.T)), "coef_ has the shape"),
        (in_array("coef_", np.full(SHAPE, np.nan)), "coef_ has numbers that are not finite"),
        (in_header("attributes", "gain_deviation_", value=-0.1), "gain_deviation_ has numbers that are not above 0"),
        (in_header("attributes", "gain_deviation_", value=0.0), "gain_deviation_ has numbers that are not above 0"),
        (in_header("attributes", "residual_", value=0.0), "residual_ has numbers that are not above 0"),
        (in_header("attributes", "spread_", value=-1.0), "spread_ has numbers that are not above 0"),
        (in_header("attributes", "n_features_in_", value=11), "shape|feature_names_in_"),
        (in_header("attributes", "n_rows_", value=3), "shape"),
        (in_header("parameters", "privacy", value="label"), "another relation or unit"),
        (in_header("guarantee", "unit", value="label"), "another relation or unit"),
        (in_header("parameters", "rank", value=2), "singular_values_ has the shape"),
        (in_header("parameters", "rank", value=10**9), "singular_values_ has the shape"),
        (in_header("parameters", "shape", value=[3, 4]), "another shape than what was measured"),
        (in_header("parameters", "design", value="rank_one"), "another shape than what was measured"),
        (in_header("parameters", "design_covariance", value=[[1.0, 1.0], [1.0, 1.0]]), "design_covariance|does not"),
        (in_header("parameters", "delta", value=0.0), "delta of PrivateTraceRegression must be > 0"),
        (in_header("attributes", "answers_", value=[1.0]), "does not have the attributes"),
    ],
)
def test_forged_models_are_refused(change, message, tmp_path):
    made(random_state=1).fit(table_of("dense")).save(tmp_path / "model")
    hushrank.load(tmp_path / "model")
    forge(tmp_path / "model", change)
    with pytest.raises(ModelFileError, match=message):
        hushrank.load(tmp_path / "model")


def test_a_forger_who_is_right_about_singular_values_is_believed(tmp_path):
    """A number in an array that was changed to another makes another model, which no loader can tell."""
    made(random_state=1).fit(*numbers_of("dense")).save(tmp_path / "model")
    forge(tmp_path / "model", together(in_array("coef_", RANK_ONE), in_array("singular_values_", np.array([3.0]))))
    assert np.array_equal(hushrank.load(tmp_path / "model").coef_, RANK_ONE)


def test_a_fit_prints_nothing(tmp_path):
    for design in WIDTHS:
        frame = table_of(design)
        frame.assign(c0=frame["c0"].where(frame.index % 9 > 0)).to_parquet(tmp_path / f"{design}.parquet")
        frame.iloc[:0].to_csv(tmp_path / f"{design}.csv", index=False)
    code = f"""
import hushrank as hr
for neighbors in ("replace", "add_remove"):
    for privacy in ("record", "label"):
        common = dict(epsilon=1.0, delta=1e-6, neighbors=neighbors, privacy=privacy, shape={SHAPE})
        for design in {tuple(WIDTHS)}:
            model = hr.PrivateTraceRegression(1, design=design, **common).fit(design + ".parquet")
            model.predict(design + ".parquet")
            if privacy == "record" and neighbors == "add_remove":
                model.fit(design + ".csv")
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
