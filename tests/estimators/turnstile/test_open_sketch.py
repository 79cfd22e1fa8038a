"""The life of a sketch: opened once, noisy from its start where that is asked for, every release counted and paid."""

import logging
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import hushrank as hr
from hushrank.data.updates.reading import read_updates
from hushrank.estimators.turnstile import open_sketch
from hushrank.estimators.turnstile.held import hold
from hushrank.exceptions import BudgetExceeded, InvalidParameter, StateMisuse
from hushrank.privacy import accountant
from hushrank.privacy.events import Gaussian, Mixture, Repeated
from support import FALSE_ALARM, assert_plausible, laplace_scale_p_value, normal_scale_p_value

SHAPE = (120, 90)  # so many numbers in every array that 0.7 and 1.3 times their scale are told apart from it
TERMS = {"shape": SHAPE, "rank": 2, "epsilon": 1.0, "delta": 1e-6}
DETERMINISTIC = {
    "plain": {},
    "pure": {"delta": 0.0},
    "full": {"kind": "full", "unit": "frobenius"},
    "core": {"kind": "three_sketch", "sketch_sizes": (20, 40)},
}
RANDOM = {
    "Gaussian": {"unit": "frobenius"},
    "signs": {"unit": "row", "operator": "sparse_sign"},
    "Gaussian core": {"unit": "rank1", "kind": "three_sketch", "sketch_sizes": (20, 40)},
}


def make(**changes):
    return hr.TurnstileSketch(**{**TERMS, **changes})


@pytest.fixture
def account(tmp_path):
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        yield ledger.create("data", epsilon=20.0, delta=1e-6, unit="entry", neighbors="add_remove")


@pytest.fixture
def released(monkeypatch):
    """What leaves the mechanism, array by array, one list for each release."""
    found = []

    def keep(kind, arrays, state, rank, noise):
        found.append(arrays)
        return SimpleNamespace(U=np.zeros((SHAPE[0], rank)), s=np.zeros(rank), Vt=np.zeros((rank, SHAPE[1])))

    monkeypatch.setattr(open_sketch, "decode", keep)
    return found


def check_scale(sample, scale, p_value=normal_scale_p_value):
    """Both sides."""
    assert_plausible(p_value(sample, scale))
    assert p_value(sample, 0.7 * scale) < FALSE_ALARM and p_value(sample, 1.3 * scale) < FALSE_ALARM


# Opening


def test_a_sketch_is_opened_when_it_is_needed_and_once():
    sketch = make()
    assert sketch._held is None and sketch.position is None
    with sketch._open() as held:
        pass
    with sketch._open() as again:
        assert again is held is sketch._held


@pytest.mark.parametrize(
    "change",
    [{"epsilon": 0.1}, {"shape": (120, 91)}, {"bound": 9.0}, {"clip": 2.0}, {"random_state": 1}, {"rank": "x"}],
)
def test_parameters_do_not_change_after_the_first_use(change, account):
    sketch = make(ledger=account).update([0], [0], [1.0])
    before = [array.copy() for array in sketch._held.intake.state.arrays]
    for name, value in change.items():
        setattr(sketch, name, value)
    for use in (sketch.factorize, sketch.new_shard, lambda: sketch.update([0], [0], [1.0])):
        with pytest.raises(StateMisuse, match="parameters of a TurnstileSketch cannot change after its first use"):
            use()
    assert len(account.history()) == 1
    assert all(np.array_equal(*pair) for pair in zip(before, sketch._held.intake.state.arrays, strict=True))


def test_a_ledger_and_what_happens_to_invalid_updates_may_change(account):
    sketch = make().update([0], [0], [1.0])
    sketch.ledger, sketch.on_invalid = account, "skip"
    sketch.update([0], [99], [1.0]).factorize()
    assert len(account.history()) == 2
    sketch.on_invalid = "raise"
    with pytest.raises(InvalidParameter, match="nothing was added"):
        sketch.update([0], [99], [1.0])


