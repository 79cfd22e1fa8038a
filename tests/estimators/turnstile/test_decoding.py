"""Every kind is decoded from its own arrays: a matrix of low rank comes back where there is hardly any noise."""

import numpy as np
import pytest

import hushrank as hr
from hushrank.estimators.turnstile import decoding
from hushrank.estimators.turnstile.held import hold
from hushrank.estimators.turnstile.plan import TurnstilePlanner

SHAPE, RANK = (60, 45), 3
RNG = np.random.default_rng(2)
LEFT, RIGHT = np.linalg.qr(RNG.normal(size=(60, RANK)))[0], np.linalg.qr(RNG.normal(size=(45, RANK)))[0]
MATRIX = LEFT @ np.diag([30.0, 20.0, 10.0]) @ RIGHT.T
LARGEST = float(np.abs(MATRIX).max())
KINDS = {
    "two_sketch": ({"sketch_sizes": (12, 25)}, ["columns", "rows"]),
    "figure3": ({"sketch_sizes": (12, 25)}, ["columns", "rows"]),
    "three_sketch": ({"sketch_sizes": (12, 26)}, ["columns", "rows", "core"]),
    "figure1": ({"sketch_sizes": (12, 26)}, ["columns", "rows", "core"]),
    "full": ({}, ["matrix"]),
}
OPERATORS = ("sparse_sign", "srht", "gaussian")
CASES = [(kind, operator) for kind in KINDS for operator in (OPERATORS if kind != "full" else ("auto",))]


@pytest.mark.parametrize(("kind", "operator"), CASES)
def test_a_matrix_of_low_rank_comes_back(kind, operator):
    terms = {"kind": kind, "operator": operator, "bound": LARGEST, **KINDS[kind][0]}
    sketch = hr.TurnstileSketch(SHAPE, RANK, epsilon=1e6, delta=1e-6, random_state=1, **terms)
    rows, columns = np.divmod(np.arange(MATRIX.size), 45)
    found = sketch.update(rows, columns, MATRIX.ravel()).factorize()
    assert np.linalg.norm((found.U * found.s) @ found.Vt - MATRIX) < 0.05 * np.linalg.norm(MATRIX)
    assert found.s == pytest.approx([30.0, 20.0, 10.0], rel=0.05)
    assert found.U.T @ found.U == pytest.approx(np.eye(RANK), abs=1e-8)
    assert found.Vt @ found.Vt.T == pytest.approx(np.eye(RANK), abs=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_decoders_get_the_arrays_operators_and_noise_that_belong_to_them(kind, monkeypatch):
    changes, names = KINDS[kind]
    planner = TurnstilePlanner(shape=SHAPE, rank=RANK, epsilon=1.0, delta=1e-6, kind=kind, **changes)
    held = hold(planner, bytes(32))
    arrays = {array.name: RNG.normal(size=array.shape) for array in held.plan.layout.arrays}
    assert list(arrays) == names
    state, noise, given = held.intake.state, [1.5, 2.5, 3.5][: len(names)], []
    for name in [name for name in vars(decoding) if name.startswith("decode_")]:
        monkeypatch.setattr(decoding, name, lambda *terms, name=name: given.append((name, terms)))
    decoding.decode(kind, list(arrays.values()), state, RANK, noise)
    [(name, terms)] = given
    short = kind.removesuffix("_sketch")
    assert name == f"decode_{short}"
    if kind == "full":
        expected = [arrays["matrix"], RANK, 1.5]
    elif "core" not in arrays:
        expected = [arrays["columns"], arrays["rows"].T, state.apply("rows"), RANK, 1.5, 2.5]
    else:
        operators = [state.apply("core rows"), state.apply("core columns")]
        expected = [arrays["columns"], arrays["rows"].T, arrays["core"], *operators, RANK, 1.5, 3.5]
    for mine, theirs in zip(terms, expected[: len(terms)], strict=True):
        assert np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
    assert len(expected) - len(terms) == {"figure3": 2, "figure1": 2}.get(kind, 0)  # these are not told the noise
