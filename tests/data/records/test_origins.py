"""Origins and their batches."""

import numpy as np
import pyarrow as pa
import pytest

from hushrank.data.records import origins
from hushrank.data.records.origins import Batch, Origin, batch_rows


class Nothing(Origin):
    def batches(self, max_rows, dtype):
        return iter(())


def test_a_batch_is_split_into_views():
    X, y, ids = np.arange(14.0).reshape(7, 2), np.arange(7.0), pa.array(list("abcdefg"))
    parts = list(Batch(X, y, ids).split(3))
    assert [len(part) for part in parts] == [3, 3, 1]
    assert all(np.shares_memory(part.X, X) and np.shares_memory(part.y, y) for part in parts)
    assert np.array_equal(np.concatenate([part.X for part in parts]), X)
    assert "".join(cell for part in parts for cell in part.ids.to_pylist()) == "abcdefg"
    assert [part.ids for part in Batch(X, y, None).split(4)] == [None, None]
    assert list(Batch(X[:0], y[:0], None).split(4)) == []


@pytest.mark.parametrize(("dtype", "itemsize"), [(np.float32, 4), (np.float64, 8)])
def test_sizes_are_named(dtype, itemsize):
    vectors, matrices = (Nothing(shape, np.dtype(dtype), True) for shape in ((5,), (5, 6)))
    assert vectors.sizes == {"n_features": 5} and matrices.sizes == {"n_rows": 5, "n_columns": 6}
    assert (vectors.record_bytes, matrices.record_bytes) == (5 * itemsize, 30 * itemsize)
    assert vectors.can_repeat and vectors.n_records is None and vectors.columns is None


def test_wide_records_come_fewer_at_a_time(monkeypatch):
    assert batch_rows(100, 5) == 100 and batch_rows(100, 10**9) == 1
    monkeypatch.setattr(origins, "MAX_BLOCK_BYTES", 400)
    assert batch_rows(100, 5) == 10
