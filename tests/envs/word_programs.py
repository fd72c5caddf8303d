"""What the tests of programs share: tasks, a Python program, and a shorter time limit."""

from __future__ import annotations

_WORDS = "river stone cloud ember maple wheel tiger lemon sugar night"
TASKS = [{"word": word} for word in _WORDS.split()]

# begins a command of Python's standard library alone: it asks a role through the endpoint
ASKING = """
import json, os, sys, urllib.request
def ask(role, text):
    body = json.dumps({"model": role, "messages": [{"role": "user", "content": text}]}).encode()
    headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
task = json.loads(os.environ["LLMZOO_TASK"])
"""


def limit_time_from_now(env, seconds):
    """Shorten the time limit of a program that has started: a busy machine is slow to start one."""
    env.unwrapped._live._running._time_limit = seconds
