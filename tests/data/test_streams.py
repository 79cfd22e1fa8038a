"""Streams of blocks: the first can be looked at, none is lost, and an iterator is read once."""

import weakref

import pytest

from hushrank.data.streams import BlockStream, is_stream
from hushrank.exceptions import InvalidParameter


def test_what_a_stream_is():
    assert is_stream(iter([])) and is_stream(lambda: []) and is_stream(x for x in [])
    assert not is_stream([]) and not is_stream("x.csv") and not is_stream(None)


def test_an_iterator_is_read_once_and_loses_no_block():
    stream = BlockStream(iter([1, 2, 3]), "A")
    assert not stream.can_repeat and stream.peek() == 1 and list(stream.blocks()) == [1, 2, 3]
    with pytest.raises(InvalidParameter, match=r"^X of A must be data that can be read again; got 'an iterator read"):
        stream.blocks()


def test_a_function_is_called_anew():
    calls = []
    stream = BlockStream(lambda: calls.append(0) or [1, 2], "A")
    assert stream.can_repeat and stream.peek() == 1
    before = len(calls)
    assert [list(stream.blocks()), list(stream.blocks())] == [[1, 2], [1, 2]] and len(calls) == before + 2


def test_a_function_that_returns_one_iterator_again_and_again_is_refused():
    blocks = iter([1, 2])
    with pytest.raises(InvalidParameter, match=r"^X of A must be a function that returns the blocks anew each time"):
        BlockStream(lambda: blocks, "A").peek()
    assert list(blocks) == [1, 2]


def test_nothing_and_no_iterator_are_refused():
    for source in (iter([]), lambda: []):
        with pytest.raises(InvalidParameter, match=r"^X of A must be blocks, at least one of them; got 'none'"):
            BlockStream(source, "A").peek()
    with pytest.raises(InvalidParameter, match="a function that returns an iterator of blocks; got <class 'int'>"):
        BlockStream(lambda: 5, "A").peek()


def test_the_first_block_is_let_go_of():
    class Block:
        pass

    seen = []
    stream = BlockStream((Block() for _ in range(2)), "A")
    stream.peek()
    for block in stream.blocks():
        assert all(other() is None for other in seen)
        seen.append(weakref.ref(block))
        del block
    assert len(seen) == 2
