"""The checks of the conformance suite that look at noise: it is there, it hides a person, it has the scale of the plan.

They fit many times and look at nothing but what the models hold. A check that counts on chance fails a right estimator
with probability below 1e-9.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hushrank.base import PrivateRelease
from hushrank.checks.samples import Sample
from hushrank.checks.subjects import fresh
from hushrank.evaluation.audit import delta_lower_bound
from hushrank.exceptions import InvalidParameter

FloatArray = NDArray[np.float64]

_FALSE_ALARM = 1e-9
_SMALL_EPSILON = 0.2
_LEARN, _CHOOSE, _TEST = 8, 8, 48  # fits of each of two neighboring data sets
_LARGEST_PRODUCT = 64  # rows and columns of a matrix whose products are looked at
_LEAST_LEVEL = 1e-15  # a single fit may add 8 deviations to a sum
_NEGLECTED = 0.5  # standard deviations by which a probe may shift a sum


def check_what_depends_on_the_data_carries_noise(estimator: PrivateRelease, sample: Sample) -> None:
    """Under add_remove, nothing is one thing in 32 fits and another in 32 fits of other data: no exact count or sum."""
    model = fresh(estimator, neighbors="add_remove")

    def constants(data: Sample, n_fits: int) -> dict[str, Any]:
        fits: list[Any] = [dict(contents(data.learn(fresh(model)))) for _ in range(n_fits)]
        return {name: x for name, x in fits[0].items() if all(np.array_equal(x, fit.get(name)) for fit in fits)}

    fixed, other = constants(sample, 32), sample.other()
    if any(not np.array_equal(fixed.get(name, value), value) for name, value in constants(other, 1).items()):
        for name, value in constants(other, 32).items():
            assert np.array_equal(fixed.get(name, value), value), f"{name} has no noise"


def check_one_person_is_hidden(estimator: PrivateRelease, sample: Sample) -> None:
    """No number that models hold tells whether one extreme person is among the data better than epsilon allows.

    Epsilon is 0.2, or the estimator's own where it refuses that. Which number tells best is learned from 16 fits of
    each of two neighboring data sets, then tried on 48 others of each: P > e^epsilon P' + delta must not be proved by
    Clopper-Pearson bounds that fail with probability 5e-10 each, so that a false alarm has probability below 1e-9. A
    number that always tells proves epsilon >= 0.57: noise that is far too small is noticed in every release that the
    model shows apart from others. Half of the noise is not.
    """
    model = _with_small_epsilon(estimator, sample)
    pair = [
        [_numbers(data.learn(fresh(model))) for _ in range(_LEARN + _CHOOSE + _TEST)]
        for data in sample.extreme_neighbors(model.neighbors)
    ]
    kept = _names_of_one_shape([fit for fits in pair for fit in fits])
    if not kept:
        return
    with_person, without = (np.array([np.concatenate([fit[name] for name in kept]) for fit in fits]) for fits in pair)
    shown = _LEARN + _CHOOSE
    tells = _learn_to_tell(with_person[:shown], without[:shown])
    hits, others = int(tells(with_person[shown:]).sum()), int(tells(without[shown:]).sum())
    given = sample.learn(fresh(model)).privacy_
    proved = delta_lower_bound(hits, _TEST, others, _TEST, given.epsilon, confidence=1 - _FALSE_ALARM)
    assert proved <= given.delta, (
        f"one person shows in {hits} of {_TEST} models, and in {others} of {_TEST} without that person, "
        f"which epsilon = {given.epsilon:g} rules out"
    )


def check_noise_has_its_planned_scale(estimator: PrivateRelease, sample: Sample) -> None:
    """Neither less nor more noise than the plan states, in the releases that the estimator's `_noise_probe` shows.

    Levels of noise (`hushrank.privacy.probes`) are uniform under the plan, so the sum of their normal scores over n
    fits is normal with variance n. All releases together exceed their limits, on either side, with probability below
    1e-9, even if what a probe neglects shifts the sums by half a standard deviation. Half and twice the noise of one
    number per fit are rejected with 256 fits if it is Gaussian and with 384 if it is Laplace, and so are 0.7 and 1.3
    times the noise of five Gaussian numbers per fit.

    An estimator without a probe passes with a warning: nobody else knows the law of what its models hold.
    """
    model = fresh(estimator)
    probe = model._noise_probe(model._plan(model._check_parameters(), sample.sizes), sample.sizes)
    if probe is None:
        name = type(estimator).__name__
        warnings.warn(f"{name} has no _noise_probe: the scale of its noise was not checked.", stacklevel=2)
        return
    data = probe.data if isinstance(probe.data, tuple) else (probe.data,)
    fits = [probe.levels(sample.run(fresh(estimator), *data)) for _ in range(probe.n_fits)]
    limit = float(stats.norm.isf(_FALSE_ALARM / 2 / max(len(fits[0]), 1))) + _NEGLECTED
    for name in fits[0]:
        levels = np.clip([fit[name] for fit in fits], _LEAST_LEVEL, 1 - _LEAST_LEVEL)
        score = float(stats.norm.ppf(levels).sum()) / math.sqrt(len(fits))
        size = "less" if score < 0 else "more"
        assert abs(score) <= limit, f"{name}: {size} noise than planned, by {abs(score):.1f} standard deviations"


NOISE_CHECKS = (
    check_what_depends_on_the_data_carries_noise,
    check_one_person_is_hidden,
    check_noise_has_its_planned_scale,
)


def contents(model: Any) -> Iterator[tuple[str, Any]]:
    """Everything a model holds beside its parameters, with containers and other objects taken apart."""
    parameters = model._parameters() if isinstance(model, PrivateRelease) else ()
    waiting = [(name, value) for name, value in vars(model).items() if name not in parameters]
    seen = {id(model)}
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += [(f"{name}[{key!r}]", part) for key, part in value.items()]
        elif isinstance(value, list | tuple):
            waiting += [(f"{name}[{i}]", part) for i, part in enumerate(value)]
            yield f"len({name})", len(value)
        elif parts := _parts(value):
            if id(value) not in seen:
                seen.add(id(value))
                waiting += [(f"{name}.{part}", held) for part, held in parts.items()]
        else:
            yield name, value


def _parts(value: Any) -> dict[str, Any]:
    """Attributes of an object that keeps any, such as a source of data; none of arrays, numbers and classes."""
    if isinstance(value, type | np.ndarray | np.generic | ModuleType) or callable(value):
        return {}
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return {**getattr(value, "__dict__", {}), **{name: getattr(value, name) for name in slots if hasattr(value, name)}}


def _with_small_epsilon(estimator: PrivateRelease, sample: Sample) -> PrivateRelease:
    """The estimator with a small budget, if it plans with that."""
    model = fresh(estimator, epsilon=min(float(estimator.epsilon), _SMALL_EPSILON))
    try:
        model.plan(**sample.sizes)
    except InvalidParameter:
        model = fresh(estimator)
    return model


def _numbers(model: Any) -> dict[str, FloatArray]:
    """All numbers that a model holds, and what noise elsewhere in the model leaves alone in them."""
    arrays = {name: np.asarray(value) for name, value in contents(model)}
    arrays = {name: array for name, array in arrays.items() if array.dtype.kind in "biufc"}
    counts = {name: float(array) for name, array in arrays.items() if array.ndim == 0 and array.dtype.kind in "iu"}
    found = {}
    for name, array in arrays.items():
        found[name] = _flat(array)
        for count, number in counts.items():  # a mean becomes a sum
            found[f"{count} {name}"] = found[name] * number
        if array.ndim:
            found[f"direction of {name}"] = found[name] / max(float(np.linalg.norm(found[name])), 1e-300)
            found[f"sum of {name}"] = _flat(np.array([array.sum(), np.trace(array) if array.ndim == 2 else 0.0]))
        if array.ndim == 2 and 0 < min(array.shape) and max(array.shape) <= _LARGEST_PRODUCT:
            found.update(_invariants(name, array))
    return found


def _invariants(name: str, matrix: NDArray[Any]) -> dict[str, FloatArray]:
    """What signs, rotations and noisy singular values leave alone."""
    left, values, right = np.linalg.svd(np.nan_to_num(matrix), full_matrices=False)
    tops = [np.outer(vector, vector.conj()) for vector in (*left.T[:2], *right[:2])]
    return {
        f"{name}^* {name}": _flat(matrix.conj().T @ matrix),
        f"{name} {name}^*": _flat(matrix @ matrix.conj().T),
        f"singular values of {name}": values,
        f"singular vectors of {name}": np.concatenate([_flat(top) for top in tops]),
    }


def _flat(array: NDArray[Any]) -> FloatArray:
    """Real numbers in one row; what is not finite becomes zero or the largest number."""
    parts = [array.real, array.imag] if np.iscomplexobj(array) else [array]
    return np.nan_to_num(np.concatenate([np.ravel(part) for part in parts]).astype(np.float64))


def _names_of_one_shape(fits: list[dict[str, FloatArray]]) -> list[str]:
    """Names that have equally many numbers in all fits."""
    return [name for name, x in fits[0].items() if all(len(fit.get(name, ())) == len(x) for fit in fits)]


def _learn_to_tell(one: FloatArray, other: FloatArray) -> Callable[[FloatArray], NDArray[np.bool_]]:
    """A test of one number for models of the first kind: an entry, or a sum that weighs entries by what they tell.

    The weights come from the first fits, the choice between all these numbers and the threshold from the others.
    """
    shift = one[:_LEARN].mean(axis=0) - other[:_LEARN].mean(axis=0)
    variance = one[:_LEARN].var(axis=0) + other[:_LEARN].var(axis=0)
    weights = np.divide(shift, variance, out=np.zeros_like(shift), where=variance > 0)

    def candidates(fits: FloatArray) -> FloatArray:
        return np.column_stack([fits, fits @ weights])

    a, b = candidates(one[_LEARN:]), candidates(other[_LEARN:])
    means, spreads = (a.mean(axis=0), b.mean(axis=0)), (a.std(axis=0), b.std(axis=0))
    width, gap = spreads[0] + spreads[1], np.abs(means[0] - means[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        best = int(np.argmax(np.where(gap > 0, gap / width, 0.0)))
    part = spreads[0][best] / width[best] if width[best] > 0 else 0.5
    low = means[0][best] < means[1][best]
    threshold = means[0][best] + part * (means[1][best] - means[0][best])
    return lambda fits: (candidates(fits)[:, best] < threshold) == low
