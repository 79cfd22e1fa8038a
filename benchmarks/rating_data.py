"""Rating data for benchmarks: MovieLens from a folder that the caller names, and generated ratings of any size."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

RANGE = (1.0, 5.0)


@dataclass(frozen=True)
class RatingData:
    """Ratings with ids counted from 0."""

    users: NDArray[np.int64]
    items: NDArray[np.int64]
    ratings: NDArray[np.float64]
    n_users: int
    n_items: int

    def part(self, rows: NDArray[np.bool_]) -> "RatingData":
        """Some of the ratings, of the same users and items."""
        return RatingData(self.users[rows], self.items[rows], self.ratings[rows], self.n_users, self.n_items)

    def table(self) -> pa.Table:
        """Columns user, item and rating."""
        return pa.table({"user": self.users, "item": self.items, "rating": self.ratings})


def load_movielens(folder: Path, name: str) -> RatingData:
    """Ratings of the file `name`.parquet with the columns user, item and rating."""
    table = pq.read_table(folder / f"{name}.parquet", columns=["user", "item", "rating"])
    codes = [pc.dictionary_encode(table[column].combine_chunks()) for column in ("user", "item")]
    users, items = (code.indices.to_numpy().astype(np.int64) for code in codes)
    ratings = table["rating"].to_numpy().astype(np.float64)
    return RatingData(users, items, ratings, len(codes[0].dictionary), len(codes[1].dictionary))


def hold_out(data: RatingData, share: float, seed: int) -> tuple[RatingData, RatingData]:
    """Training and test ratings: of every user's ratings this share, rounded, is held out at random."""
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(data.users)), data.users))
    counts = np.bincount(data.users, minlength=data.n_users)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order)) - starts[data.users[order]]
    held_out = place < np.round(share * counts[data.users])
    return data.part(~held_out), data.part(held_out)
