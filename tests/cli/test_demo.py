"""`hushrank demo` prints one line per guarantee, in order of accuracy."""

import re

from click.testing import CliRunner

from hushrank.cli.demo import GUARANTEES, command


def test_the_table_is_complete_and_more_budget_captures_more():
    result = CliRunner().invoke(command)
    assert result.exit_code == 0
    lines = [line for line in result.output.splitlines() if re.search(r"Wishart +│|Gaussian +│|none", line)]
    cells = [[cell.strip() for cell in line.strip("│ ").split("│")] for line in lines]
    assert len(cells) == len(GUARANTEES) + 1
    for row, (epsilon, delta) in zip(cells, GUARANTEES, strict=False):
        assert (float(row[0]), float(row[1])) == (epsilon, delta)
        assert row[2] == ("Gaussian" if delta else "Wishart")
    forecasts = [float(row[3]) for row in cells[:-1]]
    assert forecasts[:4] == sorted(forecasts[:4], reverse=True) and forecasts[4:] == sorted(forecasts[4:], reverse=True)
    captured = [float(row[5]) for row in cells]
    # Standard deviations are 0.007 or less; the steps compared are 0.08 and more.
    assert captured[0] < captured[3] <= 1.0 and captured[2] < captured[7] < captured[8] == 1.0
    assert "Next:" in result.output
