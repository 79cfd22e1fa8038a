"""The plan of a trace regression: one cap, a forecast and warnings, from parameters and public sizes alone."""

import pytest

import hushrank as hr
from hushrank import registry
from hushrank.data.records.forms import MOST_ENTRIES
from hushrank.estimators.trace.forecast import START_DEGRADED, START_HOPELESS
from hushrank.estimators.trace.plan import PRIVACY
from hushrank.estimators.trace.recipe import RECIPES
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.calibration import calibrate
from hushrank.privacy.guarantee import Budget, Unit

TERMS = {"rank": 2, "epsilon": 1.0, "delta": 1e-5}
SIZES = {"n_samples": 20_000, "n_rows": 20, "n_columns": 15}
Planner = registry.planner("PrivateTraceRegression")


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"neighbors": "add_remove", "design": "rank_one"},
        {"design": "entry", "shape": (20, 15), "privacy": "label"},
        {"privacy": "label", "neighbors": "add_remove", "design_covariance": "identity", "intercept": 0.0},
    ],
)
def test_a_planner_plans_one_cap_as_the_estimator_does(terms):
    plan = Planner(**{**TERMS, **terms}).plan(**SIZES)
    assert plan == hr.PrivateTraceRegression(**{**TERMS, **terms}).plan((20_000, 20, 15))
    [step] = plan.steps
    unit = PRIVACY[terms.get("privacy", "record")]
    assert step.event == calibrate(Budget(1.0, 1e-5, terms.get("neighbors", "replace"), unit))
    assert step.name == "sums over records, one after another" and plan.guarantee.unit is unit
    assert all(0 < value < 10 for value in plan.forecast.values())


def test_units_are_records_or_labels():
    assert PRIVACY == {"record": Unit.RECORD, "label": Unit.LABEL}


def test_a_shape_that_parameters_tell_need_not_be_said():
    told = Planner(**TERMS, shape=(20, 15)).plan(n_samples=20_000)
    assert told == Planner(**TERMS).plan(**SIZES)
    with pytest.raises(
        InvalidParameter, match=r"^shape of PrivateTraceRegression must be \(rows, columns\) for a plan"
    ):
        Planner(**TERMS).plan(n_samples=20_000)


def test_the_forecast_falls_with_people_budget_and_signal():
    def total(**terms):
        sizes = {name: terms.pop(name, size) for name, size in SIZES.items()}
        plan = Planner(**{**TERMS, **terms}).plan(**sizes)
        found = list(plan.forecast.values())
        assert plan.forecast["  of which without privacy"] < found[0]
        return found

    before = total()
    for terms in ({"n_samples": 40_000}, {"epsilon": 2.0}, {"neighbors": "add_remove"}, {"signal_to_noise": 4.0}):
        assert all(now <= then for now, then in zip(total(**terms), before, strict=True)), terms
    assert any("signal over noise 2" in name for name in Planner(**TERMS).plan(**SIZES).forecast)


def test_few_records_are_warned_of_before_the_charge():
    ratios, notes = [], []
    for n in (100, 1000, 3000, 10_000, 90_000):
        plan = Planner(**TERMS).plan(**{**SIZES, "n_samples": n})
        ratios.append(plan.forecast["noise of the start over the signal"])
        notes.append(" ".join(plan.notes))
    for ratio, note in zip(ratios, notes, strict=True):
        assert ("too few records" in note) == (ratio > START_HOPELESS)
        assert note.startswith("few records") == (START_DEGRADED < ratio <= START_HOPELESS)
    assert "too few" in notes[0] and any(note.startswith("few") for note in notes) and notes[-1] == ""
    [note] = Planner(**TERMS, privacy="label").plan(**{**SIZES, "n_samples": 90_000}).notes
    assert note.startswith("answers alone are hidden")


def test_a_delta_that_allows_to_publish_a_record_is_warned_of():
    notes = {n: Planner(**TERMS).plan(**{**SIZES, "n_samples": n}).notes for n in (99_999, 100_000)}
    assert notes[99_999] == ()
    [note] = notes[100_000]
    assert note.startswith("delta = 1e-05 is at least 1 / 100,000") and note.endswith("all about one record")


@pytest.mark.parametrize("design", RECIPES)
def test_a_signal_far_above_the_noise_allows_more_steps_for_the_same_share(design):
    """Whatever is stated, steps that all help leave their share to the last ones: no data overdraw the budget."""
    plain = RECIPES[design]
    for signal, more in ((1e-8, 0), (2.0, 0), (100.0, 0), (101.0, 1), (1e5, 3), (9.99e8, 7)):
        recipe = Planner(**TERMS, design=design, shape=(9, 9), signal_to_noise=signal)._recipe
        assert recipe.most_steps == plain.most_steps + more
        assert recipe.most_steps * recipe.first_share == pytest.approx(plain.most_steps * plain.first_share, rel=1e-12)
        assert more or recipe == plain


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"delta": 0.0}, "delta of PrivateTraceRegression must be > 0, because sums over records have Gaussian noise"),
        ({"rank": 16}, "rank of PrivateTraceRegression must be at most 15, as rows and columns; got 16"),
        ({"rank": 0}, "rank of PrivateTraceRegression must be an integer >= 1; got 0"),
        ({"design": "sparse"}, "design of PrivateTraceRegression must be 'dense' or 'rank_one' or 'entry'; got"),
        ({"design": "entry"}, r"shape of PrivateTraceRegression must be \(rows, columns\) for design 'entry'"),
        ({"shape": (2**13, 2**13)}, f"shape of .* must be of a matrix of at most {MOST_ENTRIES} entries"),
        ({"shape": (5,)}, "shape of PrivateTraceRegression must be a pair of integers >= 1"),
        ({"privacy": "user"}, "privacy of PrivateTraceRegression must be 'record' or 'label'; got 'user'"),
        ({"design_covariance": "known"}, "design_covariance of PrivateTraceRegression must be 'private', 'identity',"),
        ({"intercept": "none"}, "intercept of PrivateTraceRegression must be a finite float > -1e.* or 'private'"),
        (
            {"intercept": 1e155},
            "intercept of PrivateTraceRegression must be a finite float > -1e.* or 'private'; got 1e",
        ),
        ({"x_scale": 0.0}, "x_scale of PrivateTraceRegression must be a finite float > 1e-60 and < 1e"),
        ({"y_scale": 1e60}, "y_scale of PrivateTraceRegression must be a finite float > 1e-60 and < 1e"),
        ({"signal_to_noise": 0.0}, "signal_to_noise of PrivateTraceRegression must be a finite float > 1e-09"),
        ({"epsilon": 1e-9, "delta": 1e-12}, "epsilon of PrivateTraceRegression must be so large that the noise"),
        ({"n_max": 0}, "n_max of PrivateTraceRegression must be an integer >= 1"),
    ],
)
def test_refusals(terms, message):
    for make in (Planner, hr.PrivateTraceRegression):
        with pytest.raises(InvalidParameter, match=f"^{message}"):
            make(**{**TERMS, **terms}).plan(**SIZES)
