"""One BLAS thread where it matters: inside pools of our own threads, and where bits must not depend on their number."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial

import scipy.linalg  # noqa: F401  (with NumPy, the two that bring a BLAS: both are loaded before it is looked up)
from threadpoolctl import ThreadpoolController

# Held by the one that set the number of BLAS threads.
_LIMITED = threading.Lock()


@contextmanager
def one_blas_thread() -> Iterator[Callable[[], object]]:
    """Limit BLAS to one thread; yields a function by which other threads limit themselves.

    The number belongs to the process (OpenBLAS) or to a thread (MKL, OpenMP). Of uses that overlap in time, the first
    sets the number of the process and restores it: if each did, the last would restore what the first had set.
    """
    controller = _controller()
    limit = partial(controller.limit, limits=1, user_api="blas")
    # With one thread to begin with there is nothing to set; asking is much faster than setting and restoring.
    is_limited = all(library.num_threads == 1 for library in controller.lib_controllers if library.user_api == "blas")
    if is_limited or not _LIMITED.acquire(blocking=False):
        yield limit
        return
    try:
        with limit():
            yield limit
    finally:
        _LIMITED.release()


@cache
def _controller() -> ThreadpoolController:
    """Handles of the loaded libraries; finding them takes milliseconds."""
    return ThreadpoolController()
