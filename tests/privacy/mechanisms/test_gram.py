"""The event and the field alone decide which mechanism releases a second moment."""

import numpy as np
import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Gaussian, NonPrivate, Pure
from hushrank.privacy.mechanisms.gram import gram_lattice, release_gram
from hushrank.privacy.mechanisms.symmetric import release_hermitian, release_symmetric, symmetric_lattice
from hushrank.privacy.mechanisms.vector import vector_lattice
from hushrank.privacy.mechanisms.wishart import release_wishart, wishart_lattice
from hushrank.privacy.noise.source import NoiseSource

REAL, IMAGINARY = np.array([[7, 3], [3, 9]]), np.array([[0, 5], [-5, 0]])
TOTALS = {"real": REAL, "complex": (REAL, IMAGINARY)}


@pytest.mark.parametrize(
    ("event", "field", "plan", "release"),
    [
        (Gaussian(2.0), "real", symmetric_lattice, release_symmetric),
        (Gaussian(2.0), "complex", symmetric_lattice, release_hermitian),
        (Pure(0.5), "real", wishart_lattice, release_wishart),
        (Pure(0.5), "complex", wishart_lattice, release_wishart),
    ],
)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_plan_and_release_are_those_of_the_mechanism(event, field, plan, release, neighbors):
    lattice = gram_lattice(1.5, event, neighbors, field=field, n_max=1000)
    assert lattice == plan(1.5, event, neighbors, field=field, n_max=1000) and lattice.field == field
    total, noise = TOTALS[field], NoiseSource(seed=4)
    released = release_gram(total, lattice, noise)
    assert np.array_equal(released, release(total, lattice, NoiseSource(seed=4)))
    assert released.dtype == (np.float64 if field == "real" else np.complex128) and noise.executed == (event,)
    assert np.array_equal(released, released.conj().T)


@pytest.mark.parametrize("event", [Gaussian(2.0), Pure(0.5)])
def test_rows_are_real_by_default(event):
    assert gram_lattice(1.5, event) == gram_lattice(1.5, event, field="real")


def test_other_events_and_fields_are_refused():
    with pytest.raises(InvalidParameter, match=r"^event of gram_lattice"):
        gram_lattice(1.0, NonPrivate())
    with pytest.raises(InvalidParameter, match=r'^field of gram_lattice must be "real" or "complex"; got'):
        gram_lattice(1.0, Pure(1.0), field="quaternion")


def test_the_lattice_of_a_vector_is_refused():
    noise = NoiseSource()
    with pytest.raises(InvalidParameter, match="lattice of release_gram must be a SymmetricLattice or WishartLattice"):
        release_gram(REAL, vector_lattice(1.0, Gaussian(1.0)), noise)
    assert noise.executed == ()


@pytest.mark.parametrize("event", [Gaussian(2.0), Pure(0.5)])
def test_totals_of_the_other_field_are_refused_before_anything_is_logged(event):
    noise = NoiseSource()
    for field, other in (("real", "complex"), ("complex", "real")):
        with pytest.raises(InvalidParameter, match="total of release_gram"):
            release_gram(TOTALS[other], gram_lattice(1.0, event, field=field), noise)
    assert noise.executed == ()
