"""Wrong solutions of real problems fail through the environment, as they do when run plainly."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from llmzoo.envs.coding import mutations
from llmzoo.sandbox import Limits, Sandbox

WANTED = 150


def run_plainly(source: str) -> str:
    """ "fails" or "passes", or "slow" after a second, in a process of its own, told by its exit status.

    The mutants are ours, not a model's.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", source],
            check=False,
            timeout=1,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return "slow"
    return "fails" if done.returncode else "passes"


@pytest.mark.slow
def test_every_mutated_solution_that_fails_plainly_is_failed(shared_data):
    rng = random.Random(0)
    jobs = []
    for line in (shared_data / "mbpp_sanitized_dev.jsonl").read_text().splitlines():
        record = json.loads(line)
        prelude = "\n".join(record["test_imports"])
        names = sorted(mutations.changes(record["code"]))
        for name in rng.sample(names, min(2, len(names))):
            try:
                mutant = mutations.mutate(record["code"], [name])
            except ValueError:  # nothing would be left of a block
                continue
            jobs.append(
                {"code": mutant, "tests": "\n".join(record["test_list"]), "prelude": prelude}
            )
    with Sandbox(workers=2) as box, ThreadPoolExecutor(2) as pool:

        def check(job):
            plainly = run_plainly(f"{job['prelude']}\n{job['code']}\n{job['tests']}")
            # enough on a busy machine for what takes a second at most
            limits = Limits(time_limit=2 if plainly == "slow" else 20)
            return plainly, box.check(**job, limits=limits)

        judged = list(pool.map(check, jobs))
    assert sum(plainly == "fails" for plainly, _ in judged) >= WANTED
    assert [v for plainly, v in judged if plainly == "fails" and v.ok] == []
    # and a mutant that changes nothing is no worse for it
    assert [v for plainly, v in judged if plainly == "passes" and not v.ok] == []
    assert [v for _, v in judged if v.status == "sandbox_error"] == []
