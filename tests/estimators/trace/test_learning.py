"""One fit from its budget to its result: the truth in the limit, the order of its sums, and a budget that is spent."""

import numpy as np
import pytest

from hushrank.estimators.trace.coordinates import Whitening, coefficients
from hushrank.estimators.trace.learning import (
    Task,
    _learn_answers,
    _learn_design,
    learn,
    singular_values,
    within_reach,
    without_noise,
    without_noisy_rows,
)
from hushrank.linalg.fixed_rank import nearest_of_rank, noise_edge
from hushrank.privacy.accountant import squared_mu
from hushrank.privacy.events import Composed
from trace_fit_support import Situation
from trace_support import FORMS, SHAPES, make_whitening, whole_map

DESIGNS = ("dense", "rank_one", "entry")


def task_of(here, **terms):
    standard = {"whitening": None, "intercept": None, "x_scale": 1.0, "y_scale": 1.0, "has_public_measurements": False}
    return Task(here.design, **{"rank": 2, **standard, **terms})


def fit(here, **terms):
    return learn(here.releases, task_of(here, **terms), here.recipe)


# Singular values


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", SHAPES)
def test_singular_values_are_those_of_the_coefficients(form, shape):
    rank = min(2, *shape)
    point = nearest_of_rank(np.random.default_rng(1).standard_normal(shape), rank)
    whitening = make_whitening(form, shape)
    found = singular_values(point, whitening)
    expected = np.linalg.svd(coefficients(point, whitening), compute_uv=False)[:rank]
    assert found == pytest.approx(expected, rel=1e-10) and found.shape == (rank,)
    zero = singular_values(point._replace(s=0.0 * point.s), whitening)
    assert (zero == 0.0).all()


def test_values_that_noise_may_have_made_become_zero():
    point = nearest_of_rank(np.diag([3.0, 1.0, 0.2]), 3)
    edge = noise_edge((3, 3), 0.5)
    for guard in (0.9 / edge, 1.1 / edge, 3.1 / edge):
        kept = without_noise(point, (3, 3), 0.25, guard)
        assert kept.s.tolist() == [value if value >= guard * edge else 0.0 for value in point.s.tolist()]
        assert kept.U is point.U and kept.V is point.V
    assert without_noise(point, (3, 3), 0.0, 9.0).s.tolist() == point.s.tolist()


# Limit


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("is_public", [False, True])
def test_without_noise_the_truth_is_found(design, is_public):
    here = Situation(3000, design=design, noise=0.0, shift=0.5)
    found = fit(here, intercept=0.5, has_public_measurements=is_public)
    assert here.data.relative_error(found.coef) < (1e-2 if design == "entry" else 1e-4)
    assert found.intercept == 0.5 and found.check.scale == 1.0 and found.check.gain > 0.95
    assert found.singular_values == pytest.approx(np.linalg.svd(found.coef, compute_uv=False)[:2], rel=1e-9)
    learned = fit(here.again(), has_public_measurements=is_public)
    assert here.data.relative_error(learned.coef) < 0.02 and learned.intercept == pytest.approx(0.5, abs=0.05)


def test_measurements_with_a_center_are_fitted_about_it():
    """Without centering, their covariance would be that of the center, and the start would be the center."""
    here = Situation(4000, noise=0.2)
    center = np.full((6, 5), 3.0)
    for block in here.blocks:
        block.X[...] += center
        block.y[...] += float(np.sum(center * here.data.coef)) + 1.0
    found = fit(here)
    assert here.data.relative_error(found.coef) < 0.05 and "sum_measurements" in here.asked
    assert found.intercept == pytest.approx(1.0, abs=0.5)
    residuals = np.concatenate([b.y - here.design.predictions(b.X, found.coef) for b in here.blocks]) - found.intercept
    assert np.median(np.abs(residuals)) < 0.2 and found.check.residual < 0.3
    other = here.again()
    fit(other, intercept=1.0)
    assert "sum_measurements" not in other.asked  # without an intercept of its own a center would be missed


@pytest.mark.parametrize("design", ["dense", "rank_one"])
def test_measurements_that_vary_unequally_are_whitened(design):
    here = Situation(6000, condition=16.0, design=design)
    design_found, whitening = _learn_design(here.releases, here.searches, task_of(here), 0.5)
    A, B = here.data.covariance
    products = [whole_map(part) @ given @ whole_map(part).T for part, given in zip(whitening, (A, B), strict=True)]
    spread = np.linalg.cond(np.kron(*products))
    assert spread < 0.4 * np.linalg.cond(np.kron(A, B)) and design_found.shape == here.design.shape
    assert fit(here.again()).check.scale == 1.0


# Order and budget


def test_sums_come_in_their_order():
    here = Situation(2000, design="rank_one")
    fit(here)
    groups = [name for name, before in zip(here.asked, [None, *here.asked], strict=False) if name != before]
    first, last = groups[: groups.index("count_look")], groups[groups.index("count_residuals") :]
    answers, design = ["count_answers", "count_reach", "sum_numbers"], ["sum_octaves", "count_sizes", "sum_moments"]
    assert first == [*answers, *design, "count_start_norms", "sum_start"]
    assert last == ["count_residuals", "count_reach", "sum_numbers", "sum_check"]
    assert set(groups[len(first) : -len(last)]) == {"count_look", "sum_gradients"}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("mu", [1e-3, 0.05, 1.0, 1e3])
