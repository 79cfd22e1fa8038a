"""`hushrank check`: one planned fit tried on data, or a look at a table; nothing is charged or written."""

import importlib
import json
from pathlib import Path
from typing import Any

import click

from hushrank.cli.checking import PROBLEM
from hushrank.cli.lazy import LazyGroup
from hushrank.cli.options import JSON_OPTION
from hushrank.data.remote_files import hide_secrets, local_path
from hushrank.registry import COMMANDS, PUBLIC

SUMMARIES = {command: PUBLIC[name].summary for command, name in COMMANDS.items()}

_ABOUT = (
    "All data are read, nothing is charged or written, and no noise is drawn. Told is what the fit would leave out, "
    "shorten or clip, and why. NOT PRIVATE: for the data holder only. Exit code 2 if there is a problem."
)


def check_command(command: str) -> click.Command:
    """A command with the options of a fit, which only tries it."""
    fitted: click.Command = importlib.import_module(f"hushrank.cli.{command}").command
    run = fitted.callback
    assert run is not None
    params = [param for param in fitted.params if param.name != "is_check"]
    help_text = f"{SUMMARIES[command]} Here it is only tried.\n\n{_ABOUT}"
    return click.Command(command, params=params, callback=lambda **values: run(**values, is_check=True), help=help_text)


class CheckGroup(LazyGroup):
    """Commands of fits; what is none of them is the path of a table to look at."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """A file in the place of a command is looked at."""
        if args[0] in self.summaries or args[0].startswith("-"):
            return super().resolve_command(ctx, args)
        if not args[0]:  # as a path it would be the current folder
            ctx.fail(f"the name of INPUT is empty; give a file, or one of {', '.join(self.summaries)}")
        path = local_path(args[0])
        if path is not None and not path.exists():
            ctx.fail(_say_unknown(args[0], list(self.summaries)))
        return "table", table, args


def _say_unknown(word: str, commands: list[str]) -> str:
    """That a word is no file and no command, and which of them may be meant."""
    from hushrank.data.files import guess_file  # --help needs none of it
    from hushrank.parameters import did_you_mean

    guess = "" if Path(word).suffix else did_you_mean(word, commands)
    guess = guess or guess_file(Path(word)) or "."
    return f"{word!r} is neither an existing file nor one of {', '.join(commands)}{guess}"


@click.group(cls=CheckGroup, summaries=SUMMARIES, load=check_command)
def command() -> None:
    """Try a fit on your data, or look at a table; nothing is charged. Not private.

    \b
    Examples:
      hushrank check table.csv                               what kind of table it is, and what to run next
      hushrank check pca table.csv --components 5 --row-norm 10 --epsilon 1
      hushrank check complete ratings.csv --items 3706 --rating-range 1 5 --rank 8 --epsilon 1 --delta 1e-6

    The second line is the same as hushrank pca table.csv ... --check. All of the data are read, and what the fit would
    leave out, shorten or clip is told to the data holder, who must not publish it.
    """


@click.command("table")
@click.argument("source", metavar="INPUT")
@JSON_OPTION
def table(source: str, as_json: bool) -> None:
    """Look at the header and the first values of a table. NOT PRIVATE. Exit code 2 if there is a problem."""
    from hushrank.data.findings import NOT_PRIVATE  # --help needs none of it
    from hushrank.data.kinds import tell_kind

    found = tell_kind(source)
    _print_kind(source, found, NOT_PRIVATE, as_json)
    if any(finding.level == "problem" for finding in found.findings):
        click.get_current_context().exit(PROBLEM)


def _print_kind(source: str, found: Any, not_private: str, as_json: bool) -> None:
    if as_json:
        findings = [finding.to_dict() for finding in found.findings]
        told = {"not_private": not_private, "kind": found.kind, "columns": found.names, "next": found.command}
        click.echo(json.dumps({**told, "findings": findings}))
        return
    click.echo(f"{hide_secrets(source)}: {not_private}")
    for finding in found.findings:
        click.echo(f"{finding.level}: {finding.text}" if finding.level != "note" else f"it looks like {finding.text}")
    click.echo(f"next: {found.command}".replace("\n", "\n      "))
