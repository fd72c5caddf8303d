"""Tasks of reasoning-gym, made and scored by its interpreter; ``generation_peers.py`` asks."""

from __future__ import annotations

import itertools
import json
from typing import Any

import reasoning_gym
from games import rate
from reasoning_gym.utils import extract_answer
from serving import serve

ENTRIES = 40
AT_ONCE = 10  # a call of the clock is less than a hundredth of what it times

datasets: dict[str, Any] = {}
numbers = itertools.count()


def answer(do: str, name: str, **details: Any) -> dict[str, Any]:
    if do == "open":
        # there is no last task: each that is timed is a new one
        found = reasoning_gym.create_dataset(name, seed=0, size=10**9, **details["settings"])
        datasets[name] = found
        entries = [found[number] for number in range(ENTRIES)]
        return {"entries": json.loads(json.dumps(entries, default=str))}
    found = datasets[name]
    if do == "generate":

        def generate() -> None:
            for _ in range(AT_ONCE):
                found[next(numbers)]

        return {"rate": AT_ONCE * rate(generate, details["seconds"])}
    pairs = [(text, found[number]) for number, text in details["texts"]]

    def verify() -> list[float]:
        return [found.score_answer(extract_answer(text), entry) for text, entry in pairs]

    return {
        "rights": [score == 1.0 for score in verify()],
        "rate": len(pairs) * rate(verify, details["seconds"]),
    }


serve(answer)
