"""The center of dense measurements: a bounded sum, found where it stands out, and none elsewhere."""

import math

import numpy as np
import pytest

from hushrank.estimators.trace.centers import learn_center
from hushrank.estimators.trace.sums import PublicSums
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.mechanisms.vector import vector_l2_sensitivity
from record_support import assert_paid_for, assert_within, same_bits, to_integers
from support import FALSE_ALARM, assert_plausible, normal_scale_p_value
from trace_support import (
    SHAPE,
    Watched,
    assert_bits_are_each_records_own,
    block_of,
    contributions_of,
    hostile_records,
    make_records,
    make_releases,
    searching,
)

SHARE, SEARCH_SHARE = 0.5, 0.01
both_relations = pytest.mark.parametrize("neighbors", ["replace", "add_remove"])


def learn(sums, shape=SHAPE, x_scale=1.0):
    return learn_center(sums, shape, x_scale, SHARE, *searching(sums, SEARCH_SHARE))


def block_about(center, n=2000, seed=1):
    return block_of("dense", [(x + center, y) for x, y in make_records("dense", np.random.default_rng(seed), n)])


def kernels_of(neighbors):
    """Kernels and states of the search and of the sum, and the lattice of the latter."""
    watched = Watched(make_releases([block_about(0.0, 60)], mu=20.0, neighbors=neighbors))
    learn(watched)
    [(_, lattice, _)] = watched.released
    return [(kernel, state) for kernel, state, _ in watched.asked], lattice


@both_relations
def test_no_record_exceeds_the_bound_or_costs_more_than_was_charged(neighbors):
    (count, add), lattice = kernels_of(neighbors)
    records = hostile_records("dense", np.random.default_rng(2))
    assert all(total.sum() <= 1 and total.min() >= 0 for [total] in contributions_of(*count, "dense", records))
    own = [total for [total] in contributions_of(*add, "dense", records)]
    for total in own:
        assert_within(total, lattice)
    alone = [to_integers(total) for total in own]
    pairs = [alone[i] - alone[j] for i in range(len(alone)) for j in range(i)]
    assert_paid_for(pairs if neighbors == "replace" else alone, lattice)
    assert_bits_are_each_records_own(*count, "dense", records)
    assert_bits_are_each_records_own(*add, "dense", records)


@both_relations
def test_opposite_measurements_attain_the_sensitivity(neighbors):
    (_, (add, state)), lattice = kernels_of(neighbors)
    axis = 1e6 * np.eye(30)[0]
    one, other = (add(block_of("dense", [(sign * axis, 0.0)]), state) for sign in (1.0, -1.0))
    change = np.linalg.norm(one - (other if neighbors == "replace" else 0)) * lattice.unit
    assert change == pytest.approx(vector_l2_sensitivity(lattice.norm_bound, lattice.neighbors), rel=1e-6)


def test_noise_has_the_planned_scale_and_the_share_is_spent():
    nothing = block_of("dense", [(np.full((40, 50), math.nan), 1.0)] * 3, (40, 50))
    watched = Watched(make_releases([nothing]))
    learn(watched, (40, 50))
    [(total, lattice, value)] = watched.released
    assert not total.any() and len(value) == 2000
    assert_plausible(normal_scale_p_value(value, lattice.scale))
    wrong = (normal_scale_p_value(value, factor * lattice.scale) for factor in (0.7, 1.3))
    assert max(wrong) < FALSE_ALARM
    assert float(squared_mu(lattice.event, "test")) == pytest.approx(SHARE, rel=1e-9)
    assert watched.left == pytest.approx(1.0 - SHARE - SEARCH_SHARE, rel=1e-9)


def test_public_centers_are_exact_and_free():
    """Of measurements whose norms are alike; answers are not looked at."""
    center = np.random.default_rng(3).standard_normal(SHAPE)
    block = block_about(3.0 * center)
    releases = make_releases([block])
    found = learn(PublicSums(releases.total, releases.n_people))
    assert found == pytest.approx(block.X.mean(axis=0), abs=1e-4) and releases.left == 1.0
    others = block_of("dense", [(x, math.nan) for x in block.X])
    again = make_releases([others])
    assert same_bits(found, learn(PublicSums(again.total, again.n_people)))


@both_relations
def test_planted_centers_are_found_and_noise_is_not(neighbors):
    center = np.random.default_rng(4).standard_normal(SHAPE)
    found = learn(make_releases([block_about(center)], mu=10.0, neighbors=neighbors))
    assert 1e-3 < np.linalg.norm(found - center) / np.linalg.norm(center) < 0.2
    assert learn(make_releases([block_about(0.0)], mu=10.0, neighbors=neighbors)) is None
