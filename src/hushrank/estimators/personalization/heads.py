"""Heads: what users make of a released representation and their own records, and predictions from them.

A head belongs to its user. Nothing here is stored in a model, and nothing here costs any budget: the representation is
public, and a user's records meet it on this user's side.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.data.frames import is_table
from hushrank.data.records.blocks import UserRecordBlock
from hushrank.data.records.histories import Histories, find_users
from hushrank.estimators.personalization.local_kernels import LocalPrior
from hushrank.estimators.personalization.recipe import ALONE, LOCAL
from hushrank.estimators.personalization.subspace import power
from hushrank.exceptions import InvalidParameter

FloatArray = NDArray[np.float64]
CheckRows = Callable[[Any], Any]

NUMBERS_AT_ONCE = 2**22  # coefficients that are gathered at a time


def local_prior(U: FloatArray, mean: FloatArray, S: FloatArray, noise: float, *, is_logistic: bool) -> LocalPrior:
    """What a user's own regression takes of a model: subspace, mean and covariance of heads, variance of noise."""
    is_known = float(np.trace(S)) > 0.0
    recipe = LOCAL if is_known else ALONE
    return LocalPrior(
        np.ascontiguousarray(U.T),
        U @ mean,
        S,
        power(S, 0.5) if is_known else np.zeros_like(S),
        noise,
        np.array(recipe.ratios),
        np.log(recipe.weights),
        np.array(recipe.is_shared),
        is_logistic,
    )


class Head:
    """One user's own coefficients.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        For records as they are: not only within the shared subspace, which a user with many records may leave.
    loss : "squared" or "logistic"
    """

    def __init__(self, coef: FloatArray, loss: str, check_rows: CheckRows) -> None:
        self.coef_, self.loss, self._check_rows = coef, loss, check_rows

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self.coef_)} coefficients, loss={self.loss!r})"

    def decision_function(self, X: Any) -> FloatArray:
        """Products of records and coefficients: predictions, or log odds of the label 1."""
        products: FloatArray = self._check_rows(X) @ self.coef_
        return products

    def predict(self, X: Any) -> NDArray[Any]:
        """Predicted answers; for the logistic loss, labels 0 and 1."""
        return to_answers(self.decision_function(X), self.loss)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of the labels 0 and 1, of shape (n_records, 2); for the logistic loss only."""
        return to_probabilities(self.decision_function(X), self.loss)

    def score(self, X: Any, y: Any) -> float:
        """Share of the variance that is explained, R^2; for the logistic loss, share of labels that are right."""
        return score_of(self.predict(X), y, self.loss)


class Heads:
    """Coefficients of many users, with their ids.

    Attributes
    ----------
    users : ndarray of shape (n_users,)
        Ids, in the order of their first appearance.
    coef_ : ndarray of shape (n_users, n_features)
        Coefficients in the same order.
    loss : "squared" or "logistic"
    """

    def __init__(
        self, histories: Histories, coef: FloatArray, unknown: FloatArray, loss: str, check_rows: CheckRows
    ) -> None:
        assert histories.ids is not None  # one person has a Head
        self.users, self.coef_, self.loss = histories.ids, coef, loss
        self._unknown, self._check_rows = unknown, check_rows
        # The ids alone: whoever is sent these heads is not sent the records.
        nothing = UserRecordBlock(np.zeros(1, np.int64), np.empty((0, coef.shape[1])), np.empty(0))
        self._histories = replace(histories, block=nothing, codes=histories.codes[:0])

    def __len__(self) -> int:
        """Number of users."""
        return len(self.coef_)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} users, loss={self.loss!r})"

    def __getitem__(self, user: Any) -> Head:
        """The head of one user, by id."""
        code = int(find_users(self._histories, [user], "Heads")[0])
        if code < 0:
            raise KeyError(user)
        return Head(self.coef_[code], self.loss, self._check_rows)

    def decision_function(self, X: Any, users: Any) -> FloatArray:
        """Products of each record with the coefficients of its user; users without a head have the mean one."""
        ids = column_of(X, users, "users", "Heads")
        rows, codes = self._check_rows(X), find_users(self._histories, ids, "Heads")
        if len(codes) != rows.shape[0]:
            raise InvalidParameter("Heads", "users", f"{rows.shape[0]} ids, one for each record", f"{len(codes)} ids")
        if hasattr(rows, "toarray"):
            rows = rows.toarray()
        products = np.empty(len(codes))
        step = max(1, NUMBERS_AT_ONCE // max(rows.shape[1], 1))
        for start in range(0, len(codes), step):
            part = slice(start, start + step)
            is_known = codes[part] >= 0
            own = np.tile(self._unknown, (len(is_known), 1))
            own[is_known] = self.coef_[codes[part][is_known]]
            products[part] = np.einsum("ij,ij->i", rows[part], own)
        return products

    def predict(self, X: Any, users: Any) -> NDArray[Any]:
        """Predicted answers of records of these users, in the order of the records."""
        return to_answers(self.decision_function(X, users), self.loss)

    def predict_proba(self, X: Any, users: Any) -> FloatArray:
        """Probabilities of the labels 0 and 1, of shape (n_records, 2); for the logistic loss only."""
        return to_probabilities(self.decision_function(X, users), self.loss)

    def score(self, X: Any, y: Any, users: Any) -> float:
        """As `Head.score`, over all records."""
        return score_of(self.predict(X, users), y, self.loss)


def to_answers(products: FloatArray, loss: str) -> NDArray[Any]:
    """Predictions from products."""
    return (products > 0.0).astype(np.int64) if loss == "logistic" else products


def to_probabilities(products: FloatArray, loss: str) -> FloatArray:
    """Probabilities of both labels."""
    if loss != "logistic":
        raise InvalidParameter("predict_proba", "loss", "'logistic' for probabilities", loss)
    positive = 1.0 / (1.0 + np.exp(-np.clip(products, -700.0, 700.0)))
    return np.column_stack([1.0 - positive, positive])


def score_of(predicted: NDArray[Any], y: Any, loss: str) -> float:
    """R^2, or the share of labels that are right."""
    answers = np.asarray(y.to_numpy() if isinstance(y, pa.Array | pa.ChunkedArray) else y, np.float64)
    if answers.shape != predicted.shape:
        raise InvalidParameter("score", "y", f"a vector of {len(predicted)} numbers", f"shape {answers.shape}")
    if loss == "logistic":
        return float(((answers > 0.0) == (predicted > 0)).mean())
    rest = ((answers - predicted) ** 2).sum()
    spread = ((answers - answers.mean()) ** 2).sum()
    return float(1.0 - rest / spread) if spread > 0.0 else float(rest == 0.0)


def column_of(X: Any, given: Any, name: str, owner: str) -> Any:
    """A column of the table X where a name is given instead of values."""
    if not isinstance(given, str):
        return given
    names = X.column_names if isinstance(X, pa.Table) else list(getattr(X, "columns", ()))
    if not is_table(X) or given not in names:
        raise InvalidParameter(owner, name, "one for each record, or the name of a column of a table", given)
    return X[given]
