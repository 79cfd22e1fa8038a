"""Time and memory with workers: told for every release, growing with every size, and never more for more workers."""

import dataclasses
import itertools
import math
import subprocess
import sys

import pytest

from hushrank.data import parcels
from hushrank.data.ratings import out_of_core
from hushrank.engine import dask, dask_bundles, dask_moves, dask_sums
from hushrank.estimators import cluster_times
from hushrank.estimators.cluster_times import (
    CALLER_MEMORY,
    MOVED,
    READING,
    SUMMING,
    TIMES,
    WAITING,
    WORKER_MEMORY,
    ClusterWork,
    Grouped,
    moved_bytes,
    reading_seconds,
    summing_seconds,
    tell_cluster,
    time_with,
    waiting_seconds,
    worker_bytes,
)
from hushrank.estimators.fit_times import CPU_TIME
from hushrank.exceptions import InvalidParameter
from hushrank.registry import COMMANDS, planner

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
PLANNED = {
    "PrivatePCA": ({"n_components": 1, "row_norm": 2.0}, {"n_samples": 10**6, "n_features": 60}),
    "PrivateCovariance": ({"rank": 1, "row_norm": 2.0}, {"n_samples": 10**6, "n_features": 60}),
    "PrivateLowRank": ({"rank": 1, "row_norm": 2.0}, {"n_samples": 10**6, "n_features": 60}),
    "PrivateCompletion": ({"rank": 2, "rating_range": (1, 5)}, {"n_users": 10**6, "n_items": 9000}),
    "PrivateRepresentation": ({"n_components": 2}, {"n_users": 10**5, "n_features": 9}),
    "PrivateTraceRegression": ({"rank": 2, "shape": (30, 20)}, {"n_samples": 10**6}),
    "TurnstileSketch": ({"shape": (5000, 4000), "rank": 3}, {"n_updates": 10**8}),
}
WORK = ClusterWork(n_rows=1e9, n_numbers=3, passes=10, shared=2000.0, alone=7.0, totals=1e7, summed=5e7, blocks=1000.0,
                   matrix=5e8, n_matrices=1, state=1e8, block=1e8, caller=2e9)  # fmt: skip
MOVING = dataclasses.replace(WORK, grouped=Grouped(moved=16.0, joined=75.0, held=8.0))
SIZES = ("n_rows", "n_numbers", "passes", "shared", "alone", "totals", "summed", "blocks", "matrix", "n_matrices",
         "state", "block", "caller")  # fmt: skip


def planned(name, workers, **chosen):
    parameters, sizes = PLANNED[name]
    return planner(name)(**{**BUDGET, **parameters, **chosen}).plan(**sizes, workers=workers)


def test_every_command_is_here():
    assert set(PLANNED) == set(COMMANDS.values()), "a new release tells what it takes on a cluster"


@pytest.mark.parametrize("name", PLANNED)
def test_plans_tell_time_and_memory_with_workers_and_nothing_without(name):
    alone, shared = planned(name, None).resources, planned(name, 2).resources
    added = [time_with(2), READING, SUMMING, WAITING, WORKER_MEMORY, CALLER_MEMORY]
    assert list(shared)[: len(alone)] == list(alone) and all(shared[line] == alone[line] for line in alone)
    assert list(shared)[len(alone) :][:6] == added and set(shared) - set(alone) - set(added) <= {MOVED}
    assert all(shared[line] > 0.0 for line in added)
    assert shared[time_with(2)] == pytest.approx(sum(shared[line] for line in (READING, SUMMING, WAITING)))
    printed = str(planned(name, 2))
    assert all(f"  {line}" in printed for line in added) and planned(name, 2).to_dict()["resources"] == shared
    without = dataclasses.replace(planned(name, 2), resources=alone)
    assert without == planned(name, None)  # nothing else depends on them


