"""Seeded fits of every estimator and method, and what their releases are: integers, or integers times a lattice unit.

The data are made by integer arithmetic alone, so that they are the same everywhere.
"""

import hashlib
import sys
from collections.abc import Callable
from contextlib import contextmanager
from functools import wraps
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
import scipy.sparse

import hushrank as hr
from hushrank.privacy import mechanisms

SEED = 12


def rows(n_samples=60, n_features=4):
    """Numbers between -1 and 1 in multiples of 1/64, with a direction that stands out."""
    i, j = np.arange(n_samples)[:, None], np.arange(n_features)
    return ((i * i * (j + 3) + 7 * i * j + j) % 129 - 64) / 64 + (i % 5 - 2) / 4


def complex_rows():
    """Complex numbers of the same kind."""
    return rows() + 1j * rows()[::-1]


def many_rows(n_samples=3000, n_features=4):
    """More of them, in multiples of 1/64, with a mean of norm 4: a center is worth its price."""
    return rows(n_samples, n_features) + 2.0


def complex_many_rows():
    """Complex numbers of the same kind."""
    return many_rows() - 1j * many_rows()[::-1]


def wide_rows(n_samples=2000, n_features=60):
    """Rows of which most columns are nearly empty."""
    kept = (np.arange(n_samples)[:, None] * 7 + np.arange(n_features) * 13) % (1 + np.arange(n_features) ** 2) < 2
    return np.where(kept, rows(n_samples, n_features), 0.0)


