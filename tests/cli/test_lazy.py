"""Groups that load their commands late: what help shows, in which order, and that it loads nothing."""

import click
import pytest
from click.testing import CliRunner

from hushrank.cli.lazy import LazyGroup


@pytest.fixture
def loaded():
    return []


@pytest.fixture
def group(loaded):
    def load(name):
        loaded.append(name)
        return click.Command(name, callback=lambda: click.echo(f"{name} ran"), help="Another help.")

    @click.group(cls=LazyGroup, summaries={"walk": "Go slowly.", "drive": "Go far."}, load=load)
    def travel():
        """Move."""

    @travel.command()
    def swim():
        """Through water."""
        click.echo("swim ran")

    @travel.command()
    def fly():
        """Through air."""

    return travel


def test_help_shows_summaries_in_their_order_and_loads_nothing(group, loaded):
    shown = CliRunner().invoke(group, ["--help"]).output.partition("Commands:\n")[2]
    assert [" ".join(line.split()) for line in shown.splitlines()] == [
        "walk Go slowly.",
        "drive Go far.",
        "fly Through air.",
        "swim Through water.",
    ]
    assert loaded == []


def test_a_command_is_loaded_when_it_is_called(group, loaded):
    assert CliRunner().invoke(group, ["drive"]).output == "drive ran\n"
    assert loaded == ["drive"]
    assert CliRunner().invoke(group, ["swim"]).output == "swim ran\n"
    assert loaded == ["drive"]


def test_other_names_are_refused(group, loaded):
    result = CliRunner().invoke(group, ["row"])
    assert result.exit_code == 2 and "no command 'row'" in result.output and loaded == []


def test_all_names_are_listed(group):
    assert group.list_commands(click.Context(group)) == ["walk", "drive", "fly", "swim"]


@pytest.mark.parametrize(("begin", "names"), [("", ["walk", "drive", "fly", "swim"]), ("dr", ["drive"]), ("x", [])])
def test_names_are_completed_without_loading_commands(group, loaded, begin, names):
    found = group.shell_complete(click.Context(group), begin)
    assert [item.value for item in found] == names and loaded == []
    assert {item.value: item.help for item in found}.get("drive") == ("Go far." if "drive" in names else None)
    assert [item.value for item in group.shell_complete(click.Context(group), "--h")] == ["--help"]
