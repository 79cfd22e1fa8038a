"""Parts of users: everybody is in one, by the user's own records alone."""

import numpy as np
import pytest

from hushrank.data.records.blocks import UserRecordBlock
from hushrank.estimators.personalization.parts import part_of_users, select_part
from support import assert_plausible, chi2_p_value


def make_block(n_users=300, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, n_users)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return UserRecordBlock(indptr, rng.normal(size=(indptr[-1], 3)).astype(dtype), rng.normal(size=indptr[-1]))


def users_of(block):
    """Records of every user, as bytes."""
    spans = zip(block.indptr[:-1], block.indptr[1:], strict=True)
    return [(block.X[i:j].tobytes(), block.y[i:j].tobytes()) for i, j in spans]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_parts", [1, 2, 7])
def test_everybody_is_in_one_part_with_all_records(n_parts, dtype):
    block = make_block(dtype=dtype)
    parts = [select_part(block, part, n_parts) for part in range(n_parts)]
    assert sorted(user for part in parts for user in users_of(part)) == sorted(users_of(block))
    assert all(part.X.dtype == dtype for part in parts)


def test_the_part_of_a_user_does_not_depend_on_others():
    block = make_block(50)
    together = part_of(block)
    for j in range(50):
        own = slice(block.indptr[j], block.indptr[j + 1])
        count = block.indptr[j + 1] - block.indptr[j]
        alone = UserRecordBlock(np.array([0, count]), block.X[own], block.y[own])
        assert part_of(alone)[0] == together[j]


def part_of(block, n_parts=5):
    return part_of_users(block, n_parts)


def test_the_part_does_not_depend_on_how_numbers_are_stored():
    block = make_block(dtype=np.float32)
    wide = UserRecordBlock(block.indptr, block.X.astype(np.float64), block.y)
    assert np.array_equal(part_of(block), part_of(wide))


def test_parts_are_about_equally_large():
    rng = np.random.default_rng(5)
    n = 20_000
    block = UserRecordBlock(np.arange(n + 1), rng.normal(size=(n, 2)), rng.normal(size=n))
    assert_plausible(chi2_p_value(np.bincount(part_of(block), minlength=5), np.full(5, 0.2)))


def test_odd_numbers_have_a_part_too():
    X = np.array([[np.nan], [np.inf], [-0.0], [5e-324]])
    block = UserRecordBlock(np.arange(5), X, np.array([np.nan, 1.0, -np.inf, 0.0]))
    assert sum(len(select_part(block, part, 3)) for part in range(3)) == 4


def test_a_block_without_records_has_parts():
    block = UserRecordBlock(np.zeros(4, np.int64), np.empty((0, 2)), np.empty(0))
    assert sum(len(select_part(block, part, 3)) for part in range(3)) == 3
