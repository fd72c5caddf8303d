"""One host plays an exported environment: ``python exported_host.py HOST CASE.json OUT.json``.

It runs in a virtual environment of its own with the host and the exported package. The case names the
package, the split, the number of tasks, and the text that a stand-in for the model answers to each
observation. The output has what each played agent read, its return and its success, for each task.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Case = dict[str, Any]
Played = dict[str, dict[str, Any]]  # of each agent: observations, return, success


def play_pettingzoo(case: Case) -> list[Played]:
    """PettingZoo's own loop over the package's ``env``; a scripted policy of llmzoo plays the others.

    Before that, ``mlcroissant`` validates the folder's metadata and reads all rows through it.
    """
    import mlcroissant

    from llmzoo.policies import load
    from llmzoo.policies.base import PolicyRequest

    package = importlib.import_module(case["package"])
    described = mlcroissant.Dataset(jsonld=f"{case['folder']}/croissant.json")
    assert not described.metadata.ctx.issues.errors
    assert sum(1 for _ in described.records(case["split"])) == case["tasks"]
    game, others = package.env(split=case["split"]), load(package.OTHERS)
    episodes = []
    for task in range(case["tasks"]):
        game.reset(seed=task, options={"task": task})
        played: Played = {
            agent: {"observations": [], "return": 0.0, "success": False} for agent in package.AGENTS
        }
        for agent in game.agent_iter():
            observation, reward, terminated, truncated, info = game.last()
            own = played.get(agent)
            if own is not None:
                own["return"] += float(reward)
            if terminated or truncated:
                if own is not None:
                    own["success"] = bool(info["success"])
                game.step(None)
            elif own is None:
                request = PolicyRequest(agent=agent, observation=observation, env=game, seed=task)
                game.step(others.respond([request])[0][0].text)
            else:
                own["observations"].append(str(observation))
                game.step(case["answers"][str(observation)])
        episodes.append(played)
    return episodes


def play_trl(case: Case) -> list[Played]:
    """``GRPOTrainer`` with the package's ``environment_factory``, a few tasks in each step.

    ``generate`` of a very small model is replaced by the stand-in, and the loss by 0: an episode of tools can have
    30,000 tokens here. All else is TRL's: the data set, the prompts, the tokens, the calls of the tool, the reward.
    """
    import torch
    from datasets import load_dataset
    from transformers import LlamaConfig, LlamaForCausalLM
    from trl import GRPOConfig, GRPOTrainer

    from llmzoo.policies import load_model

    package = importlib.import_module(case["package"])
    trl_env = importlib.import_module(f"{case['package']}.trl_env")
    tokenizer = trl_env.with_plain_chat(load_model("tiny").tokenizer)
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}
    heads = {"num_attention_heads": 1, "num_key_value_heads": 1, "max_position_embeddings": 2**15}
    end, pad, eos = tokenizer.eos_token, tokenizer.pad_token_id, tokenizer.eos_token_id
    words = {
        "vocab_size": len(tokenizer),
        "eos_token_id": eos,
    }  # TRL ends a completion at the model's
    model = LlamaForCausalLM(LlamaConfig(**words, **sizes, **heads))
    read: dict[int, list[str]] = {}  # of each environment of the trainer, in the running episode
    episodes: dict[int, Played] = {}

    def generate(input_ids: Any, **_: Any) -> Any:
        """The prompts with their answers, padded on the right as by transformers."""
        rows = []
        for ids in input_ids.tolist():
            prompt = tokenizer.decode([token for token in ids if token != pad or token == eos])
            answer = case["answers"].get(prompt.rpartition(end)[2], "")
            rows.append(ids + tokenizer.encode(answer) + [eos])
        longest = max(map(len, rows))
        return torch.tensor([row + [pad] * (longest - len(row)) for row in rows])

    model.generate = generate

    class PlayOnly(GRPOTrainer):
        def compute_loss(self, model: Any, *_: Any, **__: Any) -> Any:
            return model.lm_head.weight.sum() * 0.0

    make = trl_env.environment_factory(split=case["split"])

    def recorded() -> Any:
        environment = make()
        start, answer = environment.play.start, environment.play.answer

        def record_start(*args: Any) -> str:
            read[id(environment)] = [start(*args)]
            return read[id(environment)][0]

        def record_answer(text: str) -> None:
            answer(text)
            if not environment.play.over:
                read[id(environment)].append(environment.play.observation)

        environment.play.start, environment.play.answer = record_start, record_answer
        return environment

    def reward(completions: Any, environments: Any, task: list[int], **columns: Any) -> list[float]:
        returns = trl_env.agent_return(completions, environments, **columns)
        for number, environment, total in zip(task, environments, returns, strict=True):
            own = {
                "observations": read[id(environment)],
                "return": total,
                "success": bool(environment.play.success),
            }
            assert episodes.setdefault(number, {package.AGENTS[0]: own}) == {package.AGENTS[0]: own}
        return returns

    each = max(n for n in range(1, 11) if case["tasks"] % n == 0)  # tasks of a step
    rows = load_dataset("json", data_files=case["data"], split="train").select(range(case["tasks"]))
    with tempfile.TemporaryDirectory() as folder:
        trainer = PlayOnly(
            model=model,
            processing_class=tokenizer,
            environment_factory=recorded,
            reward_funcs=reward,
            train_dataset=rows.map(lambda row: {"prompt": [{"role": "user", "content": ""}]}),
            args=GRPOConfig(
                output_dir=folder,
                max_steps=case["tasks"] // each,
                per_device_train_batch_size=2 * each,
                num_generations=2,
                max_completion_length=2**17,  # a longer episode ends early
                max_tool_calling_iterations=64,
                learning_rate=0.0,
                save_strategy="no",
                report_to=[],
                use_cpu=True,
                bf16=False,
                shuffle_dataset=False,
                disable_tqdm=True,
            ),
        )
        trainer.train()
    return [episodes[task] for task in range(case["tasks"])]


def play_verifiers(case: Case) -> list[Played]:
    """verifiers' client against a local endpoint, with the taskset found by the package's name."""
    import verifiers.v1 as vf
    from verifiers.v1.utils.loaders import taskset_class

    package = importlib.import_module(case["package"])
    assert taskset_class(case["package"].replace("_", "-")) is package.Taskset
    env = package.load_environment(split=case["split"], tasks=case["tasks"])

    class Endpoint(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = case["answers"][asked["messages"][-1]["content"]]
            choice = {"index": 0, "message": {"role": "assistant", "content": answer}}
            reply = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
            choices = [{**choice, "finish_reason": "stop"}]
            body = json.dumps({**reply, "choices": choices}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = vf.EvalClientConfig(
        base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key_var="NO_SUCH_KEY"
    )
    ctx = vf.ModelContext(client=client, model="m", sampling=vf.SamplingConfig())

    async def run() -> list[Any]:
        async with env.serving():
            slots = [slot for task in env.taskset for slot in env.slots(task)]
            return [await env.run_slot(slot, ctx) for slot in slots]

    episodes = asyncio.run(run())
    server.shutdown()
    return [
        {
            trace.info["agent"]: {
                "observations": [str(branch.messages[0].content) for branch in trace.branches],
                "return": trace.rewards["return"].score,
                "success": bool(trace.metrics["success"]),
            }
            for trace in episode.traces
        }
        for episode in episodes
    ]


def play_openenv(case: Case) -> list[Played]:
    """The server as the Dockerfile starts it, in a process of its own, and the package's client.

    Before that, ``openenv validate`` checks the folder.
    """
    package = importlib.import_module(case["package"])
    client = importlib.import_module(f"{case['package']}.client")
    command = [
        "-m",
        "uvicorn",
        "server.app:app",
        "--port",
        str(case["port"]),
        "--log-level",
        "error",
    ]
    address = f"http://127.0.0.1:{case['port']}"
    server = subprocess.Popen([sys.executable, *command], cwd=case["folder"])

    async def run() -> list[Played]:
        episodes = []
        async with client.TextClient(base_url=address) as session:
            for task in range(case["tasks"]):
                result = await session.reset(seed=task, split=case["split"], index=task)
                observations, total = [], 0.0
                while not result.done:
                    text = result.observation.text
                    observations.append(text)
                    result = await session.step(client.TextAction(text=case["answers"][text]))
                    total += result.reward
                own = {
                    "observations": observations,
                    "return": total,
                    "success": bool(result.observation.success),
                }
                episodes.append({package.AGENTS[0]: own})
        return episodes

    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(f"{address}/health").close()
                break
            except OSError:
                assert server.poll() is None, "the server has ended"
                time.sleep(0.2)
        return asyncio.run(run())
    finally:
        server.terminate()
        server.wait()


HOSTS = {
    "pettingzoo": play_pettingzoo,
    "trl": play_trl,
    "verifiers": play_verifiers,
    "openenv": play_openenv,
}

if __name__ == "__main__":
    host, case_file, out = sys.argv[1:]
    played = HOSTS[host](json.loads(Path(case_file).read_text()))
    Path(out).write_text(json.dumps(played))
