"""A toy estimator of each kind of data: rows, ratings, records with users, and updates.

Each is what a new job would add: a planner, a kernel, and what learns. `tests/system/test_new_estimators.py` shows that
nothing else is needed but a line in the registry.
"""

from dataclasses import dataclass

import numpy as np

from hushrank.archive.attributes import COLUMNS, Attribute
from hushrank.base import Param, PrivateRelease
from hushrank.data.ratings.reading import read_ratings
from hushrank.data.records.reading import read_records
from hushrank.data.updates.reading import read_updates
from hushrank.engine.local import LocalEngine
from hushrank.estimator import PrivateEstimator
from hushrank.linalg.integer_sums import integer_sum
from hushrank.privacy.calibration import event_for
from hushrank.privacy.guarantee import Unit
from hushrank.privacy.mechanisms.vector import GaussianLattice, release_vector, vector_lattice
from hushrank.privacy.planning import vector_step
from hushrank.privacy.probes import NoiseProbe, normal_level

DELTA = Param(float, above=0, below=1, default=1e-6, help="Above 0.")


@dataclass(frozen=True)
class VectorPlan:
    """One sum of vectors."""

    lattice: GaussianLattice

    def steps(self):
        return (vector_step("sum", self.lattice),)


class ToyPlanner(PrivateRelease):
    """Parameters and plan that all toys share."""

    _params = {"norm": Param(float, above=0, help="Bound on one person's vector."), "delta": DELTA}  # noqa: RUF012

    def _plan(self, budget, sizes):
        return VectorPlan(vector_lattice(float(self.norm), event_for(budget), budget.neighbors))

    def _forecast(self, releases, sizes):
        people, *_ = self._sizes
        return {"error of a mean": releases.lattice.scale / sizes[people]}


class ToyEstimator(ToyPlanner, PrivateEstimator):
    """What the toys that fit data share."""

    def __init__(
        self, *, norm, epsilon, delta=1e-6, neighbors="replace", ledger=None, random_state=None, engine=None, verbose=0
    ):
        self.norm, self.epsilon, self.delta, self.neighbors = norm, epsilon, delta, neighbors
        self.ledger, self.random_state, self.engine, self.verbose = ledger, random_state, engine, verbose

    def _fit(self, source, releases, noise, total):
        return {"sum_": release_vector(total(self._kernel, releases.lattice), releases.lattice, noise)}

    def _noise_probe(self, releases, sizes):
        return NoiseProbe(
            self._silence(sizes), lambda model: {"sum": normal_level(model.sum_, releases.lattice.scale)}, 128
        )


# Rows.


class ToySum(ToyEstimator):
    """Sum of rows."""

    _learns = {"sum_": Attribute(float, (COLUMNS,))}  # noqa: RUF012
    _kernel = staticmethod(integer_sum)

    def _silence(self, sizes):
        return np.zeros((20, sizes["n_features"]))


# Ratings.


def add_liked(block, lattice):
    """Which items each user has rated."""
    n_items = lattice[1]
    liked = np.zeros((len(block), n_items))
    liked[np.repeat(np.arange(len(block)), np.diff(block.indptr)), block.items] = 1.0
    return integer_sum(liked, lattice[0])


class ToyItemCountsPlanner(ToyPlanner):
    """Parameters and plan of `ToyItemCounts`."""

    _unit = Unit.USER
    _sizes = {  # noqa: RUF012
        "n_users": Param(int, minimum=1, option="users", help="Number of users."),
        "n_items": Param(int, minimum=1, option="items", help="Number of items."),
    }
    _schema = {COLUMNS: "n_items"}  # noqa: RUF012


class ToyItemCounts(ToyItemCountsPlanner, ToyEstimator):
    """How many users rated each item, nobody with more than `norm` of weight."""

    _learns = {"sum_": Attribute(float, (COLUMNS,))}  # noqa: RUF012

    def _read(self, *data):
        return read_ratings(data[0], owner=type(self).__name__, rating_range=(-3, 3))

    def _fit(self, source, releases, noise, total):
        secret = total(add_liked, (releases.lattice, source.n_items))
        return {"sum_": release_vector(secret, releases.lattice, noise)}

    def _silence(self, sizes):
        return np.full((20, sizes["n_items"]), np.nan)


