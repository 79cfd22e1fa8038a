"""What every source of data offers before a value is read."""

import numpy as np
import pytest

from hushrank.data.source import MAX_BLOCK_ROWS, Source, spans_of_people


class Words(Source):
    """Blocks of words."""

    sizes = {"n_letters": 26}  # noqa: RUF012

    def blocks(self, max_rows=MAX_BLOCK_ROWS):
        yield ["a", "b"][:max_rows]

    def empty_block(self):
        return []


def test_a_source_states_its_schema():
    source = Words(2, ["x", "y"])
    assert (source.n_samples, source.columns, source.can_repeat) == (2, ("x", "y"), True)
    assert source.sizes == {"n_letters": 26} and [len(block) for block in source.blocks(1)] == [1]


def test_names_that_are_no_strings_are_no_names():
    assert Words(2, [0, 1]).columns is None and Words(2, ["x", 1]).columns is None
    assert Words(None, np.array(["x", "y"])).columns == ("x", "y")


def test_a_source_without_sizes_or_blocks_cannot_be_made():
    for missing in ("sizes", "blocks", "empty_block"):
        members = {name: vars(Words)[name] for name in ("sizes", "blocks", "empty_block") if name != missing}
        with pytest.raises(TypeError, match=missing):
            type("Incomplete", (Source,), members)(1)


@pytest.mark.parametrize(
    ("most_people", "most_entries", "expected"),
    [
        (10, 100, [(0, 5)]),
        (2, 100, [(0, 2), (2, 4), (4, 5)]),
        (10, 3, [(0, 2), (2, 3), (3, 5)]),  # the third person has more than fits
        (10, 0, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]),  # each of them alone
    ],
)
def test_people_stay_whole_within_their_limits(most_people, most_entries, expected):
    indptr = np.array([0, 1, 3, 10, 12, 12])
    assert list(spans_of_people(indptr, most_people, most_entries)) == expected
    assert list(spans_of_people(indptr[:1], most_people, most_entries)) == []
