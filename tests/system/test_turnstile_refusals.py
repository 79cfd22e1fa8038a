"""What an adversary tried on sketches: interrupted changes, overflows, other lattices, claims that do not fit."""

import numpy as np
import pytest
from click.testing import CliRunner

import hushrank as hr
from forgery_support import forge
from hushrank.archive.file_lock import sole_run
from hushrank.archive.seal_keys import load_key
from hushrank.archive.sealed import read_sealed, write_sealed
from hushrank.cli.main import load
from hushrank.estimators.turnstile.state import SketchState
from hushrank.estimators.turnstile.user_totals import UserTotals
from hushrank.exceptions import CheckpointError, InvalidParameter, ModelFileError, StateMisuse

KEY = b"k" * 32
TERMS = {"shape": (20, 10), "rank": 2, "epsilon": 1.0, "delta": 1e-6}


def make(**changes):
    return hr.TurnstileSketch(**{**TERMS, **changes})


def arrays(sketch):
    return sketch._held.intake.state.arrays


def interrupt(*_arguments, **_terms):
    raise KeyboardInterrupt


# Interrupted changes


@pytest.mark.parametrize(("owner", "name"), [(UserTotals, "take"), (SketchState, "add"), (SketchState, "_add_to")])
def test_a_sketch_whose_change_was_interrupted_is_not_used_again(monkeypatch, owner, name):
    sketch = make(unit="user").update([0], [0], [1.0], users=["ann"])
    with monkeypatch.context() as patched:
        patched.setattr(owner, name, interrupt)
        with pytest.raises(KeyboardInterrupt):
            sketch.update([0], [0], [1.0], users=["bob"])
    for use in (lambda: sketch.update([0], [0], [1.0], users=["bob"]), sketch.factorize, lambda: sketch.save("x")):
        with pytest.raises(StateMisuse, match=r"^a change of this TurnstileSketch was interrupted half way"):
            use()


def test_so_is_one_whose_merge_was_interrupted(monkeypatch):
    sketch = make(unit="user")
    shard = sketch.new_shard().update([0], [0], [1.0], users=["ann"])
    with monkeypatch.context() as patched:
        patched.setattr(UserTotals, "merge", interrupt)
        with pytest.raises(KeyboardInterrupt):
            sketch.merge(shard)
    with pytest.raises(StateMisuse, match="interrupted half way"):
        sketch.merge(shard)


def test_a_refusal_is_no_interruption():
    sketch = make(kind="full", integers="int32", clip="none").update([0], [0], [1.0])
    before = arrays(sketch)[0].copy()
    for wrong in (([99], [0], [1.0]), ([0], [0], [np.nan]), ([0], [0], [1e300])):
        with pytest.raises(InvalidParameter):
            sketch.update(*wrong)
    assert np.array_equal(arrays(sketch)[0], before)
    assert sketch.update([0], [0], [1.0]).factorize().release_ == 1


# Overflow


def test_where_invalid_updates_are_left_out_nobody_can_stop_the_others():
    """With one update more, other entries stay as they are: sums wrap around and are released modulo 2^32."""
    states = []
    for extra in (0, 1):
        sketch = make(kind="full", integers="int32", on_invalid="skip", clip="none")
        sketch.update([0], [0], [1e300])
        rows, columns = np.full(1000 + extra, 1), np.full(1000 + extra, 1)
        rows[1000:], columns[1000:] = 0, 0
        states.append(arrays(sketch.update(rows, columns, np.ones(len(rows))))[0].copy())
        assert np.isfinite(sketch.factorize().s).all()
    different = np.argwhere(states[0] != states[1])
    assert different.tolist() == [[0, 0]]
    units = np.int64(states[1][1, 1]) // 1000
    assert (np.int64(states[1][0, 0]) - states[0][0, 0] - units) % 2**32 == 0


