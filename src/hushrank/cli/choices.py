"""What `hushrank plan` takes and prints to choose a budget by: several epsilons, guesses, and fits from a cap."""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import click

from hushrank.base import PrivateRelease
from hushrank.cli.accounts import check_ledger_options
from hushrank.cli.options import Decorator, options
from hushrank.privacy.choosing import MOST_EPSILON, Plans, count_fits, count_fits_in_cap
from hushrank.privacy.planning import Plan

RATINGS = "ratings_per_user"
"""The guess that --ratings, a number of all ratings, is another way to state."""


class Epsilons(click.ParamType):  # type: ignore[type-arg]  # generic in newer versions of click only
    """One number, or several separated by commas."""

    name = "float[,float...]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A tuple of floats; what they must be is checked by what they are given to."""
        if not isinstance(value, str):
            return value
        try:
            return tuple(float(number) for number in value.split(","))
        except ValueError:
            self.fail(f"{value!r} is not a number, or numbers separated by commas.", param, ctx)


class NamedGuess(click.ParamType):  # type: ignore[type-arg]  # as above
    """NAME=VALUE."""

    name = "name=value"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """A pair of a name and a number."""
        if not isinstance(value, str):
            return value
        name, _, number = value.partition("=")
        try:
            return name.strip(), float(number)
        except ValueError:
            self.fail(f"{value!r} is not NAME=VALUE with a number.", param, ctx)


EPSILON_OPTION = click.option(
    "--epsilon",
    "epsilons",
    type=Epsilons(),
    multiple=True,
    required=True,
    help="Privacy budget, > 0. Several, separated by commas or one by one, are compared in a table.",
)
WORKERS_OPTION = click.option(
    "--workers",
    type=click.IntRange(min=1),
    help="Say as well what a fit takes on a Dask cluster of so many workers, each with one thread.",
)
CAP_OPTIONS = options(
    click.option(
        "--ledger", "ledger_address", help="Ledger: say how many such fits it still pays for. With --dataset."
    ),
    click.option("--dataset", help="Name of the data set in the ledger."),
    click.option("--cap-epsilon", type=float, help="A cap: say how many such fits it would pay for."),
    click.option("--cap-delta", type=float, default=0.0, show_default=True, help="Delta of that cap."),
)


class Cap(NamedTuple):
    """What fits are counted from; nothing where nobody asked."""

    ledger_address: str | None
    dataset: str | None
    cap_epsilon: float | None
    cap_delta: float

    def check(self) -> None:
        """Refuse half of a pair."""
        check_ledger_options(self.ledger_address, self.dataset, None)
        if self.cap_delta and self.cap_epsilon is None:
            raise click.UsageError("--cap-delta needs --cap-epsilon.")

    def fits(self, plan: Plan) -> tuple[dict[str, int], list[str]]:
        """Numbers of fits by what they are paid from, and warnings about their price."""
        found, warned = {}, []
        if self.ledger_address is not None:
            from hushrank.privacy.ledger import Ledger  # needs a database package, which plans do not

            with Ledger(self.ledger_address) as ledger:
                account = ledger[str(self.dataset)]
                found[f"what is left of {self.dataset}"] = count_fits(plan, account)
                warned = [f"{said}." for said in (account.say_dear(plan.event),) if said is not None]
        if self.cap_epsilon is not None:
            at = f" at delta {self.cap_delta:g}" if self.cap_delta else ""
            named = f"a cap of epsilon {self.cap_epsilon:g}{at}"
            found[named] = count_fits_in_cap(plan, self.cap_epsilon, self.cap_delta)
        return found, warned


