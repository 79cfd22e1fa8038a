"""What a forecast of a recommender guesses about ratings that nobody has looked at, and what it takes by default.

Defaults are those of film ratings as they are published (MovieLens), rounded; `low` and `high` are what several public
and generated data sets lie between. Shares are of the variance of a rating.
"""

from collections.abc import Mapping
from typing import NamedTuple

from hushrank.privacy.guesses import Guess

GUESSES: Mapping[str, Guess] = {
    "ratings_per_user": Guess(
        100.0, 60.0, 180.0, "mean number of ratings of a user; by default at most a fifth of the items", minimum=1.0
    ),
    "deviation": Guess(
        0.28, 0.255, 0.305, "standard deviation of a rating over the width of the range", minimum=0.01, below=0.5
    ),
    "item_share": Guess(0.2, 0.15, 0.25, "share of the variance that the means of the items explain", below=0.9),
    "user_share": Guess(0.15, 0.1, 0.2, "share that the users' own means explain", below=0.9),
    "factor_share": Guess(0.15, 0.1, 0.2, "share that tastes explain, all factors together", below=0.9),
    "factors": Guess(8.0, 8.0, 8.0, "number of tastes; their shares fall like 1, 1/2, 1/3, ...", minimum=1.0),
    "choice": Guess(1.0, 0.6, 1.4, "how much tastes decide what is rated: log odds per deviation; 0 for none"),
    "popularity": Guess(0.9, 0.8, 1.0, "how fast ratings fall with the rank of an item: rank^-popularity"),
}
"""For ratings with offsets. A matrix alone, and implicit feedback, have tables of their own."""

MATRIX_GUESSES: Mapping[str, Guess] = {
    "ratings_per_user": Guess(50.0, 50.0, 50.0, "mean number of entries of a user, at most all items", minimum=1.0),
    "factor_share": Guess(0.5, 0.5, 0.5, "share of the variance of an entry that all factors explain", below=1.0),
    "factors": GUESSES["factors"],
}

IMPLICIT_GUESSES: Mapping[str, Guess] = {
    "ratings_per_user": Guess(50.0, 50.0, 50.0, "mean number of choices of a user", minimum=1.0),
    "factors": Guess(30.0, 30.0, 30.0, "number of tastes; their shares fall like 1, 1/2, 1/3, ...", minimum=1.0),
    "choice": GUESSES["choice"],
    "popularity": GUESSES["popularity"],
}

SHARES = ("item_share", "user_share", "factor_share")
"""Of one variance: together below 1."""
MOST_OF_ITEMS = 0.2
"""Of the items, rated by a user: most by default."""


class RatingGuesses(NamedTuple):
    """Values of `GUESSES`."""

    ratings_per_user: float
    deviation: float
    item_share: float
    user_share: float
    factor_share: float
    factors: float
    choice: float
    popularity: float

    @property
    def noise_share(self) -> float:
        """What nothing explains."""
        return 1.0 - self.item_share - self.user_share - self.factor_share


def default_guesses(n_items: int, table: Mapping[str, Guess] = GUESSES) -> dict[str, float]:
    """The defaults of a table by name, for a catalogue of this size."""
    values = {name: guess.default for name, guess in table.items()}
    most = float(n_items) if table is MATRIX_GUESSES else max(MOST_OF_ITEMS * n_items, 2.0)
    return {**values, "ratings_per_user": min(values["ratings_per_user"], most)}
