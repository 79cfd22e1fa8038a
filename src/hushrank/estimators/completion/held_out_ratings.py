"""Private ratings that a public recommender is measured on: read in its terms, by its catalogue and range."""

from collections.abc import Iterator, Mapping
from typing import Any

from hushrank.data.ratings.catalogue import Catalogue
from hushrank.data.ratings.leave_out import LeaveOut
from hushrank.data.ratings.rating_range import check_rating_range
from hushrank.data.ratings.reading import Ratings, read_ratings
from hushrank.data.source import MAX_BLOCK_ROWS, PIECE_ROWS, Piece, Source
from hushrank.estimators.completion.held_out_kernels import Scorer
from hushrank.estimators.completion.held_out_sums import Contest, make_contest, released_baseline
from hushrank.estimators.completion.queries import Recommender
from hushrank.exceptions import InvalidParameter

_RECOMMENDER = "a fitted PrivateCompletion, which is public"


class HeldOutRatings(Source):
    """Ratings together with what is public about their evaluation.

    Parameters
    ----------
    ratings : Ratings or another source of users
    contest : Contest
    rating_width : float
        Highest less lowest rating; 1 for implicit feedback.
    """

    def __init__(self, ratings: Any, contest: Contest, rating_width: float) -> None:
        super().__init__(ratings.n_samples)
        self.ratings, self.contest, self.rating_width = ratings, contest, rating_width

    @property
    def sizes(self) -> Mapping[str, int]:
        """Nothing that a plan asks for."""
        return {}

    @property
    def n_users(self) -> int:
        """The public number of users."""
        return int(self.ratings.n_users)

    def blocks(self, max_rows: int = MAX_BLOCK_ROWS) -> Iterator[Any]:
        """Blocks of users with all of their ratings."""
        return iter(self.ratings.blocks(max_rows))

    def empty_block(self) -> Any:
        """A block without users."""
        return self.ratings.empty_block()

    def pieces(self, enough: int = PIECE_ROWS) -> list[Piece] | None:
        """Those of the ratings."""
        pieces: list[Piece] | None = self.ratings.pieces(enough)
        return pieces

    def regrouped(self, group: Any, enough: int = PIECE_ROWS) -> "HeldOutRatings":
        """The same evaluation of ratings that are grouped elsewhere."""
        return HeldOutRatings(self.ratings.regrouped(group, enough), self.contest, self.rating_width)

    def forget(self) -> None:
        """The ratings are lost elsewhere."""
        self.ratings.forget()


def check_recommender(recommender: Any, owner: str) -> None:
    """Refuse what is no fitted recommender."""
    if not isinstance(recommender, Recommender) or not hasattr(recommender, "privacy_"):
        raise InvalidParameter(owner, "model", _RECOMMENDER, type(recommender).__name__)


def read_for(
    recommender: Any, X: Any, n_users: int | None, owner: str, columns: Mapping[str, str] | None = None
) -> Any:
    """Ratings of the items of a fitted recommender, within its range; no value is read yet."""
    is_implicit = recommender.feedback == "implicit"
    terms = {"rating_range": None if is_implicit else recommender.rating_range, "is_implicit": is_implicit}
    catalogue: Catalogue = recommender._catalogue
    ratings = read_ratings(X, owner=owner, items=catalogue, n_users=n_users, columns=columns, **terms)
    # What follows is about a source that was made before.
    if ratings.n_items != len(catalogue) or getattr(ratings, "catalogue", None) not in (None, catalogue):
        got = f"those of {ratings.n_items} items"
        raise InvalidParameter(owner, "X", f"ratings of the {len(catalogue)} items of the model", got)
    limits = None if is_implicit else check_rating_range(recommender.rating_range, owner)
    if isinstance(ratings, Ratings) and ratings.rating_range != limits:
        raise InvalidParameter(owner, "X", f"ratings that were read in the range {limits}", ratings.rating_range)
    return ratings


def rating_width(recommender: Any) -> float:
    """Highest less lowest rating; 1 for implicit feedback."""
    if recommender.feedback == "implicit":
        return 1.0
    low, high = map(float, recommender.rating_range)
    return high - low


def make_recommender_contest(
    recommender: Any, rule: LeaveOut, length: int, *, baselines: bool, others: tuple[Scorer, ...] = ()
) -> Contest:
    """A fitted recommender, what of it needs no ratings of a user if `baselines` are asked for, and others."""
    model, has_errors = recommender._model(), recommender.feedback == "explicit"
    own = (released_baseline(model),) if baselines else ()
    return make_contest(model, rule, length, has_errors=has_errors, others=(*own, *others))
