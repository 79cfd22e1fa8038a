"""Choosing epsilon before any data are read: plans side by side, the least epsilon for a result, fits from a cap."""

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol, Self

from hushrank.exceptions import InvalidParameter
from hushrank.parameters import Param, check_integer, check_real
from hushrank.privacy.charging import check_same_terms
from hushrank.privacy.guesses import Guess, check_guesses
from hushrank.privacy.planning import Plan

Guesses = Mapping[str, float] | None
Told = dict[str, float]


class ToldByWorkers(Protocol):
    """Something that takes time and memory on a cluster."""

    def tell(self, workers: int) -> Told:
        """Time and memory with so many workers, by name and unit."""


FROM, TO = ", from", ", to"
"""How the two ends of a band are told apart in the names of a forecast."""
LEAST_EPSILON, MOST_EPSILON = 0.01, 100.0
"""Between these the least epsilon is searched for."""

_STEPS = 40  # of the search, each 26 % above the one before; then the last one is halved
_HALVINGS = 8
_HEADINGS = range(18, 9, -1)  # letters of a column, where its words allow it: the widest that fit a page
_PAGE = 80
_WORKERS = Param(int, minimum=1, optional=True)
_ENOUGH = 0.5  # an expected number of 2.5 counts as three
_ROUNDING = 1e-9  # of what is left: sums of decimals


class Plans(tuple[Plan, ...]):
    """Plans of one release at several epsilons; prints as a table, one line each.

    Attributes
    ----------
    epsilons : tuple of float
        As they were asked for; a guarantee may be a little below.
    """

    epsilons: tuple[float, ...]

    @classmethod
    def of(cls, make: Callable[[float], Plan], epsilons: Iterable[float]) -> Self:
        """The plan that `make` makes of every epsilon."""
        asked = tuple(epsilons)
        plans = cls(make(epsilon) for epsilon in asked)
        plans.epsilons = asked
        return plans

    def to_list(self) -> list[dict[str, Any]]:
        """JSON-safe descriptions, in order."""
        return [{"asked_epsilon": epsilon, **plan.to_dict()} for epsilon, plan in zip(self.epsilons, self, strict=True)]

    def __str__(self) -> str:
        return "\n".join([*_table(self._rows()), *self._notes()])

    def _rows(self) -> list[dict[str, str]]:
        return [
            {"epsilon": f"{epsilon:g}", **_noise(plan), **_bands(plan.forecast), **_numbers(plan.expected)}
            for epsilon, plan in zip(self.epsilons, self, strict=True)
        ]

    def _notes(self) -> Iterator[str]:
        """The guesses, which are the same for all, and every note with the epsilons that it is about."""
        if self and self[0].guesses:
            yield "guesses: " + ", ".join(f"{name} {value:g}" for name, value in self[0].guesses.items())
        for note in dict.fromkeys(note for plan in self for note in plan.notes):
            at = [f"{epsilon:g}" for epsilon, plan in zip(self.epsilons, self, strict=True) if note in plan.notes]
            about = f" (epsilon {', '.join(at)})" if len(at) < len(self) else ""
            yield f"note{about}: {note}"


def _noise(plan: Plan) -> dict[str, str]:
    """The first noise scale of the last release, which has the largest part of the budget."""
    name, value = next(iter(plan.steps[-1].scales.items()))
    return {} if name.startswith("epsilon") else {name: f"{value:.4g}"}


def _bands(forecast: Mapping[str, float]) -> dict[str, str]:
    """Values of a forecast by name, where the two ends of a band have one name."""
    shown: dict[str, str] = {}
    for name, value in forecast.items():
        if name.endswith(TO) and name.removesuffix(TO) in shown:
            shown[name.removesuffix(TO)] += f" to {value:#.3g}"
        else:
            shown[name.strip().removesuffix(FROM)] = f"{value:#.3g}" if name.endswith(FROM) else f"{value:.3g}"
    return shown


