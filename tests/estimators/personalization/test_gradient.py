"""The default method: Newton steps that know their noise, and a budget that is spent to the end.

Sensitivity of whole fits: tests/system/test_personalization_replay.py.
"""

import numpy as np
import pytest

from completion_support import cost
from hushrank.estimators.personalization.gradient import Descent
from hushrank.estimators.personalization.options import GradientSteps
from hushrank.estimators.personalization.recipe import GRADIENT
from hushrank.estimators.personalization.subspace import principal_angles_error
from hushrank.evaluation.synthetic import shared_representation
from hushrank.privacy.accountant import squared_mu
from representation_support import RecordReplay, make_people, release_exactly, representation

D, K = 6, 2
RNG = np.random.default_rng(1)
U = np.linalg.qr(RNG.standard_normal((D, K)))[0]
N = np.array([[30.0, 5.0], [5.0, 40.0]])


def newton_step(H, N, scales=(0.0, 0.0), least=1e-9, descent=None):
    return (descent or Descent(None, None, 1.0))._newton_step(U, H, N, scales, least)


# 2. Limit


def test_without_noise_a_step_is_that_of_newton():
    H = RNG.standard_normal((D, K))
    expected = (H - U @ U.T @ H) @ np.linalg.inv(N)
    assert newton_step(H, N) == pytest.approx(expected, rel=1e-9)
    assert np.abs(U.T @ newton_step(H, N)).max() < 1e-15


@pytest.mark.parametrize("is_logistic", [False, True])
def test_steps_without_noise_come_closer_each_time(monkeypatch, is_logistic):
    release_exactly(monkeypatch)
    data = shared_representation(
        600, 6, 2, n_records=10, noise=0.0, seed=3, labels=is_logistic, head_norm=3.0 if is_logistic else 1.0
    )
    terms = {"epsilon": 1e5, "random_state": 1, "loss": "logistic" if is_logistic else "squared"}
    errors = [
        principal_angles_error(
            representation(**terms, method=GradientSteps(steps)).fit(data.X, data.y, data.users).embedding_,
            data.embedding,
        )
        for steps in (1, 2, 4)
    ]
    if is_logistic:  # labels have noise of their own
        assert max(errors[1:]) < errors[0] < 0.2
    else:
        assert errors[2] < errors[1] / 3 < errors[0] / 9


# 3. Steps that are noise


def test_a_step_of_noise_is_shrunk_away():
    scale = 50.0
    sizes = []
    for _ in range(200):
        H = scale * RNG.standard_normal((D, K))
        plain = (H - U @ U.T @ H) @ np.linalg.inv(N)
        sizes.append(np.linalg.norm(newton_step(H, N, (scale, 0.0))) / np.linalg.norm(plain))
    assert np.mean(sizes) < 0.45 and min(sizes) == 0.0


def test_what_the_step_before_left_open_is_not_shrunk_away():
    descent = Descent(None, None, 1.0)
    H = 100.0 * RNG.standard_normal((D, K))
    newton_step(H, N, (90.0, 0.0), descent=descent)
    left = descent._open
    assert left is not None and 0 <= left
    descent._open = 1e12
    assert newton_step(H, N, (90.0, 0.0), descent=descent) == pytest.approx(newton_step(H, N), rel=1e-3)


def test_a_normalizer_of_noise_makes_no_long_step():
    H = RNG.standard_normal((D, K))
    for noisy in (-N, 1e-9 * N, np.diag([50.0, -50.0])):
        step = newton_step(H, noisy, (0.0, 20.0), least=10.0)
        assert np.isfinite(step).all() and np.linalg.norm(step) <= np.linalg.norm(H) / (2 * 20.0 * np.sqrt(K)) + 1e-12


# 4. The budget

PEOPLE, _ = make_people(30, 4, seed=5)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_the_whole_budget_is_spent_and_no_more(monkeypatch, loss, neighbors):
    model = representation(loss=loss, neighbors=neighbors)
    made, _ = RecordReplay(monkeypatch).fit(model, PEOPLE)
    whole = squared_mu(model.privacy_.event, "test")
    assert sum(map(cost, made)) <= whole and float(sum(map(cost, made)) / whole) == pytest.approx(1.0, rel=1e-6)
    assert made[-1].mechanism == "vector" and made[-1].terms[0].norm_bound == 1.0  # the check


@pytest.mark.parametrize(("n_users", "steps", "taken"), [(30, 5, GRADIENT.few_steps), (10**6, 5, 5), (10**6, 1, 1)])
def test_few_users_take_few_steps(monkeypatch, n_users, steps, taken):
    """By the public number of users, not by that which is found."""
    model = representation(method=GradientSteps(steps), n_users=n_users)
    made, asked = RecordReplay(monkeypatch).fit(model, PEOPLE)
    assert sum(name == "sum_gradients" for name, _ in asked) == taken
    assert [release.mechanism for release in made].count("vector") == taken + 1


def test_all_directions_leave_nothing_to_step_to():
    data = shared_representation(60, 3, 3, n_records=6, noise=0.1, seed=1)
    model = representation(3).fit(data.X, data.y, data.users)
    assert principal_angles_error(model.embedding_, np.eye(3)) < 1e-6
