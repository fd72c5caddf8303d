"""Writes docs/external.md: every task of other collections, and what was tested of it.

``python docs/external.py`` plays every task of every installed collection that lists its tasks, twice in this process and
twice in another one whose texts hash differently, and writes the tables. It takes some minutes. A
collection that is not installed keeps its table.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import llmzoo
from llmzoo import testing
from llmzoo.adapters import external
from llmzoo.adapters.external import ExternalTaskInfo

PAGE = Path(__file__).with_name("external.md")
# of the collections that have a list of tasks; those of verifiers are packages of others
DISTRIBUTION = {
    "reasoning_gym": "reasoning-gym",
    "textarena": "textarena",
    "openspiel": "open-spiel",
    "gem": "gem-llm",
}
SECONDS = 60  # of the processor, for a check of one task
TURNS = 8  # of a game, in these checks
SLOW_RESET, SLOW_STEP = 5.0, 1.0  # seconds of the processor
TEXTS = 20
CHECKS = ("twice", "fork", "hostile")
MARK = "<!-- {} -->"


class TooSlowError(Exception):
    """A check that takes longer than it may."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=DISTRIBUTION, help="this collection only")
    parser.add_argument(
        "--tasks", nargs="*", help="check these of it only, and keep the other rows"
    )
    parser.add_argument("--digests", action="store_true", help="print digests, and write nothing")
    given = parser.parse_args()
    for collection in [given.only] if given.only else DISTRIBUTION:
        if not external.is_installed(collection):
            continue
        known = external.load_collection(collection).tasks()
        tasks = [name for name in known if not known[name].refused]
        tasks = [name for name in tasks if given.tasks is None or name in given.tasks]
        if given.digests:
            for name in tasks:
                print(json.dumps([name, _tried(collection, name, digest)]), flush=True)
            return
        results = checked(collection, tasks)
        page = PAGE.read_text()  # another collection's table may have been written meanwhile
        rows = {**rows_of(page, collection), **results}
        PAGE.write_text(with_table(page, collection, table(collection, known, rows)))


def checked(collection: str, tasks: list[str]) -> dict[str, list[str]]:
    """For each task the result of each check."""
    other = subprocess.Popen(
        [sys.executable, __file__, "--digests", "--only", collection, "--tasks", *tasks],
        env={**os.environ, "PYTHONHASHSEED": "4242"},
        stdout=subprocess.PIPE,
        text=True,
    )
    own = {name: _tried(collection, name, digest) for name in tasks}
    results = {name: checks(collection, name) for name in tasks}
    lines = other.communicate()[0].splitlines()
    there = dict(json.loads(line) for line in lines if line.startswith('["'))
    for name in tasks:
        if own[name].startswith("fails") or own[name] != there.get(name):
            results[name][0] = f"fails: {own[name]} here, {there.get(name)} in another process"
    return results


def table(
    collection: str, known: Mapping[str, ExternalTaskInfo], rows: Mapping[str, list[str]]
) -> str:
    """The tables of a collection: what is played and how it was tested, then what is refused."""
    played = [name for name in known if not known[name].refused and name in rows]
    refused = [name for name in known if known[name].refused]
    package = f"{DISTRIBUTION[collection]} {version(DISTRIBUTION[collection])}"
    return "\n".join(
        [
            f"{len(played)} tasks of {package} are played, {len(refused)} are refused.",
            "",
            f"| id | agents | {' | '.join(CHECKS)} |",
            f"|---|---|{'---|' * len(CHECKS)}",
            *(
                f"| `{collection}:{name}` | {len(known[name].agents)} | {' | '.join(rows[name])} |"
                for name in played
            ),
            "",
            "Refused:",
            "",
            "| id | why |",
            "|---|---|",
            *(f"| `{collection}:{name}` | {known[name].refused} |" for name in refused),
        ]
    )


def rows_of(page: str, collection: str) -> dict[str, list[str]]:
    """The results that a page has."""
    cells = "".join(r" \| ([^|\n]+)" for _ in CHECKS)
    found = re.findall(rf"^\| `{collection}:([^`]+)` \| [0-9]+{cells} \|$", page, re.MULTILINE)
    return {name: list(results) for name, *results in found}


def with_table(page: str, collection: str, text: str) -> str:
    """The page with a new table between the marks of a collection."""
    begin, end = MARK.format(f"begin {collection}"), MARK.format(f"end {collection}")
    return re.sub(
        f"{re.escape(begin)}.*?{re.escape(end)}",
        lambda _: f"{begin}\n{text}\n{end}",
        page,
        flags=re.DOTALL,
    )


def checks(collection: str, name: str) -> list[str]:
    """For each check "yes", or how it fails."""
    make = maker(collection, name)
    texts = list(testing.hostile_texts(TEXTS))
    results = []
    for run in (
        partial(testing.check_seeds, make, seeds=[1], act=noisy_expert),
        partial(testing.check_fork, make, act=noisy_expert),
        partial(testing.check_hostile_text, make, texts, max_step_s=SLOW_STEP),
    ):
        try:
            with limited(SECONDS):
                run()
            results.append("yes")
        except Exception as error:
            told = f"fails: {type(error).__name__}: {error!s:.300}".replace("|", "/")
            results.append(" ".join(told.split()))
    print(collection, name, results, file=sys.stderr, flush=True)
    return results


def maker(collection: str, name: str) -> Callable[[], Any]:
    """Makes a task; games of other lengths end after a few answers."""
    turns = {} if collection == "reasoning_gym" else {"max_turns": TURNS}
    return partial(llmzoo.make, f"{collection}:{name}", **turns)


def digest(collection: str, name: str) -> str:
    """A hash of the transcripts of two episodes."""
    env = maker(collection, name)()
    said: list[Any] = []
    for seed in (3, 4):
        started = time.process_time()
        env.reset(seed=seed)
        if time.process_time() - started > SLOW_RESET:
            raise TooSlowError(f"an episode takes {time.process_time() - started:.1f} s to begin")
        for agent in env.agent_iter():
            observation, reward, terminated, truncated, _ = env.last()
            said.append([agent, str(observation), reward, terminated, truncated])
            over = terminated or truncated
            env.step(None if over else noisy_expert(env, agent))
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def noisy_expert(env: Any, agent: str) -> str:
    """A sloppy player's answer, the same whenever the agent reads the same."""
    try:
        return env.unwrapped.noisy_expert(agent, random.Random(env.observe(agent)))
    except llmzoo.errors.NoScriptedPolicyError:
        return "an answer"


def _tried(collection: str, name: str, run: Callable[[str, str], str]) -> str:
    try:
        with limited(SECONDS):
            return run(collection, name)
    except Exception as error:
        return f"fails: {type(error).__name__}: {error}"


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise :class:`TooSlowError` after so many seconds of this process's processor."""

    def stop(*_: object) -> None:
        raise TooSlowError(f"over {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


if __name__ == "__main__":
    main()