def test_what_wrapped_is_released_modulo_the_range_of_the_state(monkeypatch):
    """Entries of an int32 state are known modulo 2^32, and so is what is released of them."""
    sketch = make(kind="full", integers="int32", on_invalid="skip", epsilon=1e4, clip="none")
    largest = sketch.update([0], [0], [0.0])._held.plan.lattice.unit(0) * 2**31
    for _ in range(3):
        sketch.update([1], [1], [0.5 * largest])
    seen = []
    monkeypatch.setattr(
        "hushrank.estimators.turnstile.open_sketch.decode", lambda *given: seen.append(given[1]) or _nothing(given)
    )
    sketch.factorize()
    assert seen[0][0][1, 1] == pytest.approx(-0.5 * largest, rel=1e-3)  # 1.5 and -0.5 are one modulo 2
    assert np.abs(seen[0][0]).max() <= largest


def _nothing(given):
    from hushrank.estimators.turnstile.decoders import decode_full

    return decode_full(np.zeros_like(given[1][0]), given[3], 1.0)


# Claims


@pytest.mark.parametrize("changes", [{"clip": "none"}, {"clip": 2.0}, {"unit": "row", "operator": "srht", "clip": 2.0}])
def test_larger_updates_are_a_premise(changes):
    assert "no update is larger than the bound" in make(**changes).factorize().privacy_.premise
    assert "no update is larger" not in make(**{**changes, "clip": "auto"}).factorize().privacy_.premise
    assert "no update is larger" not in make(unit="frobenius").factorize().privacy_.premise  # hides changes of matrices


def test_the_ledger_keeps_the_premise(tmp_path):
    with hr.Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.create("data", epsilon=5.0, delta=1e-6, unit="user", neighbors="add_remove")
        make(unit="user", user_totals="promised", ledger=account).factorize()
        assert "provided that the caller keeps the L1 total" in account.history()[-1].note


def test_a_checkpoint_of_another_lattice_is_refused(tmp_path):
    make().update([0], [0], [1.0]).save(tmp_path / "state", key=KEY)
    content, stored = read_sealed(tmp_path / "state", load_key(KEY))
    content["lattice"][0] += 1
    write_sealed(tmp_path / "state", content, stored, load_key(KEY))
    with pytest.raises(CheckpointError, match="calibrates otherwise"):
        hr.TurnstileSketch.load(tmp_path / "state", key=KEY)


@pytest.mark.parametrize("changes", [{}, {"delta": 0.0}, {"unit": "frobenius"}, {"integers": "int32"}])
def test_noise_and_number_of_releases_fit_the_guarantee(tmp_path, changes):
    sketch = make(**changes)
    for count in range(1, 6):
        found = sketch.factorize()
        found.save(tmp_path / "model")
        assert hr.load(tmp_path / "model").release_ == count
    for name, value in (("release_", 1), ("noise_", found.noise_ / 2)):

        def change(header, arrays, name=name, value=value):
            header["content"]["attributes"][name] = value

        found.save(tmp_path / "model")
        forge(tmp_path / "model", change)
        with pytest.raises(ModelFileError, match="its noise is not that of its guarantee"):
            hr.load(tmp_path / "model")


@pytest.mark.parametrize("bound", [1e150, 1e250, 1e-150])
def test_numbers_whose_squares_do_not_fit_can_be_released(tmp_path, bound):
    sketch = make(kind="full", bound=bound).update(np.zeros(10**5, int), np.zeros(10**5, int), np.full(10**5, bound))
    found = sketch.factorize()
    assert np.isfinite(found.levels_).all() and np.isfinite(found.s).all()
    found.save(tmp_path / "model")
    assert np.array_equal(hr.load(tmp_path / "model").s, found.s)


def test_two_runs_on_one_checkpoint_do_not_go_on_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "updates.csv").write_text("row,column,delta\n0,1,1\n")
    line = "updates.csv --shape 20 10 --rank 2 --epsilon 1 --checkpoint state --no-factorize".split()
    with sole_run(tmp_path / "state"):
        result = CliRunner().invoke(load("stream"), line)
    assert isinstance(result.exception, CheckpointError) and "in use by another run" in str(result.exception)
    assert not (tmp_path / "state").exists()
    assert CliRunner().invoke(load("stream"), line).exit_code == 0