@pytest.mark.parametrize("name", PLANNED)
def test_one_worker_takes_as_long_as_one_thread_at_least_and_more_take_no_longer(name):
    told = [planned(name, workers).resources for workers in (1, 2, 3, 8, 50, 51)]
    assert told[0][SUMMING] + told[0][WAITING] >= told[0].get(CPU_TIME, 0.0)
    for fewer, more in itertools.pairwise(told):
        assert more[SUMMING] < fewer[SUMMING] and more[READING] <= fewer[READING]
        assert more[CALLER_MEMORY] == fewer[CALLER_MEMORY]


@pytest.mark.parametrize("name", PLANNED)
@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2", [2]])
def test_what_is_no_number_of_workers_is_refused(name, workers):
    with pytest.raises(InvalidParameter) as refused:
        planned(name, workers)
    assert str(refused.value) == f"workers of {name} must be an integer >= 1 or None; got {workers!r}."


def test_guesses_say_how_many_rows_people_have():
    for name, guess in (("PrivateCompletion", "ratings_per_user"), ("PrivateRepresentation", "records_per_user")):
        parameters, sizes = PLANNED[name]
        release = planner(name)(**BUDGET, **parameters)
        few, many = (release.plan(**sizes, workers=2, guesses={guess: each}).resources for each in (9.0, 90.0))
        assert many[MOVED] > 9 * few[MOVED] and many[time_with(2)] > 2 * few[time_with(2)]
    pure = planned("PrivateRepresentation", 2, method="exponential", delta=0.0).resources  # has no guess of its own
    assert pure[MOVED] == planned("PrivateRepresentation", 2).resources[MOVED]


def test_users_who_are_counted_are_brought_together():
    plain, counted = (planned("TurnstileSketch", 2, unit=unit).resources for unit in ("entry", "user"))
    assert MOVED in counted and MOVED not in plain and counted[time_with(2)] > plain[time_with(2)]


def test_joint_draws_have_memory_and_no_time():
    told = planned("PrivateLowRank", 2, mechanism="exponential", delta=0.0, rank=2).resources
    assert {WORKER_MEMORY, CALLER_MEMORY} <= set(told) and time_with(2) not in told and SUMMING not in told


@pytest.mark.parametrize("work", [WORK, MOVING], ids=["read", "moved"])
def test_nothing_shrinks_where_a_size_grows(work):
    for workers in (1, 2, 100, 20_000):
        told = tell_cluster(work, workers)
        for name in SIZES:
            more = tell_cluster(dataclasses.replace(work, **{name: 1000 * getattr(work, name)}), workers)
            assert all(more[line] >= told[line] for line in told), (name, workers)
            assert any(more[line] > told[line] for line in told), (name, workers)


@pytest.mark.parametrize("work", [WORK, MOVING], ids=["read", "moved"])
def test_more_workers_never_make_the_shared_part_longer(work):
    counts = [*range(1, 70), 500, 2047, 2048, 2049, 8191, 8192, 8193, 10**6]
    for fewer, more in itertools.pairwise(counts):
        assert summing_seconds(work, more) <= summing_seconds(work, fewer)
        assert reading_seconds(work, more) <= reading_seconds(work, fewer) * (1 + 1e-12)


def test_every_constant_counts():
    work = dataclasses.replace(MOVING, matrix=1e6)  # a large one hides what comes while people are brought together
    told = tell_cluster(work, 8)
    for field in dataclasses.fields(TIMES):
        more = tell_cluster(work, 8, dataclasses.replace(TIMES, **{field.name: 2 * getattr(TIMES, field.name)}))
        if field.name != "product":  # of a second moment, see the resources of recommenders
            assert any(more[line] > told[line] for line in told), field.name
        assert all(more[line] >= told[line] for line in told)


def test_files_are_read_in_every_pass_unless_people_stay_with_the_workers():
    assert reading_seconds(dataclasses.replace(WORK, passes=20), 4) == pytest.approx(2 * reading_seconds(WORK, 4))
    assert reading_seconds(dataclasses.replace(MOVING, passes=20), 4) == reading_seconds(MOVING, 4)
    assert moved_bytes(WORK, 4) == 0.0 < 16e9 < moved_bytes(MOVING, 4) < 17e9


