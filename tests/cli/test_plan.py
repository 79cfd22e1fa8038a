"""`hushrank plan`: readable and machine-readable output, and one line for bad input."""

import json

import pytest
from click.testing import CliRunner

from hushrank.base import PrivateRelease
from hushrank.cli.plan import command, plan_command
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.estimators.personalization.estimator import PrivateRepresentation
from hushrank.estimators.second_moment.covariance import PrivateCovariance
from hushrank.estimators.second_moment.low_rank import PrivateLowRank
from hushrank.estimators.second_moment.pca import PrivatePCA
from hushrank.estimators.trace.estimator import PrivateTraceRegression
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.guarantee import Budget
from hushrank.privacy.planning import plan_counts, plan_gram, plan_quantile, plan_vector
from hushrank.registry import COMMANDS, planner
from option_support import Reached, defaults_in, misplaced_options, option_of, required_words, with_options, written

PURE, APPROXIMATE = Budget(0.5, neighbors="add_remove", unit="user"), Budget(1.0, 1e-6)
CASES = [
    ("vector --norm 2 --epsilon 0.5 --neighbors add_remove --unit user", plan_vector(PURE, 2.0)),
    ("vector --norm 2 --nonnegative --epsilon 1 --delta 1e-6", plan_vector(APPROXIMATE, 2.0, nonnegative=True)),
    ("gram --columns 64 --row-norm 3 --epsilon 0.5 --neighbors add_remove --unit user", plan_gram(PURE, 3.0, 64)),
    (
        "gram --columns 64 --row-norm 3 --n-max 1000 --epsilon 1 --delta 1e-6",
        plan_gram(APPROXIMATE, 3.0, 64, n_max=1000),
    ),
    ("counts --cells 10 --max-cells 2 --epsilon 1 --delta 1e-6", plan_counts(APPROXIMATE, 10, max_cells=2)),
    ("quantile --probability 0.9 --grid-size 100 --epsilon 1 --delta 1e-6", plan_quantile(APPROXIMATE, 0.9, 100)),
    (
        "pca --rows 1000 --columns 5 --components 2 --row-norm 3 --radius public --center private --center-norm 9 "
        "--epsilon 1",
        PrivatePCA(2, row_norm=3.0, radius="public", center="private", center_norm=9.0, epsilon=1.0).plan((1000, 5)),
    ),
    (
        "pca --rows 1000 --columns 5 --components 2 --row-norm 300 --center private --epsilon 1",
        PrivatePCA(2, row_norm=300.0, center="private", epsilon=1.0).plan((1000, 5)),
    ),
    (
        "pca --rows 1000 --columns 5 --components 2 --column-bounds -1,3 --standardize private --select-columns "
        "private --epsilon 1 --delta 1e-6 --neighbors add_remove",
        PrivatePCA(
            2,
            column_bounds=(-1.0, 3.0),
            standardize="private",
            select_columns="private",
            epsilon=1.0,
            delta=1e-6,
            neighbors="add_remove",
        ).plan((1000, 5)),
    ),
    (
        "covariance --rows 1000 --columns 5 --rank 2 --row-norm 3 --center 1,2,3,4,5.5 --epsilon 1 --delta 1e-6 "
        "--neighbors add_remove --n-max 2000",
        PrivateCovariance(
            row_norm=3.0, rank=2, center=[1, 2, 3, 4, 5.5], epsilon=1.0, delta=1e-6, neighbors="add_remove", n_max=2000
        ).plan((1000, 5)),
    ),
    (
        "lowrank --rows 1000 --columns 5 --rank 2 --share 0.25 --row-norm 3 --epsilon 1 --mechanism exponential "
        "--strategy sequential --field complex",
        PrivateLowRank(
            2, share=0.25, row_norm=3.0, epsilon=1.0, mechanism="exponential", strategy="sequential", field="complex"
        ).plan((1000, 5)),
    ),
    (
        "lowrank --rows 1000 --columns 5 --rank 2 --row-norm 3 --radius public --epsilon 1 --mechanism exponential",
        PrivateLowRank(2, row_norm=3.0, radius="public", epsilon=1.0, mechanism="exponential").plan((1000, 5)),
    ),
    (
        "lowrank --rows 1000 --columns 5 --eigenvalues 4,1 --row-norm 3 --epsilon 1 --delta 1e-6",
        PrivateLowRank(eigenvalues=[4, 1], row_norm=3.0, epsilon=1.0, delta=1e-6).plan((1000, 5)),
    ),
    (
        "complete --users 6040 --items 3706 --rank 8 --rating-range 1 5 --epsilon 1 --delta 1e-6",
        PrivateCompletion(8, epsilon=1.0, delta=1e-6, rating_range=(1, 5)).plan((6040, 3706)),
    ),
    (
        "complete --users 500 --items 40 --rank 2 --rating-range -1 1 --no-offsets --method als --epsilon 1 "
        "--delta 1e-5 --neighbors add_remove --n-max 1000",
        PrivateCompletion(
            2,
            epsilon=1.0,
            delta=1e-5,
            rating_range=(-1, 1),
            offsets=False,
            method="als",
            neighbors="add_remove",
            n_max=1000,
        ).plan((500, 40)),
    ),
    (
        "personalize --users 20000 --columns 50 --components 2 --epsilon 1 --delta 1e-6",
        PrivateRepresentation(2, epsilon=1.0, delta=1e-6).plan((20000, 50)),
    ),
    (
        "personalize --users 300 --columns 50 --components 3 --method altmin --x-scale 2 --y-scale 9 --epsilon 1 "
        "--delta 1e-6 --neighbors add_remove --n-max 1000",
        PrivateRepresentation(
            3, epsilon=1.0, delta=1e-6, method="altmin", x_scale=2.0, y_scale=9.0, neighbors="add_remove", n_max=1000
        ).plan((300, 50)),
    ),
    (
        "personalize --users 900 --columns 5 --components 1 --method exponential --loss logistic --epsilon 2 --delta 0",
        PrivateRepresentation(1, epsilon=2.0, delta=0.0, method="exponential", loss="logistic").plan((900, 5)),
    ),
    (
        "trace --records 20000 --shape 20 20 --rank 2 --epsilon 1 --delta 1e-5",
        PrivateTraceRegression(2, epsilon=1.0, delta=1e-5).plan((20000, 20, 20)),
    ),
    (
        "trace --records 500 --shape 20 10 --rank 3 --design entry --privacy label --design-covariance identity "
        "--intercept 4 --signal-to-noise 500 --epsilon 2 --delta 1e-5 --neighbors add_remove --n-max 1000",
        PrivateTraceRegression(
            3,
            epsilon=2.0,
            delta=1e-5,
            design="entry",
            shape=(20, 10),
            privacy="label",
            design_covariance="identity",
            intercept=4.0,
            signal_to_noise=500.0,
            neighbors="add_remove",
            n_max=1000,
        ).plan(n_samples=500),
    ),
]


