"""Records on which the gain is noise alone, from both sides. All fits have seeds; statistics reject at 1e-9."""

import numpy as np
import pytest
from scipy import stats

from hushrank.estimators.trace.probe import trace_probe
from hushrank.privacy import adaptive
from support import FALSE_ALARM, assert_plausible, normal_scale_p_value
from trace_fit_support import regression

pytestmark = pytest.mark.law

SHAPE = (3, 2)
SIZES = {"n_samples": 500, "n_rows": 3, "n_columns": 2}
CASES = {
    "dense": {},
    "dense, add_remove": {"neighbors": "add_remove"},
    "rank_one, labels": {"design": "rank_one", "privacy": "label"},
    "entry": {"design": "entry", "epsilon": 20.0},
}


def noises(n_fits, **terms):
    """Gains over their stated deviation, and levels of the probe, of fits that see nothing."""
    model = regression(1, shape=SHAPE, **terms)
    probe = model._noise_probe(model._plan(model._check_parameters(), SIZES), SIZES)
    fits = [regression(1, shape=SHAPE, **terms, random_state=seed).fit(*probe.data) for seed in range(n_fits)]
    return np.array([fit.gain_ / fit.gain_deviation_ for fit in fits]), [probe.levels(fit) for fit in fits]


@pytest.mark.parametrize("design", ["dense", "rank_one", "entry"])
def test_records_of_the_probe_count_as_nothing(design):
    probe = trace_probe(design, SIZES)
    X, y = probe.data
    assert len(X) == len(y) < 100 and np.isnan(X).all() and np.isnan(y).all() and probe.n_fits >= 256
    model = regression(1, design=design, shape=SHAPE).fit(X, y)
    assert (model.coef_ == 0.0).all() or abs(model.gain_) > 3.0 * model.gain_deviation_


@pytest.mark.parametrize("case", CASES)
def test_gains_of_nobody_are_noise_of_the_stated_scale(case):
    found, levels = noises(40, **CASES[case])
    assert_plausible(normal_scale_p_value(found, 1.0))
    assert_plausible(stats.kstest([level["votes of records"] for level in levels], "uniform").pvalue)


def halve(total, lattice, noise, release=adaptive.release_vector):
    return (total * lattice.unit + release(total, lattice, noise)) / 2


def double(total, lattice, noise, release=adaptive.release_vector):
    return 2 * release(total, lattice, noise) - total * lattice.unit


@pytest.mark.parametrize("planted", [halve, double])
def test_half_and_twice_the_noise_are_noticed(monkeypatch, planted):
    """Of 120 squares of normals a sum below 48 or above 240 is implausible; half and twice give 30 and 480."""
    monkeypatch.setattr(adaptive, "release_vector", planted)
    found, _ = noises(120, design="rank_one", design_covariance="identity", intercept=0.0)
    assert normal_scale_p_value(found, 1.0) < FALSE_ALARM
