"""Divided differences: two forms against each other and against definitions, and balls that hold the truth."""

import threading

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from hushrank.orbit import differences
from hushrank.orbit.differences import (
    DifferenceSeries,
    PowerSeries,
    divided_differences,
    flint_is_available,
    multiplicities,
    series_terms,
    working_bits,
)

NODES = {
    "distinct": [9.0, 7.5, 4.0, 3.0, 1.0, 0.0],
    "ties": [9.0, 9.0, 4.0, 4.0, 4.0, 0.0],
    "near ties": [9.0, 9.0 - 1e-14, 4.0, 1e-15, 0.0, 0.0],
    "all equal": [0.0] * 6,
}


def direct(nodes, x):
    """The definition for distinct nodes."""
    total = arb(0)
    for i, node in enumerate(nodes):
        term = (arb(node) * x).exp()
        for j, other in enumerate(nodes):
            if j != i:
                term /= arb(node) - arb(other)
        total += term
    return total


def series_values(nodes, rank, m, x, bits, terms, order=0):
    with working_bits(bits, terms):
        functions = DifferenceSeries([arb(node) for node in nodes], rank, arb(1.5)).functions(m)
        return functions.derivatives_at(arb(x), order) if order else functions.at(arb(x))


@settings(deadline=None)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=6, unique=True), st.floats(0.01, 3.0))
def test_the_matrix_form_is_the_definition_for_distinct_nodes(nodes, x):
    with working_bits(400):
        values = divided_differences([arb(node) for node in nodes], arb(x))[0]
        for start, value in enumerate(values):
            assert value.overlaps(direct(nodes[start:], arb(x))) and value.rel_accuracy_bits() > 100


def test_equal_nodes_give_derivatives():
    with working_bits(200):
        x = arb(0.7)
        values, slopes = divided_differences([arb(2)] * 4, x, 2)
        assert values[0].overlaps(x**3 / 6 * (2 * x).exp()) and values[0].rel_accuracy_bits() > 150
        assert slopes[0].overlaps((x**2 / 2 + x**3 / 3) * (2 * x).exp())


@pytest.mark.parametrize("nodes", NODES.values(), ids=NODES)
@pytest.mark.parametrize("rank", [1, 3, 6])
@pytest.mark.parametrize("m", [1, 2, 3, 6])
def test_series_and_matrix_agree(nodes, rank, m):
    terms = series_terms(1.5 * nodes[0], 6, 160)
    for x in (1e-9, 0.4, 1.5):
        for order in range(min(rank, 3)):
            got = series_values(nodes, rank, m, x, 160, terms, order)
            with working_bits(600):
                expected = divided_differences([arb(node) for node in nodes[:m]], arb(x), order + 1)[order]
            assert len(got) == min(rank, m)
            for one, other in zip(got, expected, strict=False):
                assert one.overlaps(other)
                assert one.rel_accuracy_bits() > 140


def test_at_zero_all_differences_of_two_or_more_nodes_vanish():
    assert [float(value) for value in series_values(NODES["ties"], 3, 3, 0.0, 100, 100)] == [0.0, 0.0, 1.0]


@settings(deadline=None)
@given(st.lists(st.floats(0, 8), min_size=1, max_size=5), st.floats(0, 1.5), st.sampled_from([25, 36, 49]), st.data())
def test_balls_hold_the_truth_however_few_the_terms(nodes, x, terms, data):
    nodes = [*sorted(nodes, reverse=True), 0.0]
    rank = data.draw(st.integers(1, len(nodes)))
    order = data.draw(st.integers(0, rank - 1))
    got = series_values(nodes, rank, len(nodes), x, 200, terms, order)
    with working_bits(500):
        expected = divided_differences([arb(node) for node in nodes], arb(x), order + 1)[order]
    assert all(one.overlaps(other) for one, other in zip(got, expected, strict=False))


def test_a_series_cut_too_early_is_seen_without_its_tail():
    """Planted bug: the last coefficient stands for itself only."""
    nodes, x = [8.0, 6.0, 0.0], 1.5
    with working_bits(500):
        [truth, *_] = divided_differences([arb(node) for node in nodes], arb(x))[0]
    honest = series_values(nodes, 1, 3, x, 200, 25)[0]
    assert honest.overlaps(truth) and honest.rel_accuracy_bits() < 60
    with working_bits(200, 25):
        series = DifferenceSeries([arb(node) for node in nodes], 1, arb(x))
        series._scales[-1] = 1 / arb.fac_ui(24)
        assert not series.functions(3).at(arb(x))[0].overlaps(truth)


def test_nodes_too_large_for_the_terms_give_no_number():
    assert series_values([100.0, 0.0], 1, 2, 1.0, 100, 36)[0].is_nan()


@settings(deadline=None)
@given(st.lists(st.integers(-9, 9), min_size=18, max_size=18), st.integers(-3, 3), st.integers(0, 3))
def test_power_series_are_evaluated_as_polynomials(coefficients, x, order):
    series = PowerSeries([arb(c) for c in coefficients], 2)
    rows = [np.polynomial.Polynomial(coefficients[:9]), np.polynomial.Polynomial(coefficients[9:])]
    assert [float(value) for value in series.at(arb(x))] == [row(x) for row in rows]
    slopes = [row.deriv(order)(x) if order else row(x) for row in rows]
    assert [float(value) for value in series.derivatives_at(arb(x), order)] == slopes
    combined = [float(value) for value in series.combined([arb(2)])]
    assert combined == [2 * c for c in coefficients[:9]]


@pytest.mark.parametrize("spread", [0.0, 1e-9, 1.0, 50.0, 3000.0])
@pytest.mark.parametrize("bits", [100, 1000])
def test_the_number_of_terms_suffices_for_the_bits(spread, bits):
    with working_bits(bits, series_terms(spread, 3, bits)):
        values = DifferenceSeries([arb(spread), arb(spread), arb(0)], 2, arb(1)).functions(3).at(arb(1))
        assert min(value.rel_accuracy_bits() for value in values) > bits - 20


def test_precision_is_put_back_after_an_error_too():
    before = ctx.prec, ctx.cap
    with pytest.raises(RuntimeError, match="planted"), working_bits(777, 55):
        assert (ctx.prec, ctx.cap) == (777, 55)
        with working_bits(99):
            assert ctx.prec == 99
        assert ctx.prec == 777
        raise RuntimeError("planted")
    assert (ctx.prec, ctx.cap) == before


def test_another_thread_waits_for_the_precision():
    seen = []

    def other():
        with working_bits(200):
            seen.append(ctx.prec)

    with working_bits(300):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join(0.1)
        assert thread.is_alive() and not seen and ctx.prec == 300
    thread.join()
    assert seen == [200]


def test_runs_and_availability(monkeypatch):
    assert multiplicities(np.array([2.0, 2.0, 1.0])) == [(2.0, 2), (1.0, 1)]
    assert flint_is_available()
    monkeypatch.setattr(differences, "_AVAILABLE", False)
    assert not flint_is_available()
