"""Messages about data name their file, once, and stay what they were otherwise."""

import pytest

from hushrank.cli.main import cli
from hushrank.cli.messages import about_file
from hushrank.exceptions import BudgetExceeded, InvalidParameter

COMMON = ["--epsilon", "1", "--delta", "1e-6", "--json", "--quiet"]


@pytest.mark.parametrize(
    ("name", "got", "shown"),
    [
        ("X", "3 columns", "people.csv: X of PrivatePCA must be other; got '3 columns'."),
        ("users", "none", "people.csv: users of PrivatePCA must be other; got 'none'."),
        ("X", "people.csv: damaged", "X of PrivatePCA must be other; got 'people.csv: damaged'."),
        ("epsilon", -1, "epsilon of PrivatePCA must be other; got -1."),
    ],
)
def test_the_file_comes_first_where_the_message_is_about_it(name, got, shown):
    with pytest.raises(InvalidParameter) as refusal, about_file("people.csv"):
        raise InvalidParameter("PrivatePCA", name, "other", got)
    assert str(refusal.value) == shown and refusal.value.name == name and refusal.value.got == got


def test_without_a_file_and_for_other_errors_nothing_changes():
    with pytest.raises(InvalidParameter, match=r"^X of PrivatePCA"), about_file(None):
        raise InvalidParameter("PrivatePCA", "X", "other", 1)
    with pytest.raises(BudgetExceeded, match=r"^budget exceeded"), about_file("people.csv"):
        raise BudgetExceeded(2.0, 1.0, "mu^2")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age,income\n30,100\n40,200\n")
    return tmp_path


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("pca people.csv --components 1 --row-norm 9 --columns age,incom", "'incom'"),
        ("personalize people.csv --components 1 --user age --target incom", "'incom'"),
        ("complete people.csv --rank 1 --rating-range 1 5 --items 3", "user"),
        ("stream people.csv --shape 3 3 --rank 1", "row, column, delta"),
    ],
)
def test_commands_name_the_file_and_the_column(folder, line, column):
    with pytest.raises(InvalidParameter) as refusal:
        cli.main([*line.split(), *COMMON], standalone_mode=False)
    assert str(refusal.value).count("people.csv") == 1 and column in str(refusal.value)


def test_inspect_names_them_as_well(folder):
    with pytest.raises(InvalidParameter, match=r"^people\.csv: .*'incom'"):
        cli.main(["inspect", "people.csv", "--columns", "incom"], standalone_mode=False)
