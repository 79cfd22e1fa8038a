"""A guarantee from a file: what a fit gives passes, contradictions are refused, and no event takes long."""

import math
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from hushrank.privacy import accountant
from hushrank.privacy.claims import check_claim, check_stated, is_at_most
from hushrank.privacy.events import Composed, Gaussian, Mixture, NonPrivate, Pure, Repeated
from hushrank.privacy.guarantee import Budget, Guarantee

PURE, GDP = Budget(1.0), Budget(1.0, 1e-6)
PLANS = {
    "pure": (PURE, Composed([Pure(0.02), Pure(0.98)])),
    "drawn": (PURE, Repeated(Pure(0.25, bounded_range=True), 4)),
    "gaussian": (GDP, Composed([Gaussian(13.359607674401072), Gaussian(4.453202558133691)])),
}


def planned(name):
    budget, event = PLANS[name]
    numerics = "idealized" if name == "drawn" else "exact"
    return accountant.guarantee(event, budget, numerics=numerics)


def check(name, **changes):
    check_claim(replace(planned(name), **changes), planned(name), PLANS[name][0])


@pytest.mark.parametrize("name", PLANS)
def test_what_a_fit_gives_passes(name):
    check(name)
    check(name, reproducible=True)
    check(name, numerics="idealized")


@pytest.mark.parametrize("name", PLANS)
def test_another_version_of_the_libraries_passes_and_no_more(name):
    given = planned(name)
    check(name, epsilon=given.epsilon * (1 - 1e-10))
    check(name, epsilon=min(given.epsilon * (1 + 1e-10), 1.0 + 1e-10))
    with pytest.raises(ValueError, match="promises more than its event gives"):
        check(name, epsilon=given.epsilon * (1 - 1e-8))


def test_another_split_of_the_same_budget_passes():
    """As a version with other shares would have planned it."""
    check("pure", event=Composed([Pure(0.5), Pure(0.5)]))
    check("pure", event=Pure(0.75), epsilon=0.75)
    check("gaussian", event=Gaussian(4.3), epsilon=accountant.epsilon(Gaussian(4.3), 1e-6))
    check("gaussian", event=Pure(0.9), epsilon=0.9, delta=0.0)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("pure", {"unit": "user"}, "another relation or unit"),
        ("gaussian", {"neighbors": "add_remove"}, "another relation or unit"),
        ("drawn", {"numerics": "exact"}, "covers arithmetic that its mechanism does not"),
        ("pure", {"epsilon": 2.0, "event": Pure(2.0)}, "weaker than its parameters ask for"),
        ("pure", {"epsilon": math.inf}, "weaker than its parameters ask for"),
        ("pure", {"delta": 1e-9}, "weaker than its parameters ask for"),
        ("gaussian", {"delta": 1e-5}, "weaker than its parameters ask for"),
        ("pure", {"epsilon": 0.5}, "promises more than its event gives"),
        ("pure", {"epsilon": 0.0}, "promises more than its event gives"),
        ("gaussian", {"epsilon": 0.9}, "promises more than its event gives"),
        ("gaussian", {"delta": 0.0}, "promises more than its event gives"),
        ("gaussian", {"delta": 1e-7}, "promises more than its event gives"),
        ("pure", {"event": Gaussian(1.0)}, "promises more than its event gives"),
        ("gaussian", {"event": Gaussian(1.0)}, "promises more than its event gives"),
        ("pure", {"event": NonPrivate()}, "its event is not private"),
        ("gaussian", {"event": Composed([Gaussian(9.0), NonPrivate()])}, "its event is not private"),
        ("pure", {"event": Composed([]), "epsilon": 0.0}, "costs far less than its parameters ask for"),
        ("gaussian", {"event": Gaussian(1e9)}, "costs far less than its parameters ask for"),
        ("pure", {"event": Pure(1e-9), "epsilon": 1e-9}, "costs far less than its parameters ask for"),
    ],
)
def test_contradictions_are_refused(name, changes, message):
    with pytest.raises(ValueError, match=message):
        check(name, **changes)


@pytest.mark.parametrize("name", PLANS)
def test_what_is_taken_for_granted_is_that_of_the_parameters(name):
    """Neither more, which would promise less than it seems, nor less, which would hide a condition."""
    budget = replace(PLANS[name][0], premise="nobody looks")
    for given, asked, is_refused in (
        ("nobody looks", budget, False), ("", budget, True), ("all look", budget, True),
        ("nobody looks", PLANS[name][0], True), ("", PLANS[name][0], False),
    ):  # fmt: skip
        claim = replace(planned(name), premise=given)
        if is_refused:
            with pytest.raises(ValueError, match="takes something else for granted than its parameters"):
                check_claim(claim, planned(name), asked)
        else:
            check_claim(claim, planned(name), asked)


