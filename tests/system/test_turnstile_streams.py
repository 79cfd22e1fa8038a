"""Streams as people have them: corrected later, in any order, in eight parts; all of them end in the same bits."""

import numpy as np
import pytest

import hushrank as hr
from hushrank.evaluation.turnstile_matrices import count_matrix, directed_graph

SHAPE = (90, 70)
KINDS = [
    {"unit": "entry", "delta": 1e-6},
    {"unit": "entry", "delta": 0.0, "integers": "int32"},
    {"unit": "entry", "delta": 1e-6, "operator": "srht", "kind": "three_sketch"},
    {"unit": "frobenius", "delta": 1e-6, "kind": "three_sketch", "clip": 1.0},
    {"unit": "row", "delta": 1e-6, "kind": "full"},
]


def sketch(**terms):
    return hr.TurnstileSketch(shape=SHAPE, rank=3, epsilon=1.0, random_state=7, **terms)


def arrays(of):
    return of._held.intake.state.arrays


def bag_of_words():
    """Counts one by one, as a stream of documents would bring them."""
    counts = count_matrix(*SHAPE, rank=3, total=4000, seed=1)
    rows, columns = np.nonzero(counts)
    repeats = counts[rows, columns].astype(int)
    return np.repeat(rows, repeats), np.repeat(columns, repeats)


@pytest.mark.parametrize("terms", KINDS, ids=range(len(KINDS)))
def test_a_stream_with_a_fifth_of_wrong_updates_deleted_later_equals_the_clean_one(terms):
    rng, (rows, columns) = np.random.default_rng(2), bag_of_words()
    wrong = rng.integers(SHAPE[0], size=len(rows) // 5), rng.integers(SHAPE[1], size=len(rows) // 5)
    amounts = rng.choice([1.0, 0.3, -0.7], len(wrong[0]))
    order = rng.permutation(len(rows) + len(amounts))
    inserted = [np.concatenate(pair)[order] for pair in zip((rows, columns), wrong, strict=True)]
    deltas = np.concatenate([np.ones(len(rows)), amounts])[order]
    dirty = sketch(**terms).update(*inserted, deltas)
    back = rng.permutation(len(amounts))
    dirty.update(wrong[0][back], wrong[1][back], -amounts[back])
    clean = sketch(**terms).update(rows, columns, np.ones(len(rows)))
    assert all(np.array_equal(a, b) for a, b in zip(arrays(dirty), arrays(clean), strict=True))
    assert any(array.any() for array in arrays(clean))
    one, other = dirty.factorize(), clean.factorize()
    assert np.array_equal(one.U, other.U) and np.array_equal(one.s, other.s) and np.array_equal(one.Vt, other.Vt)


@pytest.mark.parametrize("terms", KINDS, ids=range(len(KINDS)))
def test_eight_shards_equal_one_pass_bit_for_bit(terms):
    rows, columns = bag_of_words()
    whole = sketch(**terms).update(rows, columns, np.ones(len(rows)))
    merged = sketch(**terms)
    for part in np.array_split(np.random.default_rng(3).permutation(len(rows)), 8):
        merged.merge(merged.new_shard().update(rows[part], columns[part], np.ones(len(part))))
    assert all(np.array_equal(a, b) for a, b in zip(arrays(merged), arrays(whole), strict=True))
    assert np.array_equal(merged.factorize().U, whole.factorize().U)


def test_a_graph_of_insertions_and_deletions_equals_the_graph():
    graph = directed_graph(60, 3, degree=5, n_hubs=2, seed=4)
    terms = {"shape": (60, 60), "rank": 3, "epsilon": 1.0, "kind": "full", "random_state": 1}
    streamed = hr.TurnstileSketch(**terms).update(graph.rows, graph.columns, graph.deltas)
    [state] = arrays(streamed)
    assert set(np.unique(state)) == {0, state.max()}  # edges are there once or not at all: mistakes are gone
    in_degrees = np.count_nonzero(state, axis=0)
    assert set(np.argsort(-in_degrees)[:2]) == set(graph.hubs)


def test_a_factorization_without_noise_to_speak_of_finds_a_matrix_of_small_rank():
    rng = np.random.default_rng(5)
    A = rng.integers(-3, 4, (SHAPE[0], 2)) @ rng.integers(-3, 4, (2, SHAPE[1]))
    for terms in (*KINDS, {"unit": "row", "operator": "gaussian", "delta": 1e-6}):
        terms = {**terms, "clip": "none"}
        rows, columns = np.nonzero(A)
        large = hr.TurnstileSketch(shape=SHAPE, rank=3, epsilon=1e5, **terms)
        found = large.update(rows, columns, A[rows, columns]).factorize()
        error = np.linalg.norm(A - (found.U * found.s) @ found.Vt) / np.linalg.norm(A)
        assert error < 0.02, terms
        assert found.n_above_noise >= 2