# Noise in the state


@pytest.mark.parametrize("changes", [*DETERMINISTIC.values(), *RANDOM.values()], ids=[*DETERMINISTIC, *RANDOM])
def test_a_private_state_has_its_noise_from_the_start_and_keeps_it(changes):
    sketch = make(**changes, pan_private=True)
    with sketch._open() as held:
        start = [array.copy() for array in held.intake.state.arrays]
    lattice, p_value = held.plan.lattice, laplace_scale_p_value if held.plan.is_pure else normal_scale_p_value
    for noise, part in zip(start, lattice.parts, strict=True):
        check_scale(noise, 2.0 ** (lattice.exponent + part.coarser), p_value)
    rows, columns, deltas = np.arange(60) % 60, np.arange(60) % 40, np.linspace(-1, 1, 60)
    sketch.update(rows, columns, deltas)
    exact = hold(sketch, held.key)  # without noise, under the same key
    exact.intake.add_all(read_updates(rows, columns, deltas, shape=SHAPE, owner="test"))
    for state, true, noise in zip(held.intake.state.arrays, exact.intake.state.arrays, start, strict=True):
        assert np.array_equal(state - true, noise) and true.any()


def test_other_states_start_empty():
    for changes in DETERMINISTIC.values():
        with make(**changes)._open() as held:
            assert not any(array.any() for array in held.intake.state.arrays) and held.n_starts == 0


def test_starts_are_charged_before_they_are_drawn(account):
    sketch = make(pan_private=True, ledger=account)
    assert len(account.history()) == 1
    sketch.update([0], [0], [1.0])
    one = sketch._held.plan.lattice.event
    assert [charge.event for charge in account.history()[1:]] == [one]
    found = sketch.factorize()
    assert [charge.event for charge in account.history()[1:]] == [one, one]
    assert found.privacy_.event == Repeated(one, 2) and found.privacy_.epsilon <= 1.0
    shard = sketch.new_shard()
    assert len(account.history()) == 4
    assert sketch.merge(shard).factorize().privacy_.event == Repeated(one, 4)  # two starts, two outputs


def test_without_a_budget_no_private_state_is_opened(tmp_path):
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("data", epsilon=0.4, delta=1e-6, unit="entry", neighbors="add_remove")
        sketch = make(pan_private=True, ledger=account)
        with pytest.raises(BudgetExceeded):
            sketch.update([0], [0], [1.0])
        assert sketch._held is None and len(account.history()) == 1


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_no_start_is_charged_whose_release_cannot_be_paid_for(tmp_path, delta):
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        terms = {"delta": delta, "unit": "entry", "neighbors": "add_remove"}
        account = ledger.create("data", epsilon=4.0, **terms)
        sketch = make(pan_private=True, ledger=account, epsilon=4.6, delta=delta)
        for use in (lambda: sketch.update([0], [0], [1.0]), sketch.factorize, sketch.new_shard):
            with pytest.raises(BudgetExceeded, match=r"asked for epsilon = 4\.6 .*; accepted: epsilon = (3\.99|4) or"):
                use()
        assert sketch._held is None and account.last().number == 0
        sketch = make(pan_private=True, ledger=account, epsilon=3.99, delta=delta)
        sketch.update([0], [0], [1.0])
        with pytest.raises(BudgetExceeded):  # a third noise
            sketch.new_shard()
        assert account.last().number == 1
        sketch.factorize()
        assert account.last().number == 2


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.7, 7.0])
def test_a_start_and_a_release_may_take_all_that_is_left(tmp_path, epsilon):
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("data", epsilon=epsilon, unit="entry", neighbors="add_remove")
        make(pan_private=True, ledger=account, epsilon=epsilon, delta=0.0).factorize()
        assert account.last().number == 2 and account.left().amount == pytest.approx(0.0, abs=1e-6 * epsilon)


