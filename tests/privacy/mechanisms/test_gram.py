"""The event alone decides which mechanism releases a second moment."""

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Gaussian, NonPrivate, Pure
from hushrank.privacy.mechanisms.gram import gram_lattice, release_gram
from hushrank.privacy.mechanisms.symmetric import release_symmetric, symmetric_lattice
from hushrank.privacy.mechanisms.wishart import release_wishart, wishart_lattice
from hushrank.privacy.noise.source import NoiseSource


@pytest.mark.parametrize(
    ("event", "plan", "release"),
    [(Gaussian(2.0), symmetric_lattice, release_symmetric), (Pure(0.5), wishart_lattice, release_wishart)],
)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_plan_and_release_are_those_of_the_mechanism(event, plan, release, neighbors):
    lattice = gram_lattice(1.5, event, neighbors, n_max=1000)
    assert lattice == plan(1.5, event, neighbors, n_max=1000)
    total, noise = np.array([[7, 3], [3, 9]]), NoiseSource(seed=4)
    released = release_gram(total, lattice, noise)
    assert np.array_equal(released, release(total, lattice, NoiseSource(seed=4)))
    assert released.dtype == np.float64 and noise.executed == (event,)


def test_other_events_are_refused():
    with pytest.raises(InvalidParameter, match=r"^event of gram_lattice"):
        gram_lattice(1.0, NonPrivate())


def test_complex_lattices_are_refused_before_anything_is_logged():
    noise, square = NoiseSource(), np.zeros((2, 2), np.int64)
    with pytest.raises(InvalidParameter, match="lattice of release_gram must be made for real rows"):
        release_gram((square, square), wishart_lattice(1.0, Pure(1.0), field="complex"), noise)
    assert noise.executed == ()
