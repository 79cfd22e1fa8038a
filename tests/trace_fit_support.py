"""Planted records as one block, and what a fit knows when it searches, starts, steps and checks: for tests of each."""

import copy

import numpy as np

from hushrank.data.records.measurements import read_measurements
from hushrank.engine.local import LocalEngine
from hushrank.estimators.searches import Searches
from hushrank.estimators.trace.coordinates import isotropic
from hushrank.estimators.trace.designs import DESIGNS
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.estimators.trace.recipe import RECIPES, plan_spending
from hushrank.evaluation.trace_data import trace_records
from trace_support import make_releases


class Situation:
    """Records of a planted matrix, and a budget to learn it with.

    Attributes
    ----------
    data : TraceRecords
        The truth.
    asked : list of str
        Names of the kernels of all sums so far.
    """

    def __init__(self, n=2000, shape=(6, 5), rank=2, *, mu=1e3, neighbors="replace", sizes=0, shift=0.0, **terms):
        self.data = trace_records(n, shape, rank, **{"seed": 3, **terms})
        name = self.data.design
        source = read_measurements(self.data.X, self.data.y + shift, design=name, shape=shape, owner="test")
        self.blocks = list(source.blocks())
        self.design, self.whitening, self.recipe = DESIGNS[name](shape), isotropic(shape), RECIPES[name]
        self._budget, self._sizes = {"mu": mu, "neighbors": neighbors}, sizes
        self._begin()

    def again(self):
        """The same records, and nothing spent."""
        other = copy.copy(self)
        other._begin()
        return other

    def _begin(self):
        self.releases = make_releases(self.blocks, **self._budget)
        self.spending = plan_spending(self.releases, self.recipe, sizes=self._sizes)
        self.searches, self.asked, total = Searches(self.releases, self.spending), [], self.releases.total

        def watched(kernel, state):
            self.asked.append(kernel.__name__)
            return total(kernel, state)

        self.releases.total = watched

    @property
    def truth(self):
        """The matrix in the coordinates of a fit, where an entry is measured sqrt(d1 d2) times."""
        return self.data.coef / self.design.unit

    def error(self, matrix):
        """Of a matrix in these coordinates, relative to the truth."""
        return float(np.linalg.norm(matrix - self.truth) / np.linalg.norm(self.truth))


def regression(rank=1, **terms):
    """An estimator with a budget; one thread."""
    return PrivateTraceRegression(rank, **{"epsilon": 1.0, "delta": 1e-5, "engine": LocalEngine(threads=1), **terms})
