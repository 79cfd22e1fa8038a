"""Pieces: what they hold comes back from a pickle, and what stands on pieces is made where they are read."""

import pickle

from hushrank.data.pieces import hold, pieces_on
from hushrank.data.source import Piece


def double(number):
    return 2 * number


def test_what_is_held_survives_a_pickle():
    piece = hold([1, 2], 5)
    assert (piece.needs, piece.n_entries, pickle.loads(pickle.dumps(piece.read))()) == ((), 5, [1, 2])
    assert hold("x").n_entries is None


def test_pieces_on_pieces_are_made_when_they_are_read():
    needing = Piece(abs, ("what dask computes",), 7)
    first, second = pieces_on([hold(3), needing], double)
    assert pickle.loads(pickle.dumps(first.read))() == 6
    assert (second.needs, second.n_entries, second.read(-4)) == (("what dask computes",), 7, 8)
    assert pieces_on(None, double) is None and pieces_on([], double) == []
