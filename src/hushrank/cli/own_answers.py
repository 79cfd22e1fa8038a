"""What a public model and people's own records say: heads, their quality, and predictions, each for its person."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushrank.cli.own_records import NewRecords
from hushrank.data.id_arrays import to_array
from hushrank.data.records.histories import Histories
from hushrank.evaluation.held_out import Quality, coefficients_of, measure_heads

STEP_NUMBERS = 2**22  # of new records, at a time
ERRORS = ("error", "error_of_model_alone", "error_of_best_single_answer")


@dataclass(frozen=True, eq=False)
class Answers:
    """Heads of people, and predictions for new records of theirs.

    Attributes
    ----------
    model : PrivateRepresentation
    histories : Histories
        Own records.
    features : list of str
        Names, in the order of the model.
    coefficients : ndarray of shape (n_people, n_features)
    asked : NewRecords or None
    products : ndarray of shape (n_new,)
        Of new records and coefficients; NaN where a number is missing.
    """

    model: Any
    histories: Histories
    features: list[str]
    coefficients: NDArray[np.float64]
    asked: NewRecords | None
    products: NDArray[np.float64]

    @property
    def is_logistic(self) -> bool:
        """Whether answers are labels."""
        return bool(self.model.loss == "logistic")

    @property
    def users(self) -> list[Any]:
        """Ids of the people as they were given; one None for a file that names nobody."""
        return [None] if self.histories.ids is None else list(self.histories.ids.tolist())

    @property
    def new_ids(self) -> list[Any] | None:
        """Ids of the new records as they were given; None where they have none."""
        ids = None if self.asked is None else self.asked.ids
        return None if ids is None else list(to_array(ids).tolist())

    @cached_property
    def qualities(self) -> list[Quality]:
        """How well heads predict own records, person by person."""
        return measure_heads(self.model, self.histories.block)

    def largest(self, person: int, number: int) -> list[tuple[str, float]]:
        """The largest coefficients of a person, by size."""
        own = self.coefficients[person]
        return [(self.features[j], float(own[j])) for j in np.argsort(-abs(own), kind="stable")[:number]]

    def people(self) -> Iterator[dict[str, Any]]:
        """One dict a person, safe for JSON."""
        for user, quality, own in zip(self.users, self.qualities, self.coefficients, strict=True):
            errors = {name: _or_none(error) for name, error in zip(ERRORS, quality[1:], strict=True)}
            coefficients = dict(zip(self.features, own.tolist(), strict=True))
            yield {"user": user, "records": quality.n_records, **errors, "coefficients": coefficients}

    def predictions(self) -> list[tuple[float | int | None, float | None]]:
        """Predictions and, of labels, the probabilities of 1; None where a number is missing or beyond all bounds."""
        if not self.is_logistic:
            return [(_or_none(value), None) for value in self.products.tolist()]
        chances = (0.5 + 0.5 * np.tanh(self.products / 2.0)).tolist()
        labels = (None if math.isnan(value) else int(value > 0.0) for value in self.products)
        return [(label, _or_none(chance)) for label, chance in zip(labels, chances, strict=True)]

    def to_table(self, user: str) -> pa.Table:
        """Predictions as a table, in the order of the new records, with a column `user` of ids where they have them."""
        values, chances = [[pair[i] for pair in self.predictions()] for i in (0, 1)]
        columns: dict[str, Any] = {}
        if self.asked is not None and self.asked.ids is not None:
            columns[user] = self.asked.ids
        columns["prediction"] = pa.array(values, pa.int64() if self.is_logistic else pa.float64())
        if self.is_logistic:
            columns["probability"] = pa.array(chances, pa.float64())
        return pa.table(columns)


def answer(model: Any, histories: Histories, features: list[str], asked: NewRecords | None) -> Answers:
    """Heads from own records, and predictions of what is asked; somebody without own records has the mean head."""
    block = histories.block
    users = np.repeat(np.arange(len(block)), np.diff(block.indptr))
    coefficients = coefficients_of(model, block.X, block.y, users, len(block))
    if asked is None:
        return Answers(model, histories, features, coefficients, None, np.empty(0))
    with_mean = np.vstack([coefficients, model.embedding_ @ model.head_mean_])  # its code is -1, the last row
    products, step = np.empty(len(asked.X)), max(1, STEP_NUMBERS // len(features))
    for start in range(0, len(products), step):
        part = slice(start, start + step)
        with np.errstate(over="ignore", invalid="ignore"):  # values never raise
            products[part] = np.einsum("ij,ij->i", asked.X[part], with_mean[asked.codes[part]])
    return Answers(model, histories, features, coefficients, asked, products)


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
