"""`hushrank.load`: every model class is known, and nothing else is."""

import re

import numpy as np
import pyarrow as pa
import pytest

from hushrank.archive.container import read_archive, write_archive
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.completion.evaluation import PrivateEvaluation
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.estimators.turnstile.sketch import TurnstileSketch
from hushrank.exceptions import ModelFileError
from hushrank.loading import load
from hushrank.registry import RELEASES

FACTS = pa.table({"item": ["rye", "tea"], "kind": ["grain", "leaf|drink"], "price": [3, 9]})
MADE = [
    PrivatePCA(2, row_norm=1.0, epsilon=1.0, center=[0.0, 0.5, 1.0]),
    PrivatePCA(2, epsilon=1.0, column_bounds=(-1, 2), standardize="private", select_columns="private"),
    PrivatePCA(2, row_norm=1.0, epsilon=1.0, field="complex", center="private", neighbors="add_remove"),
    PrivatePCA(2, row_norm=1.0, epsilon=1.0, field="complex", mechanism="exponential", center=[0.0, 0.5, 1.0]),
    PrivatePCA(2, row_norm=1.0, epsilon=1.0, radius="public", center="private", center_norm=2.0),
    PrivateCovariance(row_norm=1.0, epsilon=1.0, delta=1e-6, neighbors="add_remove", center="private"),
    PrivateCovariance(epsilon=1.0, column_bounds=[(-1.0, 2.0)] * 3, standardize="after", n_samples=100),
    PrivateCovariance(row_norm=1.0, epsilon=1.0, radius="public", rank=2),
    PrivateLowRank(2, row_norm=1.0, epsilon=1.0, field="complex"),
    PrivateLowRank(2, row_norm=1.0, epsilon=1.0, field="complex", radius="public"),
    PrivateCompletion(2, epsilon=1.0, delta=1e-6, rating_range=(0, 1), items=["tea", "jam", "rye"]),
    PrivateCompletion(
        2,
        epsilon=1.0,
        delta=1e-6,
        rating_range=(0, 1),
        items=["tea", "jam", "rye"],
        item_features=FACTS,
        new_items=["jam"],
    ),
    PrivateCompletion(2, epsilon=1.0, delta=1e-6, feedback="implicit", item_features=np.eye(3)),
    PrivateEvaluation(epsilon=1.0, k=2, held_out=0.5),
    PrivateRepresentation(2, epsilon=1.0, delta=1e-6),
    PrivateTraceRegression(1, epsilon=1.0, delta=1e-6, design="rank_one", shape=(1, 2), privacy="label"),
    TurnstileSketch((3, 4), 2, epsilon=1.0, delta=1e-6, unit="frobenius"),
]
ANSWERED = {PrivateRepresentation: (np.ones(3), ["ann", "bob", "ann"])}  # what belongs to the rows, where they have it


def learn(model):
    """What is saved, and the sizes of its plan."""
    if isinstance(model, TurnstileSketch):
        return model.update([0, 1], [2, 3], [1.0, 1.0]).factorize(), (10, 3, 4)
    if isinstance(model, PrivateEvaluation):
        measured = PrivateCompletion(2, epsilon=1.0, delta=1e-6, rating_range=(0, 1)).fit(np.eye(3))
        return model.fit(np.eye(3), measured), (10,)
    if isinstance(model, PrivateTraceRegression):
        return model.fit(np.eye(3), np.ones(3)), (10, 1, 2)
    return model.fit(np.eye(3), *ANSWERED.get(type(model), ())), (10, 3)


@pytest.mark.parametrize("model", MADE, ids=lambda model: type(model).__name__)
def test_load_finds_the_class(model, tmp_path):
    learned, sizes = learn(model)
    learned.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is type(learned) and repr(loaded.privacy_) == repr(learned.privacy_)
    assert loaded.plan(sizes) == learned.plan(sizes)


def test_every_release_of_the_registry_is_tried():
    saved = {type(model).__name__ for model in MADE} | {"Factorization"}  # what a sketch releases
    assert saved == set(RELEASES), "a new release adds an instance to MADE"


def test_no_file_holds_a_sketch(tmp_path):
    path = tmp_path / "model"
    learn(MADE[-1])[0].save(path)
    content, arrays = read_archive(path)
    write_archive(path, {**content, "class": "TurnstileSketch"}, arrays)
    with pytest.raises(ModelFileError, match="a sketch is no model; what `factorize` returns is one"):
        load(path)


def test_unknown_classes_are_refused(tmp_path):
    path = tmp_path / "model"
    MADE[0].fit(np.eye(3)).save(path)
    content, arrays = read_archive(path)
    for name in ("os.system", "load", "LocalEngine", ["PrivatePCA"], None):
        write_archive(path, {**content, "class": name}, arrays)
        with pytest.raises(
            ModelFileError, match=rf"holds a model of class {re.escape(repr(name))}, which is not one of"
        ):
            load(path)
