"""`hushrank stream --check`: what a sketch would do to a file of updates. Nothing is added, charged or written."""

from collections.abc import Mapping
from typing import Any

import click

from hushrank.cli.accounts import choose_delta, open_account
from hushrank.cli.checking import print_check
from hushrank.cli.messages import about_file
from hushrank.registry import find


def check_stream(source: str | None, parameters: Mapping[str, Any], values: Mapping[str, Any]) -> None:
    """Check updates of a file against parameters of a new sketch; a stream has no second reading."""
    if source in (None, "-"):
        raise click.UsageError("--check reads all of a file, which standard input is not: give INPUT.")
    if values["resume"]:
        raise click.UsageError("--check is for a new sketch: leave --resume out, and give its parameters.")
    kind = find("TurnstileSketch")
    for name, line in kind.parameter_table().items():
        if line.default is ... and parameters.get(name) is None:
            raise click.MissingParameter(param_hint=f"'--{name}'", param_type="option")
    account = open_account(values["ledger_address"], values["dataset"], values["note"])
    delta = choose_delta(parameters["delta"], account)
    sketch = kind(**{**parameters, "delta": delta}, random_state=values["seed"], ledger=account)
    with about_file(source):
        check = sketch.check(source)
    print_check(check, values["as_json"])
