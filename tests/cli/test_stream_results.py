"""What a factorization is printed and written as; what of it cannot be written there is written elsewhere."""

import copy
import json

import click
import numpy as np
import pytest

import hushrank
from hushrank.cli.stream_results import describe, publish, to_json
from hushrank.cli.stream_terms import Terms
from hushrank.estimators.turnstile.sketch import TurnstileSketch


@pytest.fixture(scope="module")
def found():
    sketch = TurnstileSketch(shape=(20, 10), rank=2, epsilon=5.0, delta=1e-6, random_state=1)
    rows = np.arange(200)
    return sketch.update(rows % 20, rows % 10, np.ones(200)).factorize()


def terms(**changes):
    names = {name: None for name in Terms.__slots__}
    flags = dict.fromkeys(
        ("resume", "continues", "no_factorize", "again", "quiet", "verbose", "as_json", "force"), False
    )
    return Terms(**{**names, **flags, **changes})


def test_a_factorization_is_written_and_described(found, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    publish(terms(out=tmp_path / "found.hush", report=tmp_path / "page.html"), found)
    out = capsys.readouterr().out
    assert "private factorization of a 20 x 10 matrix" in next(iter(describe(found))) and "guarantee" in out
    assert "found.hush" in out and "page.html" in out
    assert np.array_equal(hushrank.load("found.hush").s, found.s) and (tmp_path / "page.html").exists()


def test_the_json_object_is_printed_also_where_files_fail(found, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(click.ClickException, match=r"THE FACTORIZATION IS IN .*found-2.hush; .* THE REPORT IS IN"):
        publish(terms(out=tmp_path / "no" / "found.hush", report=tmp_path / "no" / "page.html", as_json=True), found)
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(to_json(found)))
    assert np.array_equal(hushrank.load("found-2.hush").s, found.s) and (tmp_path / "page-2.html").exists()


def test_what_the_decoder_kept_of_noise_is_dim_and_called_noise(found):
    kept = copy.deepcopy(found)
    kept.s_ = np.array([500.0, 4.5])
    headline, floor, *_, table = list(describe(kept, [f"page {j}" for j in range(10)]))
    assert "1 of 2 components stands above the noise" in headline and "1 more has a singular value" in headline
    assert "--sketch-sizes" in floor and "sketch_sizes" not in floor
    cells = [list(column.cells) for column in table.columns]
    assert cells[1] == ["500", "4.5"] and cells[-1] == ["", "noise"] and cells[-2][1] == "-" != cells[-2][0]
    assert [row.style for row in table.rows] == [None, "dim"]
    told = to_json(kept)
    assert told["marks"] == ["", "noise"] and (told["n_significant_"], told["n_above_noise"]) == (1, 2)