def ratings(n_users=400, n_items=40):
    """A sparse matrix of ratings 1 to 5, two or more of each user, with popular items and kinds of users."""
    i, j = np.arange(n_users)[:, None], np.arange(n_items)
    is_rated = (i * 31 + j * j * 17 + i * j * 7) % (3 + j // 4) == 0
    is_rated[:, :2] = True
    given = 1 + ((i % 3) * (j % 4) + (i * 5 + j * 11) % 3) % 5
    return scipy.sparse.csr_array(np.where(is_rated, given, 0).astype(np.float64))


def ratings_of_fans(n_users=400, n_items=40):
    """Ratings 1 to 5 of people who like one kind of items each, so that facts about items tell about people."""
    i, j = np.arange(n_users)[:, None], np.arange(n_items)
    is_rated = (i * 31 + j * j * 17 + i * j * 7) % 3 == 0
    given = np.where(i % 4 == j % 4, 5, 2) - (i * 5 + j * 11) % 2
    return scipy.sparse.csr_array(np.where(is_rated, given, 0).astype(np.float64))


def choices_of_fans():
    """What these people would choose."""
    liked = ratings_of_fans()
    return liked * (liked >= 4)


def item_facts(n_columns=5, n_items=40):
    """Whole numbers about these items: their kinds, and others."""
    j, k = np.arange(n_items)[:, None], np.arange(n_columns)
    others = (j * j * (k + 2) + 5 * j * (k + 1) + k * k) % 17
    return np.where(k < 4, j % 4 == k, others).astype(np.float64)


def records(n_users=300, n_features=4):
    """Features, answers and users: one to six records each, answers about a product with two directions."""
    users = np.repeat(np.arange(n_users), 1 + np.arange(n_users) * 7 % 6)
    i, j = np.arange(len(users))[:, None], np.arange(n_features)
    X = ((i * i * (j + 3) + 11 * i * (j + 1) + j * j) % 257 - 128) / 64
    heads = np.column_stack([users * 5 % 9 - 4, users * 3 % 7 - 3]) / 4
    noise = (np.arange(len(users)) * 37 % 33 - 16) / 64
    return X, X[:, 0] * heads[:, 0] + X[:, 2] * heads[:, 1] + noise, users


def measurements(design, n_records=500, shape=(4, 3)):
    """Measurements of a matrix of rank one in multiples of 1/4, in every design, and answers in multiples of 1/256."""
    i, left, right = np.arange(n_records)[:, None], np.array([4, -2, 1, 3]) / 4, np.array([2, -4, 3]) / 4
    if design == "entry":
        X = np.column_stack([(i[:, 0] * 7 + i[:, 0] // 9) % shape[0], (i[:, 0] * 5 + i[:, 0] // 11) % shape[1]])
        answers = left[X[:, 0]] * right[X[:, 1]]
    else:
        j = np.arange(shape[0] * shape[1] if design == "dense" else sum(shape))
        X = ((i * i * (j + 3) + 11 * i * (j * j + 1) + j) % 257 - 128) / 64
        X = X.reshape(n_records, *shape) if design == "dense" else X
        answers = left @ X @ right if design == "dense" else (X[:, :4] @ left) * (X[:, 4:] @ right)
    return X, answers + (np.arange(n_records) * 37 % 33 - 16) / 64 + 0.25


def _rows_model(name: str, **parameters: Any) -> Callable[[], Any]:
    is_complex = parameters.get("field") == "complex"
    terms = {"row_norm": 1.5, "epsilon": 1.0, "radius": "public", "random_state": SEED, **parameters}
    return lambda: getattr(hr, name)(**terms).fit(complex_rows() if is_complex else rows())


def _radius_model(name: str, make: Callable[[], Any] = rows, **parameters: Any) -> Callable[[], Any]:
    terms = {"row_norm": 100.0, "epsilon": 1.0, "random_state": SEED, **parameters}
    return lambda: getattr(hr, name)(**terms).fit(make())


def _ratings_model(make: Callable[[], Any] = ratings, **parameters: Any) -> Callable[[], Any]:
    terms = {"rank": 3, "epsilon": 8.0, "delta": 1e-6, "random_state": SEED, "rating_range": (1, 5), **parameters}
    return lambda: hr.PrivateCompletion(**terms).fit(make())


def _records_model(**parameters: Any) -> Callable[[], Any]:
    terms = {"n_components": 2, "epsilon": 8.0, "delta": 1e-6, "random_state": SEED, **parameters}
    return lambda: hr.PrivateRepresentation(**terms).fit(*records())


def _measurements_model(design: str, **parameters: Any) -> Callable[[], Any]:
    terms = {"rank": 1, "epsilon": 8.0, "delta": 1e-6, "random_state": SEED, "shape": (4, 3), **parameters}
    return lambda: hr.PrivateTraceRegression(**terms, design=design).fit(*measurements(design))


def updates(shape=(48, 36), n_updates=900):
    """Rows, columns and deltas of a matrix with a direction that stands out, in multiples of 1/64."""
    k = np.arange(n_updates)
    rows, columns = (k * 7 + k // 9) % shape[0], (k * 5 + k // 11) % shape[1]
    return rows, columns, ((rows % 3 - 1) * (columns % 4 - 1.5) + ((k * 37) % 65 - 32) / 64) / 2


def _sketch(**parameters: Any) -> Callable[[], Any]:
    terms = {"shape": (48, 36), "rank": 3, "epsilon": 4.0, "delta": 1e-6, "random_state": SEED, **parameters}
    rows, columns, deltas = updates()
    users = {"users": rows * 7 % 31} if terms.get("unit") == "user" else {}
    return lambda: hr.TurnstileSketch(**terms).update(rows, columns, deltas, **users).factorize()


_PRIVATE_CENTER = {"center": "private", "center_norm": 2.0}
_CENTER = {"center": "private"}
_EXPONENTIAL = {"mechanism": "exponential", "field": "complex"}

FITS: dict[str, Callable[[], Any]] = {
    "pca, Gaussian": _rows_model("PrivatePCA", n_components=2, delta=1e-6),
    "pca, Wishart": _rows_model("PrivatePCA", n_components=2),
    "pca, private center": _rows_model("PrivatePCA", n_components=2, delta=1e-6, **_PRIVATE_CENTER),
    "pca, pure private center": _rows_model("PrivatePCA", n_components=2, **_PRIVATE_CENTER),
    "pca, add_remove": _rows_model("PrivatePCA", n_components=2, delta=1e-6, neighbors="add_remove"),
    "pca, pure add_remove": _rows_model("PrivatePCA", n_components=2, neighbors="add_remove", **_PRIVATE_CENTER),
    "pca, public center": _rows_model("PrivatePCA", n_components=2, delta=1e-6, center=[0.25, 0.5, 0.0, -0.25]),
    "pca, complex": _rows_model("PrivatePCA", n_components=2, delta=1e-6, field="complex", **_PRIVATE_CENTER),
    "pca, exponential": _rows_model("PrivatePCA", n_components=1, **_EXPONENTIAL),
    "covariance, Gaussian": _rows_model("PrivateCovariance", delta=1e-6, rank=2),
    "covariance, Wishart": _rows_model("PrivateCovariance", neighbors="add_remove"),
    "covariance, complex": _rows_model("PrivateCovariance", delta=1e-6, field="complex"),
    "covariance, exponential": _rows_model("PrivateCovariance", rank=2, **_EXPONENTIAL),
    "low rank, Gaussian": _rows_model("PrivateLowRank", rank=2, delta=1e-6),
    "low rank, Wishart": _rows_model("PrivateLowRank", eigenvalues=[2.0, 1.0]),
    "low rank, exponential": _rows_model("PrivateLowRank", rank=2, share=0.25, **_EXPONENTIAL),
    "pca, private radius": _radius_model("PrivatePCA", n_components=2, delta=1e-6),
    "pca, pure private radius": _radius_model("PrivatePCA", n_components=2),
    "pca, private radius and center": _radius_model("PrivatePCA", many_rows, n_components=2, delta=1e-6, **_CENTER),
    "pca, pure private radius and center": _radius_model("PrivatePCA", many_rows, n_components=2, **_CENTER),
    "pca, private radius, add_remove": _radius_model("PrivatePCA", n_components=2, delta=1e-6, neighbors="add_remove"),
    "pca, pure private radius, add_remove": _radius_model(
        "PrivatePCA", many_rows, n_components=2, neighbors="add_remove", **_CENTER
    ),
    "pca, private radius, columns": _radius_model(
        "PrivatePCA", wide_rows, n_components=2, delta=1e-6, select_columns="private"
    ),
    "pca, private radius, complex": _radius_model(
        "PrivatePCA", complex_many_rows, n_components=2, delta=1e-6, field="complex", **_CENTER
    ),
    "covariance, private radius, scales": _radius_model(
        "PrivateCovariance", many_rows, row_norm=None, column_bounds=(-2.0, 7.0), standardize="private"
    ),
    "low rank, private radius, exponential": _radius_model("PrivateLowRank", rank=2, share=0.25, **_EXPONENTIAL),
    "completion, spectral": _ratings_model(),
    "completion, spectral, add_remove": _ratings_model(neighbors="add_remove"),
    "completion, spectral, many factors": _ratings_model(epsilon=60.0),
    "completion, spectral, no offsets": _ratings_model(offsets=False),
    "completion, spectral, no offsets, much budget": _ratings_model(offsets=False, epsilon=60.0),
    "completion, spectral, implicit": _ratings_model(feedback="implicit", rating_range=None),
    "completion, spectral, features": _ratings_model(ratings_of_fans, item_features=item_facts(), new_items=[7, 30]),
    "completion, spectral, many features": _ratings_model(ratings_of_fans, item_features=item_facts(40)),
    "completion, spectral, implicit, features": _ratings_model(
        choices_of_fans, feedback="implicit", rating_range=None, item_features=item_facts(), new_items=[7]
    ),
    "completion, als": _ratings_model(method="als"),
    "completion, als, features": _ratings_model(ratings_of_fans, method="als", item_features=item_facts()),
    "completion, als, add_remove, no offsets": _ratings_model(method="als", neighbors="add_remove", offsets=False),
    "completion, als, implicit": _ratings_model(method="als", feedback="implicit", rating_range=None),
    "completion, als, tail": lambda: _ratings_model(
        method=hr.AlternatingLeastSquares(sweeps=2, bounding="tail", max_ratings=5)
    )(),
    "completion, factored gradient": _ratings_model(method="factored_gradient"),
    "completion, factored gradient, no offsets": _ratings_model(
        method="factored_gradient", offsets=False, neighbors="add_remove"
    ),
    "personalization, gradient": _records_model(),
    "personalization, gradient, add_remove": _records_model(neighbors="add_remove"),
    "personalization, gradient, labels": _records_model(loss="logistic"),
    "personalization, altmin": _records_model(method="altmin"),
    "personalization, altmin, blocks": lambda: _records_model(
        method=hr.AlternatingMinimization(3, participation="blocks"), neighbors="add_remove"
    )(),
    "personalization, exponential": lambda: _records_model(method=hr.ExponentialSelection(3, 40), delta=0.0)(),
    "personalization, exponential, labels": lambda: _records_model(
        method=hr.ExponentialSelection(2, 12), delta=0.0, loss="logistic", neighbors="add_remove"
    )(),
    "trace, dense": _measurements_model("dense"),
    "trace, dense, few records": _measurements_model("dense", epsilon=0.1),
    "trace, dense, add_remove": _measurements_model("dense", neighbors="add_remove", rank=2),
    "trace, dense, given covariance": _measurements_model(
        "dense", design_covariance=(np.array([1.0, 2.0, 1.0, 0.5]), np.eye(3)), intercept=0.25
    ),
    "trace, dense, labels": _measurements_model("dense", privacy="label"),
    "trace, rank_one": _measurements_model("rank_one"),
    "trace, rank_one, labels, add_remove": _measurements_model("rank_one", privacy="label", neighbors="add_remove"),
    "trace, entry": _measurements_model("entry"),
    "trace, entry, add_remove": _measurements_model("entry", neighbors="add_remove"),
    "stream, entry": _sketch(),
    "stream, entry, core": _sketch(kind="three_sketch", sketch_sizes=(12, 24), neighbors="replace"),
    "stream, entry, Hadamard": _sketch(operator="srht", integers="int32"),
    "stream, entry, Hadamard core": _sketch(kind="figure1", operator="srht", sketch_sizes=(12, 24)),
    "stream, frobenius": _sketch(unit="frobenius"),
    "stream, rank1, Gaussian core": _sketch(unit="rank1", kind="three_sketch", sketch_sizes=(12, 24)),
    "stream, row, signs": _sketch(unit="row", operator="sparse_sign"),
    "stream, pure": _sketch(delta=0.0, kind="figure3"),
    "stream, full": _sketch(kind="full", unit="frobenius"),
    "stream, pan-private": _sketch(pan_private=True),
    "stream, user": _sketch(unit="user", bound=8.0),
}


@contextmanager
def recorded_releases(*, with_sums: bool = False):
    """A list to which every release of an integer sum adds its name and a digest of what left the mechanism.

    What the exponential mechanism draws goes through LAPACK; with `with_sums` the exact sums it draws from are added.
    """
    found: list[tuple[str, str]] = []
    release_functions = dict(_release_functions())
    replaced = []
    if with_sums:
        replaced.append((hr.LocalEngine, "total", hr.LocalEngine.total))
        hr.LocalEngine.total = _recording(hr.LocalEngine.total, found)
    for module in [module for name, module in sys.modules.items() if name.startswith("hushrank.")]:
        for name, value in list(vars(module).items()):
            if getattr(value, "__name__", None) in release_functions and callable(value):
                setattr(module, name, _recording(value, found))
                replaced.append((module, name, value))
    try:
        yield found
    finally:
        for module, name, value in replaced:
            setattr(module, name, value)


def _release_functions():
    for info in iter_modules(mechanisms.__path__, f"{mechanisms.__name__}."):
        for name, value in vars(import_module(info.name)).items():
            if name.startswith("release_") and value.__module__ == info.name:
                yield name, value


def _recording(release, found):
    @wraps(release)
    def record(*arguments, **options):
        released = release(*arguments, **options)
        found.append((release.__name__, digest(released)))
        return released

    return record


def digest(released: Any) -> str:
    """Of all bits, but for the sign of zero."""
    if isinstance(released, tuple | list):
        return " ".join(map(digest, released))
    array = np.ascontiguousarray(np.asarray(released) + 0)
    return hashlib.sha256(f"{array.dtype} {array.shape} ".encode() + array.tobytes()).hexdigest()[:24]
