"""Budgets and guarantees validate, print everything they promise and travel through JSON."""

import json
import math
import pickle

import pytest

from hushrank.exceptions import InvalidParameter
from hushrank.privacy.events import Gaussian, NonPrivate, Pure, Repeated
from hushrank.privacy.guarantee import (
    Budget,
    Guarantee,
    Neighbors,
    Unit,
    parse_neighbors,
    parse_unit,
)


def make_guarantee(**changes):
    values = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "neighbors": "add_remove",
        "unit": "user",
        "event": Repeated(Gaussian(8.5), 4),
        "numerics": "exact",
    }
    return Guarantee(**{**values, **changes})


def test_budget_defaults_and_strings():
    budget = Budget(1, 1e-6)
    assert (budget.neighbors, budget.unit, budget.is_pure) == (Neighbors.REPLACE, Unit.ROW, False)
    assert Budget(0.5).is_pure
    assert Budget(1.0, 0.1, "add_remove", "rank1") == Budget(1.0, 0.1, Neighbors.ADD_REMOVE, Unit.RANK1)
    assert Budget(1.0, 1e-6, unit="label").unit is Unit.LABEL is parse_unit("label", "fit")
    assert [str(unit) for unit in Unit] == ["row", "user", "record", "label", "entry", "rank1", "frobenius"]


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("event", [Pure(0.5), Repeated(Gaussian(8.5), 4), NonPrivate()])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, math.inf])
def test_guarantee_round_trips_through_json_and_pickle(event, epsilon, reproducible):
    given = make_guarantee(event=event, epsilon=epsilon, reproducible=reproducible)
    text = json.dumps(given.to_dict(), allow_nan=False)
    assert Guarantee.from_dict(json.loads(text)) == given
    assert pickle.loads(pickle.dumps(given)) == given


@pytest.mark.parametrize("show", [str, repr])
def test_guarantee_prints_everything(show):
    shown = show(make_guarantee())
    for part in ("epsilon=1", "delta=1e-06", "neighbors=add_remove", "unit=user", "numerics=exact"):
        assert part in shown
    assert "event=Repeated(event=Gaussian(noise_multiplier=8.5), count=4)" in shown
    assert "reproducible=False" in shown
    assert "released" not in shown.lower()


@pytest.mark.parametrize("show", [str, repr])
def test_numbers_are_short_in_print_and_whole_in_json(show):
    given = make_guarantee(epsilon=4.999999999785676, event=Gaussian(0.9800490003829367))
    assert "epsilon=5, delta=1e-06," in show(given) and "Gaussian(noise_multiplier=0.980049)" in show(given)
    assert given.to_dict()["epsilon"] == 4.999999999785676 and given.epsilon == 4.999999999785676


@pytest.mark.parametrize("show", [str, repr])
def test_reproducible_guarantee_warns(show):
    shown = show(make_guarantee(reproducible=True))
    assert "reproducible=True" in shown
    assert "MUST NOT BE RELEASED: anyone who knows the seed can remove the noise" in shown


def test_a_premise_is_shown_and_travels():
    given = make_guarantee(premise="the caller bounds every user's updates")
    assert "PROVIDED THAT the caller bounds every user's updates" in str(given)
    assert Guarantee.from_dict(given.to_dict()) == given
    assert "premise" not in make_guarantee().to_dict() and "PROVIDED" not in str(make_guarantee())


@pytest.mark.parametrize("value", [None, 1, "x" * 501, "true.\nAsked for: epsilon = 0.1", "\u202e"])
def test_a_premise_is_a_short_text_in_one_line(value):
    for make in (Budget, make_guarantee):
        terms = {"epsilon": 1.0} if make is Budget else {}
        with pytest.raises(InvalidParameter, match=r"^premise of (Budget|Guarantee) must be a text in one line, of"):
            make(**terms, premise=value)


