"""Quality of heads on own records: no record helps to predict itself, nobody moves anybody else's errors."""

import numpy as np
import pytest

from hushrank.data.records.blocks import UserRecordBlock
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.evaluation import held_out
from hushrank.evaluation.held_out import Quality, coefficients_of, measure_heads
from hushrank.evaluation.metrics import root_mean_squared_error
from hushrank.evaluation.synthetic import shared_representation

DATA = shared_representation(2000, 6, 2, n_records=7, noise=0.1, seed=3)


@pytest.fixture(scope="module")
def model():
    return PrivateRepresentation(2, epsilon=8.0, delta=1e-6).fit(DATA.X, DATA.y, DATA.users)


def block_of(*numbers):
    """Records of users who have so many each."""
    n, ends = sum(numbers), np.cumsum([0, *numbers])
    return UserRecordBlock(ends, DATA.X[:n].copy(), DATA.y[:n].copy())


def alone(model, X, y):
    """Errors of one person by a plain loop."""
    kept = [np.arange(len(y)) != i for i in range(len(y))]
    own = [model.personalize(X[keep], y[keep]).coef_ @ x for keep, x in zip(kept, X, strict=True)]
    shared = X @ (model.embedding_ @ model.head_mean_)
    return [root_mean_squared_error(np.array(own), y), root_mean_squared_error(shared, y), float(y.std())]


def test_each_record_is_predicted_from_the_others(model):
    block = block_of(7)
    (quality,) = measure_heads(model, block)
    assert quality.n_records == 7 and quality[1:] == pytest.approx(alone(model, block.X, block.y), rel=1e-9)
    assert quality.own < 0.5 * quality.shared
    in_sample = model.personalize(block.X, block.y).predict(block.X)
    assert quality.own > root_mean_squared_error(in_sample, block.y)


def test_nobody_moves_the_errors_of_anybody_else(model):
    block = block_of(3, 1, 5, 2)
    together = measure_heads(model, block)
    for quality, start, stop in zip(together, block.indptr[:-1], block.indptr[1:], strict=True):
        own = UserRecordBlock(np.array([0, stop - start]), block.X[start:stop].copy(), block.y[start:stop].copy())
        assert quality == pytest.approx(measure_heads(model, own)[0], rel=1e-9)
    assert together[1].own == pytest.approx(together[1].shared)  # without another record there is the mean head


@pytest.mark.parametrize(("name", "value"), [("MOST_REFITS", 5), ("MOST_WORK", 100)])
def test_long_histories_are_refitted_a_few_times(model, monkeypatch, name, value):
    monkeypatch.setattr(held_out, name, value)
    seen, personalize = [], model.personalize

    def count(X, y, users):
        seen.append(len(y))
        return personalize(X, y, users)

    monkeypatch.setattr(model, "personalize", count, raising=False)
    X = DATA.X[:43].copy()
    (quality,) = measure_heads(model, UserRecordBlock(np.array([0, 43]), X, X @ DATA.coef[0]))
    assert seen == [38] * 3 + [39] * 7  # a tenth of the records is left out at a time
    assert 0 < quality.own < 0.5 * quality.shared and quality.n_records == 43


def test_records_that_cannot_be_used_count_as_absent(model):
    block = block_of(4, 2, 3)
    block.X[1, 2], block.y[3], block.X[4:6, 0] = np.nan, np.inf, 1e200
    first, second, third = measure_heads(model, block)
    assert first[1:] == pytest.approx(alone(model, block.X[[0, 2]], block.y[[0, 2]]), rel=1e-9)
    assert second.n_records == 0 and np.isnan(second[1:]).all()
    assert third[1:] == pytest.approx(alone(model, block.X[6:], block.y[6:]), rel=1e-9)
    assert measure_heads(model, UserRecordBlock(np.array([0]), np.empty((0, 6)), np.empty(0))) == []


def test_labels_are_counted():
    data = shared_representation(1500, 4, 1, n_records=12, noise=0.0, seed=4, labels=True, head_norm=4.0)
    model = PrivateRepresentation(1, epsilon=8.0, delta=1e-6, loss="logistic").fit(data.X, data.y, data.users)
    X, y = data.X[:24].copy(), data.y[:24].copy()
    found = measure_heads(model, UserRecordBlock(np.array([0, 12, 24]), X, y))
    for quality, part in zip(found, (slice(0, 12), slice(12, 24)), strict=True):
        keep = [np.arange(12) != i for i in range(12)]
        own = [model.personalize(X[part][k], y[part][k]).predict(X[part][[i]])[0] for i, k in enumerate(keep)]
        assert quality.own == np.mean(np.array(own) != (y[part] > 0))
        assert quality.plain == pytest.approx(min((y[part] > 0).mean(), (y[part] <= 0).mean()))


def test_coefficients_are_those_of_the_library_and_of_the_mean_where_there_are_no_records(model):
    users = np.array([2, 0, 2, 0, 0])
    found = coefficients_of(model, DATA.X[:5], DATA.y[:5], users, 4)
    assert found[0] == pytest.approx(model.personalize(DATA.X[[1, 3, 4]], DATA.y[[1, 3, 4]]).coef_, rel=1e-9)
    assert found[2] == pytest.approx(model.personalize(DATA.X[[0, 2]], DATA.y[[0, 2]]).coef_, rel=1e-9)
    assert np.array_equal(found[1], model.embedding_ @ model.head_mean_) and np.array_equal(found[1], found[3])


def test_quality_is_of_one_person():
    assert Quality._fields == ("n_records", "own", "shared", "plain")
