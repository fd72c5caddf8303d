"""Jobs under a limit of time: what hangs is given up, and nothing else suffers from it."""

from __future__ import annotations

import threading
import time

import pytest
from waiting import until

from llmzoo.serve.timeout_pool import TimeoutPool, TooManyAbandonedError


def run(workers, jobs, work, limit_s=60.0, on_timeout=lambda job: f"gave up {job}", **how):
    limit = limit_s if callable(limit_s) else lambda job: limit_s
    return workers.run(jobs, work, limit_s=limit, on_timeout=on_timeout, **how)


def test_jobs_go_in_their_order():
    order = []
    results = run(TimeoutPool(), range(100), lambda job: order.append(job) or job * job)
    assert order == list(range(100))
    assert results == {job: job * job for job in range(100)}
    assert run(TimeoutPool(), [], lambda job: job) == {}


def test_as_many_at_once_as_there_are_lanes():
    lock, now, most = threading.Lock(), 0, 0
    met = threading.Barrier(3)

    def work(job):
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        met.wait(60)
        with lock:
            now -= 1

    run(TimeoutPool(), range(12), work, threads=3)
    assert most == 3


@pytest.mark.parametrize("lanes", [1, 3])
def test_a_job_that_hangs_is_given_up_and_the_others_go_on(lanes):
    ended = threading.Event()
    workers = TimeoutPool()

    def work(job):
        if job in (2, 5):
            ended.wait(60)
        return job

    def limit(job):
        return 0.05 if job in (2, 5) else 60

    results = run(workers, range(8), work, limit, threads=lanes)
    assert not ended.is_set()
    assert results == {**{n: n for n in range(8)}, 2: "gave up 2", 5: "gave up 5"}
    assert workers.abandoned_count == 2
    ended.set()
    assert until(lambda: workers.abandoned_count == 0)
    assert results[2] == "gave up 2"  # what comes of it later counts for nothing


def test_each_job_has_its_own_limit():
    workers = TimeoutPool()
    limits = {"quick": 0.02, "slow": 60}
    results = run(workers, limits, lambda job: time.sleep(0.1) or job, limits.__getitem__)
    assert results == {"slow": "slow", "quick": "gave up quick"}


def test_so_many_that_hang_are_enough():
    ended = threading.Event()
    workers = TimeoutPool(max_abandoned=2)
    run(workers, range(2), lambda job: ended.wait(10), limit_s=0.02, threads=2)
    with pytest.raises(TooManyAbandonedError, match="2 earlier steps"):
        run(workers, [1], lambda job: job)
    ended.set()
    assert until(lambda: workers.abandoned_count == 0)
    assert run(workers, [1], lambda job: job) == {1: 1}


def test_jobs_that_end_just_in_time_or_just_too_late_have_one_result():
    workers = TimeoutPool(max_abandoned=10_000)
    cancelled = []
    for _ in range(20):
        results = run(
            workers,
            range(20),
            lambda job: time.sleep(0.002) or "done",
            limit_s=0.002,
            on_timeout=lambda job: cancelled.append(job) or "late",
            threads=4,
        )
        assert len(results) == 20
        assert set(results.values()) <= {"done", "late"}
        assert sum(result == "late" for result in results.values()) == len(cancelled)
        cancelled.clear()
    assert until(lambda: workers.abandoned_count == 0)
