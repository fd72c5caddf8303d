"""verifiers evaluates a model as one agent of sudoku; without an address, the embedded model.

python examples/adapters/verifiers_eval.py [http://localhost:8000/v1 MODEL]
"""

import asyncio
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import verifiers.v1 as vf

import llmzoo
from llmzoo.adapters.verifiers import load_environment
from llmzoo.policies import PolicyRequest, load


class Embedded(BaseHTTPRequestHandler):
    """The embedded model behind OpenAI's protocol."""

    policy, game, lock = load("tiny"), llmzoo.make("sudoku_v0"), threading.Lock()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = asked["messages"][-1]["content"]
        with self.lock:
            request = PolicyRequest(agent="planner_1", observation=text, env=self.game)
            said = self.policy.respond([request], greedy=True)[0][0].text
        choice = {"index": 0, "message": {"role": "assistant", "content": said}}
        said = {"id": "1", "object": "chat.completion", "created": 0, "model": "tiny"}
        body = json.dumps({**said, "choices": [{**choice, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


async def evaluate(url: str, model: str) -> list[vf.Episode]:
    env = load_environment(
        "sudoku_v0",
        agent="planner_1",
        others="noisy_expert",
        split="test",
        args={"prompt": "terse"},
    )
    ctx = vf.ModelContext(
        model=model, client=vf.EvalClientConfig(base_url=url), sampling=vf.SamplingConfig()
    )
    async with env.serving():
        slots = [slot for task in env.taskset.take(8) for slot in env.slots(task)]
        return await asyncio.gather(*(env.run_slot(slot, ctx) for slot in slots))


if len(sys.argv) > 2:
    url, model = sys.argv[1:3]
else:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Embedded)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url, model = f"http://127.0.0.1:{server.server_port}/v1", "tiny"
traces = [trace for episode in asyncio.run(evaluate(url, model)) for trace in episode.traces]
for trace in traces:
    print(trace.task.data.name, "return", round(trace.rewards["return"].score, 2))
print("success", sum(trace.metrics["success"] for trace in traces) / len(traces))
