"""Policy servers in this process, and policies to serve that do what a test tells them to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from llmzoo.policies.base import Policy, PolicyRequest
from llmzoo.records import Completion
from llmzoo.serve.channel import parse_address
from llmzoo.serve.hosting import RunningServer, ServeConfig, start_server
from llmzoo.serve.policies import PolicyLimits, PolicyService
from llmzoo.serve.policies_client import RemotePolicy

LONG = 60.0  # seconds that nothing here takes


@contextmanager
def served(
    policy: Policy, *, port: int = 0, token: str | None = None, **limits: Any
) -> Iterator[tuple[RunningServer, PolicyService]]:
    """A server of ``policy``, and its service."""
    service = PolicyService(policy, limits=PolicyLimits(**limits))
    with start_server(ServeConfig(port=port, token=token, threads=32), [service]) as running:
        yield running, service


def client(running: RunningServer, **options: Any) -> RemotePolicy:
    return RemotePolicy(parse_address(running.address), **{"backoff_s": 0.01, **options})


def has_waiting(service: PolicyService, calls: int) -> None:
    """Wait until so many calls wait for the model."""
    until = time.monotonic() + LONG
    while service.waiting != calls:
        assert time.monotonic() < until, f"{service.waiting} calls wait, not {calls}"
        time.sleep(0.002)


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


class Asking:
    """A call of a policy in a thread of its own; leaving the ``with`` block waits for its end."""

    def __init__(
        self,
        policy: RemotePolicy,
        requests: Sequence[PolicyRequest],
        group_size: int = 1,
        **options,
    ):
        self.answers: Any = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(
            target=self._run, args=(policy, requests, group_size, options), daemon=True
        )
        self._thread.start()

    def _run(self, policy, requests, group_size, options):
        try:
            self.answers = policy.respond(requests, group_size, **options)
        except BaseException as error:
            self.error = error

    def result(self) -> list[list[Completion]]:
        self._thread.join(LONG)
        assert not self._thread.is_alive(), "no end"
        if self.error is not None:
            raise self.error
        return self.answers
