"""A group whose commands are loaded when they are called, so that its help waits for none of them."""

from collections.abc import Callable, Mapping
from typing import Any

import click


class LazyGroup(click.Group):
    """A group of commands that are known by name and summary, beside those that are added to it as usual.

    Parameters
    ----------
    summaries : mapping of str to str
        One line about each command, by name, in the order of the help.
    load : callable
        Name -> command.
    """

    def __init__(
        self, *arguments: Any, summaries: Mapping[str, str], load: Callable[[str], click.Command], **others: Any
    ) -> None:
        super().__init__(*arguments, **others)
        self.summaries, self.load = summaries, load

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.summaries, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self.load(cmd_name) if cmd_name in self.summaries else super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        added = {name: command.get_short_help_str(formatter.width) for name, command in sorted(self.commands.items())}
        with formatter.section("Commands"):
            formatter.write_dl([*self.summaries.items(), *added.items()])
