"""Edges of a graph and entries of a matrix, told from tables of rows."""

import numpy as np
import pyarrow as pa
import pytest

from hushrank.data.matrix_tables import find_edges, find_entry, is_numbered

NUMBERS, TEXTS = pa.array(np.arange(60) % 7), pa.array([f"n{i % 7}" for i in range(60)], pa.large_string())
HALVES = pa.array(np.arange(60) / 2)


@pytest.mark.parametrize(
    "names", ["src dst", "Source Target", "from to", "follower followee", "node1 node_2", "FromNodeId ToNodeId"]
)
def test_pairs_of_names_are_edges(names):
    first, second = names.split()
    found = find_edges({second: NUMBERS, first: NUMBERS, "Weight": HALVES, "timestamp": NUMBERS})
    assert found.ends == (first, second) and found.weight == "Weight" and found.is_numbered and not found.is_bounded
    found = find_edges({first: NUMBERS, second: TEXTS, "sign": NUMBERS})
    assert not found.is_numbered and found.is_bounded


def test_other_tables_are_no_edges():
    others = [
        {"source": NUMBERS, "target": HALVES},  # an answer
        {"source": NUMBERS, "target": NUMBERS, "age": NUMBERS},
        {"source": NUMBERS, "target": NUMBERS, "weight": NUMBERS, "count": NUMBERS},
        {"from": pa.array(["2020-01-01"] * 60, pa.large_string()), "to": NUMBERS},
        {"from": NUMBERS, "dst": NUMBERS},
        {"src": NUMBERS},
        {"age": NUMBERS, "income": HALVES},
    ]
    assert [find_edges(one) for one in others] == [None] * len(others)


def test_entries_have_two_ids_that_come_again_and_a_number():
    found = find_entry({"bill": HALVES, "hospital": TEXTS, "procedure_id": NUMBERS, "date": HALVES})
    assert found.names == ("hospital", "procedure_id", "bill") and found.user == ""
    assert find_entry({"patient_id": NUMBERS, "drug": TEXTS, "dose": HALVES}).user == "patient_id"
    alone = pa.array([f"n{i}" for i in range(60)], pa.large_string())
    others = [
        {"age": NUMBERS, "children": NUMBERS, "income": HALVES},
        {"name": alone, "city": TEXTS, "age": HALVES},
        {"city": TEXTS, "job": TEXTS, "age": HALVES, "height": HALVES},
        {"a": TEXTS, "b": TEXTS},
        {name: column[:19] for name, column in (("a", TEXTS), ("b", TEXTS), ("c", HALVES))},
    ]
    assert [find_entry(one) for one in others] == [None] * len(others)


def test_ids_are_integers_from_0_on():
    assert [is_numbered(one) for one in (NUMBERS, HALVES, TEXTS, pa.array([-1, 0]))] == [True, False, False, False]
