"""Blocks of Python on pages that are no doctests run too: with data where the page has the addresses of others."""

import contextlib

import numpy as np
import pandas as pd
import pytest

import hushrank as hr
from cluster_support import write_parts
from hushrank.exceptions import InvalidParameter
from page_support import Code, pages, take_apart
from reader_support import COMMON, film_ids, rating_table, visit_table

# How a block that is not run begins, and why.
NOT_RUN = {
    "from distributed import Client, SSHCluster": "needs hosts that are reached by SSH",
    "from dask_kubernetes.operator import KubeCluster": "needs Kubernetes",
}
SCHEDULER = '"tcp://scheduler:8786"'
CODE = [step for page, text in pages().items() for step in take_apart(page, text) if isinstance(step, Code)]


def names_of_readers():
    """What pages take for granted: data of a reader, and objects that the prose speaks of."""
    visits = visit_table(300).rename(columns={"spend": "target", "customer": "user"})
    columns = [name for name in visits if name not in ("target", "user")]
    return {
        "hr": hr,
        "catalogue": film_ids(),
        "sketch": hr.TurnstileSketch((30, 20), 2, epsilon=1.0),
        "model": hr.PrivateRepresentation(2, epsilon=1.0, delta=1e-6),
        "pandas_table": visits,
        "blocks_from_a_database": lambda: [(visits[columns].to_numpy(), visits["target"], visits["user"].to_numpy())],
    }


@pytest.fixture
def addresses(tmp_path, scheduler, monkeypatch):
    """What stands on pages for storage, hosts and cores of others, and what a test has."""
    monkeypatch.chdir(tmp_path)
    COMMON["visits.parquet"](tmp_path / "visits.parquet")
    write_parts(tmp_path / "ratings", rating_table())
    updates = {"row": np.arange(30), "column": np.arange(30) % 20, "delta": np.ones(30)}
    write_parts(tmp_path / "clicks", pd.DataFrame(updates))
    folders = dict.fromkeys(('"s3://bucket/', '"/shared/'), f'"{tmp_path}/')
    return {**folders, SCHEDULER: f'"{scheduler}"', "n_workers=8": "n_workers=1"}


def begins(code, starts):
    """Whether a block begins in one of these ways."""
    return code.text.startswith(tuple(starts))


def run(code, addresses):
    """Run a block beside a cluster; one that it starts itself is stopped."""
    from distributed import Client

    text = code.text
    for theirs, ours in addresses.items():
        text = text.replace(theirs, ours)
    names = names_of_readers()
    # The client that a page starts ends first: who leaves last puts back what was current when it came.
    with Client(addresses[SCHEDULER].strip('"')), contextlib.ExitStack() as after:
        exec(compile(text, f"{code.page}:{code.line}", "exec"), names)
        if isinstance(names.get("client"), Client):
            after.enter_context(names["client"].cluster)
            after.enter_context(names["client"])


@pytest.mark.filterwarnings("ignore:Port 8787 is already in use")
@pytest.mark.parametrize("code", [code for code in CODE if not begins(code, NOT_RUN)], ids=lambda code: code.page)
def test_the_code_of_a_page_runs(code, addresses):
    run(code, addresses)


@pytest.mark.parametrize("code", [code for code in CODE if begins(code, NOT_RUN)], ids=lambda code: code.page)
def test_what_is_not_run_is_python_all_the_same(code):
    compile(code.text, f"{code.page}:{code.line}", "exec")


def test_what_is_excepted_stands_on_a_page():
    assert [start for start in NOT_RUN if not any(begins(code, [start]) for code in CODE)] == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("model.fits('visits.parquet')", AttributeError),
        ("model.fit('visits.parquet', y='spent', users='customer')", InvalidParameter),
        ("model.fit('s3://bucket/visit.parquet', y='spend', users='customer')".replace("'", '"'), InvalidParameter),
        ("model.fit(nobody)", NameError),
    ],
)
def test_code_that_does_not_run_is_noticed(text, error, addresses):
    with pytest.raises(error):
        run(Code("planted.md", 1, text), addresses)
