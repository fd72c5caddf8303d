"""Endpoints of models in this process, and policies that do what a test tells them to."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tiny_models

from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.histories import Histories
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Completion

LONG = 60.0  # seconds that nothing here takes
TOKEN = "0123456789abcdef"


@dataclass
class Endpoint:
    """A running endpoint. ``url``: its address with ``/v1``."""

    url: str
    service: Any
    token: str | None

    def client(self, **options: Any) -> Any:
        """OpenAI's client, which does not try again."""
        import openai

        settings = {"api_key": self.token or "none", "max_retries": 0, "timeout": LONG}
        return openai.OpenAI(base_url=self.url, **{**settings, **options})

    def post(
        self, body: bytes | Mapping[str, Any], path: str = "/chat/completions", **headers: str
    ) -> tuple[int, Any]:
        """The status of a request, and its JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        given = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(self.url + path, data, {**given, **headers})
        try:
            with urllib.request.urlopen(request, timeout=LONG) as reply:
                return reply.status, json.loads(reply.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


@contextmanager
def serving(
    policies: TransformersPolicy | Mapping[str, TransformersPolicy],
    *,
    token: str | None = TOKEN,
    **limits: Any,
) -> Iterator[Endpoint]:
    """An endpoint of one model, called ``m``, or of several."""
    from llmzoo.envs.programs.http_server import HttpServer, listen
    from llmzoo.serve.completions import CompletionService, EndpointLimits
    from llmzoo.serve.served_models import ServedModel

    named = policies if isinstance(policies, Mapping) else {"m": policies}
    for policy in named.values():
        policy.histories = Histories(0)
    models = {name: ServedModel(name, policy) for name, policy in named.items()}
    service = CompletionService(models, EndpointLimits(**limits))
    with listen() as listening:
        server = HttpServer(service.routes(), listening, token=token)
        try:
            yield Endpoint(f"{server.address}/v1", service, token)
        finally:
            server.stop()
            service.close()


def asks(*observations: str, agent: str = "a_0", seed: int = 0) -> list[PolicyRequest]:
    """Requests as a rollout makes them: with a noise of their own, and an environment."""
    return [
        PolicyRequest(agent=agent, observation=o, env=object(), seed=seed, noise=100 + n)
        for n, o in enumerate(observations)
    ]


def texts(answers: Sequence[Sequence[Completion]]) -> list[list[str]]:
    return [[completion.text for completion in row] for row in answers]


class Gated:
    """Answers with the prompt; waits before each answer until the test opens its gate."""

    name, prompt_style = "gated", None

    def __init__(self, write: Callable[[PolicyRequest], str] = lambda request: request.observation):
        self.calls: list[tuple[list[str], int, bool]] = []  # observations, group_size, greedy
        self.requests: Sequence[PolicyRequest] = ()  # of the last call
        self.begun, self.gate = threading.Semaphore(0), threading.Semaphore(0)
        self._write = write

    def open(self, answers: int = 1) -> None:
        self.gate.release(answers)

    def respond(self, requests, group_size=1, *, greedy=False, on_complete=lambda *_: None):
        self.calls.append(([request.observation for request in requests], group_size, greedy))
        self.requests = requests
        self.begun.release()
        found = []
        for number, request in enumerate(requests):
            assert self.gate.acquire(timeout=LONG), "the test has not opened the gate"
            found.append(
                [Completion(text=f"{self._write(request)} {i}") for i in range(group_size)]
            )
            on_complete(number, found[-1])
        return found

    def has_begun(self) -> None:
        """Wait until a call has begun."""
        assert self.begun.acquire(timeout=LONG), "no call has begun"


class GatedModel(TransformersPolicy):
    """A small model with random weights whose calls wait, one after the other, for an open gate."""

    def __init__(self, **options: Any):
        super().__init__(tiny_models.model(), tiny_models.tokenizer(), **options)
        self.sizes: list[int] = []  # requests of each call
        self.cancelled_events: list[Any] = []  # of all requests
        self.begun, self.gate = threading.Semaphore(0), threading.Semaphore(0)

    def open(self, calls: int = 1) -> None:
        self.gate.release(calls)

    def has_begun(self) -> None:
        """Wait until a call has begun."""
        assert self.begun.acquire(timeout=LONG), "no call has begun"

    def respond(self, requests, group_size=1, *, greedy=False, on_complete=None):
        self.sizes.append(len(requests))  # copies for other settings share the list
        for request in requests:
            self.cancelled_events.append(request.cancelled)
        self.begun.release()
        assert self.gate.acquire(timeout=LONG), "the test has not opened the gate"
        return super().respond(requests, group_size, greedy=greedy, on_complete=on_complete)


@contextmanager
def serving_command(folder: Path, *words: str, **variables: str) -> Iterator[tuple[Any, str]]:
    """The process of ``llmzoo serve`` with these words, and what it printed first. It keeps tokens in ``folder``."""
    environment = {k: v for k, v in os.environ.items() if k != "LLMZOO_TOKEN"}
    process = subprocess.Popen(
        [sys.executable, "-m", "llmzoo", "serve", *words],
        cwd=folder,
        env={**environment, "XDG_CACHE_HOME": str(folder / "cache"), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline()
    finally:
        process.kill()
        process.communicate()
