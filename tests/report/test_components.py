"""The page of components: the spectrum with intervals and marks, loadings, how sure it is and what is promised."""

import math
import re

import numpy as np
import pandas as pd
import pytest

import hushrank
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.privacy.figures import at_most
from hushrank.report.components import SHOWN_COMPONENTS, components_page
from hushrank.report.marks import vectors_of
from hushrank.report.personal import guess_bound
from report_support import Document

SCRIPT = "<script>alert('x')</script>"
X = np.random.default_rng(0).standard_normal((400, 6)) * [5.0, 3.0, 1.0, 1.0, 1.0, 1.0]
TERMS = {"row_norm": 100.0, "epsilon": 5.0}
KINDS = {
    "pca": lambda **terms: PrivatePCA(4, **{**TERMS, **terms}),
    "covariance": lambda **terms: PrivateCovariance(**{**TERMS, **terms}),
    "low rank": lambda **terms: PrivateLowRank(4, **{**TERMS, **terms}),
}


def text_of(model):
    return Document(components_page(model)).text


def section(text, start, stop):
    return text[text.index(start) : text.index(stop)]


@pytest.fixture
def known():
    """Components whose numbers are known: clear, weak, noise although it is there, and noise."""
    model = PrivatePCA(4, random_state=1, **TERMS).fit(X)
    model.components_ = np.eye(6)[:4]
    model.explained_variance_, model.explained_variance_ratio_ = (
        np.array([8.0, 4.0, 2.0, 1.0]),
        np.array([0.5, 0.25, 0.125, 0.1]),
    )
    model.explained_variance_interval_ = np.array([[7.0, 10.0], [3.0, 6.0], [1.0, 4.0], [0.0, 3.0]])
    model.alignment_, model.n_significant_ = np.array([0.95, 0.7, 0.3, 0.9]), 3
    return model


def test_the_spectrum_shows_values_intervals_and_marks(known):
    document = Document(components_page(known))
    assert "component 1 8 component 2 4, weak component 3 2, noise component 4 1, noise" in document.text
    bars = [(bar["class"], float(bar["width"])) for bar in document.all("rect", "share")]
    expected = [("share", 8), ("share weak", 4), ("share noise", 2), ("share noise", 1)]
    assert bars[:4] == [(style, pytest.approx(47.9 * value, abs=0.01)) for style, value in expected]
    assert [style for style, _ in bars[4:]] == ["share", "share weak", "share noise"]  # the legend
    lines = [re.match(r"M ([\d.]+) [\d.]+ H ([\d.]+) M", path["d"]) for path in document.all("path", "whisker")]
    places = [(float(found[1]), float(found[2])) for found in lines[:4]]
    assert places == [
        pytest.approx((47.9 * low, 47.9 * high), abs=0.01) for low, high in known.explained_variance_interval_
    ]
    assert len(lines) == 5 and "weak: a rough direction noise: no direction 95 % interval" in document.text


def test_the_table_shows_every_number_and_a_legend_of_marks(known):
    text = text_of(known)
    head = "component variance share of the total 95 % interval alignment mark"
    assert f"{head} 1 8 0.500 7 to 10 0.95 2 4 0.250 3 to 6 0.70 weak 3 2 0.125 - - noise 4 1" in text
    for words in ("No mark: stands above the noise", "weak: stands above the noise", "noise: does not stand above"):
        assert words in text
    dimmed = Document(components_page(known)).all("span", "dim")
    assert len(dimmed) == 2 * 6


def test_loadings_of_noise_are_not_shown(known):
    known.components_ = np.eye(6)[:4] + 0.1 * np.eye(6)[[1, 2, 3, 4]]
    shown = section(text_of(known), "Columns with the largest loadings", "How sure it is")
    assert "component largest loading second third 1 0 (+1.000) 1 (+0.100) 2 1 (+1.000) 2 (+0.100)" in shown
    assert "3 (+1.000)" not in shown and "4 (+0.100)" not in shown


def test_it_says_how_sure_it_is(known):
    text = text_of(known)
    assert "3 of 4 components stand above the noise, and 2 can be read as directions." in text
    assert "3 of 4 components stand above the noise (of noise alone, one or more would in 5 % of releases)." in text
    assert "Component 3 of these: something is there, but its direction is mostly noise" in text
    assert "expected squared cosine" in text and "What shortening took away is not in it" in text
    known.n_significant_ = 0
    text = text_of(known)
    assert "0 of 4 components stand above the noise." in text and "this budget shows nothing" in text
    assert "largest loading" not in text and "something is there" not in text
    known.n_significant_, known.alignment_ = 1, np.array([0.95, 0.7, 0.3, 0.9])
    assert "1 of 4 components stands above the noise. The page" in text_of(known)


@pytest.mark.parametrize("kind", KINDS)
def test_every_estimator_has_a_page_of_its_own_numbers(kind):
    model = KINDS[kind](delta=1e-6, random_state=4).fit(X)
    text = text_of(model)
    values = model.explained_variance_ if kind == "pca" else model.eigenvalues_
    assert all(f"{value:.4g}" in section(text, "Components", "How sure it is") for value in values)
    assert ("share of the total" in text) == (kind == "pca")
    j = abs(vectors_of(model)[0]).argmax()
    assert f"1 {j} ({vectors_of(model)[0][j]:+.3f})" in section(text, "largest loadings", "How sure it is")
    assert f"found privately: radius {model.radius_:.6g}" in text and "bound on a row 100, public" in text


