"""Choosing a budget: plans side by side, the least epsilon for a result, and fits from a cap."""

import math

import pytest

from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.estimators.turnstile.sketch import TurnstileSketch
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.choosing import MOST_EPSILON, Plans, count_fits, count_fits_in_cap, least_epsilon
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.ledger import Ledger
from hushrank.privacy.planning import plan_gram, plan_vector

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
SIZES = {"n_users": 6040, "n_items": 3706}


def recommender(**terms):
    return PrivateCompletion(8, **{"epsilon": 1.0, "delta": 1e-6, "rating_range": (1, 5), **terms})


RELEASES = [
    (recommender(), SIZES),
    (recommender(feedback="implicit", rating_range=None), SIZES),
    (recommender(offsets=False), SIZES),
    (PrivatePCA(5, row_norm=100.0, epsilon=1.0), {"n_samples": 10_000, "n_features": 64}),
    (PrivatePCA(5, row_norm=100.0, epsilon=1.0, mechanism="exponential"), {"n_samples": 10_000, "n_features": 20}),
    (PrivateRepresentation(2, epsilon=1.0, delta=1e-6), {"n_users": 20_000, "n_features": 50}),
    (PrivateTraceRegression(2, epsilon=1.0, delta=1e-5, shape=(20, 20)), {"n_samples": 20_000}),
    (TurnstileSketch((200, 100), 5, epsilon=1.0, delta=1e-6), {"n_updates": 10_000}),
]


@pytest.mark.parametrize(("release", "sizes"), RELEASES, ids=lambda one: type(one).__name__)
def test_every_forecast_moves_with_epsilon(release, sizes):
    plans = release.plan_many((0.5, 2.0, 20.0), **sizes)
    assert [plan.guarantee.epsilon for plan in plans] == pytest.approx([0.5, 2.0, 20.0])
    for name in plans[0].forecast:
        values = [plan.forecast[name] for plan in plans]
        assert values[0] > values[-1] or "without privacy" in name
        assert values == sorted(values, reverse=True)
    for name in plans[0].expected:
        values = [plan.expected[name] for plan in plans]
        assert values == sorted(values) and values[0] >= 0


def test_a_table_has_a_line_for_every_epsilon():
    plans = recommender().plan_many(EPSILONS, **SIZES)
    lines = str(plans).splitlines()
    first = next(i for i, line in enumerate(lines) if line.strip().startswith("0.5"))
    rows = [line.split() for line in lines[first : first + len(EPSILONS)]]
    assert [float(row[0]) for row in rows] == list(EPSILONS)
    ends = [(float(row[2]), float(row[4])) for row in rows]
    assert ends == sorted(ends, reverse=True) and all((high - low) / (high + low) < 0.125 for low, high in ends)
    assert lines[first + len(EPSILONS)].startswith("guesses: ratings_per_user 100, deviation 0.28")
    assert plans.epsilons == EPSILONS and len(plans.to_list()) == len(EPSILONS)
    assert plans.to_list()[1] == {"asked_epsilon": 1.0, **recommender().plan(**SIZES).to_dict()}


def test_a_table_fits_a_page():
    pca = PrivatePCA(5, row_norm=1.0, epsilon=1.0, delta=1e-6)
    table = str(pca.plan_many(EPSILONS, n_samples=1797, n_features=64)).partition("\nguesses")[0].splitlines()
    assert max(map(len, table)) <= 80 and len(table[-1].split()) == 6 and table[-1].split()[0] == f"{EPSILONS[-1]:g}"


def test_notes_say_which_epsilon_they_are_about():
    plans = PrivateRepresentation(3, epsilon=1.0, delta=1e-6).plan_many((1.0, 20.0), n_users=300, n_features=20)
    assert "note (epsilon 1): too few users" in str(plans)
    same = Plans.of(lambda epsilon: plan_vector(Budget(epsilon), 1.0), (1.0, 2.0))
    assert str(same).splitlines()[-1].split() == ["2", "1"] and "note" not in str(same)


def test_the_least_epsilon_is_where_the_expected_number_begins():
    model = recommender()
    epsilon = model.epsilon_for(3, **SIZES)
    around = model.plan_many((0.97 * epsilon, 1.001 * epsilon), **SIZES)
    assert around[0].expected["factors"] < 2.5 <= around[1].expected["factors"]
    assert model.epsilon_for(1, **SIZES) <= epsilon <= model.epsilon_for(3, n_users=1000, n_items=3706)
    assert model.epsilon_for(3, **SIZES, guesses={"factor_share": 0.4, "choice": 2.0}) < epsilon
    assert PrivatePCA(5, row_norm=1.0, epsilon=1.0).epsilon_for(4, (10_000, 64)) < 1.0


