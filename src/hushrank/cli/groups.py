"""Commands that help: bare, they print their help and end well; a misspelled name is answered with the nearest ones."""

from typing import Any

import click


class HelpWhenBare(click.Command):
    """A command that prints its help, and exits with 0, where it is called without a word.

    click has an option for that, which exits with 2 in newer versions.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)


class HelpfulGroup(HelpWhenBare, click.Group):
    """A group that prints its help where it is called bare, and guesses what a misspelled command was meant to be.

    Examples
    --------
    >>> group = HelpfulGroup("tool", {"pca": click.Command("pca"), "plan": click.Command("plan")})
    >>> group.resolve_command(click.Context(group), ["pcaa"])
    Traceback (most recent call last):
      ...
    click.exceptions.UsageError: no command 'pcaa'; did you mean 'pca'?
    """

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        name = args[0]
        is_option = name.startswith("-")  # click has its own words for these
        if is_option or ctx.resilient_parsing or name in self.list_commands(ctx):
            return super().resolve_command(ctx, args)
        raise click.UsageError(f"no command {name!r}{say_known(name, self.list_commands(ctx))}", ctx)


def say_known(word: str, known: list[str]) -> str:
    """The end of a message about an unknown word: the nearest known one, or all that there are."""
    from hushrank.parameters import did_you_mean  # needs NumPy, and --help does not

    return did_you_mean(word, known) or f"; there are {', '.join(known)}."
