"""A machine that is busy with other things is noticed while a model loads."""

import subprocess
import sys
import warnings

import pytest

from llmzoo.models import cpu_contention
from llmzoo.models.cpu_contention import CpuUsage, contention_warning, warn_if_cpu_contended

START = CpuUsage(clock=100.0, busy=50.0, stolen=3.0, own=7.0)


def after(*, busy, own, stolen=0.0, seconds=2.0):
    return CpuUsage(clock=100.0 + seconds, busy=50.0 + busy, stolen=3.0 + stolen, own=7.0 + own)


@pytest.mark.parametrize(
    ("now", "cores", "torch_threads", "said"),
    [
        (after(busy=2.1, own=2.0), 2, 2, ""),  # only this process
        (after(busy=4.0, own=2.0), 2, 2, "use 1.0 of this machine's 2 cores"),
        (after(busy=4.0, own=2.0), 2, 1, ""),  # one thread waits for nobody
        (after(busy=4.0, own=2.0), 8, 2, ""),  # six cores are free
        (after(busy=9.0, own=2.0), 4, 4, "OMP_NUM_THREADS=1 "),  # 3.5 cores are taken
        (after(busy=6.0, own=2.0), 4, 4, "OMP_NUM_THREADS=2 "),
        (after(busy=2.0, own=2.0, stolen=1.6), 2, 2, "its host withholds 0.8"),
        (after(busy=0.2, own=0.1, seconds=0.05), 2, 2, ""),  # too short to count
    ],
)
def test_what_is_said(now, cores, torch_threads, said):
    text = contention_warning(START, now, cores=cores, threads=torch_threads)
    assert (said in text) if said else text == ""


def test_a_kernel_without_counters_is_not_asked(monkeypatch, tmp_path):
    monkeypatch.setattr(cpu_contention, "_STAT", tmp_path / "none")
    assert cpu_contention.read_cpu_usage() is None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with warn_if_cpu_contended():
            pass


@pytest.mark.skipif(not cpu_contention._STAT.exists(), reason="the kernel has no /proc/stat")
def test_other_processes_are_counted(monkeypatch):
    """As many as there are cores, each of them always busy."""
    cores = cpu_contention.os.cpu_count()
    monkeypatch.setattr(cpu_contention.torch, "get_num_threads", lambda: max(2, cores))
    endless = "while True: pass"
    others = [subprocess.Popen([sys.executable, "-c", endless]) for _ in range(max(2, cores))]
    try:
        with pytest.warns(UserWarning, match="OMP_NUM_THREADS=1"), warn_if_cpu_contended():
            cpu_contention.time.sleep(0.5)
    finally:
        for other in others:
            other.kill()
            other.wait()
