"""Forecasts of `plan` beside what fits reach: bands of recommenders, and components.

Recommenders: replace one user, delta = 1e-6, rank 8, defaults; 10 % of every user's ratings held out; one fit of large
sets, the mean of three of small ones. MovieLens is not part of the project: `python benchmarks/bench_forecast.py --data
FOLDER` reads ml1m.parquet and ml100k.parquet there. A forecast at the default guesses knows the numbers of users and
items only; stated are ratings per user and the deviation of a rating, for MovieLens as published and for generated sets
of another draw, and for generated sets the shares of the variance that the description of the generator tells.
"""

import logging
import statistics

from measure import data_folder, replace_section, table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from forecast_data import CALIBRATION, UNSEEN, made_ratings, unseen_ratings
from hushrank.engine.local import LocalEngine
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.second_moment.expectations import CAPTURED
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.evaluation.metrics import root_mean_squared_error
from hushrank.evaluation.synthetic import load_digits, power_law_rows
from rating_data import RANGE, RatingData, hold_out, load_movielens

TITLE = "Forecasts beside measured errors"
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
LARGE = 300_000  # ratings, from which on one fit is made
FIRST_RUN = (
    "A first run, on three other sets of the same generator, stated their deviation without the clipping to the range, "
    "0.265 instead of 0.24: 0 of 18 generated cells lay in those bands, and 12 of 18 in those of the default guesses. "
    "With the deviation of another draw it would have been 16 of 18. Guesses are stated in that way since, the band at "
    "stated guesses was widened from 4.5 % to 5.5 % on either side, and the sets above are new."
)
ENGINE = LocalEngine(threads=1)


def released(train: RatingData, epsilon: float) -> PrivateCompletion:
    """What is planned and fitted."""
    terms = {"epsilon": epsilon, "delta": 1e-6, "rating_range": RANGE, "items": train.n_items, "engine": ENGINE}
    return PrivateCompletion(8, **terms)


def measure(train: RatingData, test: RatingData, epsilon: float) -> tuple[float, float]:
    """Mean error and number of factors of fits."""
    fits = [released(train, epsilon).fit(train.table()) for _ in range(1 if len(train.users) > LARGE else 3)]
    errors = [root_mean_squared_error(m.predict_ratings(train.table(), test.table()), test.ratings) for m in fits]
    return statistics.mean(errors), statistics.mean(m.n_factors_ for m in fits)


class Cells:
    """Measured cells beside bands at the default and at stated guesses."""

    def __init__(self) -> None:
        self.rows: list[tuple[object, ...]] = []
        self.inside: list[tuple[bool, bool]] = []
        self.widths: list[float] = []

    def add(self, name: str, data: RatingData, guesses: dict[str, float]) -> None:
        """Fit at every epsilon."""
        train, test = hold_out(data, 0.1, 21)
        for epsilon in EPSILONS:
            error, factors = measure(train, test, epsilon)
            model = released(train, epsilon)
            plans = [model.plan(n_users=data.n_users, guesses=stated) for stated in (None, guesses)]
            bands = [tuple(plan.forecast.values()) for plan in plans]
            is_in = tuple(low <= error <= high for low, high in bands)
            shown = [
                f"{low:.3f} to {high:.3f}{'' if ok else ' (out)'}" for (low, high), ok in zip(bands, is_in, strict=True)
            ]
            counts = (f"{plans[0].expected['factors']:.1f}", f"{plans[1].expected['factors']:.1f}", f"{factors:.1f}")
            self.rows.append((name, f"{epsilon:g}", f"{error:.3f}", *shown, *counts))
            self.inside.append(is_in)
            self.widths.append((bands[0][1] - bands[0][0]) / statistics.mean(bands[0]))

    def lines(self) -> list[str]:
        """Markdown."""
        header = (
            "RMSE", "epsilon", "measured", "band, default guesses", "band, stated guesses", "factors expected, default",
            "stated", "measured",
        )  # fmt: skip
        return [*table(header, self.rows), "", self.summary()]

    def summary(self) -> str:
        """How many cells lie in their bands."""
        n, (default, stated) = len(self.inside), np.sum(self.inside, axis=0)
        widest = f"bands at the default guesses are {min(self.widths):.0%} to {max(self.widths):.0%} wide"
        return f"In the band: {default} of {n} cells at the default guesses, {stated} of {n} at stated ones; {widest}."


def recommenders(folder: object) -> list[str]:
    """The sets that nothing was calibrated on, and MovieLens."""
    cells = Cells()
    for name in ("ml1m", "ml100k") if folder is not None else ():
        data = load_movielens(folder, name)
        cells.add(name, data, {"ratings_per_user": len(data.users) / data.n_users, "deviation": data.ratings.std() / 4})
    for name in UNSEEN:
        cells.add(f"generated, {name}", *unseen_ratings(name))
    return [*cells.lines(), "", FIRST_RUN]


def calibration() -> list[str]:
    """How far the sets of the calibration lie from their forecasts."""
    cells = Cells()
    for seed, (name, kind) in enumerate(CALIBRATION.items()):
        data = made_ratings(kind, seed)
        seen = {"ratings_per_user": len(data.users) / data.n_users, "deviation": data.ratings.std() / 4}
        cells.add(name, data, {**kind.guesses, **seen})
    return [cells.summary()]


def components() -> list[str]:
    """Captured variance, for variances that fall as guessed and for others."""
    rows = []
    digits = load_digits() / 64.0
    sets = {
        "power law, 20000 x 50": power_law_rows(20_000, 50, seed=5),
        "digits, 1797 x 64, centered": digits - digits.mean(axis=0),
    }
    for name, X in sets.items():
        A = X.T @ X
        best = np.linalg.eigvalsh(A)[-5:].sum()
        for epsilon in (0.25, 1.0, 4.0):
            model = PrivatePCA(5, row_norm=1.0, epsilon=epsilon, delta=1e-6)
            plan = model.plan(X.shape)
            found = [np.trace(Q @ A @ Q.T) / best for Q in (model.fit(X).components_ for _ in range(10))]
            expected = plan.expected
            rows.append(
                (
                    name,
                    f"{epsilon:g}",
                    f"{expected[CAPTURED]:.3f}",
                    f"{np.mean(found):.3f}",
                    f"{expected['components']:.0f}",
                )
            )
    return table(("top 5", "epsilon", "captured, expected", "captured, measured", "components expected"), rows)


def run() -> list[str]:
    """Measure and return Markdown."""
    logging.getLogger("hushrank").setLevel(logging.ERROR)
    return [
        *recommenders(data_folder()),
        "",
        "### Calibration",
        "",
        *calibration(),
        "",
        "### Components",
        "",
        *components(),
    ]


if __name__ == "__main__":
    lines = run()
    print("\n".join(lines))
    replace_section(TITLE, "python benchmarks/bench_forecast.py --data FOLDER", lines)
