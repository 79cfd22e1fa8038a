"""A guarantee, and the noise of a release, in plain words."""

import math
from collections.abc import Iterator
from html import escape

from hushrank.privacy.events import Event, Gaussian, Pure, Repeated
from hushrank.privacy.figures import at_least, at_most
from hushrank.privacy.guarantee import Guarantee, Neighbors, Unit

# Beyond it a factor is written as a power: nobody reads eleven digits.
_LARGEST_FACTOR_EPSILON = 25.0

_UNITS = {
    Unit.ROW: "any one row",
    Unit.USER: "everything from any one user",
    Unit.RECORD: "any one record",
    Unit.LABEL: "the answer of any one record",
    Unit.ENTRY: "any one change of entries within the stated bound, such as one update,",
    Unit.RANK1: "any one matrix of rank one within the stated bound",
    Unit.FROBENIUS: "any one matrix of a Frobenius norm within the stated bound",
}

_NOT_HIDDEN = {
    Unit.ROW: "One row is hidden: a person with several rows is not hidden with all of them.",
    Unit.RECORD: "One record is hidden: a person with several records is not hidden with all of them.",
    Unit.LABEL: "Answers are hidden and nothing else: what was measured, and who is in the data, may show.",
    Unit.ENTRY: "Who changes entries by more than the bound is hidden in part only.",
    Unit.RANK1: "What changes the matrix by more than the bound is hidden in part only.",
    Unit.FROBENIUS: "What changes the matrix by more than the bound is hidden in part only.",
}

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
        if guarantee.unit in _NOT_HIDDEN:
            yield _NOT_HIDDEN[guarantee.unit]
        if guarantee.premise:
            yield f"This holds provided that {guarantee.premise}."
        if arithmetic and guarantee.numerics == "idealized":
            yield "Noise counts as real numbers here: rounding inside the computer is not covered."


def adjacency_in_words(neighbors: Neighbors, unit: Unit) -> str:
    """What two neighboring data sets differ by, in one sentence.

    Examples
    --------
    >>> adjacency_in_words(Neighbors.ADD_REMOVE, Unit.ROW)
    'Two data sets are adjacent if any one row was added or removed.'
    """
    change = "was replaced by anything else" if neighbors is Neighbors.REPLACE else "was added or removed"
    return f"Two data sets are adjacent if {_UNITS[unit]} {change}."


def not_hidden_in_words(unit: Unit) -> str:
    """What hiding one `unit` does not hide, in one sentence; empty where that is nothing."""
    return _NOT_HIDDEN.get(unit, "")


def factor_in_words(epsilon: float) -> str:
    """By which factor a chance may change: e^epsilon, rounded up, and the power it is.

    Examples
    --------
    >>> factor_in_words(0.5), factor_in_words(100.0)
    ('1.65 (e^0.5)', 'e^100')
    """
    power = f"e^{at_most(epsilon)}"
    return f"{at_most(math.exp(epsilon), 3)} ({power})" if epsilon <= _LARGEST_FACTOR_EPSILON else power


def noise_in_words(event: Event, unit: Unit) -> str:
    """How much noise a release gets, beside what one `unit` can change; empty where the event does not tell."""
    if isinstance(event, Gaussian):
        return f"noise of {at_least(event.noise_multiplier, 3)} times what {_one(unit)} can change"
    if isinstance(event, Pure):
        factor = factor_in_words(event.epsilon)
        return f"noise under which {_one(unit)} changes the chance of any result by at most a factor of {factor}"
    if isinstance(event, Repeated):
        inner = noise_in_words(event.event, unit)
        return inner and f"{event.count} times, each with {inner}"
    return ""


def _promise(given: Guarantee) -> str:
    if given.epsilon == math.inf:
        return "NOT private: nothing is promised to anybody."
    change = "were replaced by anything else" if given.neighbors is Neighbors.REPLACE else "were added or removed"
    beyond = f", and beyond that factor by at most {at_most(given.delta)}" if given.delta else ""
    factor = factor_in_words(given.epsilon)
    chance = f"the chance of any result would change by at most a factor of {factor}{beyond}"
    return f"If {_UNITS[given.unit]} {change}, {chance}."


def _one(unit: Unit) -> str:
    """One unit as the subject of a sentence, in short."""
    return f"one {_SHORT.get(unit, unit.value)}"


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
