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

WANTED = 500
LIMITS = Limits(time_limit=3)


def fails_plainly(source: str) -> bool:
    """In a process of its own, told by its exit status. The mutants are ours, not a model's."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-c", source],
            check=False,
            timeout=3,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return True
    return done.returncode != 0


@pytest.mark.slow
def test_every_mutated_solution_that_fails_plainly_is_failed(shared_data):
    rng = random.Random(0)
    jobs = []
    for line in (shared_data / "mbpp_sanitized_dev.jsonl").read_text().splitlines():
        record = json.loads(line)
        prelude = "\n".join(record["test_imports"])
        names = sorted(mutations.changes(record["code"]))
        for name in rng.sample(names, min(6, len(names))):
            try:
                mutant = mutations.mutate(record["code"], [name])
            except ValueError:  # nothing would be left of a block
                continue
            jobs.append(
                {"code": mutant, "tests": "\n".join(record["test_list"]), "prelude": prelude}
            )
    with ThreadPoolExecutor(2) as pool:
        plain = list(
            pool.map(fails_plainly, (f"{j['prelude']}\n{j['code']}\n{j['tests']}" for j in jobs))
        )
    wrong = [job for job, fails in zip(jobs, plain, strict=True) if fails]
    right = [job for job, fails in zip(jobs, plain, strict=True) if not fails]
    assert len(wrong) >= WANTED
    with Sandbox(workers=2) as box:
        verdicts = box.check_many({**job, "limits": LIMITS} for job in wrong)
        assert [v.status for v in verdicts if v.ok or v.status == "sandbox_error"] == []
        # and a mutant that changes nothing is no worse for it
        alike = box.check_many({**job, "limits": LIMITS} for job in right)
        assert [v for v in alike if not v.ok] == []
