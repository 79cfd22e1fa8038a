"""A guarantee, and the noise of a release, in plain words."""

import math
from collections.abc import Iterator
from html import escape

from hushrank.privacy.events import Event, Gaussian, Pure, Repeated
from hushrank.privacy.figures import at_least, at_most
from hushrank.privacy.guarantee import Guarantee, Neighbors, Unit

# Beyond it a factor is written as a power: nobody reads eleven digits.
_LARGEST_FACTOR_EPSILON = 25.0

_WHOLES = {
    Unit.ROW: "one row",
    Unit.USER: "everything from any one user",
    Unit.RECORD: "one record",
    Unit.LABEL: "the answer of any one record",
}
_CHANGES = {
    Unit.ENTRY: "one change of entries by at most {} in total, such as one update,",
    Unit.ROW: "one change of a row of the matrix by a vector of norm at most {}",
    Unit.RANK1: "one change of the matrix by one of rank one and norm at most {}",
    Unit.FROBENIUS: "one change of the matrix by one of Frobenius norm at most {}",
}
"""Units that are changes of a bounded size, and not whole people or rows; rows only where there is a bound."""

_NO_BOUND = "the bound of each release"  # in a ledger, which knows none

_NOT_HIDDEN = {
    Unit.ROW: "One row is hidden: a person with several rows is not hidden with all of them.",
    Unit.RECORD: "One record is hidden: a person with several records is not hidden with all of them.",
    Unit.LABEL: "Answers are hidden and nothing else: what was measured, and who is in the data, may show.",
}
_LARGER = {
    Unit.ENTRY: "Who changes entries by more than that is hidden in part only",
    Unit.ROW: "Who changes a row by more than that, or several rows, is hidden in part only",
    Unit.RANK1: "What changes the matrix by more than that is hidden in part only",
    Unit.FROBENIUS: "What changes the matrix by more than that is hidden in part only",
}
_AS_COUNTED = "updates count as they were clipped and rounded"  # docs/privacy/turnstile.md, Neighbors

_SHORT = {
    Unit.ENTRY: "update",
    Unit.LABEL: "answer",
    Unit.RANK1: "matrix of rank one",
    Unit.FROBENIUS: "matrix within the bound",
}


def in_words(guarantee: Guarantee) -> str:
    """What a guarantee says, in sentences for people who know no epsilon.

    Parameters
    ----------
    guarantee : Guarantee

    Examples
    --------
    >>> given = Guarantee(1.0, 1e-6, "replace", "user", Gaussian(4.2247), "exact")
    >>> print(in_words(given))
    If everything from any one user were replaced by anything else, the chance of any result would change by at most a
    factor of 2.72 (e^1), and beyond that factor by at most 1e-06.
    """
    return " ".join(sentences(guarantee))


def sentences(guarantee: Guarantee, *, arithmetic: bool = True) -> Iterator[str]:
    """What a guarantee says, sentence by sentence: the promise, what is not in it, and what it rests on.

    Without `arithmetic` nothing is said about rounding: a budget has a guarantee, and knows no noise.
    """
    is_private = guarantee.epsilon != math.inf
    if is_private and guarantee.reproducible:
        yield "NOT private to release: made with a seed, and whoever knows the seed can remove the noise."
        yield "Made without a seed it would promise:"
    yield _promise(guarantee)
    if is_private:
        not_hidden = not_hidden_in_words(guarantee.unit, guarantee.bound)
        if not_hidden:
            yield not_hidden
        if guarantee.premise:
            yield premise_in_words(guarantee)
        if arithmetic and guarantee.numerics == "idealized":
            yield "Noise counts as real numbers here: rounding inside the computer is not covered."


def adjacency_in_words(neighbors: Neighbors, unit: Unit, bound: float | None = None) -> str:
    """What two neighboring data sets differ by, in one sentence; `bound` is that of a `Guarantee`.

    Examples
    --------
    >>> adjacency_in_words(Neighbors.ADD_REMOVE, Unit.ROW)
    'Two data sets are adjacent if any one row was added or removed.'
    >>> adjacency_in_words(Neighbors.REPLACE, Unit.ENTRY, 2.0)
    'Two data sets are adjacent if any one change of entries by at most 2 in total, such as one update, was replaced...'
    """
    return f"Two data sets are adjacent if {_any(unit, bound)} was {_changed(neighbors, unit, bound)}."


