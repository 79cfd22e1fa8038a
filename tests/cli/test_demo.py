"""`hushrank demo` prints one line per guarantee, in order of accuracy."""

import re

from click.testing import CliRunner

from hushrank.cli.demo import BUDGETS, command


def test_the_table_is_complete_and_errors_fall_with_epsilon():
    result = CliRunner().invoke(command)
    assert result.exit_code == 0
    lines = [line for line in result.output.splitlines() if re.search(r"Wishart +│|Gaussian +│|none", line)]
    assert len(lines) == len(BUDGETS) + 1
    cells = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in lines]
    for row, budget in zip(cells, BUDGETS, strict=False):
        assert (float(row[0]), float(row[1])) == (budget.epsilon, budget.delta)
        assert row[2] == ("Wishart" if budget.is_pure else "Gaussian")
    errors = [float(row[4]) for row in cells]
    # Four times the budget divides the noise by four; the clipping error in the last line is the floor of all.
    assert errors[0] > errors[2] > errors[8] and errors[4] > errors[6] > 0.6 * errors[8]
    assert "Next:" in result.output
