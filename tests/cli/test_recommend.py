"""`hushrank recommend`: what the model says, for one person or many, for people and for machines."""

import json
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from feature_support import KINDS, choices, facts, fan_of, kinds, recommender, tastes
from hushrank.cli.recommend import command
from hushrank.estimators.completion.estimator import PrivateCompletion
from hushrank.evaluation.synthetic import synthetic_ratings
from hushrank.exceptions import InvalidParameter, ModelFileError

N_ITEMS = 30


@pytest.fixture(scope="module")
def model():
    terms = {"epsilon": 50.0, "delta": 1e-6, "rating_range": (1, 5), "items": N_ITEMS}
    return PrivateCompletion(2, **terms).fit(synthetic_ratings(400, N_ITEMS, seed=2, ratings_per_user=12.0).table())


@pytest.fixture
def folder(tmp_path, monkeypatch, model):
    monkeypatch.chdir(tmp_path)
    model.save("model.hush")
    (tmp_path / "mine.csv").write_text("item,rating\n3,5\n7,1\n12,4\n")
    (tmp_path / "many.csv").write_text("user,item,rating\n[ann],3,5\nbob,7,1\n[ann],12,4\n")
    return tmp_path


def run(line):
    return CliRunner().invoke(command, line.split())


def printed(line, capsys):
    """Standard output, of a command that says nothing else."""
    command.main(line.split(), standalone_mode=False)
    output, errors = capsys.readouterr()
    assert errors == ""
    return output


def rows(output):
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in output.splitlines() if line.startswith("│")]


def test_one_person(folder, model):
    expected = model.recommend({3: 5.0, 7: 1.0, 12: 4.0}, n=4)
    result = run("model.hush --ratings mine.csv --n 4")
    assert result.exit_code == 0, result.exception
    assert rows(result.output) == [
        [str(i + 1), str(item), f"{score:.3f}"]
        for i, (item, score) in enumerate(zip(expected.items, expected.scores, strict=True))
    ]
    assert "for you" in result.output and "predicted rating" in result.output
    (person,) = json.loads(run("model.hush --ratings mine.csv --n 4 --json").stdout)["recommendations"]
    assert person == {"user": None, "items": expected.items.tolist(), "scores": expected.scores.tolist()}


def test_many_people(folder, model):
    found = json.loads(run("model.hush --ratings many.csv --json").stdout)["recommendations"]
    assert [person["user"] for person in found] == ["[ann]", "bob"]
    for person, own in zip(found, ({3: 5.0, 12: 4.0}, {7: 1.0}), strict=True):
        assert person["items"] == model.recommend(own, n=10).items.tolist()
    output = run("model.hush --ratings many.csv --n 2").output
    assert "for user [ann]" in output and "for user bob" in output and len(rows(output)) == 4


def test_parquet_keeps_ids_of_users(folder):
    pq.write_table(pa.table({"user": [9, 8], "item": [3, 7], "rating": [5.0, 1.0]}), "many.parquet")
    found = json.loads(run("model.hush --ratings many.parquet --json").stdout)["recommendations"]
    assert [person["user"] for person in found] == [9, 8]


def test_seen_items_come_only_if_asked_for(folder):
    everything = f"model.hush --ratings mine.csv --n {N_ITEMS} --json"
    (unseen,) = json.loads(run(everything).stdout)["recommendations"]
    assert len(unseen["items"]) == N_ITEMS - 3 and not {3, 7, 12} & set(unseen["items"])
    (all_items,) = json.loads(run(f"{everything} --include-seen").stdout)["recommendations"]
    assert sorted(all_items["items"]) == list(range(N_ITEMS))


def test_a_file_without_a_known_column_is_refused_by_name(folder):
    (folder / "odd.csv").write_text("film,stars\n3,5\n")
    with pytest.raises(
        InvalidParameter, match=r"must be a table with the columns item, rating; got no .*--item-col film"
    ):
        command.main("model.hush --ratings odd.csv".split(), standalone_mode=False)


def test_what_is_not_known_is_ignored_with_a_line_each(folder, model, capsys):
    (folder / "odd.csv").write_text("item,rating\n3,5\n99,1\nx,1\n7,what\n")
    command.main("model.hush --ratings odd.csv --json".split(), standalone_mode=False)
    printed = capsys.readouterr()
    expected = model.recommend({3: 5.0}, n=10, exclude_seen=True)
    assert json.loads(printed.out)["recommendations"][0]["items"] == expected.items.tolist()
    assert printed.err == (
        "hushrank: ratings in odd.csv that are no numbers are left out (a decimal comma, or text?)\n"
        "hushrank: ratings of items outside the catalogue of PrivateCompletion are ignored.\n"
    )


