"""What a call costs that a program makes of an agent, in this process and through the gateway.

    python examples/benchmark/program_calls.py

The program asks one agent again and again; every answer is there at once, so the time between two
calls is that of the environment, the hand-over between threads and, through the gateway, HTTP. The
median of single calls is reported.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pettingzoo import AECEnv
from timing import Row, row

import llmzoo

CALLS = 200
AGENTS: dict[str, Any] = {"agents": ["asked_0"], "tasks": ["one"], "max_turns": 10 * CALLS}
COMMAND = f"""
import http.client, json, os
from urllib.parse import urlsplit
url = urlsplit(os.environ["OPENAI_BASE_URL"])
connection = http.client.HTTPConnection(url.netloc)
body = json.dumps({{"model": "asked", "messages": [{{"role": "user", "content": "again"}}]}})
headers = {{"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}}
for _ in range({CALLS}):
    connection.request("POST", url.path + "/chat/completions", body, headers)
    json.load(connection.getresponse())
print(1)
"""


def program(task: Any, client: Any) -> float:
    messages = [{"role": "user", "content": "again"}]
    for _ in range(CALLS):
        client.chat.completions.create(model="asked", messages=messages)
    return 1.0


def compare(repeats: int = 7) -> list[Row]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(COMMAND)
        command = [sys.executable, "-S", str(path)]
        made: dict[str, Callable[[], AECEnv]] = {
            "program_call": lambda: llmzoo.from_program(program, **AGENTS),
            "gateway_call": lambda: llmzoo.from_command(command, **AGENTS),
        }
        return [
            row(
                f"{name}_ms",
                statistics.median(_median(env()) for _ in range(repeats)),
                "ms",
                higher_is_better=False,
            )
            for name, env in made.items()
        ]


def _median(env: AECEnv) -> float:
    """Milliseconds of a step."""
    env.reset(seed=0)
    seconds = []
    while not env.terminations["asked_0"]:
        began = time.perf_counter()
        env.step("again")
        seconds.append(time.perf_counter() - began)
    return 1000 * statistics.median(seconds)


if __name__ == "__main__":
    for found in compare():
        print(f"{found['name']:<32}{found['ours']:>10.3f} {found['unit']}")