def test_places_are_those_of_the_engine():
    assert cluster_times.PLACE_ROWS == dask.PLACE_ROWS and cluster_times.MOST_PLACES == dask_moves.MOST_PLACES
    assert cluster_times.PACKED_ROWS == parcels.PACKED_ROWS
    assert cluster_times.JOINED_ROWS == out_of_core.PARTED_IN_MEMORY
    assert cluster_times.TOGETHER_BYTES == dask_bundles.TOGETHER_BYTES
    assert cluster_times.TASKS_A_WORKER == dask_bundles._TASKS_A_THREAD
    assert (cluster_times.FAN_IN, cluster_times.SHARES) == (dask_sums.FAN_IN, dask_sums.SHARES)
    assert [MOVING.n_places(workers) for workers in (1, 100, 10**6)] == [238, 400, 2**13]
    assert [MOVING.n_tasks(2), WORK.n_tasks(2)] == [238, 16]
    few = dataclasses.replace(MOVING, n_rows=10.0)
    assert few.n_places(3) == 12 and few.share(3) == pytest.approx(1 / 3)
    assert MOVING.share(7) == 34 / 238 and MOVING.share(240) == 4 / 960


def test_large_sums_are_made_once_a_worker_or_for_every_gigabyte_of_people():
    n_parts = math.ceil(8e9 / cluster_times.TOGETHER_BYTES)
    assert [MOVING.n_matrix_sums(workers) for workers in (1, 2, n_parts, 50)] == [n_parts, n_parts, n_parts, 50]
    assert [WORK.n_matrix_sums(workers) for workers in (1, 2, 50)] == [1, 2, 50]
    added = [waiting_seconds(dataclasses.replace(WORK, passes=0, state=0.0, summed=0.0), w) for w in (1, 2, 4)]
    rounds = [TIMES.sum_byte * 5e8 * count for count in (1, 1 + 8 / 16 / 3, 1 + 8 / 16 * 2 / 3)]  # log_8(2) is 1 / 3
    tasks = [TIMES.fit] * 3
    assert added == pytest.approx([one + other for one, other in zip(rounds, tasks, strict=True)])


def test_memory_of_a_worker_is_its_share_and_what_it_has_in_hand():
    few = [worker_bytes(MOVING, workers) - TIMES.worker_bytes for workers in (1, 50)]
    assert 8e9 < few[0] < 14e9 and 8e9 / 50 < few[1] < few[0] / 4
    assert worker_bytes(dataclasses.replace(MOVING, matrix=0.0, totals=0.0, block=0.0), 1) == pytest.approx(
        TIMES.worker_bytes + 8e9 + 75e9 / 238 + TIMES.buffer_bytes
    )
    small = dataclasses.replace(MOVING, n_rows=1e6, matrix=0.0, totals=0.0, block=0.0)
    assert worker_bytes(small, 1) == pytest.approx(TIMES.worker_bytes + 8e6 + 75e6 / 4 + 16e6)


def test_large_places_are_joined_by_files():
    moved = Grouped(moved=16.0, joined=75.0, held=8.0)
    assert moved.place_bytes(2**22) == 75.0 * 2**22
    assert moved.place_bytes(2**26) == 75.0 * 2**24 + 40.0 * (2**26 - 2**24)
    assert Grouped(moved=40.0, joined=75.0, held=8.0).place_bytes(2**26) == 75.0 * 2**26


def test_plans_with_workers_load_neither_numba_nor_dask():
    code = """import sys
from hushrank.registry import planner
model = planner('PrivateCompletion')(rank=2, rating_range=(1, 5), epsilon=1.0, delta=1e-6)
model.plan(n_users=1000, n_items=50, workers=2)
sys.exit(bool({'numba', 'sklearn', 'dask', 'distributed'} & set(sys.modules)))"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