def test_a_model_of_implicit_feedback_needs_no_ratings(folder):
    views = synthetic_ratings(300, N_ITEMS, seed=3, ratings_per_user=10.0).table().select(["user", "item"])
    views = views.set_column(1, "item", pa.array([f"i{j}" for j in views["item"].to_pylist()]))
    ids = [f"i{j}" for j in range(N_ITEMS)]
    PrivateCompletion(2, epsilon=8.0, delta=1e-6, items=ids, feedback="implicit").fit(views).save("implicit.hush")
    (folder / "mine.csv").write_text("item\ni3\ni7\n")
    result = run("implicit.hush --ratings mine.csv --n 3")
    assert result.exit_code == 0 and len(rows(result.output)) == 3 and "score" in result.output
    assert all(row[1] in set(ids) - {"i3", "i7"} for row in rows(result.output))


# Reasons


@pytest.fixture(scope="module")
def told():
    return recommender(items=24, item_features=facts()).fit(tastes())


@pytest.fixture
def fans(folder, told):
    """Own ratings of somebody who likes horror, and of three people."""
    told.save("told.hush")
    (folder / "fan.csv").write_text("item,rating\n" + "".join(f"{j},{r}\n" for j, r in fan_of(2).items()))
    lines = [f"{user},{j},{r}\n" for user, kind in (("ann", 0), ("[bob]", 3)) for j, r in fan_of(kind).items()]
    (folder / "fans.csv").write_text("user,item,rating\n" + "".join([*lines[::2], *lines[1::2], "cyd,99,5\n"]))
    return folder


def test_reasons_are_shown_and_told_to_machines(fans, told, capsys):
    expected = told.recommend(fan_of(2), 4, explain=True)
    assert expected.reasons[0][0] == "Horror"
    output = printed("told.hush --ratings fan.csv --n 4 --explain", capsys)
    assert "because you like" in output
    assert [row[1] for row in rows(output)] == [str(item) for item in expected.items]
    assert [row[3] for row in rows(output)] == [" and ".join(why) for why in expected.reasons]
    result = run("told.hush --ratings fan.csv --n 4 --explain --json")
    (person,) = json.loads(result.stdout)["recommendations"]
    assert person == {
        "user": None, "items": expected.items.tolist(), "scores": expected.scores.tolist(),
        "reasons": [list(why) for why in expected.reasons],
    }  # fmt: skip
    assert "because" not in printed("told.hush --ratings fan.csv --n 4", capsys)
    assert "reasons" not in json.loads(run("told.hush --ratings fan.csv --json").stdout)["recommendations"][0]


def test_everybody_is_told_their_own_reasons(fans, told, capsys):
    output = printed("told.hush --ratings fans.csv --n 3 --explain --json", capsys)
    found = {person["user"]: person for person in json.loads(output)["recommendations"]}
    assert set(found) == {"ann", "[bob]", "cyd"}
    for user, kind in (("ann", 0), ("[bob]", 3)):
        alone = told.recommend(fan_of(kind), 3, explain=True)
        assert found[user]["items"] == alone.items.tolist() and (kinds()[alone.items] == kind).all()
        assert found[user]["reasons"] == [list(why) for why in alone.reasons]
        assert all(KINDS[kind] in why for why in found[user]["reasons"])
    assert found["cyd"]["reasons"] == [[], [], []]  # nothing is known about them


def test_reasons_beside_what_is_left(fans):
    seen = "".join(f"ann,{j},3\n" for j in range(23)) + "bob,2,5\n"
    (fans / "much.csv").write_text(f"user,item,rating\n{seen}")
    people = json.loads(run("told.hush --ratings much.csv --n 5 --explain --json").stdout)["recommendations"]
    assert [len(person["reasons"]) for person in people] == [len(person["items"]) for person in people] == [1, 5]


NO_REASONS = "hushrank: no reasons: this model has no item features that tell about people's tastes.\n"


def test_without_reasons_one_line_says_so(fans, capsys):
    command.main("model.hush --ratings mine.csv --explain".split(), standalone_mode=False)
    assert capsys.readouterr().err == NO_REASONS
    command.main("model.hush --ratings many.csv --n 2 --explain --json".split(), standalone_mode=False)
    output, errors = capsys.readouterr()
    assert errors == NO_REASONS
    people = json.loads(output)["recommendations"]
    assert [person["reasons"] for person in people] == [[[], []], [[], []]]


WORDS = ["[red]Horror[/red]", "Sci\x1b[31mFi", "a\nb\u202e", "tab\tand [/]"]
SHOWN_WORDS = ["[red]Horror[/red]", "Sci\\x1b[31mFi", "a\\nb\\u202e", "tab\\tand [/]"]


