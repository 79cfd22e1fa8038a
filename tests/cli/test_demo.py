"""`hushrank demo`: the table and the report hold the numbers that were measured."""

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hushrank.cli import demo
from hushrank.exceptions import ModelFileError
from report_support import Document


@pytest.fixture
def small(monkeypatch):
    """Fewer and smaller fits: one with hardly any budget, one with nearly no noise."""
    settings = {"N_USERS": 1200, "N_ITEMS": 60, "RANK": 4, "EPSILONS": (0.01, 1000.0), "SHOWN_EPSILON": 1000.0}
    for name, value in settings.items():
        monkeypatch.setattr(demo, name, value)


def rows(output):
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]


def test_the_table_and_the_report_say_the_same(small, tmp_path):
    out = tmp_path / "report[1].html"
    page = tmp_path / "page.html"
    result = CliRunner().invoke(demo.command, ["--out", str(out), "--page", str(page)], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.exception
    shown = rows(result.output)
    tight, loose, reference = shown[:3]
    assert (tight[0], loose[0], reference[0]) == ("0.01", "1000", "inf")
    text = Document(out.read_text(encoding="utf-8")).text
    for row in (tight, loose):
        assert " ".join([row[0], row[1], row[2].replace(" to ", "-"), *row[3:]]) in text
    # With nearly no noise the ratio is 1.003 with a standard deviation below 0.0001; with hardly any budget nothing is
    # known about the items, and own offsets alone are far worse. Without privacy the numbers are always the same.
    best = float(reference[4])
    assert best < float(loose[4]) < 1.02 * best and float(tight[4]) > 1.05 * best
    assert float(loose[5]) == pytest.approx(float(loose[4]) / best, abs=0.002)
    assert int(loose[1]) > 0 and len(shown) == 3 + demo.SHOWN
    assert f"Report written to {out}" in " ".join(result.output.split())
    assert "Next:" in result.output and f"The recommender itself is in {page}" in " ".join(result.output.split())
    html = page.read_text(encoding="utf-8")
    assert all(title in html for title in demo.made_up_titles(60)) and demo.PAGE_NAME in html
    assert "a factor of e^1000" in html


@pytest.mark.parametrize("found", [None, "/usr/bin/hushrank"])
def test_a_shell_that_does_not_find_the_command_is_told_how(small, tmp_path, monkeypatch, found):
    monkeypatch.setattr(demo.shutil, "which", lambda _: found)
    places = ["--out", str(tmp_path / "a.html"), "--page", str(tmp_path / "b.html")]
    printed = " ".join(CliRunner().invoke(demo.command, places, env={"COLUMNS": "200"}).output.split())
    assert (f'export PATH="{Path(sys.executable).parent}:$PATH"' in printed) == (found is None)


def test_recommendations_are_those_of_the_model(small):
    results, model = demo.measure(lambda text: None)
    assert model.privacy_ == results.shown.guarantee
    person = results.person
    assert len(person.ratings) <= demo.MOST_OWN_RATINGS and len(person.held_out) >= demo.SHOWN
    recommended = {item for item, _ in person.recommended}
    assert len(recommended) == demo.SHOWN and not recommended & {item for item, _ in person.ratings}
    scores = [score for _, score in person.recommended]
    assert scores == sorted(scores, reverse=True) and all(1.0 <= score <= 5.0 for score in scores)
    assert results.reference_error < results.fits[1].means_error < results.constant_error
    assert [fit.guarantee.delta for fit in results.fits] == [demo.DELTA] * 2


def test_only_a_page_of_an_earlier_demo_is_replaced(monkeypatch, tmp_path):
    monkeypatch.setattr(demo, "measure", lambda tell: (_ for _ in ()).throw(KeyError("it went on")))
    monkeypatch.chdir(tmp_path)
    for name in ("hushrank-demo.html", "hushrank-demo-recommender.html", "mine.html"):
        (tmp_path / name).write_text("old")
    for option in ("--out", "--page"):
        result = CliRunner().invoke(demo.command, [option, "mine.html"])
        assert result.exit_code == 2 and f"{option} mine.html exists already. --force replaces it." in result.output
    result = CliRunner().invoke(demo.command, ["--out", "new.html", "--page", "new.html"])
    assert result.exit_code == 2 and "--out and --page are two files." in result.output
    for line in ([], ["--out", "mine.html", "--force"], ["--page", "mine.html", "--force"]):
        assert "it went on" in str(CliRunner().invoke(demo.command, line).exception)


def test_a_report_that_cannot_be_written_is_refused_first(monkeypatch, tmp_path):
    def never(*_):
        raise AssertionError("measured before the check")

    monkeypatch.setattr(demo, "measure", never)
    error = CliRunner().invoke(demo.command, ["--out", str(tmp_path / "no" / "such.html")]).exception
    assert isinstance(error, ModelFileError) and "cannot write" in str(error)
