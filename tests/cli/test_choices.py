"""`hushrank plan` with several epsilons, guesses and caps: what is printed, and what is refused."""

import json
import re
import subprocess
import sys

import pytest
from click.testing import CliRunner

from hushrank.cli.plan import command
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.exceptions import InvalidParameter
from hushrank.privacy.ledger import Ledger

COMPLETE = "complete --users 6040 --items 3706 --rank 8 --rating-range 1 5 --delta 1e-6"
MODEL = PrivateCompletion(8, epsilon=1.0, delta=1e-6, rating_range=(1, 5), items=3706)


def shown(line):
    result = CliRunner().invoke(command, line.split())
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize("epsilons", ["--epsilon 0.5,2", "--epsilon 0.5 --epsilon 2"])
def test_several_epsilons_are_a_table(epsilons):
    output = shown(f"{COMPLETE} {epsilons}")
    assert output.startswith(str(MODEL.plan_many((0.5, 2.0), n_users=6040)))
    assert "8 factors are expected " in output.splitlines()[-1]


def test_json_of_several_is_a_list():
    found = json.loads(shown(f"{COMPLETE} --epsilon 0.5,2 --factors 2 --cap-epsilon 3 --cap-delta 1e-6 --json"))
    plans = MODEL.plan_many((0.5, 2.0), n_users=6040).to_list()
    assert [one["asked_epsilon"] for one in found] == [0.5, 2.0]
    for one, plan in zip(found, plans, strict=True):
        assert {key: one[key] for key in plan} == plan
        assert one["expected_from"]["factors"] == 2 and one["expected_from"]["epsilon"] > 1
        assert set(one["fits"]) == {"a cap of epsilon 3 at delta 1e-06"}


def test_guesses_reach_the_forecast():
    plan = MODEL.plan(n_users=6040, guesses={"ratings_per_user": 604_000 / 6040, "factor_share": 0.3})
    assert shown(f"{COMPLETE} --epsilon 1 --ratings 604000 --guess factor_share=0.3").startswith(str(plan))


def test_a_number_of_factors_is_asked_for():
    line = shown(f"{COMPLETE} --epsilon 1 --factors 1").splitlines()[-1]
    assert line.startswith("1 factor is expected from epsilon = ")
    epsilon = MODEL.epsilon_for(1, n_users=6040)
    assert line.endswith(f"{epsilon:.3g} on")
    few = shown("complete --users 50 --items 9 --rank 2 --rating-range 1 5 --epsilon 1 --delta 1e-6 --factors 9")
    assert few.splitlines()[-1] == "9 factors are expected at no epsilon up to 100, for these sizes and guesses"
    some = shown("complete --users 2000 --items 100 --rank 9 --rating-range 1 5 --epsilon 1 --delta 1e-6")
    assert re.search(r"; the first one from epsilon = [\d.]+ on$", some.splitlines()[-1])
    pca = shown("pca --rows 10000 --columns 64 --components 5 --row-norm 1 --epsilon 1").splitlines()[-1]
    assert pca.startswith("5 components are expected from epsilon = 0.4")


def test_fits_from_a_cap():
    assert "10 fits like this from a cap of epsilon 1\n" in shown("vector --norm 1 --epsilon 0.1 --cap-epsilon 1")
    assert "fits from a cap of epsilon 1: 2 at epsilon 0.5, 1 at epsilon 1\n" in shown(
        "counts --cells 3 --epsilon 0.5,1 --cap-epsilon 1"
    )


def test_fits_from_what_a_ledger_has_left(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("films", epsilon=3.0, delta=1e-6, unit="user")
    line = f"{COMPLETE} --epsilon 1 --ledger {tmp_path}/budget.db --dataset films"
    assert "7 fits like this from what is left of films\n" in shown(line)
    with Ledger(tmp_path / "budget.db") as ledger:
        assert ledger["films"].last().number == 0  # nothing was charged


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--epsilon one", "is not a number, or numbers separated by commas"),
        ("", "epsilon"),
        ("--epsilon 1 --guess factors", "is not NAME=VALUE with a number"),
        ("--epsilon 1 --guess factors=2 --guess factors=3", "--guess names a guess twice"),
        ("--epsilon 1 --ratings 9000 --guess ratings_per_user=3", "state the same"),
        ("--epsilon 1 --ledger budget.db", "--ledger and --dataset go together"),
        ("--epsilon 1 --cap-delta 1e-6", "--cap-delta needs --cap-epsilon"),
    ],
)
def test_wrong_turns_end_in_one_line(line, words):
    result = CliRunner().invoke(command, f"{COMPLETE} {line}".split())
    assert result.exit_code == 2 and words in result.output


def test_an_unknown_guess_is_refused_with_the_nearest_name():
    result = CliRunner().invoke(command, f"{COMPLETE} --epsilon 1 --guess rating_per_user=3".split())
    assert isinstance(result.exception, InvalidParameter) and "did you mean 'ratings_per_user'?" in str(
        result.exception
    )


def test_plans_need_neither_numba_nor_scikit_learn():
    lines = [f"{COMPLETE} --epsilon 1,2", "pca --rows 100 --columns 6 --components 2 --row-norm 1 --epsilon 1"]
    code = (
        "import sys; from hushrank.cli.plan import command\n"
        f"for line in {lines}: command.main(line.split(), standalone_mode=False)\n"
        "print('needed', *{'numba', 'sklearn', 'sqlalchemy', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nneeded\n") and done.stderr == ""


def test_a_pure_release_that_is_dear_is_told(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.create("mine", epsilon=9.0, delta=1e-6, pure=1.0)
    line = f"vector --norm 1 --epsilon 0.5,1.2 --ledger {tmp_path / 'budget.db'} --dataset mine"
    [said] = [line for line in shown(line).splitlines() if line.startswith("warning: ")]
    assert "a pure release of epsilon = 1.2 costs data set 'mine'" in said and "Cheaper: " in said
    cheap, dear = json.loads(shown(f"{line} --json"))
    assert "warnings" not in cheap and said == f"warning: {dear['warnings'][0]}"


def test_workers_are_told_for_one_epsilon_and_in_json():
    plan = MODEL.plan(n_users=6040, workers=3)
    output = shown(f"{COMPLETE} --epsilon 1 --workers 3")
    assert output.startswith(str(plan)) and "  time with 3 workers, about (s)" in output
    found = json.loads(shown(f"{COMPLETE} --epsilon 1 --workers 3 --json"))
    assert (
        found["resources"] == plan.resources and json.loads(shown(f"{COMPLETE} --epsilon 1 --json"))["resources"] == {}
    )
    several = json.loads(shown(f"{COMPLETE} --epsilon 1,2 --workers 3 --json"))
    assert [set(one["resources"]) for one in several] == [set(plan.resources)] * 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--epsilon 1 --workers 0", "Invalid value for '--workers': 0 is not in the range x>=1."),
        ("--epsilon 1,2 --workers 2", "--workers goes with one --epsilon, or with --json: a table has no times."),
    ],
)
def test_workers_that_cannot_be_told_are_refused(line, message):
    result = CliRunner().invoke(command, f"{COMPLETE} {line}".split())
    assert result.exit_code == 2 and message in result.output
