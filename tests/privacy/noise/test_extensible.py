"""Further digits belong to the same real number, in whatever order they are asked for."""

import numpy as np

from hushrank.privacy.noise import extensible
from hushrank.privacy.noise.deviates import RareDraw, draw
from hushrank.privacy.noise.extensible import ExtensibleDeviates, Stack
from hushrank.privacy.noise.keystream import Keystream
from hushrank.privacy.noise.laws import exponential_law, normal_law
from support import assert_plausible, chi2_p_value


def with_rare_draws(monkeypatch, rare, law=None, rows=3, columns=4):
    """Deviates as if the sampler had finished the given draws on its slow path."""

    def patched(law, n, stream):
        values, _ = draw(law, n, stream)
        for r in rare:
            values[r.index] = r.value if abs(r.value) < 1 << 62 else 0
        return values, rare

    monkeypatch.setattr(extensible, "draw", patched)
    return ExtensibleDeviates(law or normal_law(), rows, columns, Keystream())


def test_midpoints_without_extension():
    z = ExtensibleDeviates(normal_law(), 3, 4, Keystream())
    assert z.row(1, 0) == (2 * z.values[1] + 1).tolist() == z.centered(np.array([2, 1]))[1].tolist()
    assert z.shape == (3, 4) and z.bits == 55 and not z.wide_rows


def test_deeper_digits_refine_shallower_ones_in_any_order():
    z = ExtensibleDeviates(exponential_law(), 3, 4, Keystream())
    deep = z.row(2, 3)
    for depth in (2, 0, 1):
        shallow = z.row(2, depth)
        # (x - 1)/2 is the digit string; dropping the low digits of the deep one gives the shallow one
        assert [(x - 1) // 2 >> 64 * (3 - depth) for x in deep] == [(x - 1) // 2 for x in shallow]
    assert z.row(2, 3) == deep


def test_rows_depths_and_columns_have_their_own_digits():
    z = ExtensibleDeviates(normal_law(), 40, 50, Keystream())
    fresh = [(x - 1) // 2 & ((1 << 128) - 1) for i in range(40) for x in z.row(i, 2)]
    words = {d >> 64 for d in fresh} | {d & ((1 << 64) - 1) for d in fresh}
    assert len(words) == 2 * 40 * 50
    top_bytes = np.array([w >> 56 for w in words])
    assert_plausible(chi2_p_value(np.bincount(top_bytes >> 3, minlength=32), np.full(32, 1 / 32)))


def test_digits_already_drawn_come_first(monkeypatch):
    rare = RareDraw(index=5, value=12345, digits=0b101, n_digits=3)
    z = with_rare_draws(monkeypatch, [rare])
    digits = (z.row(1, 1)[1] - 1) // 2
    assert digits >> 64 == 12345
    assert digits >> 61 & 0b111 == 0b101
    longer = RareDraw(index=5, value=-7, digits=(0xABC << 64) | 0xDEF, n_digits=128)
    z = with_rare_draws(monkeypatch, [longer])
    assert (z.row(1, 1)[1] - 1) // 2 == -7 << 64 | 0xABC
    assert (z.row(1, 2)[1] - 1) // 2 == (-7 << 128) | (0xABC << 64) | 0xDEF


def test_values_beyond_int64_are_kept(monkeypatch):
    z = with_rare_draws(monkeypatch, [RareDraw(index=9, value=1 << 70, digits=0, n_digits=0)])
    assert z.wide_rows == {2}
    assert z.row(2, 0)[1] == (2 << 70) + 1
    assert Stack((1, z), (-1, z)).wide_rows == {2}


def test_a_stack_puts_signed_blocks_side_by_side():
    x, y = (ExtensibleDeviates(normal_law(), 3, n, Keystream()) for n in (2, 4))
    stack = Stack((1, x), (-1, y))
    assert np.array_equal(stack.floats(), np.hstack([x.floats(), -y.floats()]))
    assert stack.row(1, 2) == x.row(1, 2) + [-v for v in y.row(1, 2)]
    rows = np.array([2, 0])
    assert np.array_equal(stack.centered(rows), np.hstack([x.centered(rows), -y.centered(rows)]))


def test_a_fixed_key_fixes_the_digits():
    first, second = (ExtensibleDeviates(normal_law(), 2, 3, Keystream.from_key(bytes(32))) for _ in range(2))
    assert first.row(1, 4) == second.row(1, 4)


def test_two_matrices_of_one_stream_share_no_digit():
    stream = Keystream.from_key(bytes(32))
    first, second = (ExtensibleDeviates(normal_law(), 3, 4, stream) for _ in range(2))
    digits = [{(x - 1) // 2 & ((1 << 64) - 1) for i in range(3) for x in z.row(i, 1)} for z in (first, second)]
    assert len(digits[0]) == len(digits[1]) == 12 and not digits[0] & digits[1]
    assert not set(first.values.ravel().tolist()) & set(second.values.ravel().tolist())
    other = ExtensibleDeviates(normal_law(), 3, 4, Keystream())
    assert other.row(0, 1) != first.row(0, 1)
