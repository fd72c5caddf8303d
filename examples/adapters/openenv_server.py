"""One agent of sudoku served as an OpenEnv environment; clients play it, four sessions at once.

    python examples/adapters/openenv_server.py [MODEL]

A server of its own: uvicorn --factory examples.adapters.openenv_server:app
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import uvicorn

import llmzoo
from llmzoo.adapters.openenv import TextAction, TextClient, create_app
from llmzoo.policies import PolicyRequest, load

PORT = 8765


def app() -> Any:
    return create_app("sudoku_v0", agent="planner_1", others="noisy_expert", prompt="terse")


async def play(model: Any, index: int) -> bool:
    """An episode of the model on the server; whether it was a success."""
    async with TextClient(base_url=f"http://127.0.0.1:{PORT}") as client:
        result = await client.reset(seed=index, split="test", index=index)
        while not result.done:
            text = result.observation.text
            request = PolicyRequest(
                agent="planner_1", observation=text, env=llmzoo.make("sudoku_v0")
            )
            answer = model.respond([request])[0][0].text
            result = await client.step(TextAction(text=answer))
        print(f"task {index}: paid {(await client.state()).total:.2f}")
        return bool(result.observation.success)


async def main(model: Any) -> None:
    server = uvicorn.Server(uvicorn.Config(app(), port=PORT, log_level="warning"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.05)
    found = await asyncio.gather(*(play(model, index) for index in range(4)))
    print(f"success {sum(found) / len(found):.2f}")
    server.should_exit = True
    await serving


if __name__ == "__main__":
    asyncio.run(main(load(sys.argv[1] if len(sys.argv) > 1 else "tiny")))
