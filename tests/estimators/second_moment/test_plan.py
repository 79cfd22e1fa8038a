"""Parameters of second moments become one plan, with a private or a public radius, before any data are read."""

import pytest

from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.public_plan import SecondMomentPlan
from hushrank.estimators.second_moment.radius_plan import RadiusBudget
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.calibration import event_for
from hushrank.privacy.events import Pure
from hushrank.privacy.guarantee import Budget, Neighbors

D = 4
BUDGETS = [Budget(1.0, delta, neighbors) for delta in (0.0, 1e-6) for neighbors in Neighbors]


def estimator(budget, **parameters):
    terms = {"row_norm": 1.0, "epsilon": budget.epsilon, "delta": budget.delta, "neighbors": budget.neighbors.value}
    return PrivateCovariance(**(terms | parameters))


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("center", [None, "private"])
def test_the_default_is_one_event_of_which_shares_are_spent(budget, center):
    model = estimator(budget, center=center)
    assert model.radius == "private" and model._is_adaptive
    releases = model._plan(budget, {"n_features": D})
    assert isinstance(releases, RadiusBudget)
    assert releases == RadiusBudget(event_for(budget), budget.neighbors, D)
    plan = model.plan((1000, D))
    assert [step.event for step in plan.steps] == [event_for(budget)] and plan.event == event_for(budget)
    assert 0.999 * budget.epsilon < plan.guarantee.epsilon <= budget.epsilon and plan.guarantee.numerics == "exact"
    assert sum(plan.shares.values()) == pytest.approx(1.0) and min(plan.shares.values()) > 0
    assert ("number of rows" in plan.shares) == (budget.neighbors is Neighbors.ADD_REMOVE)
    assert ("center" in plan.shares) == (center is not None)
    assert list(plan.shares)[-2:] == ["radius", "second moment"] and plan.shares["second moment"] > 0.5


def test_a_public_radius_is_a_list_of_releases_and_not_adaptive():
    model = estimator(Budget(1.0), radius="public")
    assert isinstance(model._plan(Budget(1.0), {"n_features": D}), SecondMomentPlan) and not model._is_adaptive
    assert model.plan((1000, D)).shares == {}


def test_draws_make_the_whole_budget_idealized_and_sums_exact():
    for mechanism, numerics in (("exponential", "idealized"), ("wishart", "exact")):
        plan = PrivatePCA(2, row_norm=1.0, epsilon=1.0, mechanism=mechanism).plan((100, D))
        assert plan.guarantee.numerics == plan.steps[0].numerics == numerics
        assert plan.event == Pure(1.0)


def test_a_public_number_of_rows_sets_the_shares_without_a_size():
    model = PrivatePCA(2, row_norm=1.0, epsilon=1.0, n_samples=50, center="private")
    assert model.plan(n_features=D) == PrivatePCA(2, row_norm=1.0, epsilon=1.0, center="private").plan((50, D))
    assert "center" not in model.plan(n_features=D).shares
    assert any("NO CENTER" in note for note in model.plan(n_features=D).notes)


def test_the_forecast_is_stated_in_units_of_the_data_and_of_the_bound():
    forecast = estimator(Budget(1.0), row_norm=3.0, radius="public").plan((1000, D)).forecast
    unit = estimator(Budget(1.0), row_norm=1.0, radius="public").plan((1000, D)).forecast
    error = "spectral error of the covariance"
    assert forecast[error] == pytest.approx(9 * unit[error])
    assert forecast["the same over row_norm^2"] == pytest.approx(unit[error])