def is_plan(shown, plan):
    """Whether a plan is printed, with one line more at most: from which epsilon on so many are expected."""
    rest = shown.removeprefix(f"{plan}\n")
    return rest == "" or (rest != shown and rest.count("\n") == 1 and "expected" in rest)


@pytest.mark.parametrize(("line", "plan"), CASES)
def test_json_is_the_plan(line, plan):
    result = CliRunner().invoke(command, [*line.split(), "--json"])
    assert result.exit_code == 0
    found = json.loads(result.output)
    counted = found.pop("expected_from", {})
    assert found == plan.to_dict()
    assert not counted or counted.keys() - {"epsilon"} <= plan.expected.keys()


@pytest.mark.parametrize(("line", "plan"), CASES)
def test_text_is_the_plan(line, plan):
    result = CliRunner().invoke(command, line.split())
    assert result.exit_code == 0
    assert is_plan(result.output, plan)
    assert plan.steps[0].mechanism in result.output and f"delta = {plan.guarantee.delta:g}" in result.output


def test_a_catalogue_may_be_a_file(tmp_path):
    (tmp_path / "items.csv").write_text("item\na\nb\nc\n")
    line = f"complete --users 50 --items {tmp_path}/items.csv --rank 2 --rating-range 1 5 --epsilon 1 --delta 1e-6"
    plan = PrivateCompletion(2, epsilon=1.0, delta=1e-6, rating_range=(1, 5)).plan((50, 3))
    assert is_plan(CliRunner().invoke(command, line.split()).output, plan)


