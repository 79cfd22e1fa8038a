import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.orbit.law import OrbitLaw


def test_what_a_law_knows():
    law = OrbitLaw([5.0, 2.0, 2.0, -1.0], [3.0, 3.0], is_complex=False)
    assert (law.dimension, law.rank, law.is_projection) == (4, 2, True)
    assert np.array_equal(law.costs, [0.0, 9.0, 9.0, 18.0])
    assert not OrbitLaw([1.0, 0.0], [2.0, 1.0], is_complex=False).is_projection


def test_huge_tilts_have_finite_costs():
    law = OrbitLaw([1e308, -1e308], [2.0], is_complex=True)
    assert law.costs.tolist() == [0.0, 1e300]


def test_a_law_keeps_copies_that_cannot_change():
    tilts = np.array([1.0, 0.0])
    law = OrbitLaw(tilts, [1.0], is_complex=True)
    tilts[0] = 7.0
    assert law.tilts[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        law.tilts[0] = 7.0


@pytest.mark.parametrize(
    ("name", "tilts", "levels"),
    [
        ("tilts", [0.0, 1.0], [1.0]),
        ("tilts", [np.inf, 1.0], [1.0]),
        ("tilts", [[1.0]], [1.0]),
        ("tilts", [], [1.0]),
        ("levels", [1.0, 0.0], [1.0, 2.0]),
        ("levels", [1.0, 0.0], [1.0, 0.0]),
        ("levels", [1.0, 0.0], [1.0, 1.0, 1.0]),
        ("levels", [1.0, 0.0], [np.nan]),
    ],
)
def test_refusals(name, tilts, levels):
    with pytest.raises(InvalidParameter) as caught:
        OrbitLaw(tilts, levels, is_complex=True)
    assert caught.value.name == name
