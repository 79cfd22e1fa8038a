"""What the tests of ratings share."""

import numpy as np


def users_of(block):
    """Items and the bits of the values of each user of a block, whose form is checked."""
    assert block.indptr.dtype == np.int64 and block.items.dtype == np.int32 and block.values.dtype == np.float32
    assert block.indptr[0] == 0 and block.indptr[-1] == len(block.items) == len(block.values)
    spans = [slice(*block.indptr[i : i + 2]) for i in range(len(block))]
    return [(block.items[span].tolist(), block.values[span].tobytes()) for span in spans]


def all_users(ratings, max_rows=8192):
    """Users of all blocks of ratings, sorted: their order carries no meaning."""
    blocks = list(ratings.blocks(max_rows))
    assert all(0 < len(block) <= max_rows for block in blocks)
    return sorted(user for block in blocks for user in users_of(block))


def user(**values):
    """A user as `users_of` gives it, from values in [-1, 1] by item: user(i0=0.5, i7=1)."""
    items = sorted((int(name[1:]), value) for name, value in values.items())
    return [item for item, _ in items], np.array([value for _, value in items], np.float32).tobytes()
