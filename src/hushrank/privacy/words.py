"""A guarantee in words, for people who know no epsilon: every sentence is one that the numbers imply."""

import math
from collections.abc import Iterator
from html import escape

from hushrank.privacy.guarantee import Guarantee, Neighbors, Unit

# Unit -> what may be replaced, and what is there or not. A bound of a stream is public, and said beside.
_REPLACED = {
    Unit.ROW: "Any one row of the data could be replaced by any other row",
    Unit.USER: "Any one person's data, all of them, could be replaced by anyone else's",
    Unit.RECORD: "Any one record could be replaced by any other record",
    Unit.LABEL: "The answer of any one record could be replaced by any other answer",
    Unit.ENTRY: "Any part of the stream that changes entries by no more than the bound could be replaced by another",
    Unit.RANK1: "Any part of the stream that adds a matrix of rank one within the bound could be replaced by another",
    Unit.FROBENIUS: "Any part of the stream that adds a matrix within the bound could be replaced by another",
}
_CHANGED = {
    Unit.ROW: "Any one row could be added to the data or removed from them",
    Unit.USER: "Any one person could be added to the data or removed from them, with all that is theirs",
    Unit.RECORD: "Any one record could be added to the data or removed from them",
    Unit.LABEL: "The answer of any one record could be known or unknown",
    Unit.ENTRY: "Any part of the stream that changes entries by no more than the bound could be there or not",
    Unit.RANK1: "Any part of the stream that adds a matrix of rank one within the bound could be there or not",
    Unit.FROBENIUS: "Any part of the stream that adds a matrix within the bound could be there or not",
}
_BEYOND = {
    Unit.ROW: "One row is hidden: a person with several rows is not hidden with all of them.",
    Unit.RECORD: "One record is hidden: a person with several records is not hidden with all of them.",
    Unit.LABEL: "Answers are hidden and nothing else: what was measured, and who is in the data, may show.",
    Unit.ENTRY: "A person who changes entries by more than the bound is hidden in part only.",
    Unit.RANK1: "What changes the matrix by more than the bound is hidden in part only.",
    Unit.FROBENIUS: "What changes the matrix by more than the bound is hidden in part only.",
}
_LARGEST = 25.0  # epsilon whose factor is a number to read


def say_guarantee(given: Guarantee) -> Iterator[str]:
    """Sentences: what may change, by how much results may, and what the promise rests on.

    Examples
    --------
    >>> from hushrank.privacy.events import Gaussian
    >>> for sentence in say_guarantee(Guarantee(1.0, 1e-6, "replace", "user", Gaussian(4.2), "exact")):
    ...     print(sentence)
    Any one person's data, all of them, could be replaced by anyone else's, and the probability of any result would \
be at most e^1 = 2.72 times as large, plus 1e-06.
    """
    if given.epsilon == math.inf:
        yield "Nothing is promised: this result is not private."
        return
    changes = (_REPLACED if given.neighbors is Neighbors.REPLACE else _CHANGED)[given.unit]
    yield f"{changes}, and the probability of any result would be at most {say_factor(given)}."
    if given.unit in _BEYOND:
        yield _BEYOND[given.unit]
    if given.premise:
        yield f"Provided that {given.premise}."
    if given.numerics != "exact":
        yield "The arithmetic of the noise is idealized: round the result before it is published."
    if given.reproducible:
        yield (
            "MUST NOT BE RELEASED: the noise came from a seed, and whoever knows that can remove it. It is for tests "
            "and teaching, and promises nothing."
        )


def say_factor(given: Guarantee) -> str:
    """By how much a probability may change, in numbers."""
    epsilon = f"e^{given.epsilon:.4g}"
    factor = f"{epsilon} = {math.exp(given.epsilon):.3g}" if given.epsilon < _LARGEST else epsilon
    return f"{factor} times as large" + (f", plus {given.delta:g}" if given.delta else "")


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
        told = "".join(f"<p>{escape(sentence)}</p>" for sentence in say_guarantee(self.privacy_))
        return f"<div><strong>What is promised</strong>{told}<p><small>{escape(str(self.privacy_))}</small></p></div>"
