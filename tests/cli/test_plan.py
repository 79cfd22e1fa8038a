"""`hushrank plan`: readable and machine-readable output, and one line for bad input."""

import json

import pytest
from click.testing import CliRunner

from hushrank.cli.plan import command
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.planning import plan_counts, plan_gram, plan_quantile, plan_vector

PURE, APPROXIMATE = Budget(0.5, neighbors="add_remove", unit="user"), Budget(1.0, 1e-6)
CASES = [
    ("vector --norm 2 --epsilon 0.5 --neighbors add_remove --unit user", plan_vector(PURE, 2.0)),
    ("vector --norm 2 --nonnegative --epsilon 1 --delta 1e-6", plan_vector(APPROXIMATE, 2.0, nonnegative=True)),
    ("gram --columns 64 --row-norm 3 --epsilon 0.5 --neighbors add_remove --unit user", plan_gram(PURE, 3.0, 64)),
    (
        "gram --columns 64 --row-norm 3 --n-max 1000 --epsilon 1 --delta 1e-6",
        plan_gram(APPROXIMATE, 3.0, 64, n_max=1000),
    ),
    ("counts --cells 10 --max-cells 2 --epsilon 1 --delta 1e-6", plan_counts(APPROXIMATE, 10, max_cells=2)),
    ("quantile --probability 0.9 --grid-size 100 --epsilon 1 --delta 1e-6", plan_quantile(APPROXIMATE, 0.9, 100)),
]


@pytest.mark.parametrize(("line", "plan"), CASES)
def test_json_is_the_plan(line, plan):
    result = CliRunner().invoke(command, [*line.split(), "--json"])
    assert result.exit_code == 0
    assert json.loads(result.output) == plan.to_dict()


@pytest.mark.parametrize(("line", "plan"), CASES)
def test_text_shows_event_scales_and_guarantee(line, plan):
    result = CliRunner().invoke(command, line.split())
    assert result.exit_code == 0
    assert str(plan.event) in result.output and plan.mechanism in result.output
    assert f"delta = {plan.guarantee.delta:g}" in result.output
    assert plan.guarantee.neighbors.replace("_", " or ") + f" one {plan.guarantee.unit}" in result.output
    for name, value in plan.scales.items():
        assert name in result.output and f"{value:.6g}" in result.output


@pytest.mark.parametrize(
    "line",
    ["gram --columns 2 --row-norm 0 --epsilon 1", "vector --norm nan --epsilon 1", "counts --cells 3 --epsilon 0"],
)
def test_bad_numbers_raise_the_library_error(line):
    result = CliRunner().invoke(command, line.split())
    assert isinstance(result.exception, InvalidParameter)
    assert result.output == ""
