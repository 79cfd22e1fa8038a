"""What a fit of ratings would do to them: which are unknown, clipped or repeated, and who has none. NOT PRIVATE."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushrank.data.cell_forms import SAMPLE, find_forms
from hushrank.data.findings import Finding, Look, share
from hushrank.data.ratings.grouping import Tally
from hushrank.data.ratings.rating_columns import RatingColumns, RatingCsv
from hushrank.data.ratings.reading import Ratings
from hushrank.data.ratings.unknown_items import WatchedCatalogue, say_cause

MANY = 0.2  # share of ratings or users, from which on a note is a warning
MOST = 0.5  # from which on a warning is a problem
FEW_RATINGS = 3
VERY_MANY = 1000  # ratings of one user, and
MUCH_MORE = 50  # times as many as the median


@dataclass
class SeenRatings(Tally):
    """A tally that looks at the ratings of known items as well."""

    smallest: float = math.inf
    largest: float = -math.inf
    n_usable: int = 0

    def see(self, items: NDArray[np.int64], ratings: NDArray[np.float64]) -> None:
        """Smallest and largest of those that are finite."""
        with np.errstate(all="ignore"):
            usable = ratings[(items >= 0) & np.isfinite(ratings)]
        self.n_usable += len(usable)
        if len(usable):
            self.smallest = min(self.smallest, float(usable.min()))
            self.largest = max(self.largest, float(usable.max()))


def look_at_ratings(ratings: Any, n_users: int | None = None) -> Look:
    """Read all ratings once, as a fit would, and count; ratings that were read before tell less.

    Examples
    --------
    >>> from hushrank.data.ratings.reading import read_ratings
    >>> ratings = read_ratings([[1, 9], [np.nan, 2]], owner="example", rating_range=(1, 5))
    >>> [finding.text.split(" (")[0] for finding in look_at_ratings(ratings).findings]
    ['1 of 3 ratings', '2 of 2 users']
    """
    findings: list[Finding] = []
    origin = ratings._origin if isinstance(ratings, Ratings) else None
    if origin is None:
        numbers = [np.diff(block.indptr) for block in ratings.blocks()]
    else:
        tally = SeenRatings()
        with _watching(origin) as watched:
            numbers = [np.diff(origin.read(tally).indptr)]
        findings += _find_lost(tally)
        if tally.n_not_finite and isinstance(origin, RatingCsv):
            findings += find_forms(origin.first_ratings(SAMPLE), "--rating-col names another", "problem")
        findings += _find_unknown(tally, watched)
        findings += _find_values(tally, ratings.rating_range)
        if tally.n_repeated:
            told = f"{tally.n_repeated:,} ratings repeat a pair of user and item, and count with it as one mean"
            level = "warning" if tally.n_repeated > MANY * tally.n_read else "note"
            numbers_found = {"repeated": tally.n_repeated, "ratings": tally.n_read}
            findings.append(Finding(level, "repeated_ratings", told, numbers_found))
    per_user = np.concatenate([np.zeros(0, np.int64), *numbers])
    findings += _find_users(per_user, n_users)
    return Look({"n_users": len(per_user), "n_items": ratings.n_items, "n_ratings": int(per_user.sum())}, findings)


@contextmanager
def _watching(origin: Any) -> Iterator[WatchedCatalogue | None]:
    """Look ids of items up in a catalogue that notices unknown ones; a matrix has its columns for items."""
    if not isinstance(origin, RatingColumns):
        yield None
        return
    catalogue = origin._catalogue
    watched = origin._catalogue = WatchedCatalogue(catalogue)
    try:
        yield watched
    finally:
        origin._catalogue = catalogue


def _find_lost(tally: Tally) -> Iterator[Finding]:
    """Ratings that nobody gave, or that are no numbers."""
    if tally.n_read == 0:
        yield Finding("problem", "no_ratings", "there is no rating", {"ratings": 0})
    for name, lost, words in (
        ("ratings_without_user", tally.n_without_user, "have no user, or lie in a line that cannot be read"),
        ("ratings_not_finite", tally.n_not_finite, "are no finite numbers"),
    ):
        if lost:
            yield _counted(name, lost, tally.n_read, f"{words} and are left out")


def _counted(name: str, part: int, whole: int, words: str, **more: Any) -> Finding:
    level = "problem" if part > MOST * whole else "warning" if part > MANY * whole else "note"
    text = f"{part:,} of {whole:,} ratings ({share(part, whole)}) {words}"
    return Finding(level, name, text, {name: part, "ratings": whole, **more})


def _find_unknown(tally: Tally, watched: WatchedCatalogue | None) -> Iterator[Finding]:
    if not tally.n_unknown:
        return
    cause, told = ("", "") if watched is None else say_cause(watched)
    words = "are of items that the catalogue does not know and are left out" + (f": {told}" if told else "")
    found = _counted("unknown_items", tally.n_unknown, tally.n_read, words, cause=cause)
    if found.level == "note" and cause:  # few, and yet a mistake
        found = Finding("warning", found.name, found.text, found.numbers)
    yield found


def _find_values(tally: SeenRatings, limits: tuple[float, float] | None) -> Iterator[Finding]:
    """Ratings outside of their range, or all alike."""
    if limits is None or not tally.n_usable:
        return
    seen = f"the smallest is {tally.smallest:.6g}, the largest {tally.largest:.6g}"
    if tally.n_clipped:
        words = f"are outside rating_range {limits[0]:g} to {limits[1]:g} and would be clipped; {seen}"
        extremes = {"smallest": tally.smallest, "largest": tally.largest}
        yield _counted("clipped_ratings", tally.n_clipped, tally.n_read, words, **extremes)
    if tally.smallest == tally.largest and tally.n_usable > 1:
        text = (
            f"all ratings are {tally.smallest:g}: nothing to learn from them, but who met what is told by --feedback "
        )
        yield Finding("warning", "equal_ratings", f"{text}implicit", {"rating": tally.smallest})


def _find_users(per_user: NDArray[np.int64], n_users: int | None) -> Iterator[Finding]:
    """Users without ratings, with few, and with very many."""
    n_found = len(per_user)
    if n_users is not None and n_found > n_users:
        text = f"{n_found:,} users are more than n_users = {n_users:,}; all count, and noise is for fewer"
        yield Finding("warning", "more_users", text, {"users": n_found, "n_users": n_users})
    without = int((per_user == 0).sum())
    if without:
        text = f"{without:,} of {n_found:,} users ({share(without, n_found)}) have no usable rating"
        level = "problem" if without == n_found else "warning" if without > MANY * n_found else "note"
        yield Finding(level, "users_without_ratings", text, {"users_without": without, "users": n_found})
    few = int(((per_user > 0) & (per_user < FEW_RATINGS)).sum())
    if few > MANY * n_found:
        text = (
            f"{few:,} of {n_found:,} users ({share(few, n_found)}) have fewer than {FEW_RATINGS} ratings: factors tell "
        )
        yield Finding("note", "users_with_few_ratings", f"{text}little about them", {"users": few, "of_users": n_found})
    if n_found and per_user.max() > max(VERY_MANY, MUCH_MORE * np.median(per_user)):
        most, middle = int(per_user.max()), float(np.median(per_user))
        text = f"one user has {most:,} ratings, the median is {middle:g}: is it a person? Long lists are weighted down"
        yield Finding("note", "very_many_ratings", text, {"most": most, "median": middle})
