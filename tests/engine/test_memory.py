"""How much memory there is, and refusals of what does not fit, before anything is charged."""

import math

import numpy as np
import pytest

from hushrank.engine import memory
from hushrank.engine.local import LocalEngine, available_cores
from hushrank.engine.memory import check_memory, memory_limit, threads_of
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.resources import memory_bytes
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.ledger import Ledger


def test_there_is_some_memory_and_not_more_than_the_machine_has():
    assert 2**26 < memory_limit() <= memory._machine_bytes()


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, 8e9),
        ({"new": "max\n"}, 8e9),
        ({"new": "1000000\n"}, 1e6),
        ({"old": "2000000"}, 2e6),
        ({"new": "max", "old": "3000000\n"}, 3e6),
        ({"new": "5", "old": "4"}, 4.0),
        ({"old": str(2**63)}, 8e9),  # what a container without a limit says
        ({"new": "", "old": "not a number"}, 8e9),
    ],
)
def test_the_limit_of_a_container_counts(monkeypatch, tmp_path, files, expected):
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(memory, "_LIMITS", (tmp_path / "new", tmp_path / "old"))
    monkeypatch.setattr(memory, "_machine_bytes", lambda: 8e9)
    assert memory_limit() == expected


@pytest.mark.parametrize("error", [AttributeError, OSError, ValueError])
def test_a_machine_that_does_not_tell_has_no_limit(monkeypatch, error):
    def refuse(name):
        raise error(name)

    monkeypatch.setattr(memory.os, "sysconf", refuse)
    monkeypatch.setattr(memory, "_LIMITS", ())
    assert memory_limit() == math.inf
    check_memory(1e30, "nobody")


def test_what_fits_exactly_is_allowed_and_more_is_refused():
    check_memory(0.0, "Somebody", limit=0.0)
    check_memory(1e9, "Somebody", limit=1e9)
    message = r"^X of Somebody must be of fewer columns: a fit would need about 2 GB of memory; got .*1 GB on this"
    with pytest.raises(InvalidParameter, match=message):
        check_memory(2e9, "Somebody", limit=1e9)


def test_threads_are_those_of_the_engine():
    assert threads_of(LocalEngine(threads=3)) == 3
    assert threads_of(LocalEngine()) == available_cores()
    assert threads_of(object()) == 1


@pytest.mark.parametrize("kind", [PrivatePCA, PrivateCovariance])
def test_a_fit_that_does_not_fit_is_refused_before_the_charge(monkeypatch, tmp_path, kind):
    monkeypatch.setattr(memory, "memory_limit", lambda: 1e6)
    terms = {"n_components": 2} if kind is PrivatePCA else {}
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("people", epsilon=10.0, delta=1e-5, neighbors="replace", unit="row")
        account = ledger["people"]
        model = kind(**terms, row_norm=1.0, epsilon=1.0, delta=1e-6, ledger=account, engine=LocalEngine(threads=1))
        with pytest.raises(InvalidParameter, match=f"^X of {kind.__name__} must be of fewer columns"):
            model.fit(np.zeros((5, 300)))
        assert len(account.history()) == 1 and not hasattr(model, "privacy_")
        monkeypatch.setattr(memory, "memory_limit", lambda: memory_bytes(model._work(300), 1))
        model.fit(np.zeros((5, 300)))
        assert len(account.history()) == 2


def test_memory_that_others_hold_is_a_caution(monkeypatch, tmp_path):
    assert list(memory.memory_cautions(1e9, free=2e9)) == []
    [text] = memory.memory_cautions(4e9, free=2e9)
    assert text.startswith("a fit needs about 4 GB of memory beside the data, and 2 GB are free now")
    for content, expected in (("MemTotal: 9 kB\nMemAvailable:    3 kB\n", 3072.0), ("", math.inf), (None, math.inf)):
        path = tmp_path / f"{content is None}{len(content or '')}"
        if content is not None:
            path.write_text(content)
        monkeypatch.setattr(memory, "_AVAILABLE", path)
        assert memory.free_memory() == expected
