"""Options of the methods: what is refused and in which words, sizes, names, and no heavy import."""

import subprocess
import sys
from dataclasses import fields

import pytest

from hushrank.estimators.completion.options import (
    METHODS,
    AlternatingLeastSquares,
    FactoredGradient,
    Spectral,
    to_options,
)
from hushrank.estimators.completion.recipes import FACTORED_GRADIENT
from hushrank.exceptions import InvalidParameter

WITH_TABLES = (AlternatingLeastSquares, FactoredGradient)
WRONG = [
    (kind, name, value) for kind in WITH_TABLES for name, line in kind._params.items() for value in line.wrong_values()
]


@pytest.mark.parametrize(
    ("kind", "name", "value"), WRONG, ids=[f"{kind.__name__}-{name}-{i}" for i, (kind, name, _) in enumerate(WRONG)]
)
def test_wrong_options_are_refused_in_the_name_of_their_class(kind, name, value):
    with pytest.raises(InvalidParameter, match=f"^{name} of {kind.__name__} must be "):
        kind(**{name: value})


@pytest.mark.parametrize("value", [3, 1 << 16, 2.5, True, "all"])
def test_wrong_numbers_of_top_items_are_refused(value):
    with pytest.raises(InvalidParameter, match=r"^top_items of Spectral must be an int"):
        Spectral(top_items=value)


@pytest.mark.parametrize("kind", WITH_TABLES)
def test_every_option_has_a_line_in_the_table(kind):
    assert set(kind._params) == {field.name for field in fields(kind)}


@pytest.mark.parametrize("kind", WITH_TABLES)
@pytest.mark.parametrize("rank", [0, 6])
def test_ranks_that_do_not_fit_the_items_are_refused(kind, rank):
    message = f"^rank of {kind.__name__} must be between 1 and the number of items, 5; got {rank}"
    with pytest.raises(InvalidParameter, match=message):
        kind().check_size(5, rank)
    kind().check_size(5, 5)


def test_a_private_start_needs_a_matrix_that_fits():
    most = FACTORED_GRADIENT.max_start_items
    FactoredGradient(start="random").check_size(most + 1, 2)
    FactoredGradient().check_size(most, 2)
    with pytest.raises(InvalidParameter, match=r"^start of FactoredGradient must be 'random' for more than 4096 items"):
        FactoredGradient().check_size(most + 1, 2)


def test_any_number_of_items_will_do_for_the_default():
    Spectral().check_size(10**9, 3)


def test_names_of_methods_are_their_options():
    assert list(METHODS) == ["spectral", "als", "factored_gradient"]
    assert [METHODS[method].supports_implicit for method in METHODS] == [True, True, False]
    changed = Spectral(top_items=5)
    assert to_options(changed) is changed and to_options("als") == AlternatingLeastSquares()


def test_the_step_size_is_in_units_of_the_norms():
    assert FactoredGradient(step_size=3.0, user_norm=0.5, item_norm=2.0).step == 3.0


@pytest.mark.parametrize("module", ["options", "recipes"])
def test_nothing_heavy_is_imported(module):
    code = (
        f"import sys, hushrank.estimators.completion.{module};"
        "sys.exit(any(name in sys.modules for name in ('numba', 'sklearn', 'pyarrow', 'scipy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
