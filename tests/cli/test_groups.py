"""Bare groups print their help and end well; misspelled commands are answered with the nearest one."""

import click
import pytest

from hushrank.cli.groups import HelpfulGroup, HelpWhenBare, say_known
from hushrank.cli.main import SUMMARIES, cli


def run(*words):
    return cli.main(list(words), prog_name="hushrank", standalone_mode=False)


@pytest.mark.parametrize(
    "words", [(), ("plan",), ("ledger",), ("stream",)], ids=lambda words: "-".join(words) or "bare"
)
def test_a_bare_group_prints_what_its_help_does_and_exits_with_0(words, capsys):
    assert run(*words) in (0, None)  # the code of an exit, or nothing
    bare = capsys.readouterr()
    run(*words, "--help")
    assert (
        bare == capsys.readouterr() and bare.out.startswith(f"Usage: {' '.join(('hushrank', *words))}") and not bare.err
    )


def test_a_command_without_words_helps_and_with_words_runs(capsys):
    ran = []
    command = HelpWhenBare("walk", callback=lambda far: ran.append(far), params=[click.Option(["--far"], is_flag=True)])
    command.main([], standalone_mode=False)
    assert "Usage" in capsys.readouterr().out and ran == []
    command.main(["--far"], standalone_mode=False)
    assert capsys.readouterr().out == "" and ran == [True]


@pytest.mark.parametrize(
    ("word", "meant"), [("pcaa", "pca"), ("PCA", "pca"), ("recommende", "recommend"), ("leger", "ledger")]
)
def test_a_misspelled_command_is_recognized(word, meant):
    with pytest.raises(click.UsageError, match=f"^no command '{word}'; did you mean '{meant}'\\?$"):
        run(word)


def test_a_misspelled_command_of_a_group_as_well():
    with pytest.raises(click.UsageError, match=r"^no command 'creat'; did you mean 'create'\?$"):
        run("ledger", "creat")
    with pytest.raises(click.UsageError, match=r"^no command 'gramm'; did you mean 'gram'\?$"):
        run("plan", "gramm")


def test_what_is_like_nothing_is_answered_with_all_there_are():
    with pytest.raises(click.UsageError, match=f"^no command 'xyzzy'; there are {', '.join(SUMMARIES)}\\.$"):
        run("xyzzy")


def test_unknown_options_are_answered_by_click():
    with pytest.raises(click.NoSuchOption, match="--versio"):
        run("--versio")


@pytest.mark.parametrize(
    ("word", "known", "end"), [("ab", ["abc"], "; did you mean 'abc'?"), ("x", ["a", "b"], "; there are a, b.")]
)
def test_the_end_of_a_message(word, known, end):
    assert say_known(word, known) == end


def test_a_guess_loads_no_command(monkeypatch):
    group = HelpfulGroup("tool", {"walk": click.Command("walk")})
    monkeypatch.setattr(group, "get_command", lambda *_: pytest.fail("loaded"))
    with pytest.raises(click.UsageError, match="did you mean 'walk'"):
        group.resolve_command(click.Context(group), ["wak"])