def test_a_start_out_of_the_reserved_part_and_a_release_that_is_not(tmp_path):
    """As one charge they would be too much for either part."""
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        terms = {"unit": "entry", "neighbors": "add_remove"}
        account = ledger.create("data", epsilon=5.0, delta=1e-6, pure=1.0, **terms)
        with pytest.warns(UserWarning, match="a pure release of epsilon"):
            make(pan_private=True, ledger=account, epsilon=1.2, delta=0.0).factorize()
        start, release = account.history()[1:]
        assert start.paid.pure and not start.paid.main and release.paid.main and not release.paid.pure


def test_shards_start_with_noise_of_their_own(released):
    sketch = make(pan_private=True, kind="full")
    shard = sketch.new_shard()
    mine, other = (one._held.intake.state.arrays[0].astype(float).ravel() for one in (sketch, shard))
    scale = 2.0**sketch._held.plan.lattice.exponent
    check_scale(mine - other, math.sqrt(2) * scale)
    found = sketch.merge(shard).factorize()
    check_scale(released[0][0], math.sqrt(3) * sketch._held.plan.lattice.deviation(0))
    assert found.noise_ == pytest.approx(math.sqrt(3) * sketch._held.plan.lattice.deviation(0))


def test_a_seeded_start_is_not_the_noise_of_the_release(released):
    sketches = [make(pan_private=True, random_state=seed, kind="full") for seed in (5, 5, 6)]
    starts = [sketch.update([], [], [])._held.intake.state.arrays[0].copy() for sketch in sketches]
    assert np.array_equal(starts[0], starts[1]) and not np.array_equal(starts[0], starts[2])
    sketches[0].factorize()
    lattice = sketches[0]._held.plan.lattice
    output = np.rint(released[0][0] / lattice.unit(0)) - starts[0]
    check_scale(output - starts[0], math.sqrt(2) * 2.0**lattice.exponent)  # neither equal nor opposite
    check_scale(output + starts[0], math.sqrt(2) * 2.0**lattice.exponent)


# Noise of releases


@pytest.mark.parametrize("changes", [*DETERMINISTIC.values(), *RANDOM.values()], ids=[*DETERMINISTIC, *RANDOM])
def test_releases_have_the_noise_of_the_plan_and_it_is_fresh(changes, released):
    sketch = make(**changes)
    first, second = sketch.factorize(), sketch.factorize()
    lattice, is_pure = sketch._held.plan.lattice, sketch._held.plan.is_pure
    for number in range(len(lattice.parts)):
        one, other = (arrays[number] for arrays in released)
        deviation = lattice.deviation(number)
        if is_pure:
            check_scale(one, deviation / math.sqrt(2), laplace_scale_p_value)
            assert not np.array_equal(one, other)
        else:
            check_scale(one, deviation)
            check_scale(one - other, math.sqrt(2) * deviation)
        assert first.levels_[number] == pytest.approx(math.sqrt(np.mean(one**2)))
    assert first.noise_ == second.noise_ == lattice.deviation(0)
    assert (first.release_, second.release_) == (1, 2)


# Every release counts


@pytest.mark.parametrize("changes", [*DETERMINISTIC.values(), *RANDOM.values()], ids=[*DETERMINISTIC, *RANDOM])
def test_without_a_ledger_the_guarantee_is_that_of_all_releases(changes):
    sketch = make(**changes)
    found = [sketch.update([k], [k], [1.0]).factorize() for k in range(3)]
    lattice, delta = sketch._held.plan.lattice, changes.get("delta", 1e-6)
    for k, one in enumerate(found, 1):
        assert one.privacy_.event == lattice.total(k) and one.privacy_.delta == delta
        assert one.privacy_.epsilon == accountant.epsilon(lattice.total(k), delta)
        if changes in RANDOM.values():
            assert isinstance(one.privacy_.event, Mixture)
        elif delta:
            mu = math.sqrt(k) / lattice.event.noise_multiplier
            assert accountant.epsilon(Gaussian(1 / mu), delta) == pytest.approx(one.privacy_.epsilon, rel=1e-9)
        else:
            assert one.privacy_.epsilon == k
    assert found[0].privacy_ == sketch.plan().guarantee


