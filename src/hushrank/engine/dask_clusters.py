"""Clusters of Dask that sums are computed on: one that the caller has, or one on this machine that is ours."""

import logging
import multiprocessing
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeVar

from hushrank.engine.dask_tasks import Failure, Frozen, own_versions, thaw
from hushrank.exceptions import HushrankError, InvalidParameter

Result = TypeVar("Result")

log = logging.getLogger("hushrank")

ATTEMPTS = 4
"""How often a pass is tried on a cluster that loses more than Dask itself can compute again."""

PATIENCE = 60.0
"""Seconds that a cluster has to start its first worker."""

# By default workers give memory back after every task, and take it again with the next: a fifth of the time of a fit.
MEMORY_SETTINGS = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 2**29,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 2**25,
}

OWN_KINDS = ("processes", "threads")
_SHUFFLE_LOG = "distributed.shuffle._scheduler_plugin"  # warns whenever people are brought together
_STARTING_LOGS = ("distributed.nanny", "distributed.worker", "distributed.scheduler")
_MISSING = "one whose packages are installed: pip install 'hushrank[dask]'"
_ANSWERING = "a Dask scheduler that answers"
_UNGUARDED = (
    'started under `if __name__ == "__main__":` in a script, because its processes import the script, '
    'or DaskEngine("threads")'
)
_KINDS = (
    "None, 'processes', 'threads', the address of a scheduler such as 'tcp://host:8786', or a distributed.Client "
    "or cluster that is not asynchronous"
)

# Where the errors of a cluster are defined, and builtin ones that it raises when it loses workers.
_PACKAGES_OF_CLUSTERS = ("dask", "distributed", "tornado", "asyncio", "concurrent")
_LOSSES = (OSError, RuntimeError, MemoryError)  # an OSError is also what took too long
_NO_LOSSES = (RecursionError, NotImplementedError, FileNotFoundError, IsADirectoryError, NotADirectoryError)
# A scheduler that is asked to compute what a worker just took along fails on its own state of a task; where that cannot
# be sent, its error comes as a plain Exception with the text of the other one.
_OF_SCHEDULER, _STATE_OF_TASK = (AssertionError, Exception), "<TaskState "


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
        return not _is_closed(self.client)

    def n_threads(self) -> int:
        """Of all workers."""
        return max(1, sum(map(int, self.client.nthreads().values())))

    def workers(self) -> list[str]:
        """Addresses of those who are there now."""
        return sorted(self.client.nthreads())

    def broadcast(self, public: Any) -> Any:
        """Something that every worker gets once, when it first needs it, from the scheduler or from another worker.

        A task, and not what Dask calls scattered: it can be computed again where all who had it are lost.
        """
        import cloudpickle  # with which Dask sends functions of notebooks and scripts

        with _large_graphs():
            return self.client.submit(thaw, Frozen(cloudpickle.dumps(public)), pure=False)

    def compute(self, tasks: list[Any]) -> list[Any]:
        """Futures of tasks; data of the caller may be in them."""
        with _large_graphs():
            futures: list[Any] = self.client.compute(tasks)
        return futures

    def send(self, held: Any) -> Any:
        """Send something to one of the workers, each in its turn."""
        return self.client.scatter([held], hash=False)[0]

    def check(self, owner: str) -> None:
        """Refuse a cluster without workers, or of other versions; a cluster that grows does so here."""
        mine = own_versions()
        requirement = f"a cluster whose scheduler and workers have {', '.join(mine)}"
        try:
            self._await_worker(owner)
            for wanted in mine:
                told = next((one for one in self._versions(wanted.split()[0]) if one != wanted), None)
                if told is not None:
                    raise InvalidParameter(owner, "engine", requirement, told)
        except HushrankError:
            raise
        except Exception as error:
            is_gone = isinstance(error, OSError) or not self.is_open()
            requirement = _ANSWERING if is_gone else requirement
            raise InvalidParameter(owner, "engine", requirement, f"{type(error).__name__} when asked") from error

    def _await_worker(self, owner: str) -> None:
        """Wait for the first worker, with a task that every Python can do; some clusters grow only for tasks."""
        if self.client.nthreads():
            return
        log.info("waiting for workers of %s", self.client.scheduler.address)
        try:
            self.client.submit(len, (), pure=False).result(timeout=PATIENCE)
        except TimeoutError:
            got = f"none in {PATIENCE:.0f} seconds"
            raise InvalidParameter(owner, "engine", "a cluster with workers", got) from None

    def _versions(self, package: str) -> Iterator[str]:
        """What the workers have of a package, and the scheduler of hushrank; nobody needs hushrank to answer.

        A worker that is lost meanwhile has no answer. Those that come later look at versions by themselves.
        """
        answers = list(self.client.run(version, package, on_error="return").values())
        if package == "hushrank":  # the scheduler only unpickles tasks
            try:
                answers.append(self.client.run_on_scheduler(version, package))
            except PackageNotFoundError as error:
                answers.append(error)
        for answer in answers:
            if isinstance(answer, PackageNotFoundError):
                yield f"no {package}"
            elif isinstance(answer, str):
                yield f"{package} {answer}"
            elif not isinstance(answer, OSError):
                raise answer

    def again(self, action: Callable[[], Result | Failure], forget: Callable[[], object]) -> Result:
        """The result of an action, which is begun anew after `forget` where the cluster lost what cannot be computed.

        Tasks return their own errors, so that an exception is one of Dask, or of what the caller gave: steps of a
        graph, or a function of blocks. An action has no effect but its result.
        """
        for attempt in range(1, ATTEMPTS + 1):
            try:
                result = action()
            except HushrankError:
                raise
            except Exception as error:
                kind = type(error).__name__
                if not _is_of_cluster(error):
                    who = "a step of the data's own Dask graph, or the function that gives blocks,"
                    raise HushrankError(f"{who} raised {kind}.") from error
                if not self.is_open():
                    raise HushrankError("the scheduler of the Dask cluster is gone.") from error
                forget()
                if attempt == ATTEMPTS or kind == "KilledWorker":  # Dask itself has tried that four times
                    raise HushrankError(self._failure(attempt, kind)) from error
            else:
                if isinstance(result, Failure):
                    raise result.error
                return result
        raise AssertionError("unreachable")

    def _failure(self, attempts: int, kind: str) -> str:
        """In one line, why an action is not tried again."""
        if str(self.client.status) != "running":  # it looks for its scheduler
            return "the scheduler of the Dask cluster is gone."
        times = "once" if attempts == 1 else f"{attempts} times"
        advice = ": workers may need more memory (docs/guide/clusters.md)" if kind == "KilledWorker" else ""
        return f"the Dask cluster failed {times}, at last with {kind}{advice}."


