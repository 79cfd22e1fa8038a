"""What the commands of second moments print: a table with intervals, alignments and marks, and lines below it."""

import numpy as np
import pytest
from rich.console import Console

from hushrank.cli.components import describe_components
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.report.marks import UNSURE

X = np.random.default_rng(0).standard_normal((400, 6)) * [5.0, 3.0, 1.0, 1.0, 1.0, 1.0]
TERMS = {"row_norm": 100.0, "epsilon": 5.0, "random_state": 1}


@pytest.fixture
def known():
    """Components whose numbers are known: clear, weak, noise although it is there, and noise."""
    model = PrivatePCA(4, **TERMS).fit(X)
    model.feature_names_in_ = np.array(["[red]a", "b", "c", "d", "e", "f"], object)
    model.components_ = np.eye(6)[:4]
    model.explained_variance_ = np.array([8.0, 4.0, 2.0, 1.0])
    model.explained_variance_ratio_ = np.array([0.5, 0.25, 0.125, 0.1])
    model.explained_variance_interval_ = np.array([[7.0, 10.0], [3.0, 6.0], [1.0, 4.0], [0.0, 3.0]])
    model.alignment_, model.n_significant_ = np.array([0.95, 0.7, 0.3, 0.9]), 3
    return model


def printed(model, *, width=120, colors=False, **terms):
    terms_of_colors = {"force_terminal": True, "color_system": "standard"} if colors else {}
    console = Console(width=width, highlight=False, **terms_of_colors)
    with console.capture() as caught:
        for part in describe_components(model, "title", **terms):
            console.print(part)
    return caught.get()


def cells(text):
    lines = [line for line in text.splitlines() if line.startswith(("│", "┃"))]
    return [[cell.strip() for cell in line.replace("┃", "│").split("│")[1:-1]] for line in lines]


def test_the_table_has_interval_alignment_and_mark(known):
    assert cells(printed(known)) == [
        ["no.", "variance", "share", "95 % interval", "alignment", "largest loading", ""],
        ["1", "8", "0.500", "7 to 10", "0.95", "[red]a (+1.000)", ""],
        ["2", "4", "0.250", "3 to 6", "0.70", "b (+1.000)", "weak"],
        ["3", "2", "0.125", "-", "-", "-", "noise"],
        ["4", "1", "0.100", "-", "-", "-", "noise"],
    ]


def test_noise_is_dimmed_and_nothing_else(known):
    lines = [line for line in printed(known, colors=True).splitlines() if line.startswith("│")]
    assert ["\x1b[2m" in line for line in lines] == [False, False, True, True]


def test_lines_below_the_table_say_what_stands_above_the_noise(known):
    below = printed(known).rpartition("┘\n")[2]
    told = "3 of 4 components stand above the noise (of noise alone, one or more would in 5 % of releases)\n"
    assert below.startswith(told + "component 3 of these: something is there")
    assert f"radius {known.radius_:.6g} around the origin: a longer row was shortened to it\n" in below
    assert " no center: where the means of columns are far from zero" in " ".join(below.split())
    assert "(--center private buys a mean and subtracts it)" in " ".join(below.split())
    known.center = [0.0] * 6
    assert "no center" not in printed(known)
    known.alignment_ = np.array([0.95, 0.7, 0.6, 0.9])
    assert "of these" not in printed(known)


def test_numbers_are_whole_on_a_narrow_terminal(known):
    known.explained_variance_interval_ = np.array([[12345.6, 23456.7]] * 4)
    rows = cells(printed(known, width=80))
    intervals = " ".join(row[3] for row in rows[2:])  # an interval may go on in the next line, a number not
    assert intervals.split() == ["1.235e+04", "to", "2.346e+04"] * 2 + ["-"] * 2


def test_a_matrix_has_no_loadings_and_as_many_lines_as_asked_for():
    model = PrivateCovariance(**TERMS).fit(X)
    rows = cells(printed(model, most=2, has_loadings=False))
    assert rows[0] == ["no.", "eigenvalue", "95 % interval", "alignment", ""] and len(rows) == 3
    low, high = model.eigenvalue_interval_[0]
    assert rows[1][:3] == ["1", f"{model.eigenvalues_[0]:.6g}", f"{low:.4g} to {high:.4g}"]
    assert f"{model.n_significant_} of 6 components" in printed(model, most=2, has_loadings=False)


@pytest.mark.parametrize(
    ("kind", "names"),
    [(PrivatePCA, ["no.", "largest loading"]), (PrivateLowRank, ["no.", "eigenvalue", "largest loading"])],
)
def test_a_draw_has_no_marks_but_a_radius(kind, names):
    model = kind(2, mechanism="exponential", **TERMS).fit(X)
    shown = printed(model)
    assert cells(shown)[0] == names and UNSURE in shown.replace("\n", " ") and f"radius {model.radius_:.6g}" in shown


def test_without_a_private_radius_none_is_shown():
    assert "radius" not in printed(PrivatePCA(2, radius="public", **TERMS).fit(X))


def test_a_component_of_eigenvalue_zero_has_no_loading():
    model = PrivateLowRank(eigenvalues=[2.0, 0.0], **TERMS).fit(X)
    assert [row[4] for row in cells(printed(model))[1:]][1] == "none"


def test_loadings_can_be_read_beside_large_variances(known):
    known.explained_variance_ = known.explained_variance_ * 1234567.0
    known.explained_variance_interval_ = known.explained_variance_interval_ * 1234567.0
    known.feature_names_in_ = np.array(["Income", "Rent", "c", "d", "e", "f"], object)
    text = printed(known, width=80)
    loadings = [row[5] for row in cells(text)]
    assert "…" not in text and max(map(len, text.splitlines())) <= 80
    assert loadings[:2] == ["largest", "loading"] and {"Income", "(+1.000)", "Rent"} <= {*loadings}
