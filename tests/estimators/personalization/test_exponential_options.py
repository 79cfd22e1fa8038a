"""Options of the exponential method: what is refused and in which words, shares of epsilon in exact fractions."""

import itertools
import subprocess
import sys
from dataclasses import fields
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushrank.estimators.personalization.exponential_options import ExponentialSelection, round_events
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Budget

WRONG = [(name, value) for name, line in ExponentialSelection._params.items() for value in line.wrong_values()]


@pytest.mark.parametrize(("name", "value"), WRONG, ids=[f"{name}-{i}" for i, (name, _) in enumerate(WRONG)])
def test_wrong_options_are_refused_in_the_name_of_their_class(name, value):
    with pytest.raises(InvalidParameter, match=f"^{name} of ExponentialSelection must be "):
        ExponentialSelection(**{name: value})


def test_every_option_has_a_line_in_the_table():
    assert set(ExponentialSelection._params) == {field.name for field in fields(ExponentialSelection)}


@pytest.mark.parametrize("rank", [0, 6])
def test_ranks_that_do_not_fit_the_features_are_refused(rank):
    message = f"^rank of ExponentialSelection must be between 1 and the number of features, 5; got {rank}"
    with pytest.raises(InvalidParameter, match=message):
        ExponentialSelection().check_size(5, rank)
    ExponentialSelection().check_size(5, 5)


def test_the_radius_shrinks_from_round_to_round():
    options = ExponentialSelection(shrinkage=0.5)
    assert [options.radius(number) for number in (1, 2, 3)] == [1.0, 0.5, 0.25]


@given(st.floats(1e-6, 1e3), st.integers(1, 30), st.floats(0.2, 5))
def test_the_rounds_together_cost_at_most_the_budget_and_hardly_less(epsilon, rounds, growth):
    events = round_events(Budget(epsilon), ExponentialSelection(rounds=rounds, growth=growth))
    spent = sum(Fraction(event.epsilon) for event in events)
    assert spent <= Fraction(epsilon) and float(spent) == pytest.approx(epsilon, rel=1e-15)
    assert len(events) == rounds and all(event.bounded_range for event in events)
    for before, after in itertools.pairwise(events):
        assert after.epsilon == pytest.approx(growth * before.epsilon, rel=1e-9)


def test_one_round_has_all_of_the_budget():
    assert [event.epsilon for event in round_events(Budget(0.3), ExponentialSelection(rounds=1))] == [0.3]


def test_a_budget_with_delta_is_refused():
    with pytest.raises(InvalidParameter, match="delta of round_events must be 0, because choices are pure"):
        round_events(Budget(1.0, 1e-6), ExponentialSelection())


def test_nothing_heavy_is_imported():
    code = (
        "import sys, hushrank.estimators.personalization.exponential_options;"
        "sys.exit(any(name in sys.modules for name in ('numba', 'sklearn', 'pyarrow', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