def kept_at(worker: str | None) -> Any:
    """A setting in which tasks are made that this worker computes, or another one where it is gone."""
    import dask

    return dask.annotate(workers=[worker], allow_other_workers=True) if worker else nullcontext()


def _large_graphs() -> Any:
    """A setting in which Dask does not warn of the size of what it is sent."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})


def check_cluster(cluster: Any, owner: str, name: str = "cluster") -> None:
    """Refuse what is no cluster; nothing is started or asked."""
    if cluster is None or (isinstance(cluster, str) and (cluster in OWN_KINDS or "://" in cluster)):
        return
    is_one = _is_client(cluster) or (hasattr(cluster, "scheduler_address") and hasattr(cluster, "get_client"))
    if not is_one or getattr(cluster, "asynchronous", False):
        raise InvalidParameter(owner, name, _KINDS, cluster)
    if _is_closed(cluster):
        raise InvalidParameter(owner, name, "a client or cluster that is open", "a closed one")


def address_of(cluster: Any) -> str | None:
    """How another process finds a cluster: a client by the address of its scheduler."""
    if cluster is None or isinstance(cluster, str):
        return cluster
    return str(cluster.scheduler.address if _is_client(cluster) else cluster.scheduler_address)


def connect(cluster: Any, keeper: object, owner: str) -> Cluster:
    """The cluster of a client or an address, the current one, or a new one that ends with its keeper.

    Parameters
    ----------
    cluster : None, str, distributed.Client or a cluster such as distributed.LocalCluster
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
        raise InvalidParameter(owner, "engine", _MISSING, f"no package {error.name or 'dask'}") from error
    if cluster is None:
        try:
            cluster = default_client()
        except ValueError:
            cluster = OWN_KINDS[0]
    check_cluster(cluster, owner, "engine")
    if _is_client(cluster):
        return Cluster(cluster)
    if cluster not in OWN_KINDS:
        try:
            client = Client(cluster, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise InvalidParameter(owner, "engine", _ANSWERING, cluster) from error
        weakref.finalize(keeper, _close, client)
        return Cluster(client)
    logging.getLogger(_SHUFFLE_LOG).setLevel(logging.ERROR)
    are_processes = cluster == OWN_KINDS[0]
    if are_processes and getattr(multiprocessing.current_process(), "_inheriting", False):
        sys.tracebacklimit = 0  # of a process that ends now: each of them would print the same page
        raise InvalidParameter(owner, "engine", _UNGUARDED, cluster)
    try:
        with dask.config.set(MEMORY_SETTINGS), _quiet(_STARTING_LOGS):
            local = LocalCluster(processes=are_processes, dashboard_address="127.0.0.1:0")
    except RuntimeError:
        raise InvalidParameter(owner, "engine", _UNGUARDED, cluster) from None
    client = Client(local, set_as_default=False)
    weakref.finalize(keeper, _close, client, local)
    return Cluster(client)


def _close(*closed: Any) -> None:
    for one in closed:
        one.close()


@contextmanager
def _quiet(names: tuple[str, ...]) -> Iterator[None]:
    """Loggers say nothing meanwhile: what goes wrong is told in one line."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)


def _is_client(cluster: Any) -> bool:
    return hasattr(cluster, "scatter") and hasattr(cluster, "compute")


def _is_closed(cluster: Any) -> bool:
    status = getattr(cluster, "status", "")
    return str(getattr(status, "name", status)) in ("closed", "closing")


def _is_of_cluster(error: Exception) -> bool:
    """Whether Dask raised it, and not what it computes for the caller."""
    package = type(error).__module__.partition(".")[0]
    is_loss = isinstance(error, _LOSSES) and not isinstance(error, _NO_LOSSES)
    is_of_scheduler = type(error) in _OF_SCHEDULER and _STATE_OF_TASK in str(error)
    return package in _PACKAGES_OF_CLUSTERS or is_loss or is_of_scheduler
