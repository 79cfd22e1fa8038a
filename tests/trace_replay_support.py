"""Replay of private trace regressions: their modes, records that a bound must survive, and the loss of neighbors.

Replay is that of `completion_support`: a fit on a neighbor is given the released values of the recorded one. Kernels
and public states must then be the same, bit for bit; every sum may move by no more than its noise was made for; and the
model must be the same, because it is made of releases alone.
"""

import math
import pickle

import numpy as np

from completion_support import Replay, cost, squared_loss
from hushrank.estimators.trace.coordinates import Tangent
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.evaluation.trace_data import trace_records
from hushrank.privacy.accountant import squared_mu
from representation_support import RecordingEngine, assert_equal_models
from trace_support import block_of

SHAPE, RANK, N = (4, 3), 1, 40
VARIANCES = np.linspace(0.5, 2.0, 12).reshape(SHAPE)
PAIR = np.diag([1.0, 2.0, 1.0, 0.5]) + 0.1, np.array([1.0, 1.5, 0.5])


def weigh(X):
    return X / VARIANCES


def weigh_pair(x, z):
    return x / PAIR[1][0], z / PAIR[1]


MODES = {
    "dense": {},
    "dense, blind": {"epsilon": 0.1},
    "dense, few": {"epsilon": 5.0},
    "dense, known intercept": {"intercept": 0.5},
    "dense, identity": {"design_covariance": "identity"},
    "dense, pair": {"design_covariance": PAIR},
    "dense, variances": {"design_covariance": VARIANCES},
    "dense, function": {"design_covariance": weigh, "epsilon": 5.0},
    "rank_one": {},
    "rank_one, few": {"epsilon": 5.0},
    "rank_one, pair": {"design_covariance": PAIR},
    "rank_one, function": {"design_covariance": weigh_pair},
    "entry": {},
    "entry, few": {"epsilon": 5.0},
    "entry, pair": {"design_covariance": ([1.0, 2.0, 3.0, 4.0], PAIR[1]), "epsilon": 5.0},
    "entry, variances": {"design_covariance": VARIANCES, "epsilon": 5.0},
}
MAIN = ("dense", "rank_one", "entry")


def design_of(mode):
    return mode.split(",")[0]


def regression(mode, **terms):
    options = {"epsilon": 50.0, "delta": 1e-6, "design": design_of(mode), "shape": SHAPE, "random_state": 1}
    return PrivateTraceRegression(RANK, **{**options, **MODES[mode], **terms})


# Records and neighbors


def make_records(name):
    """Pairs (x, y) of planted data, and the first singular vectors of the truth."""
    data = trace_records(N, SHAPE, RANK, seed=3, design=name)
    X = data.X.reshape(N, -1) if name == "dense" else np.column_stack(data.X).astype(float)
    U, _, Vt = np.linalg.svd(data.coef)
    return list(zip(X, data.y + 0.5, strict=True)), (U, Vt.T)


def directions(name, axes):
    """Measurements inside of a tangent space, across it, and half inside, of norm 1; entries likewise."""
    U, V = axes
    pairs = {"along": (0, 0), "across": (-1, -1), "half across": (0, -1)}
    if name == "dense":
        return {key: np.outer(U[:, a], V[:, b]).ravel() for key, (a, b) in pairs.items()}
    if name == "rank_one":
        return {key: np.concatenate([U[:, a], V[:, b]]) for key, (a, b) in pairs.items()}
    orders = [np.argsort(-np.abs(part[:, 0])) for part in axes]
    return {key: np.array([orders[0][a], orders[1][b]], float) for key, (a, b) in pairs.items()}


def adverse_records(name, axes):
    """Records that a bound must survive, by name; `axes` are whole bases that begin with singular vectors."""
    ways = directions(name, axes)
    x = np.array([3.0, 2.0]) if name == "entry" else np.random.default_rng(0).standard_normal(ways["along"].shape)
    ten = x if name == "entry" else 10.0 * x / np.linalg.norm(x)
    found = {
        "along": (ways["along"], 1e3),
        "half across, opposed": (ways["half across"], -1e3),
        "no answer": (x, math.nan),
        "50 and 10": (ten, 50.0),
        "along, opposed": (ways["along"], -1e30),
        "across": (ways["across"], 1e3),
        "infinite answer": (x, -math.inf),
        "huge answer": (x, 1e300),
        "zero": (0.0 * x, 0.0),
        "an answer to nothing": (0.0 * x, 1e30),
    }
    if name == "entry":
        found |= {f"row {j}": (np.array([j, 0.0]), 9.0) for j in (math.nan, -1.0, 0.5, 4.0, -math.inf)}
        return found | {f"column {k}": (np.array([0.0, k]), -9.0) for k in (3.0, -0.0, 1e300, 1.0 + 2.0**-52)}
    found |= {f"{power:g} times": (power * x, power) for power in (1e30, 1e300)}
    spoilt = np.where(np.arange(len(x)) == 1, math.nan, x)
    found |= {"not a number": (spoilt, 1.0), "infinite": (np.full_like(x, math.inf), 1.0)}
    return found | {"subnormal": (np.full_like(x, 5e-324), 5e-324), "huge, small answer": (1e9 * x, 1e-9)}


