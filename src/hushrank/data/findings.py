"""What a check of data found: for the data holder, who must not publish it. No model and no ledger holds any of it."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hushrank.exceptions import InvalidParameter

LEVELS = ("problem", "warning", "note")
NOT_PRIVATE = "NOT PRIVATE: for the data holder only, do not publish."
BOUNDS = (
    "Bounds, scales and lists of items must be known without these data: what was read off them voids the guarantee."
)
MOST_NAMES = 5
"""Names that one finding lists."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the data holder should know before a budget is spent.

    Attributes
    ----------
    level : "problem", "warning" or "note"
        A problem makes most of the result nonsense, or the fit fail after its charge.
    name : str
        What was found, for machines.
    text : str
        The same in words.
    numbers : dict
        What the words say, as numbers and names.
    """

    level: str
    name: str
    text: str
    numbers: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise InvalidParameter("Finding", "level", f"one of {', '.join(LEVELS)}", self.level)

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe description."""
        return {"level": self.level, "name": self.name, "text": self.text, "numbers": dict(self.numbers)}


@dataclass(frozen=True, slots=True)
class Look:
    """What a kind of data tells about itself: counts by name, and findings."""

    counts: Mapping[str, int]
    findings: Sequence[Finding] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Check:
    """A planned release tried on data: nothing was charged, and no noise was drawn. NOT PRIVATE.

    Attributes
    ----------
    subject : str
        What was checked, such as "PrivatePCA".
    counts : dict of str to int
        Rows, columns, users, ratings and the like, by name.
    findings : tuple of Finding
        Problems first.
    resources : dict of str to float
        Memory and time that the release will take, where they were measured; good to a factor of two.
    nouns : dict of str to str
        What the counts are called in print, where that is not their name.
    """

    subject: str
    counts: Mapping[str, int]
    findings: tuple[Finding, ...]
    resources: Mapping[str, float] = field(default_factory=dict)
    nouns: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        ordered = sorted(self.findings, key=lambda finding: LEVELS.index(finding.level))
        object.__setattr__(self, "findings", tuple(ordered))

    @property
    def has_problems(self) -> bool:
        """Whether a budget would be wasted on these data."""
        return any(finding.level == "problem" for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain numbers and texts, marked as not private."""
        return {
            "not_private": NOT_PRIVATE,
            "subject": self.subject,
            "counts": dict(self.counts),
            "findings": [finding.to_dict() for finding in self.findings],
            "resources": dict(self.resources),
        }

    def __repr__(self) -> str:
        return f"<Check of {self.subject}: {len(self.findings)} findings, not private; print it>"

    def __str__(self) -> str:
        """Lines for people, under a heading that says who they are for."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        yield f"check of {self.subject}. {NOT_PRIVATE}"
        nouns = {name: self.nouns.get(name, name.removeprefix("n_")) for name in self.counts}
        yield "  " + ", ".join(_count(count, nouns[name]) for name, count in self.counts.items())
        for finding in self.findings:
            yield f"{finding.level}: {finding.text}"
        if not self.findings:
            yield "nothing odd was found"
        if self.resources:
            yield "a fit will take (good to a factor of two)"
            yield from (f"  {name}: {value:.3g}" for name, value in self.resources.items())
        yield f"Nothing was charged. {BOUNDS}"


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun.removesuffix('s') if count == 1 else noun}"


def share(part: float, whole: float) -> str:
    """A share in percent; what is not all, or not nothing, is not said to be.

    Examples
    --------
    >>> share(2, 3), share(999_999, 1_000_000), share(1, 1_000_000), share(0, 7)
    ('67 %', '>99 %', '<1 %', '0 %')
    """
    percent = 100.0 * part / max(whole, 1)
    if 0 < percent < 1:
        return "<1 %"
    return ">99 %" if 99 < percent < 100 else f"{percent:.0f} %"


def name_some(names: Sequence[Hashable]) -> str:
    """A few names, quoted, and how many more there are.

    Examples
    --------
    >>> name_some(["a", "b"]), name_some(range(7))
    ("'a', 'b'", '0, 1, 2, 3, 4 and 2 more')
    """
    shown = ", ".join(repr(name) for name in names[:MOST_NAMES])
    return shown if len(names) <= MOST_NAMES else f"{shown} and {len(names) - MOST_NAMES} more"
