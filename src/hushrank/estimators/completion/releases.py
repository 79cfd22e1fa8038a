"""Releases of one fit to ratings: shares of one budget, for sums over users about a public catalogue."""

from collections.abc import Callable
from typing import Any

from hushrank.estimators.completion.public_items import PublicItems
from hushrank.privacy.adaptive import AdaptiveReleases
from hushrank.privacy.events import Gaussian
from hushrank.privacy.guarantee import Neighbors
from hushrank.privacy.noise.source import NoiseSource


class RatingReleases(AdaptiveReleases):
    """`AdaptiveReleases` whose people are users, and the size of the catalogue.

    Parameters
    ----------
    event, neighbors, n_max, noise, total, n_people
        As of `AdaptiveReleases`.
    n_items : int
        Items of the catalogue.
    items : PublicItems, optional
        What is public about them; by default nothing.
    """

    def __init__(
        self,
        event: Gaussian,
        neighbors: Neighbors,
        n_max: int,
        noise: NoiseSource,
        total: Callable[..., Any],
        *,
        n_people: int | None,
        n_items: int,
        items: PublicItems | None = None,
    ) -> None:
        super().__init__(event, neighbors, n_max, noise, total, n_people=n_people)
        self.n_items = n_items
        self.items = PublicItems.of(None, n_items) if items is None else items
