"""Ratings of many pieces of data, sent to one place for each user and joined there."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hushrank.data.identifiers import IdTable
from hushrank.data.parcels import Rows, narrow
from hushrank.data.ratings.grouping import Tally, UserBlock, cut_users, no_users, scale_ratings
from hushrank.data.ratings.out_of_core import Grouper
from hushrank.data.ratings.rating_range import Range
from hushrank.data.source import MAX_BLOCK_ROWS, Source


@dataclass(frozen=True, slots=True)
class RatingGrouping:
    """How ratings are sent and joined: by the same steps as where one process reads all of them.

    Attributes
    ----------
    n_items : int
        Length of the catalogue.
    rating_range : pair of floats or None
        Lowest and highest rating; None for implicit feedback, of which items alone are sent.
    """

    n_items: int
    rating_range: Range | None

    @property
    def _item_type(self) -> type[np.signedinteger[Any]]:
        return np.int16 if self.n_items < 2**15 else np.int32

    def rows(self, origin: Any) -> Iterator[Rows]:
        """Users, positions of items, and ratings."""
        for ids, items, ratings in origin.batches():
            places = items.astype(self._item_type)
            yield ids, [places] if self.rating_range is None else [places, narrow(ratings)]

    def join(self, rows: Iterator[Rows], n_left_out: int) -> "RatingPart":
        """Users in the order in which they come, each with rising items and no item twice."""
        users, tally = IdTable(), Tally(n_read=n_left_out, n_without_user=n_left_out)
        with Grouper(self.n_items, tally) as grouper:
            for ids, (items, *given) in rows:
                ratings = given[0].astype(np.float64) if given else np.ones(len(items))
                codes = users.add(ids)
                grouper.add(scale_ratings(codes, items.astype(np.int64), ratings, self.rating_range, tally))
            n_users = len(users)
            del users
            return RatingPart(grouper.finish(n_users), tally)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RatingPart:
    """The users of one place.

    Attributes
    ----------
    users : UserBlock
    tally : Tally
    """

    users: UserBlock
    tally: Tally

    @property
    def n_people(self) -> int:
        """Users, with or without usable ratings."""
        return len(self.users)

    @property
    def n_bytes(self) -> int:
        """Memory of the ratings."""
        return self.users.indptr.nbytes + self.users.items.nbytes + self.users.values.nbytes

    def __sizeof__(self) -> int:
        return self.n_bytes  # by which a cluster decides what to keep in memory

    def source(self) -> "PartRatings":
        """The users in blocks."""
        return PartRatings(self.users)

    def notes(self) -> Tally:
        """How many ratings were touched."""
        return self.tally


class PartRatings(Source):
    """Some users of ratings, as they were grouped."""

    def __init__(self, users: UserBlock) -> None:
        super().__init__(len(users))
        self._users = users

    @property
    def sizes(self) -> Mapping[str, int]:
        """Nothing: whoever has all parts knows them."""
        return {}

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[UserBlock]:
        """Blocks of users, see `cut_users`."""
        return cut_users(self._users, max_rows)

    def empty_block(self) -> UserBlock:
        """A block without users."""
        return no_users()
