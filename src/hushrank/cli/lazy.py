"""A group whose commands are loaded when they are called, so that its help waits for none of them."""

from collections.abc import Callable, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from hushrank.cli.groups import HelpfulGroup


class LazyGroup(HelpfulGroup):
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

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Names that begin like this; those of commands that were not loaded yet are known without loading them."""
        added = {name: command.get_short_help_str() for name, command in sorted(self.commands.items())}
        known = {**self.summaries, **added}
        found = [CompletionItem(name, help=text) for name, text in known.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        added = {name: command.get_short_help_str(formatter.width) for name, command in sorted(self.commands.items())}
        with formatter.section("Commands"):
            formatter.write_dl([*self.summaries.items(), *added.items()])
