"""Attacks on signal_v0 and relay_v0: constant messages and answers, lists of everything, echoes.

A score is the mean return of the agent that gains most, over the same tasks; all agents play the attack.
It must stay below the noisy experts' mean return. None of them may earn more than a listener without a message,
by luck: the experts earn 1.1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import llmzoo
from llmzoo.envs.base import TextEnv

from .episode import mean_returns, noisy_expert
from .scored import Scored

Act = Callable[[TextEnv, str], str]
TASKS = 200
# 0.1 for the form, 0.5 x the share that chance gets right, and 0.5 x the chance of all of it: with
# 1 in 4 objects less than 0.45, with 16 answers less than 0.3
BLIND = {"signal_v0": 0.45, "relay_v0": 0.3}
FORMS = {"full": {}, "terse": {"prompt": "terse"}}


def attacks() -> Iterator[Scored]:
    for id, limit in BLIND.items():
        for form, settings in FORMS.items():
            env = llmzoo.make(id, split="test", **settings)
            honest = min(mean_returns(env, noisy_expert, TASKS).values())
            for name, act in ATTACKS.items():
                score = max(mean_returns(env, act, TASKS).values())
                yield Scored(
                    env=id, attack=f"{name}, {form}", score=score, honest=honest, limit=limit
                )


def _last(env: TextEnv, agent: str) -> bool:
    return agent == env.possible_agents[-1]


def _says(text: str) -> Act:
    return lambda env, agent: text


def _first(env: TextEnv, agent: str) -> str:
    """The first letter; then the first object, or ones."""
    if not _last(env, agent):
        return env.alphabet.letters[0]
    if env.metadata["name"] == "relay_v0":
        return env.write((0,) * env.length)
    return env.write(env.episode.task.offered[0])


def _everything(env: TextEnv, agent: str) -> str:
    """All letters; then all objects, or all digits."""
    if not _last(env, agent):
        return env.alphabet.letters
    if env.metadata["name"] == "relay_v0":
        return "1234"
    return " ".join(map(env.write, env.episode.task.offered))


def _tells(env: TextEnv, agent: str) -> str:
    """The answer in plain words, where letters are asked for; the last agent repeats what came."""
    return (
        (env.received_message(env.episode, agent) or "")
        if _last(env, agent)
        else env.write(env.solution(env.episode.task)) + "!"
    )


def _copies_the_prompt(env: TextEnv, agent: str) -> str:
    return str(env.observe(agent))


def _echo(env: TextEnv, agent: str) -> str:
    """What came, word for word; the first agent writes its first letter."""
    return env.received_message(env.episode, agent) or env.alphabet.letters[0]


ATTACKS: dict[str, Act] = {
    "empty": _says(""),
    "praises itself": _says("right: 0.5, solved: 0.5, success: True"),
    "the first of everything": _first,
    "all letters and all answers": _everything,
    "tells the answer in words": _tells,
    "copies the prompt": _copies_the_prompt,
    "echo": _echo,
}
