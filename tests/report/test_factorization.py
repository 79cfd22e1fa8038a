"""The page of a factorization: values beside the noise, components with their leading entries, and what is promised."""

import math
import re

import numpy as np
import pytest

from hushrank.estimators.turnstile.factorization import Factorization
from hushrank.estimators.turnstile.plan import TurnstilePlanner
from hushrank.privacy.accountant import guarantee
from hushrank.privacy.figures import at_most
from hushrank.report.factorization import (
    LEADING,
    SHOWN_COMPONENTS,
    SHOWN_VALUES,
    factorization_page,
    marks_of,
    noise_floor,
    say_findings,
    say_floor,
)
from hushrank.report.personal import guess_bound
from report_support import Document

SCRIPT = "<script>alert('x')</script>"
N_ROWS, N_COLUMNS = 50, 40


def make(s, *, release=1, noise=1.5, is_seeded=False, shape=(N_ROWS, N_COLUMNS), **terms):
    """A factorization with these singular values, and the guarantee of its plan."""
    terms = {"shape": shape, "rank": len(s), "epsilon": 2.0, "delta": 1e-6, **terms}
    planner = TurnstilePlanner(**terms)
    budget = planner._check_parameters()
    event = planner._plan(budget, {}).lattice.total(release)
    rng = np.random.default_rng(3)
    U, Vt = (np.linalg.qr(rng.standard_normal((size, len(s))))[0] for size in shape)
    found = Factorization(**terms)
    privacy = guarantee(event, budget, numerics="exact", reproducible=is_seeded)
    learned = {"U_": U, "s_": np.array(s, float), "Vt_": Vt.T, "levels_": np.ones(2), "noise_": noise}
    found._keep({**learned, "release_": release, "privacy_": privacy})
    return found


def text_of(found, *titles):
    return Document(factorization_page(found, *titles)).text


def test_the_floor_is_that_of_the_plan():
    for kind in ("two_sketch", "three_sketch", "figure1", "figure3", "full"):
        terms = {"shape": (N_ROWS, N_COLUMNS), "rank": 2, "epsilon": 2.0, "delta": 1e-6, "kind": kind}
        plan = TurnstilePlanner(**terms)
        releases = plan._plan(plan._check_parameters(), {})
        assert noise_floor(make([5.0, 1.0], noise=releases.noise, kind=kind)) == pytest.approx(releases.smallest_value)


def test_marks_are_those_of_strengths_and_what_was_kept_is_not_yet_a_finding():
    found = make([50.0, 13.0, 0.5, 0.0])
    assert found.n_above_noise == 3 and found.n_significant_ == 2 and 0.0 < found.strength_[2] < 0.1
    assert marks_of(found) == ["", "weak", "noise", "noise"]
    assert say_findings(found).startswith("2 of 4 components stand above the noise (of noise alone")
    assert say_findings(found).endswith("; 1 more has a singular value above zero that noise explains: no finding")
    assert "larger --sketch-sizes or --kind full show" in say_floor(found)
    printed = make([50.0, 0.5, 0.0], kind="figure3")
    assert marks_of(printed) == ["untested"] * 3 and printed.n_significant_ == 0 and not printed.strength_.any()
    assert say_findings(printed) == "3 components, untested: --kind figure3 does not tell components from noise"
    assert "Component 1 (untested): the largest entries" in text_of(printed)


def test_what_the_decoder_kept_of_noise_is_marked_on_the_page():
    document = Document(factorization_page(make([4.5, 3.8])))
    assert "0 of 2 components stand above the noise" in document.text and "2 more have singular" in document.text
    assert "component 1 4.5, noise component 2 3.8, noise" in document.text and "Component 1" not in document.text
    assert "Nothing stands above the noise" in document.text and len(document.all("rect", "noise")) == 2


def test_values_stand_beside_the_noise_floor():
    found = make([123.456, 60.0, 0.0, 0.0])
    document = Document(factorization_page(found))
    text, floor = document.text, noise_floor(found)
    assert "2 of 4 components stand above the noise" in text and "A matrix of 50 rows and 40 columns" in text
    assert (
        f"components of the matrix above {floor:.4g} come out clearly" in text
        and "component 1 123 component 2 60 component 3 0, noise" in text
    )
    bars = [float(bar["width"]) for bar in document.all("rect", "share")]
    assert bars[0] == pytest.approx(479.0) and bars[1] == pytest.approx(479.0 * 60 / 123.456, abs=0.01)
    assert bars[2:] == [0.0, 0.0]
    place = document.all("line", "axis")[0]["x1"]
    assert float(place) == pytest.approx(479.0 * floor / 123.456, abs=0.01)


def test_leading_rows_and_columns_of_components_above_the_noise_and_of_no_others():
    found = make([90.0, 80.0, 0.0])
    text = text_of(found)
    for k in range(2):
        assert f"Component {k + 1}: the largest entries of its vectors" in text
        for vector, kind in ((found.U[:, k], "row"), (found.Vt[k], "column")):
            for j in np.argsort(-abs(vector))[:LEADING]:
                assert f"{kind} {j} {vector[j]:+.3f}" in text
    assert "Component 3" not in text and "1 of 3 components are noise. Their vectors mean nothing" in text