def test_searches_end_at_their_limits():
    assert least_epsilon(lambda _: 5.0, 3) == pytest.approx(0.01)
    assert least_epsilon(lambda _: 2.0, 3) is None
    assert least_epsilon(lambda epsilon: None if epsilon > 50 else 9.0 * (epsilon > 1.5), 3) == pytest.approx(1.5, 0.01)
    assert least_epsilon(lambda epsilon: 5.0 if epsilon < 1 or epsilon > 10 else 0.0, 3) == pytest.approx(10, 0.01)
    assert math.log10(MOST_EPSILON) == 2


def test_what_is_not_counted_has_no_least_epsilon():
    with pytest.raises(InvalidParameter, match="expects a number"):
        PrivateTraceRegression(2, epsilon=1.0, delta=1e-5, shape=(20, 20)).epsilon_for(2, n_samples=9)
    with pytest.raises(InvalidParameter, match="count of PrivateCompletion"):
        recommender().epsilon_for(0, **SIZES)
    with pytest.raises(InvalidParameter, match="epsilon of PrivateCompletion"):
        recommender().plan_many((1.0, -1.0), **SIZES)


def test_guesses_are_part_of_a_plan():
    plan = recommender().plan(**SIZES, guesses={"ratings_per_user": 165})
    assert plan.guesses["ratings_per_user"] == 165.0 and plan.guesses["deviation"] == 0.28
    assert plan.forecast != recommender().plan(**SIZES).forecast and "ratings_per_user" in str(plan)
    assert plan.guarantee == recommender().plan(**SIZES).guarantee
    with pytest.raises(InvalidParameter, match="did you mean 'ratings_per_user'"):
        recommender().plan(**SIZES, guesses={"ratings_a_user": 3})
    with pytest.raises(InvalidParameter, match="below 1 together"):
        recommender().plan(**SIZES, guesses={"item_share": 0.5, "factor_share": 0.5})
    with pytest.raises(InvalidParameter, match="named ratings_per_user, factors, choice, popularity"):
        recommender(feedback="implicit", rating_range=None).plan(**SIZES, guesses={"deviation": 0.2})


def test_fits_are_counted_from_what_an_account_has_left(tmp_path):
    plan = plan_gram(Budget(1.0, 1e-6), 1.0, 3)
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("mine", epsilon=3.0, delta=1e-6)
        n = count_fits(plan, account)
        assert n == count_fits_in_cap(plan, 3.0, 1e-6) > 3  # squares of mu add up
        for left in range(n - 1, -1, -1):
            account.charge(plan.event)
            assert count_fits(plan, account) == left
        with pytest.raises(Exception, match="exceed"):
            account.charge(plan.event)


def test_fits_of_decimals_add_up_and_others_are_refused(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("mine", epsilon=1.0, unit="user")
        assert count_fits(plan_vector(Budget(0.1, unit="user"), 1.0), account) == 10
        with pytest.raises(InvalidParameter, match="unit of count_fits must be 'user'"):
            count_fits(plan_vector(Budget(0.1), 1.0), account)
        both = ledger.create("both", epsilon=3.0, delta=1e-6, pure=1.0)
        assert count_fits(plan_vector(Budget(0.5), 1.0), both) == 2  # of the reserved part; the other has no room
        with pytest.raises(InvalidParameter, match="delta = 0"):
            count_fits(plan_vector(Budget(0.1, 1e-6, unit="user"), 1.0), account)
    assert count_fits_in_cap(plan_vector(Budget(2.0), 1.0), 1.0) == 0


def test_what_nobody_measured_on_a_cluster_is_not_told_and_workers_are_checked():
    class Unmeasured(PrivateRepresentation):
        def _cluster_work(self, releases, sizes, **guesses):
            return None

    model, sizes = Unmeasured(3, epsilon=1.0, delta=1e-6), {"n_users": 300, "n_features": 20}
    assert model.plan(**sizes, workers=2) == model.plan(**sizes)
    with pytest.raises(InvalidParameter, match=r"^workers of Unmeasured must be an integer >= 1 or None; got 0\.$"):
        model.plan(**sizes, workers=0)
    told = PrivateRepresentation(3, epsilon=1.0, delta=1e-6).plan_many((1.0, 2.0), **sizes, workers=2)
    assert all("memory of each worker, about (GB)" in plan.resources for plan in told)
