"""`hushrank export-web`: a page of a model file, its titles, and what is refused."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import hushrank
from hushrank.cli import export_web
from hushrank.cli.main import load
from hushrank.privacy.figures import at_most
from hushrank.web.page import make_web_page, to_bytes
from model_support import HOSTILE, N_ITEMS, fitted


@pytest.fixture
def folder(tmp_path, monkeypatch):
    fitted("PrivateCompletion").save(tmp_path / "model.hush")
    lines = "".join(f"{j},{HOSTILE} {j}\n" for j in range(N_ITEMS))
    (tmp_path / "titles.csv").write_text(f"movieId,title\n{lines}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*line):
    return CliRunner().invoke(load("export-web"), line)


def titles_in(path):
    data = re.search(r'application/json">(.*?)</script>', path.read_text(encoding="utf-8"), re.DOTALL)[1]
    return json.loads(data)["titles"]


def test_the_page_is_that_of_the_model(folder):
    result = run("model.hush", "--name", "Films & more", "--precision", "int8")
    page = make_web_page(fitted("PrivateCompletion"), name="Films & more", precision="int8")
    assert result.exit_code == 0 and (folder / "recommender.html").read_bytes() == to_bytes(page.html)
    assert (
        f"page written to recommender.html: {len(to_bytes(page.html)) / 2**20:.2f} MB; rounding moved predictions "
        in (result.output)
    )
    assert f"by at most {at_most(page.rounding.largest, 2)}\n" in result.output


def test_titles_and_numbers_for_machines(folder):
    result = run("model.hush", "--titles", "titles.csv", "--item-col", "movieId", "--out", "page.html", "--json")
    told = json.loads(result.output)
    assert told["page"] == "page.html" and told["bytes"] == (folder / "page.html").stat().st_size
    assert told["has_tastes"] is True and told["precision"] == "float16" and told["rounding"]["visitors"] == 64
    assert titles_in(folder / "page.html")[3] == f"{HOSTILE} 3"


def test_titles_of_other_items_make_no_page_and_missing_ones_are_told(folder):
    (folder / "some.csv").write_text("item,title\n0,One\n3,Two\n3,Three\n99,None\n")
    told = run("model.hush", "--titles", "some.csv", "--out", "page.html").output
    assert f"hushrank: {N_ITEMS - 2} of {N_ITEMS} items have no title in some.csv: their ids are shown\n" in told
    (folder / "other.csv").write_text("item,title\nb054,One\n")
    refused = run("model.hush", "--titles", "other.csv", "--out", "other.html")
    assert refused.exit_code == 2 and not (folder / "other.html").exists()
    assert "are the ids of both the same?" in refused.output and "no item has a title" in refused.output


def test_a_model_without_tastes_is_told(folder):
    facts = {"epsilon": 0.02, "delta": 1e-6, "rating_range": (1, 5)}
    hushrank.PrivateCompletion(2, **facts).fit(np.ones((20, 30))).save(folder / "flat.hush")
    assert "no factors above the noise" in run("flat.hush", "--out", "flat.html").output
    page = (folder / "flat.html").read_text(encoding="utf-8")
    assert "This model has found no tastes" in page and '"hasTastes":false' in page


def test_a_large_page_is_told(folder, monkeypatch):
    monkeypatch.setattr(export_web, "LARGE", 1000)
    assert "so large a page is slow on phones" in run("model.hush").output


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("PrivatePCA.hush",), "export-web is for recommenders of hushrank complete, not for a PrivatePCA."),
        (("model.hush", "--out", "model.hush", "--force"), "--out model.hush would overwrite the model"),
        (
            ("model.hush", "--titles", "titles.csv", "--item-col", "movieId", "--out", "titles.csv", "--force"),
            "overwrite",
        ),
        (("model.hush", "--out", "there.html"), "exists already. --force replaces it."),
        (("model.hush", "--precision", "int4"), "'int4' is not one of 'float16', 'int8'"),
    ],
)
def test_wrong_turns(folder, line, message):
    (folder / "there.html").write_text("mine")
    fitted("PrivatePCA").save(folder / "PrivatePCA.hush")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = run(*line)
    assert result.exit_code == 2 and message in " ".join(result.output.split())
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_strangers_file_and_a_seed(folder):
    (folder / "stranger.hush").write_bytes(b"PK\x03\x04 nothing")
    assert isinstance(run("stranger.hush").exception, hushrank.exceptions.ModelFileError)
    model = hushrank.load("model.hush")
    given = model.privacy_.to_dict() | {"reproducible": True}
    model.privacy_ = type(model.privacy_).from_dict(given)
    model.save("seeded.hush")
    result = run("seeded.hush")
    assert "fitted without random_state" in str(result.exception) and not (folder / "recommender.html").exists()


@pytest.mark.parametrize("name", ["item_factors_", "item_features_", "item_means_", "mean_deviation_"])
@pytest.mark.parametrize("value", [1e308, 1e39])
def test_huge_numbers_of_a_stranger_are_one_line_and_no_warning(folder, name, value, recwarn):
    model = hushrank.load("model.hush")
    learned = model._learned()
    numbers = np.array(learned[name])
    numbers.flat[0] = value
    model._keep({**learned, name: numbers})
    model.save("huge.hush")
    result = run("huge.hush")
    refused = result.exit_code != 0
    assert not refused or str(result.exception).endswith("got 'one with numbers that are too large'.")
    assert [str(warning.message) for warning in recwarn] == [] and refused != (folder / "recommender.html").exists()