def test_the_forecast_of_a_private_radius_does_not_depend_on_the_bound():
    forecasts = [estimator(Budget(1.0), row_norm=norm).plan((1000, D)).forecast for norm in (1.0, 1000.0)]
    assert forecasts[0] == forecasts[1] and all(name.endswith("over radius^2") for name in forecasts[0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"column_bounds": [(0.0, 1.0)] * 3}, "column_bounds of PrivatePCA must be .* or 4 pairs, one for a column"),
        ({"column_bounds": (0.0, 1.0), "radius": "public"}, "column_bounds of PrivatePCA must be None unless radius="),
        ({"standardize": "private", "radius": "public"}, "standardize of PrivatePCA must be None unless radius="),
        ({"select_columns": "private", "radius": "public"}, "select_columns of PrivatePCA must be None unless radius="),
        ({"column_bounds": (0.0, 1.0), "field": "complex"}, "column_bounds of PrivatePCA must be None for field="),
        ({"standardize": "after", "field": "complex"}, "standardize of PrivatePCA must be None for field='complex'"),
        ({"select_columns": "private", "field": "complex"}, "select_columns of PrivatePCA must be None for field="),
        ({"standardize": "after", "mechanism": "exponential"}, "standardize of PrivatePCA must be None for mechanism="),
        ({"select_columns": "private", "mechanism": "exponential"}, "select_columns of PrivatePCA must be None for"),
        ({"center_norm": 1.0, "center": "private"}, "center_norm of PrivatePCA must be None unless .* radius='public'"),
        ({"row_norm": None}, "row_norm of PrivatePCA must be a finite float > 0 unless column_bounds are given"),
        ({"row_norm": 1e95}, r"row_norm of PrivatePCA must be between 1e-94 and 1e\+94 where radius='private'"),
    ],
)
def test_options_that_do_not_fit_each_other_are_refused_in_plan_and_fit(parameters, message):
    class Account:
        def charge(self, *_, **__):
            raise AssertionError("charged")

    model = PrivatePCA(1, **{"row_norm": 1.0, "epsilon": 1.0, "ledger": Account(), **parameters})
    for call in (lambda: model.plan((100, D)), lambda: model.fit([[1.0] * D] * 100)):
        with pytest.raises(InvalidParameter, match=message):
            call()


def test_standardizing_after_the_release_is_free_and_needs_no_private_radius():
    model = PrivatePCA(1, row_norm=1.0, epsilon=1.0, standardize="after", radius="public")
    assert model.plan((100, D)) == PrivatePCA(1, row_norm=1.0, epsilon=1.0, radius="public").plan((100, D))


@pytest.mark.parametrize(
    "model",
    [
        PrivateLowRank(2, row_norm=1.0, epsilon=1.0, mechanism="exponential", n_max=2**60),
        PrivatePCA(1, row_norm=1.0, epsilon=1e200, mechanism="exponential"),
        PrivatePCA(1, row_norm=1e-100, epsilon=1.0, mechanism="exponential"),  # a radius may be 2^-16 of it
        PrivatePCA(1, row_norm=1e94, epsilon=1e4, mechanism="exponential", center="private"),  # and twice as long
        PrivatePCA(1, epsilon=1.0, column_bounds=(0.0, 1.0), center=[1e155] * D),
        PrivateCovariance(epsilon=1.0, column_bounds=(-1e300, 1e300)),
        PrivateCovariance(epsilon=1.0, column_bounds=(-1e-300, 1e-300)),
    ],
    ids=[
        "n_max of a draw",
        "epsilon of a draw",
        "short rows",
        "long rows",
        "far center",
        "wide columns",
        "narrow ones",
    ],
)
@pytest.mark.parametrize("data", [[[0.0] * D] * 1000, [[3e100] * D] * 1000, [[-7e-101] * D] * 1000])
def test_nothing_is_refused_after_the_charge(model, data):
    """What a radius may become is public: it is refused before the charge or not at all, whatever the rows are."""
    try:
        model.plan((1000, D))
        is_planned = True
    except InvalidParameter as error:
        assert type(model).__name__ in str(error)
        is_planned = False
    charged = []

    class Account:
        def charge(self, *_, **__):
            charged.append(1)

    fitted = type(model)(**{**model.get_params(), "ledger": Account()})
    if is_planned:
        fitted.fit(data)
    else:
        with pytest.raises(InvalidParameter):
            fitted.fit(data)
    assert bool(charged) == is_planned