def not_hidden_in_words(unit: Unit, bound: float | None = None) -> str:
    """What hiding one `unit` does not hide, in one sentence; empty where that is nothing."""
    return f"{_LARGER[unit]}; {_AS_COUNTED}." if _is_change(unit, bound) else _NOT_HIDDEN.get(unit, "")


def premise_in_words(guarantee: Guarantee) -> str:
    """What is taken for granted, with the bound that it may speak of; empty where nothing is."""
    if not guarantee.premise:
        return ""
    bounded = "" if guarantee.bound is None else f" The bound is {at_least(guarantee.bound)}."
    return f"This holds provided that {guarantee.premise}.{bounded}"


def unit_in_words(unit: Unit, bound: float | None = None) -> str:
    """What is hidden as a whole, as the subject of a sentence.

    Examples
    --------
    >>> unit_in_words(Unit.USER), unit_in_words(Unit.ROW, 1.0)
    ('everything from any one user', 'one change of a row of the matrix by a vector of norm at most 1')
    """
    if not _is_change(unit, bound):
        return _WHOLES[unit]
    return _CHANGES[unit].format(_NO_BOUND if bound is None else at_least(bound))


def factor_in_words(epsilon: float) -> str:
    """By which factor a chance may change: e^epsilon, rounded up, and the power it is.

    Examples
    --------
    >>> factor_in_words(0.5), factor_in_words(100.0)
    ('1.65 (e^0.5)', 'e^100')
    """
    power = f"e^{at_most(epsilon)}"
    return f"{at_most(math.exp(epsilon), 3)} ({power})" if epsilon <= _LARGEST_FACTOR_EPSILON else power


def noise_in_words(event: Event, unit: Unit, bound: float | None = None) -> str:
    """How much noise a release gets, beside what one `unit` can change; empty where the event does not tell."""
    one = (
        "one row within the bound" if unit is Unit.ROW and bound is not None else f"one {_SHORT.get(unit, unit.value)}"
    )
    if isinstance(event, Gaussian):
        return f"noise of {at_least(event.noise_multiplier, 3)} times what {one} can change"
    if isinstance(event, Pure):
        factor = factor_in_words(event.epsilon)
        return f"noise under which {one} changes the chance of any result by at most a factor of {factor}"
    if isinstance(event, Repeated):
        inner = noise_in_words(event.event, unit, bound)
        return inner and f"{event.count} times, each with {inner}"
    return ""


def _promise(given: Guarantee) -> str:
    if given.epsilon == math.inf:
        return "NOT private: nothing is promised to anybody."
    change = f"{_any(given.unit, given.bound)} were {_changed(given.neighbors, given.unit, given.bound)}"
    beyond = f", and beyond that factor by at most {at_most(given.delta)}" if given.delta else ""
    factor = factor_in_words(given.epsilon)
    chance = f"the chance of any result would change by at most a factor of {factor}{beyond}"
    return f"If {change}, {chance}."


def _is_change(unit: Unit, bound: float | None) -> bool:
    """Whether what is hidden is a change of a bounded size; rows of a table are hidden whole, those of a stream not."""
    return unit in _CHANGES and (bound is not None or unit is not Unit.ROW)


def _any(unit: Unit, bound: float | None) -> str:
    words = unit_in_words(unit, bound)
    return f"any {words}" if words.startswith("one ") else words


def _changed(neighbors: Neighbors, unit: Unit, bound: float | None) -> str:
    """What is done to one unit, as a participle."""
    if neighbors is not Neighbors.REPLACE:
        return "added or removed"
    return "replaced by another one" if _is_change(unit, bound) else "replaced by anything else"


class Promising:
    """What has a guarantee in its attribute `privacy_`, once it has released something, and shows it in notebooks."""

    privacy_: Guarantee

    def _repr_html_(self) -> str:
        """What it is, and what it promises, in words and open."""
        return f"<pre>{escape(repr(self).partition(' with Guarantee(')[0])}</pre>{self._promise_html()}"

    def _promise_html(self) -> str:
        """The guarantee in words and numbers; nothing before there is one."""
        if not hasattr(self, "privacy_"):
            return ""
        words, terms = escape(in_words(self.privacy_)), escape(str(self.privacy_))
        return f"<details open><summary>guarantee</summary><p>{words}</p><p><code>{terms}</code></p></details>"
