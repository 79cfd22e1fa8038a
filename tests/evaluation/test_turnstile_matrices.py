"""Made-up matrices and graphs: they have the laws that they claim, and depend on the seed alone."""

import numpy as np
import pytest
from scipy import stats

from hushrank.evaluation.turnstile_matrices import count_matrix, directed_graph, planted_matrix, seeded_stream
from hushrank.exceptions import InvalidParameter
from support import assert_plausible, chi2_p_value, normal_scale_p_value

# Planted matrices


def test_a_planted_matrix_has_its_rank_and_noise():
    exact = planted_matrix(60, 50, rank=3, noise=0.0, seed=1)
    assert np.linalg.matrix_rank(exact) == 3
    noisy = planted_matrix(60, 50, rank=3, noise=0.3, seed=1)
    assert_plausible(normal_scale_p_value(noisy - exact, 0.3))


def test_entries_of_a_planted_matrix_have_variance_one_and_weights_fall_to_a_third():
    A = planted_matrix(4000, 3000, rank=4, noise=0.0, seed=2)
    assert np.mean(A**2) == pytest.approx(1.0, abs=0.15)
    values = np.linalg.svd(A[:, :400], compute_uv=False)[:4]
    assert values / values[0] == pytest.approx(np.linspace(1.0, 1.0 / 3.0, 4), rel=0.2)


# Counts


def test_counts_are_whole_numbers_with_the_total_asked_for():
    A = count_matrix(50, 40, rank=3, total=2000, seed=3)
    assert A.shape == (50, 40) and A.dtype == np.float64
    assert A.sum() == 2000 and A.min() >= 0 and np.array_equal(A, np.rint(A))


def test_counts_of_many_events_have_low_rank_and_falling_rows():
    A = count_matrix(40, 30, rank=2, total=10**7, seed=4)
    U, s, Vt = np.linalg.svd(A)
    assert s[2] < 5 * np.sqrt(A.max())  # what is left is noise of counts
    chances = np.maximum((U[:, :2] * s[:2]) @ Vt[:2], 0.0)
    large = chances > 100
    assert abs(A - chances)[large].max() < 20 * np.sqrt(chances.max())
    means = np.mean([count_matrix(60, 40, rank=5, total=5000, seed=seed) for seed in range(60)], axis=0)
    assert means[:6].sum() > 1.5 * means[-30:-24].sum()
    assert means[:, :6].sum() > 1.5 * means[:, -20:-14].sum()


def test_events_fall_as_their_chances_say():
    """Given the chances, rows of two matrices that differ in the number of events alone are multinomial."""
    many, few = (count_matrix(12, 10, rank=1, total=total, seed=5).sum(axis=1) for total in (10**7, 3000))
    assert_plausible(chi2_p_value(few, many / many.sum()))


# Graphs


def adjacency(graph, n):
    counts = np.zeros((n, n))
    np.add.at(counts, (graph.rows, graph.columns), graph.deltas)
    return counts


def test_what_is_left_of_the_stream_is_a_graph_with_its_communities_and_hubs():
    n, graph = 400, directed_graph(400, 4, degree=20, n_hubs=5, seed=6)
    counts = adjacency(graph, n)
    assert set(np.unique(counts)) == {0.0, 1.0}
    others = np.setdiff1d(np.arange(n), graph.hubs)
    assert counts[:, graph.hubs].mean() == pytest.approx(0.5, abs=0.1)
    assert counts[:, others].mean() < 0.1
    same = graph.communities[:, None] == graph.communities[None, others]
    inside, outside = counts[:, others][same].sum(), counts[:, others][~same].sum()
    assert inside > 3 * outside  # 0.8 + 0.2 / 4 of edges, to 0.15
    assert np.array_equal(graph.hubs, np.unique(graph.hubs)) and len(graph.hubs) == 5
    assert set(graph.communities.tolist()) == set(range(4))


def test_deletions_come_last_and_undo_insertions():
    graph = directed_graph(200, 3, degree=10, n_hubs=3, seed=7)
    n_deleted = int((graph.deltas < 0).sum())
    assert set(graph.deltas) == {1.0, -1.0}
    assert np.all(graph.deltas[-n_deleted:] == -1.0) and np.all(graph.deltas[:-n_deleted] == 1.0)
    assert n_deleted == (len(graph.deltas) - 2 * n_deleted) // 5
    running = np.zeros((200, 200))
    np.add.at(running, (graph.rows[:-n_deleted], graph.columns[:-n_deleted]), 1.0)
    assert running.max() >= 1.0 and adjacency(graph, 200).min() == 0.0


def test_share_within_is_kept():
    graph = directed_graph(300, 3, degree=5, n_hubs=0, share_within=1.0, seed=8)
    rows, columns = np.nonzero(adjacency(graph, 300))
    assert np.array_equal(graph.communities[rows], graph.communities[columns]) and len(graph.hubs) == 0


# Seeds


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: planted_matrix(5, 4, rank=2, noise=0.1, seed=seed),
        lambda seed: count_matrix(5, 4, rank=2, total=50, seed=seed),
        lambda seed: directed_graph(30, 2, degree=3, n_hubs=1, seed=seed).rows,
    ],
)
def test_a_seed_says_all(make):
    assert np.array_equal(make(9), make(9))
    assert not np.array_equal(make(9), make(10))


def test_streams_of_different_purposes_differ():
    assert seeded_stream("one", 0).word() != seeded_stream("two", 0).word()
    words = seeded_stream("one", 1).words(4096).view(np.uint8)
    assert_plausible(stats.chisquare(np.bincount(words, minlength=256)).pvalue)
    with pytest.raises(InvalidParameter, match="seed of planted matrix must be an integer >= 0"):
        planted_matrix(3, 3, rank=1, noise=0.0, seed=-1)
