"""The number of BLAS threads: one inside, restored outside, whoever ends first."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from hushrank.linalg.threads import one_blas_thread


def blas_threads():
    return {info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"}


def test_one_thread_inside_and_as_many_as_before_outside():
    with threadpool_limits(2, "blas"):
        before = blas_threads()
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == before
        with pytest.raises(ZeroDivisionError), one_blas_thread():
            1 / 0  # noqa: B018
        assert blas_threads() == before


def test_overlapping_uses_leave_the_number_as_it_was():
    entered, leave = threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            entered.set()
            leave.wait(60)

    with threadpool_limits(2, "blas"):
        before = blas_threads()
        with one_blas_thread():
            thread = threading.Thread(target=other)
            thread.start()
            assert entered.wait(60)
        leave.set()
        thread.join()
        assert blas_threads() == before
