"""The `hushrank` command: one file per subcommand, loaded when it is called."""

import importlib
import sys
from typing import NoReturn

import click

from hushrank import __version__
from hushrank.cli.lazy import LazyGroup
from hushrank.exceptions import BudgetExceeded, HushrankError
from hushrank.registry import COMMANDS, PUBLIC

SUMMARIES = {
    "demo": "A private recommender from built-in ratings: a report, and a page to try.",
    "plan": "Show event, noise scales and guarantee of a release, without data.",
    "check": "Try a fit on your data, or look at a table; nothing is charged. Not private.",
    "inspect": "Look at a table before a fit. The numbers are not private.",
    **{command: PUBLIC[name].summary for command, name in COMMANDS.items()},
    "recommend": "Recommend items with a private recommender, from a person's own ratings.",
    "evaluate": "How good a private recommender is on held-out ratings.",
    "predict": "Predict with a model of personalize or trace.",
    "show": "Show what a model file holds, what it promises, and what of it is noise.",
    "report": "Write a page about a model file, with its guarantee in words.",
    "statement": "Write a privacy statement of a model or a ledger, or verify one.",
    "export-web": "Write a recommender as one page that works on the visitor's device.",
    "ledger": "Set up, show and verify privacy budgets on disk.",
}
"""What --help says about each command, in its order."""

BAD_INPUT, BUDGET_REFUSED, INTERRUPTED = 2, 3, 130


def load(name: str) -> click.Command:
    """The command of this name; heavy imports wait until somebody calls it."""
    command: click.Command = importlib.import_module(f"hushrank.cli.{name.replace('-', '_')}").command
    return command


@click.group(
    cls=LazyGroup,
    summaries=SUMMARIES,
    load=load,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="hushrank")
def cli() -> None:
    """Differentially private low-rank matrix learning.

    Learn low-rank structure from personal data and publish it with a guarantee that holds for every data set.

    \b
    Start here:
      hushrank demo                   a first result, in about a minute
      hushrank plan complete --help   what it would cost on your ratings, without reading them
      hushrank check table.csv        what your table is, and which command suits it; nothing is charged
      hushrank complete --help        a private recommender from your ratings
      hushrank personalize --help     what your users have in common, for predictions to each of them
      hushrank trace --help           a matrix behind answers that depend on pairs of two things
      hushrank pca --help             private principal components of your table
      hushrank stream --help          private factors of a matrix that is known by its updates alone

    Exit codes: 0 done, 2 bad input (one line on stderr), 3 the budget was refused.
    """


def main() -> None:
    """Entry point: every error becomes one line on stderr and an exit code."""
    try:
        sys.exit(cli.main(prog_name="hushrank", standalone_mode=False))
    except HushrankError as error:
        from hushrank.cli.messages import in_options  # needs parameter tables, and --help does not

        if isinstance(error, BudgetExceeded):
            fail(in_options(error), BUDGET_REFUSED)
        fail(in_options(error), BAD_INPUT, error)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "hushrank"
        fail(f"{error.format_message()} (see {where} --help)", BAD_INPUT)
    except click.ClickException as error:
        fail(error.format_message(), BAD_INPUT, error)
    except click.Abort as error:
        fail("stopped", INTERRUPTED, error)
    except OSError as error:  # a disk that is gone, say; the message has the name of a file, and nothing out of it
        where = f" ({error.filename})" if isinstance(error.filename, str) else ""
        fail(f"{error.strerror or 'the system refused'}{where}", BAD_INPUT, error)
    except MemoryError as error:
        fail("not enough memory", BAD_INPUT, error)


def fail(message: str, code: int, error: BaseException | None = None) -> NoReturn:
    """Print one line on stderr, and one for what was spent before the error, and end with `code`."""
    from hushrank.cli.accounts import spent_notes  # what it needs is there where anything was charged

    click.echo(f"hushrank: {' '.join(message.split())}", err=True)
    for note in spent_notes(error):
        click.echo(f"hushrank: {note}", err=True)
    sys.exit(code)