@pytest.mark.parametrize("value", ["swap", "", None, 1, "REPLACE"])
def test_unknown_relation_and_unit_list_the_choices(value):
    with pytest.raises(InvalidParameter, match=r"^neighbors of fit must be one of 'replace', 'add_remove'"):
        parse_neighbors(value, "fit")
    choices = r"'row', 'user', 'record', 'label', 'entry', 'rank1', 'frobenius'"
    with pytest.raises(InvalidParameter, match=rf"^unit of fit must be one of {choices}; got"):
        parse_unit(value, "fit")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0.0,), r"^epsilon of Budget must be a finite float > 0; got 0\.0\.$"),
        ((math.inf,), r"^epsilon of Budget must be a finite float > 0; got inf\.$"),
        ((1.0, 1.0), r"^delta of Budget must be a finite float >= 0 and < 1; got 1\.0\.$"),
        ((1.0, -1e-9), r"^delta of Budget must be a finite float >= 0 and < 1; got"),
        ((1.0, 0.0, "both"), r"^neighbors of Budget must be one of 'replace', 'add_remove'; got 'both'\.$"),
        ((1.0, 0.0, "replace", "rows"), r"^unit of Budget must be one of 'row', 'user'"),
    ],
)
def test_budget_refusals(values, message):
    with pytest.raises(InvalidParameter, match=message):
        Budget(*values)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"epsilon": -1.0}, r"^epsilon of Guarantee must be a finite float >= 0; got -1\.0\.$"),
        ({"epsilon": math.nan}, r"^epsilon of Guarantee must be a finite float >= 0; got nan\.$"),
        ({"delta": 1.0}, r"^delta of Guarantee must be a finite float >= 0 and < 1; got 1\.0\.$"),
        ({"neighbors": "x"}, r"^neighbors of Guarantee must be one of"),
        ({"unit": "x"}, r"^unit of Guarantee must be one of"),
        ({"event": "x"}, r"^event of Guarantee must be made of Gaussian"),
        ({"numerics": "x"}, r"^numerics of Guarantee must be 'exact' or 'idealized'; got 'x'\.$"),
        ({"reproducible": 1}, r"^reproducible of Guarantee must be True or False; got 1\.$"),
        ({"bound": 0.0}, r"^bound of Guarantee must be a finite float > 0; got 0\.0\.$"),
        ({"bound": math.inf}, r"^bound of Guarantee must be a finite float > 0; got inf\.$"),
        ({"bound": "1"}, r"^bound of Guarantee must be a finite float > 0; got '1'\.$"),
    ],
)
def test_guarantee_refusals(changes, message):
    with pytest.raises(InvalidParameter, match=message):
        make_guarantee(**changes)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({**make_guarantee().to_dict(), "note": 1}, r"'note' was made by a newer version of hushrank; got"),
        (
            {"epsilon": 1.0},
            r"must be a Guarantee of epsilon, delta, neighbors, unit, event, numerics, reproducible, premise, bound; ",
        ),
        (None, r"must be a dict of its fields; got None"),
    ],
)
def test_descriptions_with_missing_or_unknown_entries_are_refused(wrong, message):
    with pytest.raises(InvalidParameter, match=rf"^description of Guarantee .*{message}"):
        Guarantee.from_dict(wrong)


def test_a_description_without_a_field_of_later_versions_has_its_default():
    description = make_guarantee().to_dict()
    assert description.pop("reproducible") is False
    assert Guarantee.from_dict(description) == make_guarantee()


def test_how_large_a_unit_is_belongs_to_a_guarantee():
    given = make_guarantee(unit="row", bound=0.1)
    assert "unit=row, bound=0.1, event=" in str(given) and "bound" not in str(make_guarantee())
    assert given.to_dict()["bound"] == 0.1 and "bound" not in make_guarantee().to_dict()  # as older versions wrote it
    assert Guarantee.from_dict(json.loads(json.dumps(given.to_dict()))) == given != make_guarantee(unit="row")
    assert Budget(1.0, bound=3).bound == 3.0 and Budget(1.0).bound is None
    with pytest.raises(InvalidParameter, match=r"^bound of Budget must be a finite float > 0"):
        Budget(1.0, bound=-1.0)
