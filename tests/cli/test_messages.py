"""Messages about data name their file, once, and stay what they were otherwise."""

import pyarrow as pa
import pyarrow.parquet
import pytest

from hushrank.cli.main import cli, main
from hushrank.cli.messages import about_file, in_options
from hushrank.data.ratings.column_names import MissingColumn
from hushrank.estimators.turnstile.sketch import TurnstileSketch
from hushrank.exceptions import BudgetExceeded, InvalidParameter
from hushrank.privacy.charging import OtherTerms
from hushrank.privacy.ledger import Ledger

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


def test_tables_that_can_be_mended_are_sent_to_the_look_at_a_file(folder):
    pa.parquet.write_table(pa.table({"city": ["Rome"]}), "people.parquet")
    (folder / "index.csv").write_text(",age\n0,30\n")
    for name in ("people.parquet", "index.csv"):
        with pytest.raises(InvalidParameter, match=rf"hushrank check {name} says what to do\.$"):
            cli.main(["pca", name, "--components", "1", "--row-norm", "9", *COMMON], standalone_mode=False)


def test_inspect_names_them_as_well(folder):
    with pytest.raises(InvalidParameter, match=r"^people\.csv: .*'incom'"):
        cli.main(["inspect", "people.csv", "--columns", "incom"], standalone_mode=False)


# Options instead of parameters


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (("PrivatePCA", "row_norm", "a finite float > 0 unless column_bounds are given", None),
         "--row-norm must be a finite number > 0 unless --column-bounds are given; got none."),
        (("PrivatePCA", "n_components", "at most the number of columns, 10", 40),
         "--components must be at most the number of columns, 10; got 40."),
        (("PrivatePCA", "X", "at least 1 row (none under neighbors='add_remove' only)", "row_norm of PrivatePCA"),
         "the data must be at least 1 row (none under --neighbors add_remove only); got 'row_norm of PrivatePCA'."),
        (("PrivateRepresentation", "y", "a vector, or the name of a column of X ('target' if it is None)", "no column"),
         "--target must be the name of a column ('target' if it is left out); got 'no column'."),
        (("PrivateCompletion", "random_state", "None where a ledger is charged", 1),
         "--seed must be left out where a ledger is charged; got 1."),
        (("Budget", "epsilon", "a finite float > 0", -1.0), "--epsilon must be a finite number > 0; got -1.0."),
        (("limits of columns", "X", "a CSV file in UTF-8", "b.csv: others"),
         "the file of --column-bounds must be a CSV file in UTF-8; got 'b.csv: others'."),
        (("limits of columns", "file", "a table with the columns low and high at its end", "b.csv: one"),
         "the file of --column-bounds must be a table with the columns low and high at its end; got 'b.csv: one'."),
        (("TurnstileSketch", "ledger", "an account, because releases of this sketch were charged to one", None),
         "--ledger must be an account, because releases of this sketch were charged to one; got none."),
        (("LocalEngine", "threads", "an integer between 1 and 1024", 0),
         "--threads must be an integer between 1 and 1024; got 0."),
        (("catalogue", "file", "a file or None", "a"), "file of catalogue must be a file or None; got 'a'."),
        (("PrivatePCA", "no_option", "x or None", "a"), "no_option of PrivatePCA must be x or None; got 'a'."),
    ],
)  # fmt: skip
def test_parameters_are_called_by_their_options(error, said):
    assert in_options(InvalidParameter(*error)) == said


def test_what_was_given_is_left_as_it_is():
    given = "neighbors='add_remove' or None"
    assert in_options(InvalidParameter("PrivatePCA", "X", "other", given)).endswith(f"got {given!r}.")


def test_the_file_stays_first_and_hints_are_options():
    with pytest.raises(InvalidParameter) as refusal, about_file("people.csv"):
        raise MissingColumn("PrivateCompletion", "X", "a table", "no column 'user'",
                            'Did you mean columns={"user": "userId"}? (--user-col userId)')  # fmt: skip
    said = "people.csv: the data must be a table; got no column 'user'. Did you mean --user-col userId?"
    assert in_options(refusal.value) == said


def test_ledgers_are_spoken_of_in_words():
    exists = InvalidParameter("Ledger.create", "name", "that of a new data set", "x")
    assert in_options(exists) == "data set 'x' exists, and its budget is fixed for life: take another name."
    alike = InvalidParameter("Ledger.create", "name", "unlike 'x', a data set that exists", "X")
    assert in_options(alike) == "'X' could be taken for a data set that exists ('x'): take another name."
    for owner in ("Account.charge", "count_fits"):
        said = (
            "data set 'ratings' counts rows, and this release needs users: create another data set, under another name"
        )
        assert in_options(OtherTerms(owner, "unit", "ratings", "row", "user")) == f"{said}, with --unit user."
    said = in_options(OtherTerms("Account.charge", "neighbors", "ratings", "replace", "add_remove"))
    assert "take --neighbors replace, or create another" in said and "Account" not in said
    event = InvalidParameter("Account.charge", "event", "made of Pure releases, because", 1)
    assert "take --delta 0" in in_options(event) and "Account" not in in_options(event)
    for words, said in (
        (
            "left 1; accepted: epsilon = 0.9 or less at delta = 1e-6",
            "accepted: --epsilon 0.9 or less with --delta 1e-6.",
        ),
        ("left 1; accepted: epsilon = 0.9 or less", "accepted: --epsilon 0.9 or less."),
    ):
        assert in_options(BudgetExceeded(2.0, 1.0, "mu^2", words)).endswith(said)


@pytest.mark.parametrize("choice", [{"unit": "rank1"}, {"unit": "row"}, {"operator": "gaussian"}])
def test_a_random_sketch_with_a_ledger_is_told_which_options_do(choice, tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        terms = {"unit": choice.get("unit", "entry"), "neighbors": "add_remove"}
        account = ledger.create("updates", epsilon=5, delta=1e-6, **terms)
        sketch = TurnstileSketch(shape=(9, 9), rank=1, epsilon=1.0, delta=1e-6, ledger=account, **choice)
        with pytest.raises(InvalidParameter) as refusal:
            sketch.plan()
    said = in_options(refusal.value)
    assert "with --ledger take --kind full, or --unit entry or user with --operator sparse_sign." in said
    assert "TurnstileSketch" not in said and "'" not in said


def test_other_errors_say_what_they_say():
    assert in_options(BudgetExceeded(2.0, 1.0, "mu^2")) == str(BudgetExceeded(2.0, 1.0, "mu^2"))


def test_the_command_speaks_of_options(folder, capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["hushrank", *"pca people.csv --components 1 --row-norm -1".split(), *COMMON])
    with pytest.raises(SystemExit, match="2"):
        main()
    assert capsys.readouterr().err == "hushrank: --row-norm must be a finite number > 0; got -1.0.\n"


def test_an_address_is_named_without_its_secrets():
    with pytest.raises(InvalidParameter) as refusal, about_file("ftp://ann:secret@host/people.csv"):
        raise InvalidParameter("PrivatePCA", "X", "a CSV file with a name for every column", "one without")
    said = str(refusal.value)
    assert said.startswith("ftp://host/people.csv: X of PrivatePCA") and "secret" not in said
    assert said.endswith("hushrank check ftp://host/people.csv says what to do.")
