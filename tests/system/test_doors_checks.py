"""A check before a fit: hostile data never end it, and what it tells goes to stdout alone, when it was asked for."""

import json
import logging

import numpy as np
import pytest

import hushrank as hr
from hushrank.cli.main import load

ROWS = "--components 1 --row-norm 2 --epsilon 1 --check"
RATINGS = "--items 9 --rating-range 1 5 --rank 1 --epsilon 1 --delta 1e-6 --check"
RECORDS = "--components 1 --epsilon 1 --delta 1e-6 --check"
UPDATES = "--shape 4 5 --rank 1 --epsilon 1 --check"
ODD = ["nan", "inf", "-inf", "1e400", "1e-400", "0x10", "1_000", "", " ", "null", "é", "\x1b[31m", "9" * 400, '"a\nb"',
       '"', '"""', "1,2", "-0", "18446744073709551616", "\xa0", "=1+1", "\\N", "9223372036854775808"]  # fmt: skip
TEXT = '"one, two\nthree,4,5\n,,,\n"'


def lines_of(width, cells):
    """A line for each cell in each place, between plain ones, and lines of too many and too few fields."""
    plain = ["1"] * width
    yield from (",".join([*plain[:j], cell, *plain[j + 1 :]]) for cell in cells for j in range(width))
    yield from ("", ",", ",".join(["1"] * (width + 3)), "1", TEXT, ",".join([TEXT] * width))


FILES = {
    "pca": ("a,b,c", ROWS),
    "covariance": ("a,b,c", "--column-bounds 0,1 --epsilon 1 --check"),
    "lowrank": ("a,b,c", "--rank 1 --row-norm 2 --epsilon 1 --check"),
    "complete": ("user,item,rating", RATINGS),
    "personalize": ("user,target,a,b", RECORDS),
    "trace": ("target,x,z", "--design rank_one --x x --z z --rank 1 --epsilon 1 --delta 1e-6 --check"),
    "stream": ("row,column,delta", f"{UPDATES} --on-invalid skip"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(logging, "basicConfig", lambda **_: None)
    return tmp_path


def run(name, line, capfd):
    """Exit code, stdout and stderr of a command."""
    code = load(name).main(line.split(), standalone_mode=False) or 0
    return code, *capfd.readouterr()


@pytest.mark.parametrize("name", FILES)
def test_no_cell_ends_a_check_or_reaches_stderr(folder, name, capfd):
    header, terms = FILES[name]
    content = "\n".join([header, *lines_of(header.count(",") + 1, ODD), ""])
    (folder / "odd.csv").write_bytes(content.encode() + b"\xff\xfe,\xff,1\n")
    code, out, err = run(name, f"odd.csv {terms}", capfd)
    assert code in (0, 2) and "NOT PRIVATE" in out.splitlines()[0] and err == ""
    assert "\x1b" not in out
    code, out, err = run(name, f"odd.csv {terms} --json", capfd)
    json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert err == ""
    _, out, err = run("check", "odd.csv", capfd)
    assert "NOT PRIVATE" in out and err == ""


@pytest.mark.parametrize("name", FILES)
def test_a_header_alone_is_a_finding_where_it_is_not_refused(folder, name, capfd):
    """Under replace the number of people is public, and a fit of nobody is refused before its charge."""
    (folder / "empty.csv").write_text(FILES[name][0] + "\n")
    code, out, err = run(name, f"empty.csv {FILES[name][1]} --neighbors add_remove", capfd)
    assert code == (0 if name == "stream" else 2) and "there is no" in out and err == ""


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324])
@pytest.mark.parametrize("whole", [True, False])
def test_no_number_ends_a_check(value, whole):
    X, users = np.random.default_rng(0).standard_normal((40, 4)), np.repeat(np.arange(10), 4)
    X[: 40 if whole else 1] = value
    terms = {"epsilon": 1.0, "delta": 1e-6}
    for model, data in (
        (hr.PrivatePCA(2, row_norm=1.0, **terms), (X,)),
        (hr.PrivatePCA(2, column_bounds=(-1, 1), center=np.ones(4), **terms), (X,)),
        (hr.PrivateLowRank(rank=1, row_norm=1.0, epsilon=1.0, field="complex"), (X * (1 + 1j),)),
        (hr.PrivateCompletion(1, rating_range=(1, 5), **terms), (X,)),
        (hr.PrivateRepresentation(1, **terms), (X, X[:, 0], users)),
        (hr.PrivateTraceRegression(1, design="rank_one", shape=(2, 2), **terms), (X, X[:, 0])),
        (hr.PrivateTraceRegression(1, design="entry", shape=(3, 3), **terms), ((X[:, 0], X[:, 1]), X[:, 2])),
    ):
        check = model.check(*data)
        json.dumps(check.to_dict(), allow_nan=False)
        assert "NOT PRIVATE" in str(check)


def test_a_fit_tells_nothing_of_what_a_check_would(folder, capfd):
    (folder / "rows.csv").write_text("a,b,zip\n" + "1,2,x\n" * 50)
    code, out, err = run("pca", "rows.csv --components 1 --row-norm 1 --epsilon 1 --json", capfd)
    assert code == 0 and "not_private" not in out and "no number" not in out + err and "50" not in err
    assert err.startswith("hushrank: column 'zip' looks by name like an id, a name or a date") and err.count("\n") == 1
