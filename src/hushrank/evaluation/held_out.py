"""How well heads predict their users' own records, when each is predicted from the user's others.

For the users themselves: errors depend on their records alone and on the public model, and belong to nobody else.
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushrank.data.records.blocks import UserRecordBlock
from hushrank.evaluation.metrics import root_mean_squared_error

FloatArray = NDArray[np.float64]

# Every record is left out alone where that takes a few seconds at most; else a tenth of a user's records at a time.
MOST_REFITS, MOST_WORK, FEW_REFITS = 200, 4_000_000, 10


class Quality(NamedTuple):
    """Errors of predictions for one user: root mean squared, or for the logistic loss the share of wrong labels.

    Attributes
    ----------
    n_records : int
        Own records that can be used, which are those whose numbers are all finite.
    own : float
        By heads from the user's other records; NaN without records, as all of them.
    shared : float
        By the mean head, as for users without records.
    plain : float
        By the best single answer: the mean of the user's own, or the more frequent label.
    """

    n_records: int
    own: float
    shared: float
    plain: float


def measure_heads(model: Any, block: UserRecordBlock) -> list[Quality]:
    """The quality of the head of every user of a block, in its order.

    Parameters
    ----------
    model : PrivateRepresentation
        Fitted; nothing is learned or charged here.
    block : UserRecordBlock
        Own records.

    Examples
    --------
    >>> from hushrank.estimators.personalization.estimator import PrivateRepresentation
    >>> from hushrank.evaluation.synthetic import shared_representation
    >>> data = shared_representation(3000, 12, 2, n_records=8, noise=0.1, seed=1)
    >>> model = PrivateRepresentation(2, epsilon=4.0, delta=1e-6).fit(data.X, data.y, data.users)
    >>> mine = UserRecordBlock(np.array([0, 8]), data.X[:8], data.y[:8])
    >>> [quality] = measure_heads(model, mine)
    >>> quality.n_records, quality.own < quality.shared
    (8, True)
    """
    users = np.repeat(np.arange(len(block)), np.diff(block.indptr))
    is_usable = _are_usable(block)
    users, X, y = users[is_usable], block.X[is_usable], block.y[is_usable]
    ends = np.searchsorted(users, np.arange(len(block) + 1))
    parts = (slice(start, stop) for start, stop in pairwise(ends))
    with np.errstate(over="ignore", invalid="ignore"):  # an error may be infinite, and values never raise
        own, shared = _predict_held_out(model, X, y, users), X @ (model.embedding_ @ model.head_mean_)
        return [_quality(y[part], own[part], shared[part], model.loss == "logistic") for part in parts]


def coefficients_of(model: Any, X: Any, y: Any, users: NDArray[np.integer], n_users: int) -> FloatArray:
    """Coefficients of users 0, 1, ..., n_users - 1, those of the mean head where a user has no records."""
    coefficients = np.tile(model.embedding_ @ model.head_mean_, (n_users, 1))
    heads = model.personalize(X, y, users.astype(np.int64))
    coefficients[heads.users] = heads.coef_
    return coefficients


def _are_usable(block: UserRecordBlock) -> NDArray[np.bool_]:
    """Which records a head takes notice of."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = np.einsum("ij,ij->i", block.X, block.X, dtype=np.float64)
    return np.asarray(np.isfinite(block.y) & np.isfinite(squares))


def _predict_held_out(model: Any, X: Any, y: Any, users: NDArray[np.integer]) -> FloatArray:
    """Products of records, grouped by user, with the heads that the users have without them."""
    place = np.arange(len(users)) - np.searchsorted(users, users)  # of a record among its user's
    longest = int(place.max(initial=-1)) + 1
    n_refits = longest if longest <= MOST_REFITS and longest * X.size <= MOST_WORK else FEW_REFITS
    products = np.empty(len(users))
    for number in range(n_refits if longest else 0):
        is_out = place % n_refits == number
        asked, own = np.unique(users[is_out], return_inverse=True)
        is_kept = ~is_out & np.isin(users, asked)  # users with few records have no part in most rounds
        kept = np.searchsorted(asked, users[is_kept])
        coefficients = coefficients_of(model, X[is_kept], y[is_kept], kept, len(asked))
        products[is_out] = np.einsum("ij,ij->i", X[is_out], coefficients[own])
    return products


def _quality(y: FloatArray, own: FloatArray, shared: FloatArray, is_logistic: bool) -> Quality:
    if not len(y):
        return Quality(0, np.nan, np.nan, np.nan)
    if is_logistic:
        share = float(np.mean(y > 0.0))
        own_error, shared_error = (float(np.mean((products > 0.0) != (y > 0.0))) for products in (own, shared))
        return Quality(len(y), own_error, shared_error, min(share, 1.0 - share))
    own_error, shared_error = (root_mean_squared_error(predicted, y) for predicted in (own, shared))
    return Quality(len(y), own_error, shared_error, float(y.std()))
