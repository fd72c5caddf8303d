"""Policies that several episodes share, each in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from llmzoo.policies.base import Policy, Request
from llmzoo.records import Completion


class OneAtATime:
    """A policy whose callers in several threads wait for each other.

    Chance is each request's own, so what it answers does not depend on who comes first.
    """

    def __init__(self, policy: Policy, lock: threading.Lock):
        self.name, self.prompt_style = policy.name, policy.prompt_style
        self._policy, self._lock = policy, lock

    def respond(
        self, requests: Sequence[Request], group_size: int = 1, *, greedy: bool = False
    ) -> list[list[Completion]]:
        with self._lock:
            return self._policy.respond(requests, group_size, greedy=greedy)


def one_at_a_time(policies: Mapping[str, Policy]) -> dict[str, Policy]:
    """These policies for several threads: one call at a time, for models share weights."""
    lock = threading.Lock()
    return {agent: OneAtATime(policy, lock) for agent, policy in policies.items()}