def _numbers(expected: Mapping[str, float]) -> dict[str, str]:
    return {f"expected: {name}": f"{value:.2f}" for name, value in expected.items()}


def _table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Lines of a table under headings of several lines, as narrow as a page needs."""
    if not rows:
        return
    columns = [[row.get(name, "") for row in rows] for name in rows[0]]
    for letters in _HEADINGS:
        headings = [textwrap.wrap(name, letters, break_long_words=False) for name in rows[0]]
        widths = [max(map(len, [*lines, *cells])) for lines, cells in zip(headings, columns, strict=True)]
        if sum(widths) + 2 * (len(widths) - 1) <= _PAGE:
            break
    for i in range(max(map(len, headings))):
        parts = [lines[i] if i < len(lines) else "" for lines in headings]
        yield "  ".join(part.rjust(width) for part, width in zip(parts, widths, strict=True)).rstrip()
    for cells in zip(*columns, strict=True):
        yield "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def least_epsilon(expected: Callable[[float], float | None], count: int) -> float | None:
    """The epsilon from which on at least `count` are expected, within a percent; None if no epsilon is enough.

    `expected` is asked at epsilons between LEAST_EPSILON and MOST_EPSILON, and may be None where nothing can be
    planned. Where it rises and falls, it is the least epsilon above which it stays up.

    Examples
    --------
    >>> round(least_epsilon(lambda epsilon: epsilon / 2, 3), 1)
    5.0
    """

    def is_enough(epsilon: float) -> bool:
        found = expected(epsilon)
        return found is not None and found >= count - _ENOUGH

    ratio = math.pow(MOST_EPSILON / LEAST_EPSILON, 1 / _STEPS)
    grid = [MOST_EPSILON / ratio**i for i in range(_STEPS + 1)]
    while grid and expected(grid[0]) is None:  # too much for any lattice
        del grid[0]
    is_too_small = next((i for i, epsilon in enumerate(grid) if not is_enough(epsilon)), len(grid))
    if is_too_small in (0, len(grid)):
        return grid[-1] if is_too_small else None
    low, high = grid[is_too_small], grid[is_too_small - 1]
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def count_fits(plan: Plan, account: Any) -> int:
    """How many releases like the planned one an account of a ledger still pays for.

    Parameters
    ----------
    plan : Plan
    account : Account
        Of a ledger, as `hushrank.Ledger("budget.db")["name"]`; nothing is charged.
    """
    from hushrank.privacy.ledger.words import more_like  # needs the packages of the ledger, which plans do not

    terms = {name: getattr(plan.guarantee, name) for name in ("neighbors", "unit")}
    check_same_terms(account.budget, account.name, "count_fits", **terms)
    return more_like(account.terms, account.last().total, plan.event)


def count_fits_in_cap(plan: Plan, epsilon: float, delta: float = 0.0) -> int:
    """How many releases like the planned one a cap of (epsilon, delta) would pay for.

    Examples
    --------
    >>> from hushrank.privacy.guarantee import Budget
    >>> from hushrank.privacy.planning import plan_vector
    >>> count_fits_in_cap(plan_vector(Budget(0.1), 1.0), 1.0)
    10
    >>> count_fits_in_cap(plan_vector(Budget(1.0, 1e-6), 1.0), 3.0, 1e-6)
    7
    """
    from hushrank.privacy.guarantee import Budget
    from hushrank.privacy.ledger.currency import Terms  # needs the packages of the ledger, which plans do not

    terms = Terms.of(Budget(epsilon, delta, plan.guarantee.neighbors, plan.guarantee.unit))
    return math.floor(float(terms.cap / terms.cost(plan.event)) * (1 + _ROUNDING))


class Forecasting:
    """What every private release offers to choose its budget by; a part of `PrivateRelease`.

    A subclass may state `_guesses`, a table of public guesses that its forecasts use, and `_counted`, the name of what
    it expects a number of, such as factors.
    """

    _guesses: ClassVar[Mapping[str, Guess]] = {}
    _counted: ClassVar[str] = ""

    _sizes: ClassVar[Mapping[str, Param]] = {}
    epsilon: float
    plan: Callable[..., Plan]
    _plan: Callable[..., Any]
    _parameters: Callable[[], dict[str, Any]]
    _check_parameters: Callable[[], Any]
    _check_sizes: Callable[..., dict[str, int]]

    @classmethod
    def size_table(cls) -> dict[str, Param]:
        """The public sizes that `plan` takes."""
        return dict(cls._sizes)

    @classmethod
    def guess_table(cls) -> dict[str, Guess]:
        """The public guesses that `plan` takes."""
        return dict(cls._guesses)

    def plan_many(self, epsilons: Iterable[float], **terms: Any) -> Plans:
        """Plans at several epsilons, side by side; nothing is read or charged.

        Parameters
        ----------
        epsilons : iterable of float
        **terms
            As for `plan`: sizes by name or a shape, and guesses.

        Returns
        -------
        Plans
            A tuple of plans, which prints as a table.
        """
        return Plans.of(lambda epsilon: self._at(epsilon).plan(**terms), epsilons)

    def epsilon_for(
        self, count: int, shape: tuple[int, ...] | None = None, *, guesses: Guesses = None, **sizes: int
    ) -> float | None:
        """The epsilon from which on so many factors or components are expected; None if up to 100 it is none.

        Parameters
        ----------
        count : int
        shape, guesses, **sizes
            As for `plan`.
        """
        owner, number = type(self).__name__, check_integer(count, "count", type(self).__name__, minimum=1)
        self._check_parameters()
        known = self._check_sizes(shape, sizes)
        stated = self._check_guesses(known, guesses)
        if self._count_at(self.epsilon, known, stated) is None:
            raise InvalidParameter(owner, "count", "asked of a plan that expects a number of something", count)
        return least_epsilon(lambda epsilon: self._count_at(epsilon, known, stated), number)

    def _count_at(self, epsilon: float, sizes: Mapping[str, int], guesses: Mapping[str, float]) -> float | None:
        """What is counted, at another epsilon; None where that cannot be planned or nothing is counted."""
        other = self._at(epsilon)
        try:
            return other._expect_count(other._plan(other._check_parameters(), sizes), sizes, **guesses)
        except InvalidParameter:
            return None

    def _at(self, epsilon: float) -> Self:
        """The same release at another epsilon."""
        number = check_real(epsilon, "epsilon", type(self).__name__, above=0)
        return type(self)(**{**self._parameters(), "epsilon": number})

    def _tell_workers(self, workers: int | None, releases: Any, sizes: Mapping[str, int], **guesses: float) -> Told:
        """What a fit takes on a cluster of so many workers; nothing where nobody asks."""
        _WORKERS.check(workers, "workers", type(self).__name__)
        work = None if workers is None else self._cluster_work(releases, sizes, **guesses)
        return {} if workers is None or work is None else work.tell(int(workers))

    def _cluster_work(self, releases: Any, sizes: Mapping[str, int], **guesses: float) -> ToldByWorkers | None:
        """What a fit asks of a cluster; None where nobody measured it."""
        return None

    def _default_guesses(self, sizes: Mapping[str, int]) -> dict[str, float]:
        """The guesses that this forecast uses, by name, with their defaults for these sizes."""
        return {name: guess.default for name, guess in self._guesses.items()}

    def _check_guesses(self, sizes: Mapping[str, int], guesses: Mapping[str, Any] | None) -> dict[str, float]:
        return check_guesses(self.guess_table(), self._default_guesses(sizes), guesses, type(self).__name__)

    def _expect_count(self, releases: Any, sizes: Mapping[str, int], **guesses: float) -> float | None:
        """How many of `_counted` to expect; None where nobody can say."""
        return None

    def _expected(self, releases: Any, sizes: Mapping[str, int], **guesses: float) -> dict[str, float]:
        """What the result may be expected to have that grows with the budget, by name."""
        count = self._expect_count(releases, sizes, **guesses)
        return {} if count is None else {self._counted: count}