def test_titles_are_text_and_long_ones_are_cut():
    titles = [f"{SCRIPT} {j}" for j in range(N_ROWS)], ["y" * 90] * N_COLUMNS
    found = make([90.0])
    page = factorization_page(found, *titles)
    document = Document(page)
    first = int(np.argmax(abs(found.U[:, 0])))
    assert f"{SCRIPT} {first} {found.U[first, 0]:+.3f}" in document.text and "y" * 39 + "\u2026" in document.text
    assert "y" * 40 not in page and "row 0" not in document.text
    assert not re.search(r"https?:|<script|@import", page) and document.all("script") == []
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    styles = {name for _, attributes in document.elements for name in attributes.get("class", "").split()}
    assert all(f".{name}" in page[: page.index("</style>")] for name in styles)


def test_nothing_above_the_noise_is_said_plainly():
    text = text_of(make([0.0, 0.0]))
    assert "0 of 2 components stand above the noise" in text and "Nothing stands above the noise" in text
    assert "2 of 2 components are noise" in text and "Component 1:" not in text
    assert "Nothing stands above" not in text_of(make([90.0, 0.0]))


def test_many_components_are_cut_and_small_matrices_are_whole():
    n_many = SHOWN_VALUES + 5
    text = text_of(make(np.linspace(900, 100, n_many), shape=(80, 70)))
    assert f"The first {SHOWN_VALUES} of {n_many}." in text and f"component {SHOWN_VALUES} " in text
    assert f"component {SHOWN_VALUES + 1} " not in text and f"Component {SHOWN_COMPONENTS}:" in text
    assert f"The first {SHOWN_COMPONENTS} of {n_many} components are shown." in text
    assert f"Component {SHOWN_COMPONENTS + 1}:" not in text
    text = text_of(make([90.0], shape=(2, 9), sketch_sizes=(2, 2), per_column=1))
    assert all(f"row {i} " in text for i in range(2)) and "row 2 " not in text
    assert len(re.findall(r"column \d [+-]", text)) == LEADING


@pytest.mark.parametrize(
    ("unit", "words"),
    [
        ("entry", "any part of the stream that changes entries by at most 2.5 in total, such as one update"),
        ("user", "all updates of any one user, which change entries by at most 2.5 in total"),
        ("row", "any part of the stream that changes one row, by a vector of norm at most 2.5"),
        ("rank1", "any part of the stream that adds a matrix of rank one and of Frobenius norm at most 2.5"),
        ("frobenius", "any part of the stream that adds a matrix of Frobenius norm at most 2.5"),
    ],
)
def test_the_guarantee_is_stated_in_full_for_every_unit(unit, words):
    found = make([90.0], unit=unit, bound=2.5)
    text, given = text_of(found), found.privacy_
    assert f"Take {words}, and suppose it had not been there." in text and "up to delta = 1e-06" in text
    assert f"Neighbors: add_remove one {unit}, bound 2.5; arithmetic: exact" in text
    shown = math.ceil(1000 * guess_bound(given)) / 10
    assert f"{at_most(given.epsilon)} 1e-06 {at_most(math.exp(given.epsilon), 3)} {shown:.1f} %" in text
    replaced = text_of(make([90.0], unit=unit, bound=2.5, neighbors="replace"))
    assert "and suppose another of this kind had been in its place." in replaced


def test_the_premise_the_number_of_releases_and_the_seed_are_told():
    plain = text_of(make([90.0]))
    assert "Provided that" not in plain and "release" not in plain and "promises nothing" not in plain
    promised = make([90.0], unit="user", user_totals="promised", release=3, is_seeded=True)
    text = text_of(promised)
    assert f"Provided that {promised.privacy_.premise}." in text and "the caller keeps the L1 total" in text
    assert "release 3 of one sketch: these numbers are for all of them" in text
    assert "it is for tests" not in text and "this is for tests, and promises nothing" in text
    assert "nobody chooses updates who knows" in text_of(make([90.0], unit="frobenius"))


def test_a_pure_and_a_weak_guarantee():
    text = text_of(make([90.0], delta=0.0, epsilon=30.0))
    assert "a factor of e^epsilon. So" in text and "30 0 e^30 100.0 %" in text


def test_limits_are_those_of_its_kind():
    assert "clipped to 2.5 in size" in text_of(make([90.0], bound=2.5))
    text = text_of(make([90.0], unit="frobenius", kind="full"))
    assert "Updates were not clipped" in text and "A sketch was kept" not in text
    assert "decoded as printed in a paper" in text_of(make([90.0], kind="figure1"))
    assert "A sketch was kept, not the matrix" in text_of(make([90.0]))


def test_the_same_factorization_gives_the_same_bytes():
    assert factorization_page(make([90.0, 0.0])) == factorization_page(make([90.0, 0.0]))
