"""`hushrank show`: models of every class, their promise in words, titles, similar items, JSON."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from hushrank.cli.show import command, say_value
from hushrank.exceptions import ModelFileError
from hushrank.privacy.words import sentences
from model_support import CLASSES, N_ITEMS, fitted


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name in CLASSES:
        fitted(name).save(folder / f"{name}.hush")
    lines = "".join(f"{j},[b]Film {j}\n" for j in range(N_ITEMS))
    (folder / "titles.csv").write_text(f"item,title\n{lines}")
    return folder


def shown(*words):
    result = CliRunner().invoke(command, [str(word) for word in words])
    assert result.exit_code == 0, result.exception
    return " ".join(result.output.split())


@pytest.mark.parametrize("name", CLASSES)
def test_every_model_is_shown_with_its_promise(files, name):
    text, model = shown(files / f"{name}.hush"), fitted(name)
    assert text.startswith(f"{name}: private ")
    assert name == "PrivateEvaluation" or ("stand" in text and "above the noise" in text)
    assert all(" ".join(sentence.split()) in text for sentence in sentences(model.privacy_))
    assert "│ epsilon" in text and "random_state" not in text


@pytest.mark.parametrize("name", CLASSES)
def test_machines_get_all_of_it(files, name):
    found, model = json.loads(shown(files / f"{name}.hush", "--json")), fitted(name)
    assert found["class"] == name and found["promise"] == list(sentences(model.privacy_))
    assert (
        found.get("n_significant_") == getattr(model, "n_significant_", None)
        and found["privacy_"] == model.privacy_.to_dict()
    )
    assert "epsilon" in found["parameters"]


def test_titles_stand_for_ids(files):
    model = fitted("PrivateCompletion")
    text = shown(files / "PrivateCompletion.hush", "--titles", files / "titles.csv")
    assert f"[b]Film {model.item_means_.argmax()}" in text
    found = json.loads(shown(files / "PrivateCompletion.hush", "--titles", files / "titles.csv", "--json"))
    assert found["titles"][2] == "[b]Film 2"
    assert "[b]Film" in shown(files / "Factorization.hush", "--titles", files / "titles.csv")


def test_similar_items_are_shown_or_said_not_to_be(files, tmp_path):
    model = fitted("PrivateCompletion")
    near = model.similar_items(3)
    text = shown(files / "PrivateCompletion.hush", "--similar", "3")
    assert "similar to 3, by factors" in text and f"│ 1 │ {near.items[0]} │ {near.scores[0]:.3f}" in text
    found = json.loads(shown(files / "PrivateCompletion.hush", "--similar", "3", "--json"))["similar"]
    assert found == {"items": near.items.tolist(), "scores": near.scores.tolist(), "by": "factors"}
    import hushrank

    bare = hushrank.load(files / "PrivateCompletion.hush")
    bare.item_factors_, bare.strength_, bare.n_factors_ = np.zeros((N_ITEMS, 2)), np.zeros(2), 0
    bare.save(tmp_path / "bare.hush")
    assert "item 3 has no factors and no features: nothing is known to be similar" in shown(
        tmp_path / "bare.hush", "--similar", "3"
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["PrivatePCA.hush", "--similar", "3"], "--similar is for items of a recommender"),
        (["PrivateCompletion.hush", "--similar", "99"], "no item of the catalogue has this id"),
        (["PrivatePCA.hush", "--titles", "titles.csv"], "--titles is for items of a recommender"),
    ],
)
def test_wrong_turns(files, words, message, monkeypatch):
    monkeypatch.chdir(files)
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 2 and message in result.output


def test_no_model_is_no_model(files):
    error = CliRunner().invoke(command, [str(files / "titles.csv")]).exception
    assert isinstance(error, ModelFileError)


def test_values_are_short():
    assert say_value([1] * 9) == "9 of them" and say_value(0.5) == "0.5" and len(say_value("x" * 99)) == 60