def test_releases_of_a_random_sketch_cost_what_the_joint_law_says():
    """delta = E d(epsilon, |R(E)| sqrt(k)/noise) for E of rank one, by quadrature over both chi-squares."""
    sketch = make(unit="frobenius", sketch_sizes=(12, 24))
    lattice = sketch.update([0], [0], [1.0])._held.plan.lattice
    grid = (np.arange(1200) + 0.5) / 150
    laws = [stats.chi2.pdf(grid * size, size) * size / 150 for size in (12, 24)]
    gain = lattice.units**2 * lattice.parts[0].squared_gain / 4.0**lattice.exponent
    assert lattice.parts[1].coarser == 0 and lattice.parts[1].squared_gain == lattice.parts[0].squared_gain
    for k in (1, 2, 3):
        epsilon = sketch.factorize().privacy_.epsilon
        mu = np.sqrt(k * gain * (grid[:, None] + grid))
        curve = stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)
        true = float(laws[0] @ curve @ laws[1])
        assert 0.8e-6 < true <= 1e-6 * (1 + 1e-6)


def test_every_release_is_charged(account):
    sketch = make(ledger=account)
    one = sketch.plan().event
    for count in (1, 2, 3):
        assert sketch.factorize().privacy_.event == sketch._held.plan.lattice.total(count)
        assert [charge.event for charge in account.history()[1:]] == [one] * count
    with sketch.new_shard()._open():
        assert len(account.history()) == 4  # an empty shard is no release


def test_a_release_that_is_refused_or_fails_is_counted_as_far_as_it_went(account, monkeypatch, tmp_path):
    sketch = make(ledger=account).update([0], [0], [1.0])

    def fail(*_):
        raise RuntimeError("no decoder")

    for name, count in (("decode", 1), ("release_sketch", 2)):
        with monkeypatch.context() as patch:
            patch.setattr(open_sketch, name, fail)
            with pytest.raises(RuntimeError):
                sketch.factorize()
        assert sketch._held.n_releases == count and len(account.history()) == 1 + count
    with hr.Ledger(tmp_path / "poor.db") as poor:
        sketch.ledger = poor.create("data", epsilon=0.5, delta=1e-6, unit="entry", neighbors="add_remove")
        with pytest.raises(BudgetExceeded):
            sketch.factorize()
    assert sketch._held.n_releases == 2  # nothing was drawn
    sketch.ledger = None
    with pytest.raises(InvalidParameter, match="an account, because releases of this sketch were charged to one"):
        sketch.factorize()
    sketch.ledger = account
    found = sketch.factorize()
    assert found.release_ == 3 and found.privacy_.event == sketch._held.plan.lattice.total(3)


def test_a_seeded_sketch_is_released_once(monkeypatch):
    sketch = make(random_state=4).update([0], [0], [1.0])
    assert sketch.factorize().privacy_.reproducible
    message = "random_state of TurnstileSketch must be None where a sketch is released again: the same noise twice"
    with pytest.raises(InvalidParameter, match=message):
        sketch.update([1], [1], [1.0]).factorize()
    merged = make(random_state=4).update([2], [2], [1.0]).merge(sketch)
    with pytest.raises(InvalidParameter, match=message):
        merged.factorize()
    assert sketch._held.n_releases == merged._held.n_releases == 1


def test_a_release_says_nothing_unasked(capsys, caplog):
    with caplog.at_level(logging.DEBUG):
        make(on_invalid="skip").update([0, 120], [0, 0], [1.0, 1.0]).factorize()
    assert [record.levelno for record in caplog.records] == [logging.INFO]
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""
