"""Policies that threads share answer one call at a time, whichever agent it is for."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from llmzoo.adapters.others import with_shared_lock
from llmzoo.policies.base import PolicyRequest, ScriptedPolicy


def test_calls_of_several_threads_do_not_overlap():
    inside, most = 0, 0
    count = threading.Lock()

    def answer(request):
        nonlocal inside, most
        with count:
            inside += 1
            most = max(most, inside)
        time.sleep(0.002)
        with count:
            inside -= 1
        return request.observation.upper()

    policy = ScriptedPolicy(answer, "upper")

    def ask(policies, number):
        request = PolicyRequest(agent="a", observation=f"n{number}", env=None)
        return policies["ab"[number % 2]].respond([request], group_size=2)[0][1].text

    free = {"a": policy, "b": policy}
    for policies, at_once in ((free, 8), (with_shared_lock(free), 1)):
        inside = most = 0
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda n, p=policies: ask(p, n), range(24)))
        assert answers == [f"N{n}" for n in range(24)]
        assert (most > 1) == (at_once > 1)


def test_a_shared_policy_keeps_its_name_and_the_prompts_that_it_was_made_for():
    policy = ScriptedPolicy(lambda request: "", "quiet")
    policy.prompt_style = "terse"
    shared = with_shared_lock({"a": policy})["a"]
    assert (shared.name, shared.prompt_style) == ("quiet", "terse")
