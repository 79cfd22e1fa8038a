"""Every constant of the tables, against 600-bit ball arithmetic."""

import numpy as np
import pytest
from flint import arb, ctx

from hushrank.privacy.noise.laws import RESIDUAL, TABLE_BITS, exponential_law, normal_law

LAWS = [normal_law, exponential_law]


@pytest.fixture(autouse=True)
def high_precision():
    old, ctx.prec = ctx.prec, 600
    yield
    ctx.prec = old


def density(law, x):
    if law.is_normal:
        return (arb(2) / arb.pi()).sqrt() * (-x * x / 2).exp()
    return (-x).exp()


def served_density(law, j):
    return arb(law.slots[j]) * arb(2) ** (law.cell_bits - TABLE_BITS)


@pytest.mark.parametrize("make", LAWS)
def test_served_part_lies_below_the_density(make):
    law, h = make(), arb(2) ** -make().cell_bits
    for j in range(law.n_cells):
        assert served_density(law, j) <= density(law, (j + 1) * h)
    assert 0 < law.residual_mass < 0.03


@pytest.mark.parametrize("make", LAWS)
def test_table_holds_every_cell_as_often_as_it_has_slots(make):
    law = make()
    names = np.bincount(law.table, minlength=256)
    assert names[:RESIDUAL].tolist() == law.slots[:RESIDUAL]
    assert names[RESIDUAL] == law.residual_mass * 2**TABLE_BITS
    assert not any(law.slots[RESIDUAL:])


@pytest.mark.parametrize("make", LAWS)
def test_gamma_is_within_half_a_float_step_of_its_bound(make):
    law, h = make(), arb(2) ** -make().cell_bits
    for j in range(law.n_cells):
        true = served_density(law, j) / density(law, j * h)
        assert abs(float(true - arb(float(law.gamma[j])))) <= 2.0**-54
        low, high = law.gamma_bounds(j, 200)
        assert arb(low) <= true * arb(2) ** 200 <= arb(high)


@pytest.mark.parametrize("make", LAWS)
def test_thresholds_are_the_floors_of_the_cumulative_proposal_weights(make):
    law, h = make(), arb(2) ** -make().cell_bits
    weights = [(density(law, j * h) - served_density(law, j)) * h for j in range(law.n_cells)]
    tail = density(law, arb(law.tail_start))
    weights.append(tail / law.tail_start if law.is_normal else tail)
    total, before = sum(weights, arb(0)), arb(0)
    for j in range(law.n_cells + 1):
        assert int((before / total * arb(2) ** 64).floor().unique_fmpz()) == int(law.thresholds[j])
        before += weights[j]
    assert (np.diff(law.thresholds.astype(object)) > 0).all()


@pytest.mark.parametrize("make", LAWS)
def test_residual_mass_is_what_the_proposals_accept(make):
    # integral of f - c over the half line = 1 - served mass, exactly the probability of the residual slots
    law = make()
    served = sum(served_density(law, j) for j in range(law.n_cells)) * arb(2) ** -law.cell_bits
    assert float(1 - served) == pytest.approx(float(law.residual_mass), abs=1e-15)
