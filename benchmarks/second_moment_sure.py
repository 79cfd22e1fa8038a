"""Whether `alignment_`, `explained_variance_interval_` and `n_significant_` keep what they promise, by many refits.

The truth of a fit is the second moment T of the rows as the fit saw them: in its frame, shortened to its radius, around
the mean that was released with the matrix. Component i is judged by eigenvalue i of T and by its squared cosine with
eigenvector i, and with the matching eigenspace: that eigenvector and those of all eigenvalues of T in the interval of
the component. It is noise if less than .2 of it lies there. Errors of shares allow for components of one fit that err
together.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from measure import table

import numpy as np  # isort: skip  (after measure, which fixes the threads)

from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.second_moment.released import SecondMoment
from means import Mean, share_of, verdict
from second_moment_accuracy import DELTAS, ENGINE
from second_moment_tables import TABLES, Table

NAMES = ("digits", "power3", "clusters", "lognormal", "breast cancer")
EPSILONS, REFITS, SURE, NOISE = (1.0, 4.0), 40, 0.8, 0.2
COVERAGE_LIMITS, NOISE_LIMIT = (0.92, 0.98), 0.015
WIDTHS, ALARM_FITS, ALARM_ROWS, ALARM_LIMIT = (5, 20, 100), 1000, 1000, 0.05
KINDS = {0.0: "pure", 1e-6: "Gaussian"}


class RecordedPCA(PrivatePCA):
    """PrivatePCA that keeps what was released of the second moment, to be read by `truth_of`."""

    released: SecondMoment

    def _release(self, *arguments: Any) -> SecondMoment:
        self.released = super()._release(*arguments)
        return self.released


def truth_of(model: RecordedPCA, X: np.ndarray) -> np.ndarray:
    """The second moment of rows as the model saw them."""
    rows = model.released.frame.place(np.ascontiguousarray(X))
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows * np.minimum(1.0, model.released.radius / np.maximum(norms, np.finfo(float).tiny))
    if model.released.mean is not None:
        rows = rows - model.released.mean
    return rows.T @ rows / len(rows)


@dataclass
class Record:
    """Sums over the sure components of many fits; `groups` has hits and number of each fit."""

    groups: list[tuple[int, int]] = field(default_factory=list)
    alignment: float = 0.0
    cosine: float = 0.0
    matched: float = 0.0
    noise: int = 0
    significant: int = 0
    significant_noise: int = 0

    def add(self, model: RecordedPCA, T: np.ndarray) -> None:
        """Judge the components of one fit."""
        values, vectors = (part[..., ::-1] for part in np.linalg.eigh(T))
        squares = (model.components_ @ vectors) ** 2
        low, high = model.explained_variance_interval_.T[..., np.newaxis]
        own = np.eye(len(squares), len(values), dtype=bool)
        matched = np.sum(squares * (own | ((values >= low) & (values <= high))), axis=1)
        target = values[: len(squares)]
        is_covered = (target >= low[:, 0]) & (target <= high[:, 0])
        sure = model.alignment_ >= SURE
        self.groups.append((int(is_covered[sure].sum()), int(sure.sum())))
        self.alignment += float(model.alignment_[sure].sum())
        self.cosine += float(squares[own][sure].sum())
        self.matched += float(matched[sure].sum())
        self.noise += int(np.sum(matched[sure] < NOISE))
        self.significant += model.n_significant_
        self.significant_noise += int(np.sum(matched[: model.n_significant_] < NOISE))

    @property
    def total(self) -> int:
        """Number of sure components."""
        return sum(number for _, number in self.groups)

    def coverage(self) -> Mean:
        """Share of intervals that contain the truth."""
        hits, total = sum(hit for hit, _ in self.groups), self.total
        if not total:
            return share_of(0, 0)
        squares = sum((hit - hits / total * number) ** 2 for hit, number in self.groups)
        return share_of(hits, total, squares)

    def cells(self) -> tuple[object, ...]:
        """Of a row of the results."""
        total = max(self.total, 1)
        coverage, noise = self.coverage(), self.noise / total
        is_kept = not self.total or (
            COVERAGE_LIMITS[0] <= coverage.value <= COVERAGE_LIMITS[1] and noise <= NOISE_LIMIT
        )
        means = (f"{value / total:.3f}" for value in (self.alignment, self.cosine, self.matched))
        weak = f"{self.significant_noise / max(self.significant, 1):.2%} of {self.significant}"
        return len(self.groups), self.total, coverage, *means, f"{noise:.2%}", verdict(is_kept), weak


def join(records: Iterable[Record]) -> Record:
    """Sums of several records."""
    whole = Record()
    for record in records:
        whole.groups += record.groups
        for name in ("alignment", "cosine", "matched", "noise", "significant", "significant_noise"):
            setattr(whole, name, getattr(whole, name) + getattr(record, name))
    return whole


def refit(data: Table, center: Any, epsilon: float, delta: float) -> Record:
    """Many fits of one table at one guarantee."""
    record, budget = Record(), {"epsilon": epsilon, "delta": delta, "engine": ENGINE}
    for _ in range(REFITS):
        model = RecordedPCA(data.n_components, row_norm=data.row_norm, center=center, **budget).fit(data.X)
        record.add(model, truth_of(model, data.X))
    return record


def intervals() -> list[str]:
    """Coverage and alignment of components that are said to be sure."""
    records = {}
    for name in NAMES:
        data = TABLES[name]()
        centers = {"none": None, "public": data.X.mean(axis=0), "private": "private"}
        for delta in DELTAS:
            for words, center in centers.items():
                found = [refit(data, center, epsilon, delta) for epsilon in EPSILONS]
                records[name, KINDS[delta], words] = join(found)
    rows = []
    for kind in KINDS.values():
        of_kind = {key: record for key, record in records.items() if key[1] == kind}
        rows.append((kind, "all", *join(of_kind.values()).cells()))
        for part in (*centers, *NAMES):
            words = f"center {part}" if part in centers else part
            rows.append((kind, words, *join(record for key, record in of_kind.items() if part in key).cells()))
    header = (
        f"epsilon {EPSILONS[0]:g} and {EPSILONS[1]:g}", "", "fits", f"components with alignment_ >= {SURE:g}",
        "coverage ({:g} to {:g})".format(*COVERAGE_LIMITS), "mean alignment_", "true squared cosine",
        "with the matching eigenspace", f"noise (limit {NOISE_LIMIT:.1%})", "", "noise among significant ones",
    )  # fmt: skip
    return table(header, rows)


def zero_rows(d: int) -> np.ndarray:
    """A second moment of zero."""
    return np.zeros((ALARM_ROWS, d))


def isotropic_rows(d: int) -> np.ndarray:
    """Plus and minus every axis, equally often: a second moment that is a multiple of the identity."""
    return np.tile(np.vstack([np.eye(d), -np.eye(d)]), (-(-ALARM_ROWS // (2 * d)), 1))


def alarms() -> list[str]:
    """How often something is called significant where there is nothing but noise."""
    rows = []
    for delta, kind in KINDS.items():
        for words, make in (("zeros", zero_rows), ("isotropic", isotropic_rows)):
            cells = []
            for d in WIDTHS:
                model = PrivatePCA(1, row_norm=1.0, epsilon=1.0, delta=delta, engine=ENGINE)
                X = make(d)
                hits = sum(model.fit(X).n_significant_ > 0 for _ in range(ALARM_FITS))
                share = share_of(hits, ALARM_FITS)
                cells.append(f"{share} {verdict(share.value - 2 * share.error <= ALARM_LIMIT)}")
            rows.append((kind, words, *cells))
    header = (f"false alarms of n_significant_ (limit {ALARM_LIMIT:g})", "rows", *(f"d = {d}" for d in WIDTHS))
    return [*table(header, rows), "", f"{ALARM_FITS} fits each; MISSED where more than two errors above the limit."]


def run(folder: Path | None) -> list[str]:
    """Measure and return Markdown."""
    return [*intervals(), "", *alarms()]