FEW = ("along", "half across, opposed", "no answer", "1e+300 times", "row nan", "at the bound", "without the first")
ANSWERS = (50.0, -50.0, 1e30, 1e300, math.nan, math.inf, 5e-324, 0.0)


def gradient_states(asked):
    """Design, tangent space and lattice of every sum of gradients."""
    states = (pickle.loads(state) for _, state in asked)
    return [state for state in states if isinstance(state, tuple) and any(isinstance(part, Tangent) for part in state)]


def answers_at_the_bound(name, x, asked):
    """Answers for which the gradient of the last step is as long as its bound, and a little longer."""
    design, tangent, lattice = gradient_states(asked)[-1]
    [norm], [residual] = design.gradient_norms(block_of(name, [(x, tangent.intercept - 1.0)], SHAPE), tangent)
    sizes = [length * lattice.norm_bound * abs(residual) / norm for length in (1.0, 1.0 + 1e-9)]
    return [tangent.intercept + (residual - 1.0) - size for size in sizes]


def neighbors_of(name, base, asked, relation):
    """Neighboring records by name: the first is replaced or leaves, or somebody comes."""
    _, tangent, _ = gradient_states(asked)[-1]
    found = adverse_records(name, [np.linalg.svd(part)[2].T for part in (tangent.U, tangent.V)])
    x = found["along"][0]
    found |= zip(("at the bound", "above it"), ((x, y) for y in answers_at_the_bound(name, x, asked)), strict=True)
    if relation == "add_remove":
        yield "without the first", base[1:]
    yield from ((key, [record, *base[relation == "replace" :]]) for key, record in found.items())


def label_neighbors_of(name, base, asked, relation):
    """The first has another answer, or (add_remove) has one that was unknown, or does not have it."""
    (x, y), *rest = base
    answers = [*ANSWERS, *answers_at_the_bound(name, x, asked)]
    if relation == "add_remove" and math.isfinite(y):
        answers = [math.nan, -math.inf]
    yield from ((f"answer {answer}", [(x, answer), *rest]) for answer in answers)


# Replay


class TraceReplay(Replay):
    """Replay of fits to measurements."""

    def fit(self, model, records, script=None):
        """Releases of the fit of a model to these records, and the sums it asked for."""
        self.made, self._script, model.engine = [], script, RecordingEngine()
        model.fit(np.array([x for x, _ in records]), np.array([y for _, y in records]))
        return list(self.made), model.engine.seen

    def _release(self, mechanism, original, total, *terms):
        if self._script is not None:
            assert len(self.made) < len(self._script), "a release that the recorded fit did not make"
            assert (mechanism, np.shape(total)) == (
                self._script[len(self.made)].mechanism,
                self._script[len(self.made)].shape,
            )
        return super()._release(mechanism, original, total, *terms)


def largest_loss(replay, mode, base, names=None, *, privacy="record", neighbors="replace"):
    """Largest share of the budget that any neighbor of these records uses; fails if a bound is broken.

    Fails as well if a neighbor with the same released values changes a kernel, a public state or the model.
    """
    model, other = (regression(mode, privacy=privacy, neighbors=neighbors) for _ in range(2))
    recorded, asked = replay.fit(model, base)
    whole, worst = float(squared_mu(model.privacy_.event, "test")), 0.0
    assert float(sum(map(cost, recorded))) <= whole * (1 + 1e-12)
    others = label_neighbors_of if privacy == "label" else neighbors_of
    for name, neighbor in others(design_of(mode), base, asked, neighbors):
        if names is not None and name not in names:
            continue
        replayed, again = replay.fit(other, neighbor, recorded)
        assert again == asked, name
        loss = sum(squared_loss(*pair) for pair in zip(recorded, replayed, strict=True))
        assert loss <= whole * (1 + 1e-9), name
        assert_equal_models(model, other)
        worst = max(worst, loss / whole)
    return worst


def opposed(mode, answer=-1e4):
    """Records of which the first is far out, so that a replacement moves sums twice."""
    records, axes = make_records(design_of(mode))
    return [(directions(design_of(mode), axes)["along"], answer), *records[1:]]