@pytest.mark.parametrize(
    ("line", "words", "enough"),
    [
        (
            "personalize --users 300 --columns 50 --components 3 --epsilon 1 --delta 1e-6",
            "too few users for this budget",
            "personalize --users 20000 --columns 50 --components 2 --epsilon 1 --delta 1e-6",
        ),
        (
            "trace --records 200 --shape 20 20 --rank 2 --epsilon 1 --delta 1e-5",
            "too few records for this budget",
            "trace --records 20000 --shape 20 20 --rank 2 --epsilon 1 --delta 1e-5",
        ),
    ],
)
def test_a_budget_that_is_too_small_is_said_before_it_is_spent(line, words, enough):
    shown = CliRunner().invoke(command, line.split()).output
    assert "note " in shown and words in shown
    (note,) = json.loads(CliRunner().invoke(command, [*line.split(), "--json"]).output)["notes"]
    assert note in shown
    assert "note " not in CliRunner().invoke(command, enough.split()).output


def test_a_plan_for_labels_says_what_is_not_hidden():
    line = "trace --records 20000 --shape 20 20 --rank 2 --privacy label --epsilon 1 --delta 1e-5"
    shown = CliRunner().invoke(command, line.split()).output
    assert "replace one label" in shown
    assert "answers alone are hidden: who is in the data, and what was measured, is taken for public" in shown


@pytest.mark.parametrize(
    "line",
    ["gram --columns 2 --row-norm 0 --epsilon 1", "vector --norm nan --epsilon 1", "counts --cells 3 --epsilon 0"],
)
def test_bad_numbers_raise_the_library_error(line):
    result = CliRunner().invoke(command, line.split())
    assert isinstance(result.exception, InvalidParameter)
    assert result.output == ""


def test_help_lists_the_plan_of_every_release_and_mechanism():
    shown = CliRunner().invoke(command, ["--help"]).output.partition("Commands:\n")[2]
    names = [line.split()[0] for line in shown.splitlines() if line[2] != " "]  # long summaries are wrapped
    assert names == [*COMMANDS, "counts", "gram", "quantile", "vector"]


def sizes_and_parameters(name):
    """Tables of what a plan asks for: a parameter that is a size as well is a size."""
    sizes, table = planner(name).size_table(), planner(name).parameter_table()
    return sizes, {key: line for key, line in table.items() if key not in sizes}


@pytest.mark.parametrize(("line", "name"), COMMANDS.items())
def test_options_are_those_of_the_tables(line, name):
    made = plan_command(line)
    release = planner(name)
    of_guesses = {"--guess"} if release.guess_table() else set()
    of_guesses |= {"--ratings"} if "ratings_per_user" in release.guess_table() else set()
    counted = {f"--{release._counted}"} if release._counted else set()
    by_hand = {"--json", "--ledger", "--dataset", "--cap-epsilon", "--cap-delta", "--workers", *of_guesses, *counted}
    by_hand |= {"--item-col"} if line == "complete" else set()
    assert misplaced_options(made, sizes_and_parameters(name), by_hand) == set()


@pytest.mark.parametrize(("line", "name"), COMMANDS.items())
def test_every_size_and_parameter_reaches_the_plan(line, name, monkeypatch):
    def stop(self, **sizes):
        raise Reached({**self._parameters(), **sizes})

    monkeypatch.setattr(PrivateRelease, "plan", stop)
    sizes, table = sizes_and_parameters(name)
    asked = with_options(sizes)
    needed = [*required_words(table), *(word for key in asked for word in (option_of(key, sizes[key]), "9"))]
    found = CliRunner().invoke(command, [line, *needed]).exception.values
    assert {key: found[key] for key in asked} == dict.fromkeys(asked, 9)
    assert {key: found[key] for key in defaults_in(table)} == defaults_in(table)
    for key, of_table in with_options(table).items():
        for words, value in written(key, of_table):
            assert CliRunner().invoke(command, [line, *needed, *words]).exception.values[key] == value
