"""Clusters of Dask that sums are computed on: one that the caller has, or one on this machine that is ours."""

import logging
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from hushrank.engine.dask_tasks import Failure, Frozen, own_versions, thaw
from hushrank.exceptions import HushrankError, InvalidParameter

Result = TypeVar("Result")

ATTEMPTS = 4
"""How often a pass is tried on a cluster that loses more than Dask itself can compute again."""

PATIENCE = 300.0
"""Seconds that a cluster has to start its first worker."""

# By default workers give memory back after every task, and take it again with the next: a fifth of the time of a fit.
MEMORY_SETTINGS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**29,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
}

OWN_KINDS = ("processes", "threads")
_SHUFFLE_LOG = "distributed.shuffle._scheduler_plugin"  # warns whenever people are brought together
_MISSING = "available where Dask is: pip install 'hushrank[dask]'"
_KINDS = "None, 'processes', 'threads', the address of a scheduler or a distributed.Client that is not asynchronous"


class Cluster:
    """A client of Dask, and what all passes ask of it.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client

    def is_open(self) -> bool:
        """Whether the client can still be used."""
        return str(self.client.status) not in ("closed", "closing")

    def n_threads(self) -> int:
        """Of all workers."""
        return max(1, sum(map(int, self.client.nthreads().values())))

    def n_workers(self) -> int:
        """Workers that are there now."""
        return max(1, len(self.client.nthreads()))

    def broadcast(self, public: Any) -> Any:
        """Something that every worker gets once, when it first needs it, from the scheduler or from another worker.

        A task, and not what Dask calls scattered: it can be computed again where all who had it are lost.
        """
        import cloudpickle  # with which Dask sends functions of notebooks and scripts
        import dask

        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self.client.submit(thaw, Frozen(cloudpickle.dumps(public)), pure=False)

    def send(self, held: Any) -> Any:
        """Send something to one of the workers, each in its turn."""
        return self.client.scatter([held], hash=False)[0]

    def check(self, owner: str) -> None:
        """Refuse a cluster without workers, or whose workers have other versions; a cluster that grows does so here."""
        try:
            self.client.submit(own_versions, pure=False).result(timeout=PATIENCE)
        except TimeoutError:
            got = f"none in {PATIENCE:.0f} seconds"
            raise InvalidParameter(owner, "engine", "a cluster with workers", got) from None
        mine = own_versions()
        for theirs in self.again(lambda: self.client.run(own_versions), lambda: None).values():
            if tuple(theirs) != mine:
                told = next(one for one, other in zip(theirs, mine, strict=True) if one != other)
                raise InvalidParameter(owner, "engine", f"a cluster whose workers have {', '.join(mine)}", told)

    def again(self, action: Callable[[], Result | Failure], forget: Callable[[], object]) -> Result:
        """The result of an action, which is begun anew after `forget` where the cluster lost what cannot be computed.

        Tasks return their own errors, so that an exception is one of Dask. An action has no effect but its result.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                result = action()
            except HushrankError:
                raise
            except Exception as error:
                forget()
                kind = type(error).__name__
                if attempt == ATTEMPTS or kind == "KilledWorker":  # Dask itself has tried that four times
                    times = "once" if attempt == 1 else f"{attempt} times"
                    message = f"the Dask cluster failed {times}, at last with {kind}"
                    raise HushrankError(f"{message}: workers may need more memory (docs/guide/clusters.md).") from error
            else:
                if isinstance(result, Failure):
                    raise result.error
                return result
        raise AssertionError("unreachable")


def check_cluster(cluster: Any, owner: str) -> None:
    """Refuse what is no cluster; nothing is started or asked."""
    is_client = hasattr(cluster, "scatter") and hasattr(cluster, "compute") and not getattr(cluster, "asynchronous", 0)
    is_text = isinstance(cluster, str) and (cluster in OWN_KINDS or "://" in cluster)
    if not (cluster is None or is_text or is_client):
        raise InvalidParameter(owner, "cluster", _KINDS, cluster)


def connect(cluster: Any, keeper: object, owner: str) -> Cluster:
    """The cluster of a client or an address, the current one, or a new one that ends with its keeper.

    Parameters
    ----------
    cluster : None, str or distributed.Client
        None is the current client and, where there is none, a cluster of processes on this machine.
    keeper : object
        What we start is closed when this goes.
    owner : str
        Who asks, for error messages.
    """
    try:
        import dask.dataframe
        from distributed import Client, LocalCluster, default_client
    except ImportError as error:
        raise InvalidParameter(owner, "engine", _MISSING, "no such package") from error
    if cluster is None:
        try:
            return Cluster(default_client())
        except ValueError:
            cluster = OWN_KINDS[0]
    if not isinstance(cluster, str):
        return Cluster(cluster)
    if cluster not in OWN_KINDS:
        try:
            client = Client(cluster, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InvalidParameter(owner, "engine", "the address of a Dask scheduler", cluster) from error
        weakref.finalize(keeper, _close, client)
        return Cluster(client)
    logging.getLogger(_SHUFFLE_LOG).setLevel(logging.ERROR)
    with dask.config.set(MEMORY_SETTINGS):
        local = LocalCluster(processes=cluster == OWN_KINDS[0], dashboard_address="127.0.0.1:0")
    client = Client(local, set_as_default=False)
    weakref.finalize(keeper, _close, client, local)
    return Cluster(client)


def _close(*closed: Any) -> None:
    for one in closed:
        one.close()