def guess_options(release: type[PrivateRelease]) -> Decorator:
    """Options for public guesses, and for the number of factors or components that is asked for."""
    table, decorators = release.guess_table(), []
    if table:
        listed = "; ".join(f"{name} ({guess.default:g}): {guess.help}" for name, guess in table.items())
        text = f"Public guess for the forecast, never from the data. Names and defaults: {listed}."
        decorators.append(click.option("--guess", "guesses", type=NamedGuess(), multiple=True, help=text))
    if RATINGS in table:
        text = f"Number of all ratings, or a public guess of it; the same as --guess {RATINGS}=RATINGS/USERS."
        decorators.append(click.option("--ratings", type=click.IntRange(min=1), help=text))
    taken = {line.option or name for name, line in release.parameter_table().items()}
    if release._counted and release._counted not in taken:
        text = f"Say from which epsilon on so many {release._counted} are expected. Default: as many as are asked for."
        decorators.append(click.option(f"--{release._counted}", "count", type=click.IntRange(min=1), help=text))
    return options(*decorators)


def read_guesses(guesses: tuple[tuple[str, float], ...], ratings: int | None, n_users: int | None) -> dict[str, float]:
    """The stated guesses by name."""
    stated = dict(guesses)
    if len(stated) < len(guesses):
        raise click.UsageError("--guess names a guess twice.")
    if ratings is not None and n_users is not None:
        if RATINGS in stated:
            raise click.UsageError(f"--ratings and --guess {RATINGS}=... state the same.")
        stated[RATINGS] = ratings / n_users
    return stated


def print_plans(
    make: Callable[[float], Plan],
    epsilons: tuple[tuple[float, ...], ...],
    as_json: bool,
    cap: Cap,
    more: Callable[[Plans], dict[str, Any]] = lambda _: {},
) -> None:
    """One plan in full, several as a table, or JSON: one object, or a list.

    `more` finds what holds for all epsilons, in JSON by name; its "in words" is a line.
    """
    cap.check()
    asked = tuple(epsilon for several in epsilons for epsilon in several)
    plans = Plans.of(make, asked)
    fits, warned = zip(*(cap.fits(plan) for plan in plans), strict=True)
    others = more(plans)
    words = others.pop("in words", "")
    if as_json:
        shown = [
            one | ({"fits": count} if count else {}) | ({"warnings": said} if said else {}) | others
            for one, count, said in zip(plans.to_list(), fits, warned, strict=True)
        ]
        if len(shown) == 1:
            del shown[0]["asked_epsilon"]
        click.echo(json.dumps(shown[0] if len(shown) == 1 else shown))
        return
    click.echo(str(plans[0] if len(plans) == 1 else plans))
    dear = [f"warning: {said}" for one in warned for said in one]
    for line in (*fit_lines(asked, fits), *dear, *filter(None, [words])):
        click.echo(line)


def fit_lines(epsilons: tuple[float, ...], fits: Sequence[dict[str, int]]) -> Iterator[str]:
    """How many fits there are from each cap, for people."""
    for named in fits[0]:
        counts = [count[named] for count in fits]
        if len(counts) == 1:
            yield f"{counts[0]} {'fit' if counts[0] == 1 else 'fits'} like this from {named}"
        else:
            listed = ", ".join(
                f"{count} at epsilon {epsilon:g}" for count, epsilon in zip(counts, epsilons, strict=True)
            )
            yield f"fits from {named}: {listed}"


def expected_from(release: Any, count: int, terms: dict[str, Any]) -> dict[str, Any]:
    """From which epsilon on so many factors or components are expected, by name and in words."""
    epsilon, what = release.epsilon_for(count, **terms), release._counted
    one = what.removesuffix("s") if count == 1 else what
    verb = "is" if count == 1 else "are"
    words = (
        f"{count} {one} {verb} expected at no epsilon up to {MOST_EPSILON:g}, for these sizes and guesses"
        if epsilon is None
        else f"{count} {one} {verb} expected from epsilon = {epsilon:.3g} on"
    )
    first = release.epsilon_for(1, **terms) if count > 1 and epsilon is None else None
    words += "" if first is None else f"; the first one from epsilon = {first:.3g} on"
    return {"expected_from": {what: count, "epsilon": epsilon}, "in words": words}