def test_a_draw_has_no_spectrum_and_says_why():
    text = text_of(KINDS["pca"](mechanism="exponential").fit(X))
    assert "Spectrum" not in text and "component largest loading second third 1" in text
    assert "Learned from rows of 6 columns: 4 components." in text
    assert "A draw of the exponential mechanism does not say how sure" in text and "round it before" in text
    text = text_of(KINDS["low rank"](mechanism="exponential").fit(X))
    assert "Spectrum" in text and "Bars are eigenvalues." in text and "alignment" not in text and "interval" not in text


def test_public_eigenvalues_are_called_so():
    text = text_of(PrivateLowRank(eigenvalues=[3.0, 1.0], **TERMS).fit(X))
    assert "Bars are the public eigenvalues that were asked for; lines are 95 % intervals of the eigenvalues" in text
    assert "Bars are eigenvalues, without what the noise adds; lines are" in text_of(KINDS["low rank"]().fit(X))


def test_complex_rows_have_a_page():
    for kind, make in KINDS.items():
        text = text_of(make(field="complex", delta=1e-6).fit(X + 1j * X[:, ::-1]))
        assert "of 4 components" in text or (kind == "covariance" and "of 6 components" in text)


def test_a_model_of_an_older_version_has_a_page(tmp_path):
    model = KINDS["covariance"](radius="public").fit(X)
    for name in ("alignment_", "eigenvalue_interval_", "n_significant_"):
        delattr(model, name)
    text = text_of(model)
    assert "A model of an older version does not say" in text and "shortened to the public bound" in text


def test_a_loaded_model_gives_the_same_bytes(tmp_path):
    for kind, make in KINDS.items():
        model = make().fit(pd.DataFrame(X, columns=list("abcdef")))
        model.save(tmp_path / kind)
        assert components_page(hushrank.load(tmp_path / kind)) == components_page(model)


def test_names_are_text_and_nothing_is_loaded_from_elsewhere():
    names = [SCRIPT, "\x1b[2J", "c" * 90, "&amp;", "e", "f"]
    model = KINDS["pca"](epsilon=100.0, random_state=0).fit(pd.DataFrame(X + 3.0, columns=names))
    model.components_ = np.eye(6)[:4]
    model.alignment_, model.n_significant_ = np.ones(4), 4
    page = components_page(model)
    document = Document(page)
    for name in (SCRIPT, "\\x1b[2J", "c" * 39 + "\u2026", "&amp;"):
        assert f"{name} (+1.000)" in document.text
    assert not re.search(r"https?:|<script|@import", page) and document.all("script") == []
    ids = [attributes["id"] for _, attributes in document.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    styles = {name for _, attributes in document.elements for name in attributes.get("class", "").split()}
    assert all(f".{name}" in page[: page.index("</style>")] for name in styles)
    assert page.encode().decode() == page


def test_many_components_are_cut():
    rows = np.random.default_rng(1).standard_normal((300, 30))
    text = text_of(PrivateCovariance(row_norm=10.0, epsilon=1.0).fit(rows))
    assert f"The first {SHOWN_COMPONENTS} of 30 are shown." in text and f"component {SHOWN_COMPONENTS} " in text
    assert f"component {SHOWN_COMPONENTS + 1} " not in text and f"The first {SHOWN_COMPONENTS} of 30 component" in text


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_guarantee_is_stated_in_words_and_numbers(neighbors, delta):
    model = KINDS["pca"](neighbors=neighbors, delta=delta).fit(X)
    text, given = text_of(model), model.privacy_
    words = {"replace": "replace it by any other. The", "add_remove": "Add any row, or remove one. The"}[neighbors]
    guess = {"replace": "which of two possible rows", "add_remove": "whether a row was there"}[neighbors]
    assert words in text and guess in text and ("up to delta = 1e-06" in text) == bool(delta)
    shown = math.ceil(1000 * guess_bound(given)) / 10
    assert f"Neighbors: {neighbors} one row; arithmetic: exact" in text
    assert f"{at_most(given.epsilon)} {delta:g} {at_most(math.exp(given.epsilon), 3)} {shown:.1f} %" in text
    count = "a noisy count" if neighbors == "add_remove" else "public"
    assert f"number of rows {model.n_:,}, {count}" in text and "from a seed" not in text
    assert "this is for tests, and promises nothing" in text_of(KINDS["pca"](random_state=3).fit(X))


def test_what_was_done_to_the_rows():
    def told(**terms):
        return section(text_of(KINDS["pca"](**terms).fit(X)), "What was done", "What is promised")

    assert "center none: everything is about the second moment around the origin" in told()
    assert "center a public vector" in told(center=[0.0] * 6) and "around the public center" in told(center=[0.0] * 6)
    assert "the origin (NO CENTER was bought" in told(center="private", epsilon=0.1)
    bounded = told(row_norm=None, column_bounds=(-20.0, 10.0), standardize="private", center="private", epsilon=0.1)
    assert "around the middle of the bounds (NO CENTER was bought" in bounded
    assert "bound on a row" not in bounded and "clipped to them and measured from the middle" in bounded
    assert "released deviations after scales were bought before" in bounded
    moved = text_of(PrivatePCA(2, center="private", row_norm=100.0, epsilon=1000.0).fit(X + 9.0))
    assert "center a mean that was found privately" in moved
    wide = np.hstack([X, np.zeros((400, 60))])
    chosen = text_of(PrivatePCA(2, select_columns="private", **TERMS).fit(wide))
    assert "50 of 66 were chosen privately; components are zero elsewhere" in chosen
    matrix = text_of(PrivateCovariance(standardize="after", **TERMS).fit(X))
    assert matrix.startswith("A private correlation matrix") and "deviations: correlations" in matrix


def test_the_same_model_gives_the_same_bytes(known):
    assert components_page(known) == components_page(known)
    for make in KINDS.values():
        first, second = (make(random_state=5).fit(X) for _ in range(2))
        assert components_page(first) == components_page(second)
