"""Releases of a fit to ratings: the size of the catalogue beside the budget, and no release around it."""

import ast
from pathlib import Path

import numpy as np
import pytest

import hushrank
from completion_support import make_people, make_releases
from hushrank.estimators.completion.public_items import PublicItems
from hushrank.privacy.adaptive import AdaptiveReleases

PEOPLE = make_people(10, 6, seed=1)
PACKAGE = Path(hushrank.__file__).parent / "estimators" / "completion"


@pytest.mark.parametrize("neighbors", ["replace", "add_remove"])
def test_it_is_the_budget_and_the_catalogue(neighbors):
    releases = make_releases(PEOPLE, 6, neighbors=neighbors, epsilon=1e3)
    assert isinstance(releases, AdaptiveReleases) and releases.n_items == 6
    assert releases.n_people == pytest.approx(10, abs=1)


def test_what_is_public_about_the_items_stands_beside():
    nothing = make_releases(PEOPLE, 6).items
    assert nothing.G.shape == (6, 0) and nothing.n_slopes == 0 and not nothing.is_new.any()
    items = PublicItems.of(np.eye(6)[:, :2], 6, np.arange(6) > 4)
    releases = make_releases(PEOPLE, 6, items=items)
    assert releases.items is items and releases.left == 1.0


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.name)
def test_nothing_releases_around_it(path):
    """No module of the package takes a mechanism's release, or a source of noise, into its own hands.

    But for evaluations: they are a release of their own, which is planned and charged as one step.
    """
    found = list(imports(path))
    assert path.name == "evaluation.py" or not [
        name for name in found if name.rpartition(".")[2].startswith("release_") and ".mechanisms." in name
    ]
    assert not [name for name in found if ".privacy.noise" in name and path.name != "releases.py"]