def test_names_that_steer_terminals_are_printed_as_what_they_are(folder):
    table = facts().set_column(1, "genre", pa.array([WORDS[kind] for kind in kinds()]))
    recommender(items=24, item_features=table).fit(tastes()).save("odd.hush")
    for kind, shown in enumerate(SHOWN_WORDS):
        (folder / "fan.csv").write_text("item,rating\n" + "".join(f"{j},{r}\n" for j, r in fan_of(kind).items()))
        result = run("odd.hush --ratings fan.csv --n 1 --explain")
        assert result.exit_code == 0 and rows(result.output)[0][3].startswith(shown)
        assert "\x1b" not in result.output and "\u202e" not in result.output and "\t" not in result.output
        (person,) = json.loads(run("odd.hush --ratings fan.csv --n 1 --explain --json").stdout)["recommendations"]
        assert person["reasons"][0][0] == WORDS[kind]


def test_reasons_of_implicit_feedback_and_of_items_added_later(folder):
    model = recommender(items=24, item_features=facts(), feedback="implicit").fit(choices())
    later = pa.table({"item": [77], "genre": ["Western"], "year": [1970]})
    model.add_items(77, later).save("implicit.hush")
    (folder / "fan.csv").write_text("item\n3\n7\n11\n")
    (person,) = json.loads(run("implicit.hush --ratings fan.csv --n 24 --explain --json").stdout)["recommendations"]
    assert "Western" in person["reasons"][person["items"].index(77)]


MOVIELENS = "userId,movieId,rating,timestamp\n42,3,5,1\n7,7,1,2\n042,12,4,3\n"
NAMED = "--user-col userId --item-col movieId"


def test_one_of_many_users(folder, model):
    (folder / "all.csv").write_text(MOVIELENS)
    expected = model.recommend({3: 5.0, 12: 4.0}, n=4)
    for user in ("42", "42.0"):
        line = f"model.hush --ratings all.csv {NAMED} --user {user} --n 4 --json"
        (person,) = json.loads(run(line).stdout)["recommendations"]
        assert (
            person["user"] == "42"
            and person["items"] == expected.items.tolist()
            and person["scores"] == expected.scores.tolist()
        )
    pq.write_table(pa.table({"user": [42, 7, 42], "item": [3, 7, 12], "rating": [5, 1, 4]}), "all.parquet")
    (person,) = json.loads(run("model.hush --ratings all.parquet --user 42 --n 4 --json").stdout)["recommendations"]
    assert person == {"user": 42, "items": expected.items.tolist(), "scores": expected.scores.tolist()}
    error = run(f"model.hush --ratings all.csv {NAMED} --user 43").exception
    assert str(error) == "user of own ratings must be one of the users in all.csv; got '43'."
    error = run("model.hush --ratings all.csv --user 42").exception
    assert "no column 'user'. Did you mean" in str(error) and f"({NAMED})" in str(error)


def test_titles_are_shown_beside_ids(folder, model, capsys):
    titles = "".join(f'{j},"[red]Film\x1b {j}[/red]"\n' for j in range(N_ITEMS))
    (folder / "films.csv").write_text(f"movieId,name\n{titles}")
    line = "model.hush --ratings mine.csv --n 3 --titles films.csv --item-col movieId"
    assert "no column 'movieId'" in str(run(line).exception)  # own ratings have no such column
    (folder / "mine.csv").write_text("movieId,rating\n3,5\n7,1\n12,4\n")
    items = model.recommend({3: 5.0, 7: 1.0, 12: 4.0}, n=3).items.tolist()
    found = rows(printed(line, capsys))
    assert [row[1:3] for row in found] == [[str(j), f"[red]Film\\x1b {j}[/red]"] for j in items]
    (person,) = json.loads(run(f"{line} --json").stdout)["recommendations"]
    assert person["titles"] == [f"[red]Film\\x1b {j}[/red]" for j in items]


def test_a_file_of_many_that_names_no_users_is_warned_of(folder):
    (folder / "all.csv").write_text(MOVIELENS)
    result = run("model.hush --ratings all.csv --item-col movieId")
    assert result.exit_code == 0 and "column 'userId' is not used" in result.output


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        ("none.hush --ratings mine.csv", ModelFileError, "none.hush"),
        ("mine.csv --ratings mine.csv", ModelFileError, "not a hushrank model"),
        ("model.hush --ratings none.csv", InvalidParameter, "file of own ratings must be an existing file"),
        ("model.hush --ratings bare.csv", InvalidParameter, "columns item, rating; got no column 'rating'"),
    ],
)
def test_bad_input(folder, line, kind, message):
    (folder / "bare.csv").write_text("item\n3\n")
    error = run(line).exception
    assert isinstance(error, kind) and message in str(error)


def test_bad_input_is_one_line_and_exit_code_2(folder):
    line = [sys.executable, "-m", "hushrank", "recommend", "model.hush", "--ratings", "none.csv"]
    result = subprocess.run(line, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout, result.stderr.count("\n")) == (2, "", 1)


def test_help_says_that_nothing_is_learned():
    text = " ".join(CliRunner().invoke(command, ["--help"]).output.split())
    assert "Nothing is learned from the ratings and no budget is charged" in text
