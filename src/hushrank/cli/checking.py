"""`--check` of every command that learns: the same options, all data read, nothing charged and nothing written."""

import json
from collections.abc import Callable, Mapping
from typing import Any

import click

from hushrank.cli.accounts import choose_delta, open_account
from hushrank.cli.messages import about_file, check_in_options
from hushrank.registry import find

CHECK_OPTION = click.option(
    "--check",
    "is_check",
    is_flag=True,
    help="Only try it: read all data, charge and write nothing, and tell what would be left out, shortened or clipped, "
    "and how long it takes. NOT PRIVATE: for the data holder. Exit code 2 if there is a problem.",
)
PROBLEM = 2
"""Exit code where a budget would be wasted."""


def run_check(name: str, data: Any, values: Mapping[str, Any], as_json: bool) -> None:
    """Check the release `name` of the registry on data, with the options of its fit, and print what was found.

    `data` reads the source (`hushrank.cli.fit.Data`); `values` are those of all options, of which some are about
    results and mean nothing here.
    """
    estimator = find(name)
    table = estimator.parameter_table()
    parameters = {key: values[key] for key, line in table.items() if key in values and line.option is not None}
    engine = find("LocalEngine")(threads=values["threads"])
    account = open_account(values["ledger_address"], values["dataset"], values["note"])
    parameters["delta"] = choose_delta(parameters["delta"], account)
    model = estimator(**parameters, ledger=account, random_state=values["seed"], engine=engine)
    of_data = {key: values[key] for key in _option_names(data.options)}
    with about_file(values["source"]):
        check = model.check(data.read(model, values["source"], **of_data))
    print_check(check, as_json)


def _option_names(decorate: Callable[[Any], Any]) -> list[str]:
    """Names of the options that a decorator adds to a command."""

    def command() -> None: ...

    return [param.name for param in getattr(decorate(command), "__click_params__", ())]


def print_check(check: Any, as_json: bool) -> None:
    """Print a check on stdout, and end the command with exit code 2 if it found a problem."""
    click.echo(json.dumps(check.to_dict()) if as_json else check_in_options(str(check), check.subject))
    if check.has_problems:
        click.get_current_context().exit(PROBLEM)
