"""A stand-in for ``vllm serve``: the stand-in engine of ``fake_vllm`` behind the same protocol."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from fake_vllm import LLM, LoRARequest, SamplingParams


@dataclass
class Served:
    """The server's state, and what is to go wrong with it."""

    engine: LLM
    url: str = ""
    instance: str = "one"
    logprobs_mode: str = "processed_logprobs"
    lora: dict[str, Any] | None = field(default_factory=lambda: {"max_lora_rank": 16})
    dev_mode: bool = True
    fail_next: int = 0  # requests for completions that are answered with 503
    slow_s: float = 0.0  # seconds that a completion waits
    other_prompt: bool = False
    adapters: dict[str, LoRARequest] = field(default_factory=dict)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]


class Refused(Exception):
    def __init__(self, status: int, said: str = "refused"):
        super().__init__(said)
        self.status = status


def answer(served: Served, path: str, body: Any) -> Any:
    """The JSON (or text) that a path gives."""
    engine = served.engine
    if path == "/health":
        return ""
    if path == "/v1/models":
        return {"data": [{"id": "served", "max_model_len": engine.model_config.max_model_len}]}
    if path == "/tokenize":
        ids = engine.tokenizer(body["prompt"], add_special_tokens=body["add_special_tokens"])
        return {"tokens": ids["input_ids"], "count": len(ids["input_ids"])}
    if path == "/v1/completions":
        return completions(served, body)
    if path == "/v1/load_lora_adapter":
        if body["lora_name"] in served.adapters:
            raise Refused(400, "has already been loaded")
        assert (Path(body["lora_path"]) / "adapter_config.json").exists()
        number = len(served.asked)
        served.adapters[body["lora_name"]] = LoRARequest(
            body["lora_name"], number, body["lora_path"]
        )
        return "Success: LoRA adapter added successfully."
    if path == "/v1/unload_lora_adapter":
        del served.adapters[body["lora_name"]]
        return "Success"
    if not served.dev_mode:
        raise Refused(404, "Not Found")
    if path == "/server_info?config_format=json":
        model = {"logprobs_mode": served.logprobs_mode}
        found = {"model_config": model, "lora_config": served.lora, "instance_id": served.instance}
        return {"vllm_config": found}
    if path == "/collective_rpc":
        engine.collective_rpc(body["method"], kwargs=body["kwargs"])
        return {"results": [None]}
    if path == "/reset_prefix_cache":
        return {"success": engine.reset_prefix_cache()}
    raise Refused(404, "Not Found")


def completions(served: Served, body: dict[str, Any]) -> dict[str, Any]:
    """One prompt of token ids, as ``/v1/completions`` with ``return_token_ids``."""
    if served.fail_next > 0:
        served.fail_next -= 1
        raise Refused(503, "try later")
    time.sleep(served.slow_s)
    body = dict(body)
    prompt, model = body.pop("prompt"), body.pop("model")
    assert body.pop("return_token_ids") is True
    if model != "served" and model not in served.adapters:
        raise Refused(404, f"The model `{model}` does not exist.")
    if len(prompt) + body["max_tokens"] > served.engine.model_config.max_model_len:
        raise Refused(400, "maximum context length")
    (output,) = served.engine.generate(
        [{"prompt_token_ids": prompt}],
        [SamplingParams(**body)],
        lora_request=served.adapters.get(model),
    )
    choices = [
        {
            "index": row.index,
            "text": row.text,
            "token_ids": list(row.token_ids),
            "prompt_token_ids": prompt[1:] if served.other_prompt else prompt,
            "finish_reason": row.finish_reason,
            "logprobs": {
                "token_logprobs": [
                    at[i].logprob for at, i in zip(row.logprobs, row.token_ids, strict=True)
                ]
            },
        }
        for row in output.outputs
    ]
    return {"choices": choices[::-1]}  # their index says which is which, not their place


@contextmanager
def serving(folder: str | Path, **arguments: Any) -> Iterator[Served]:
    """A server of the model in a folder, gone after this context."""
    served = Served(LLM(str(folder), max_lora_rank=16, **arguments))

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: Any) -> None:
            try:
                with served.lock:
                    served.asked.append((self.path, body))
                    found, status = answer(served, self.path, body), 200
            except Refused as refused:
                found, status = {"error": {"message": str(refused)}}, refused.status
            text = found if isinstance(found, str) else json.dumps(found)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
