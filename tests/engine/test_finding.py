"""Which engine a parameter names."""

import pytest

from hushrank.engine.finding import find_engine, find_folding_engine
from hushrank.engine.local import LocalEngine
from hushrank.exceptions import InvalidParameter


class Own:
    def total(self, source, kernel, public_state, *, verbose=0, label=""):
        return None


def test_none_is_this_machine_and_an_engine_is_itself():
    own = Own()
    assert find_engine(None) == LocalEngine() and find_engine(own) is own


def test_dask_in_words():
    pytest.importorskip("distributed", reason="needs the extra dask")
    from hushrank.engine.dask import DaskEngine

    assert isinstance(find_engine("dask"), DaskEngine)
    assert isinstance(find_folding_engine("dask", "test"), DaskEngine)


def test_threads_of_this_machine_fold_nothing():
    assert find_folding_engine(None, "test") is None and find_folding_engine(LocalEngine(2), "test") is None


@pytest.mark.parametrize("engine", [Own(), "spark", 3])
def test_others_are_refused(engine):
    with pytest.raises(InvalidParameter, match="engine of test must be a DaskEngine, 'dask' or None"):
        find_folding_engine(engine, "test")