def test_the_tolerance_is_relative_and_infinity_is_never_within():
    assert is_at_most(0.0, 0.0) and is_at_most(1.0 + 1e-10, 1.0) and not is_at_most(1.0 + 1e-8, 1.0)
    assert not is_at_most(math.inf, math.inf) and not is_at_most(1e-300, 0.0)


def nested(event, depth, count=2**53):
    for _ in range(depth):
        event = Repeated(event, count)
    return event


def table(n_points):
    epsilons = np.linspace(0.0, 20.0, n_points)
    return Mixture(epsilons, np.exp(-epsilons))


HOSTILE = {
    "one release very often": Repeated(Gaussian(1.0), 2**53),
    "a number of releases with 600 digits": nested(Pure(1e-300), 40),
    "a thousand different pure releases": Composed([Pure(1e-4 + i * 1e-9) for i in range(1000)]),
    "a million of each": Composed([Repeated(Pure(1e-7 + i * 1e-10), 10**6) for i in range(1000)]),
    "eight laws of the largest size": Composed([Repeated(Pure(1e-5 * (i + 1.3)), 2**22) for i in range(8)]),
    "nine laws": Composed([Repeated(Pure(1e-5 * (i + 1.3)), 2**22) for i in range(9)]),
    "a long table": table(200_000),
    "a table very often": Repeated(table(100), 2**53),
    "a table eight times": Repeated(table(4000), 8),
    "many tables": Composed([Mixture([0.0, 1.0 + i], [0.1, 0.0]) for i in range(1000)]),
    "a thousand Gaussian releases": Composed([Gaussian(1e3 + i) for i in range(1000)]),
    "ten thousand leaves": Composed([Gaussian(1e5 + i) for i in range(10_000)]),
    "small numbers": Composed([Pure(5e-324), Repeated(Pure(1e-310), 2**53), Gaussian(1.7e308), Gaussian(5e-324)]),
    "large numbers": Composed([Repeated(Pure(1.7e308), 2**53), Repeated(Gaussian(1e-300), 2**53)]),
    "losses beyond float64": Repeated(Mixture([-1e308, 1e308], [1.0, 0.0]), 2),
    "two large ones": Composed([Pure(9e307), Pure(1.53e308)]),
    "many and large": Composed(
        [Pure(1e-300 * (i + 1.1)) for i in range(500)] + [Pure(1e300 / (i + 1.7)) for i in range(500)]
    ),
}


@pytest.mark.parametrize("name", ["pure", "gaussian"])
@pytest.mark.parametrize("event", HOSTILE.values(), ids=HOSTILE)
def test_no_event_takes_seconds_or_much_memory(name, event):
    """The accountant alone would need minutes for some; the limit leaves room for a busy machine."""
    accountant._losses.cache_clear()
    given = Guarantee(1.0, PLANS[name][0].delta, "replace", "row", event, "exact")
    tracemalloc.start()
    start = time.process_time()
    try:
        check_claim(given, planned(name), PLANS[name][0])
    except ValueError:
        pass
    duration, peak = time.process_time() - start, tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert duration < 3.0 and peak < 2**25


@pytest.mark.parametrize("name", PLANS)
def test_a_guarantee_beside_its_budget_alone(name):
    """As a statement has it: there is no plan, and what costs little may have been asked for."""
    budget = PLANS[name][0]
    check_stated(planned(name), budget)
    small = replace(planned(name), event=Pure(0.01), epsilon=0.01, delta=0.0)
    check_stated(small, budget)
    given = planned(name)
    for changes, message in (
        ({"epsilon": given.epsilon * (1 - 1e-8)}, "promises more than its event gives"),
        ({"event": Composed([given.event, given.event])}, "promises more than its event gives"),
        ({"epsilon": 1.1}, "weaker than its parameters ask for"),
        ({"epsilon": math.inf}, "weaker than its parameters ask for"),
        ({"delta": 0.1}, "weaker than its parameters ask for"),
        ({"unit": "user"}, "another relation or unit"),
        ({"neighbors": "add_remove"}, "another relation or unit"),
        ({"premise": "all is well"}, "takes something else for granted"),
        ({"event": Composed([given.event, NonPrivate()])}, "is not private"),
        ({"event": Composed([given.event, Pure(1e101)])}, "hides nothing|promises more than its event gives"),
        ({"event": Composed([given.event, Gaussian(1e-101)])}, "hides nothing|promises more than its event gives"),
        ({"event": Composed([Pure(0.001 + i * 1e-9) for i in range(1025)])}, "too large to account for"),
    ):
        with pytest.raises(ValueError, match=message):
            check_stated(replace(given, **changes), budget)


def test_a_change_of_another_size_is_refused():
    budget = replace(GDP, unit="row", bound=1.0)
    given = accountant.guarantee(Gaussian(4.3), budget, numerics="exact")
    check_stated(given, budget)
    for bound in (None, 2.0):
        with pytest.raises(ValueError, match="hides changes of another size than its parameters"):
            check_stated(replace(given, bound=bound), budget)