# Records with users.


def add_mean_answers(block, lattice):
    """Every user's mean answer, zero where it is not finite."""
    with np.errstate(all="ignore"):
        sums = np.array([block.y[i:j].sum() for i, j in zip(block.indptr[:-1], block.indptr[1:], strict=True)])
        means = sums / np.diff(block.indptr)
    return integer_sum(means.reshape(-1, 1), lattice)


class ToyMeanAnswerPlanner(ToyPlanner):
    """Parameters and plan of `ToyMeanAnswer`."""

    _unit = Unit.USER
    _sizes = {  # noqa: RUF012
        "n_users": Param(int, minimum=1, option="users", help="Number of users."),
        "n_features": Param(int, minimum=1, option="columns", help="Number of columns."),
    }


class ToyMeanAnswer(ToyMeanAnswerPlanner, ToyEstimator):
    """Sum of the users' mean answers."""

    _learns = {"sum_": Attribute(float, (1,))}  # noqa: RUF012
    _kernel = staticmethod(add_mean_answers)

    def fit(self, X, y=None, users=None):
        return self._fit_data(X, y, users)

    def _read(self, *data):
        return read_records(*data, owner=type(self).__name__)

    def _silence(self, sizes):
        return np.zeros((20, sizes["n_features"])), np.zeros(20), np.arange(20)


# Updates.


def add_updates(block, state):
    """Changes of the column sums, each bounded alone."""
    lattice, n_columns = state
    changes = np.zeros((len(block), n_columns))
    changes[np.arange(len(block)), block.columns] = block.deltas
    return integer_sum(changes, lattice)


class ToyColumnTotals(ToyPlanner):
    """Column sums of a matrix that is only known by its updates; merged and released later."""

    _unit = Unit.ENTRY
    _sizes = {  # noqa: RUF012
        "n_updates": Param(int, minimum=1, option="updates", help="Number of updates."),
        "n_rows": Param(int, minimum=1, option="rows", help="Rows of the matrix."),
        "n_columns": Param(int, minimum=1, option="columns", help="Columns of the matrix."),
    }
    _schema = {}  # noqa: RUF012
    _params = {  # noqa: RUF012
        **ToyPlanner._params,
        "n_rows": Param(int, minimum=1, option=None),
        "n_columns": Param(int, minimum=1, option=None),
    }
    _learns = {"totals_": Attribute(float, ("n_columns",))}  # noqa: RUF012

    def update(self, rows, columns, deltas):
        budget, shape = self._check_parameters(), (self.n_rows, self.n_columns)
        source = read_updates(rows, columns, deltas, shape=shape, owner=type(self).__name__)
        lattice = self._plan(budget, source.sizes).lattice
        self._secret = self._totals() + LocalEngine(1).total(source, add_updates, (lattice, self.n_columns))
        return self

    def merge(self, other):
        self._secret = self._totals() + other._totals()
        return self

    def release(self):
        """A new object with what was released, and without the secret sums."""
        budget = self._check_parameters()
        plan, secret = self._plan(budget, self._known_sizes()), self._totals()
        released = type(self)(**self._parameters())
        released._keep(
            self._execute(budget, plan, lambda noise: {"totals_": release_vector(secret, plan.lattice, noise)})
        )
        return released

    def _known_sizes(self):
        return {"n_rows": self.n_rows, "n_columns": self.n_columns}

    def _totals(self):
        return getattr(self, "_secret", np.zeros(self.n_columns, np.int64))

    def _noise_probe(self, releases, sizes):
        zeros = np.zeros(20, np.int64)
        return NoiseProbe(
            (zeros, zeros, np.zeros(20)),
            lambda model: {"totals": normal_level(model.totals_, releases.lattice.scale)},
            128,
        )
