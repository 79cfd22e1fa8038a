"""What engines and kernels are: plain protocols that a stranger's engine can follow, and that tell kernels apart."""

import numpy as np
import pytest

from hushrank.data.rows.reading import read_rows
from hushrank.engine.local import LocalEngine
from hushrank.engine.protocol import Engine, SharedKernel
from hushrank.estimators.completion.als import NormalEquations
from hushrank.estimators.completion.user_sums import SecondMoment, sum_counts


class OneBlockAfterTheOther:
    """An engine in a few lines, without threads or locks."""

    def total(self, blocks, kernel, public_state, *, verbose=0, label=""):
        read = [*blocks.blocks(), blocks.empty_block()]
        if not isinstance(kernel, SharedKernel):
            return sum(kernel(block, public_state) for block in read)
        totals = kernel.new_totals(public_state)
        for block in read:
            prepared = kernel.prepare(block, public_state)
            for part in reversed(range(kernel.n_parts(public_state))):
                kernel.add(prepared, public_state, totals, part)
        return totals


class ColumnSums:
    """A shared kernel: the sum of each column is a part."""

    def new_totals(self, n_columns):
        return (np.zeros(n_columns, np.int64),)

    def n_parts(self, n_columns):
        return n_columns

    def prepare(self, block, n_columns):
        return block.astype(np.int64)

    def add(self, prepared, n_columns, totals, part):
        totals[0][part] += prepared[:, part].sum()


def column_sums(block, n_columns):
    return block.astype(np.int64).sum(axis=0)


@pytest.mark.parametrize("engine", [LocalEngine(), LocalEngine(3, 7), OneBlockAfterTheOther()])
def test_engines_agree_on_both_kinds_of_kernel(engine):
    assert isinstance(engine, Engine)
    X = np.arange(600).reshape(200, 3)
    rows, expected = read_rows(X, owner="test"), X.sum(axis=0).tolist()
    assert engine.total(rows, column_sums, 3).tolist() == expected
    (total,) = engine.total(rows, ColumnSums(), 3)
    assert total.tolist() == expected


@pytest.mark.parametrize("kernel", [ColumnSums(), SecondMoment(), NormalEquations()])
def test_shared_kernels_are_told_apart(kernel):
    assert isinstance(kernel, SharedKernel)


@pytest.mark.parametrize("other", [column_sums, sum_counts, lambda block, state: None, object(), None])
def test_other_things_are_no_shared_kernels(other):
    assert not isinstance(other, SharedKernel)


@pytest.mark.parametrize("other", [object(), None, column_sums])
def test_other_things_are_no_engines(other):
    assert not isinstance(other, Engine)