def test_the_whole_budget_is_spent_and_no_more(design, neighbors, mu):
    for terms in ({}, {"intercept": 0.0, "has_public_measurements": True}):
        here = Situation(300, design=design, mu=mu, neighbors=neighbors)
        found = fit(here, **terms)
        whole = squared_mu(Composed(here.releases.executed), "test") / here.releases.mu**2
        assert 0.8 < float(whole) <= 1.0 + 1e-12
        assert np.isfinite(found.coef).all() and np.isfinite(found.intercept)


@pytest.mark.parametrize("design", DESIGNS)
def test_public_measurements_cost_nothing_and_are_looked_at_without_answers(design):
    here = Situation(500, design=design, mu=0.5)
    task = task_of(here, has_public_measurements=True)
    roots = []
    for _ in range(2):
        _, whitening = _learn_design(here.releases, here.searches, task, 0.1)
        roots.append(whitening)
        for block in here.blocks:
            block.y[...] = np.nan  # the same, bit for bit, whatever the answers are
    assert here.releases.left == 1.0 and here.releases.executed == ()
    assert all(np.array_equal(*parts) for parts in zip(*roots, strict=True))


def test_who_has_too_few_people_takes_the_stated_scale_for_the_spread():
    here = Situation(20, mu=1e-3)
    assert here.spending.is_blind
    found = fit(here, y_scale=3.0)
    assert "count_answers" not in here.asked and "sum_check" in here.asked
    assert np.isfinite(found.coef).all()


@pytest.mark.parametrize("design", DESIGNS)
def test_a_given_whitening_is_used_as_it_is(design):
    here = Situation(2000, design=design)
    found = fit(here, whitening=here.whitening)
    assert not {"sum_moments", "count_sizes", "sum_measurements", "sum_octaves"} & set(here.asked)
    assert here.data.relative_error(found.coef) < 0.2


# Entries that nobody, or hardly anybody, has seen


def rare_rows(scale=1e-3):
    """A matrix whose last row is small in whitened coordinates, and the whitening that makes it large again."""
    point = nearest_of_rank(np.outer([3.0, 2.0, 1.0, scale], [1.0, 2.0, 2.0]), 1)
    return point, Whitening(np.array([[1.0, 1.0, 1.0, 40.0]]), np.ones((1, 3)))


def test_rows_that_noise_may_have_made_are_left_out_and_others_shortened_by_it():
    point, _ = rare_rows(0.01)
    energies = ((point.U * point.s) ** 2).sum(axis=1)
    variance = energies[2] / 20.0
    found = without_noisy_rows(point, variance).matrix
    assert not found[3].any() and np.all(np.abs(found[:3]) < np.abs(point.matrix[:3]))
    assert found[0] == pytest.approx(point.matrix[0] * (1.0 - variance / energies[0]), rel=0.2)
    assert without_noisy_rows(point, 0.0).matrix == pytest.approx(point.matrix, abs=1e-12)
    assert not without_noisy_rows(point, 1e6).matrix.any()


def test_entries_beyond_the_reach_of_the_answers_are_shortened_where_they_are_noisy():
    point, whitening = rare_rows(2.0)
    before = coefficients(point, whitening)
    noisy = coefficients(within_reach(point, whitening, 10.0, 1.0), whitening)
    assert np.abs(before).max() > 100.0 and np.abs(noisy).max() <= 10.0 * (1 + 1e-9)
    assert np.linalg.matrix_rank(noisy, 1e-9) == 1
    clear = within_reach(point, whitening, 10.0, 1e-9)
    assert clear is point  # they stand far above the noise
    assert within_reach(point, whitening, 1e3, 1.0) is point


# Answers


def answers_of(numbers, **terms):
    here = Situation(len(numbers), (3, 2), 1, **terms)
    start = 0
    for block in here.blocks:
        block.y[...] = numbers[start : start + len(block)]
        start += len(block)
    return _learn_answers(here.releases, task_of(here), here.spending)


def test_answers_that_are_mostly_equal_are_told_from_others():
    rng = np.random.default_rng(1)
    for numbers, are_tied in (
        (rng.standard_normal(3000), False), (rng.standard_t(3, 3000), False), (50.0 + rng.standard_normal(3000), False),
        ((rng.random(3000) < 0.1) * 1.0, True), (rng.poisson(0.2, 3000) * 1.0, True),
        ((rng.random(3000) < 0.4) * 1.0, False),
    ):  # fmt: skip
        found = answers_of(numbers)
        assert found.are_tied == are_tied and found.mean == pytest.approx(numbers.mean(), abs=0.1 * numbers.std())
        assert 0.9 <= np.mean(np.abs(numbers - found.center) <= found.reach + abs(found.mean))
        assert 0.0 < found.spread <= found.reach
        assert found.center == found.mean or not are_tied
