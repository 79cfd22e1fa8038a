"""Where a command computes: threads of this machine, or a Dask cluster."""

from typing import Any

import click

from hushrank.cli.options import options
from hushrank.exceptions import InvalidParameter
from hushrank.registry import find

ENGINE_OPTIONS = options(
    click.option("--threads", type=int, help="Threads to use. Default: all cores."),
    click.option(
        "--cluster",
        metavar="ADDRESS",
        help="Let a Dask cluster read and add up the data: the address of its scheduler, or 'processes' or 'threads' "
        "for one on this machine. Its workers see the data.",
    ),
)


def make_engine(threads: int | None, cluster: str | None) -> Any:
    """The engine of these options."""
    if cluster is None:
        return find("LocalEngine")(threads=threads)
    if threads is not None:
        raise click.UsageError("--threads and --cluster exclude each other: a cluster has threads of its own.")
    if "://" not in cluster and cluster not in ("processes", "threads"):
        requirement = "the address of a Dask scheduler, such as tcp://host:8786, or 'processes' or 'threads'"
        raise InvalidParameter("DaskEngine", "cluster", requirement, cluster)
    return find("DaskEngine")(cluster)
