"""What an adversary tried on fits to records: odd numbers, odd sizes and odd options stop nothing after the charge."""

import warnings

import numpy as np
import pandas as pd
import pytest

import hushrank as hr
from hushrank.data.records.blocks import UserRecordBlock
from hushrank.estimators.personalization import altmin_kernels
from hushrank.exceptions import InvalidParameter
from hushrank.parameters import check_integer

TERMS = {"epsilon": 2.0, "delta": 1e-6}
BLOCKS = hr.AlternatingMinimization(2, participation="blocks")


def records(n_users=30, d=3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((4 * n_users, d)).astype(dtype)
    return X, rng.standard_normal(4 * n_users), np.repeat(np.arange(n_users), 4)


@pytest.mark.parametrize("method", ["gradient", "altmin", BLOCKS], ids=["gradient", "altmin", "blocks"])
def test_signaling_nans_of_one_user_warn_nobody(method):
    X, y, users = records(dtype=np.float32)
    X[:4] = np.array([0x7FA00001], np.uint32).view(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = hr.PrivateRepresentation(2, method=method, **TERMS).fit(X, y, users)
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("x_scale", [1.0, 10.0, 100.0])
def test_one_feature_is_enough(x_scale):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(5):
            terms = {"x_scale": x_scale, "random_state": seed, **TERMS}
            model = hr.PrivateRepresentation(1, **terms).fit(*records(d=1))
            assert abs(model.embedding_[0, 0]) == pytest.approx(1.0)


def test_any_public_number_of_users_is_kept_to():
    for n_users in (1, 10**6, 2**40):
        model = hr.PrivateRepresentation(1, n_users=n_users, **TERMS).fit(*records())
        assert np.isfinite(model.gains_).all() and model.gain_deviation_ > 0.0
        assert check_integer(n_users, "n_users", "test", minimum=1) == n_users


def test_a_start_that_leaves_nothing_to_the_steps_is_refused_with_its_options():
    hr.AlternatingMinimization(start_share=0.79)
    with pytest.raises(InvalidParameter, match=r"^start_share of AlternatingMinimization must be .* < 0.8"):
        hr.AlternatingMinimization(start_share=0.8)


def test_matrices_for_records_are_refused():
    with pytest.raises(InvalidParameter, match=r"^X of PrivateRepresentation must be a vector of features"):
        hr.PrivateRepresentation(1, **TERMS).fit(np.zeros((4, 2, 2)), np.zeros(4), np.arange(4))


def test_one_user_takes_no_more_memory_in_equations_than_the_cap(monkeypatch):
    from hushrank.estimators.personalization import user_sums

    asked = []
    original = altmin_kernels.add_equations

    def add(records, equations, left, right_bound, integers, right):
        asked.append(len(integers))
        return original(records, equations, left, right_bound, integers, right)

    monkeypatch.setattr(user_sums.altmin_kernels, "add_equations", add)
    X, y, users = records(2)
    many = 3 * altmin_kernels.MOST_ROWS
    X, y = np.vstack([X, np.ones((many, 3))]), np.append(y, np.ones(many))
    hr.PrivateRepresentation(1, method="altmin", **TERMS).fit(X, y, np.append(users, np.full(many, 7)))
    assert asked and max(asked) == altmin_kernels.MOST_ROWS + 8


def test_a_number_of_the_first_block_of_a_stream_decides_for_nobody_else():
    first = pd.DataFrame({"user": [1, 2], "x": np.array([3, 4], np.int16), "target": [1.0, 2.0]})
    other = first.assign(x=np.array([3, 70000], np.int32))
    later = pd.DataFrame({"user": [3], "x": [0.1], "target": [1.0]})
    model = hr.PrivateRepresentation(1, **TERMS)
    kept = []
    for head in (first, other):
        [block] = model._read(iter([head, later]), None, None).blocks()
        assert isinstance(block, UserRecordBlock) and block.X.dtype == np.float64
        kept.append(block.X[[0, 2]].tobytes())
    assert kept[0] == kept[1]


def test_ids_and_answers_beside_a_table_leave_their_columns_out():
    X, y, users = records()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(user=users, target=y)
    model = hr.PrivateRepresentation(1, **TERMS).fit(table, y, users)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    heads = model.personalize(table)
    assert np.array_equal(heads.predict(table, "user"), heads.predict(table, users))
    with pytest.raises(InvalidParameter, match=r"^users of Heads must be one for each record, or the name of a column"):
        heads.predict(table, "customer")
