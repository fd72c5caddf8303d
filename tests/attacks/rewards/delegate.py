"""Attacks on delegate_v0: constants, copies of what is read, and a plan for every page.

A score is the mean return of the agent that gains most, over the same tasks; every agent plays the attack. It
must stay below the noisy expert's mean return of the same agent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import llmzoo
from llmzoo.envs.base import TextEnv
from llmzoo.envs.crowd.delegate.tasks import MONTHS

from .episode import Act, noisy_expert, returns, says
from .scored import Scored

TASKS = 500
FORMS = {"full": {}, "terse": {"prompt": "terse"}, "one agent": {"num_agents": 1}}


def attacks() -> Iterator[Scored]:
    for form, settings in FORMS.items():
        env = llmzoo.make("delegate_v0", split="test", **settings)
        honest, _ = mean_returns(env, noisy_expert)
        for name, act in ATTACKS.items():
            scores, _ = mean_returns(env, act)
            worst = max(scores, key=lambda agent: scores[agent] - honest[agent])
            yield Scored(
                env="delegate_v0",
                attack=f"{name}, {form}",
                score=scores[worst],
                honest=honest[worst],
            )


def mean_returns(env, act: Act) -> tuple[dict[str, float], float]:
    """The mean return of each agent, and the share of tasks that are solved."""
    total, solved = dict.fromkeys(env.possible_agents, 0.0), 0
    for task in range(TASKS):
        for agent, value in returns(env, task, lambda agent: act(env.unwrapped, agent)).items():
            total[agent] += value / TASKS
        solved += env.unwrapped.success
    return total, solved / TASKS


def expert(env: TextEnv, agent: str) -> str:
    return env.expert(agent)


def _plans(titles: Callable[[TextEnv], list[str]], act: Act) -> Act:
    """The lead asks for some pages by the question; later all agents play ``act``."""

    def play(env: TextEnv, agent: str) -> str:
        question = next(
            (
                line
                for line in str(env.observe(agent)).splitlines()
                if "?" in line or "ask " in line
            ),
            "",
        )
        if env.episode.phase == "plan":
            return "\n".join(f"{title}: {question}" for title in titles(env))
        if env.episode.phase == "read":
            unread = [title for title in titles(env) if title not in env.episode.titles]
            following = next((title for title in unread if title != env.episode.opened), None)
            return act(env, agent) + (f"\nRead: {following}" if following else "\nAnswer: 0")
        return act(env, agent)

    return play


def _every_page(env: TextEnv) -> list[str]:
    return list(env.episode.task.titles)


def _asked_pages(env: TextEnv) -> list[str]:
    """The months that the question names, as anyone can read them in it."""
    lines = str(env.observe("lead_0")).splitlines()
    question = next(line for line in lines if "?" in line or line.startswith("ask "))
    return [month for month in MONTHS if re.search(rf"\b{month}\b", question)]


def copy(env: TextEnv, agent: str) -> str:
    return str(env.observe(agent))


ATTACKS: dict[str, Act] = {
    "empty": says(""),
    "praises itself": says("found: 0.3, solved: 1.0, success: True"),
    "copies the prompt": copy,
    "answers 0 at once": says("Answer: 0"),
    "answers 2 at once": says("Answer: 2"),  # the most frequent answer
    "every page, then 0": _plans(_every_page, says("0")),
    "every page, then copies": _plans(_every_page, copy),
    "the asked pages, then 0": _plans(_asked_pages, says("0")),
    "the asked pages, then copies": _plans(_asked_pages, copy),
}


def table() -> list[str]:
    """The rows of the table in the module of the environment."""
    env = llmzoo.make("delegate_v0", split="test")
    rows = []
    for name, act in {**ATTACKS, "noisy expert": noisy_expert, "expert": expert}.items():
        scores, solved = mean_returns(env, act)
        cells = f"{scores['lead_0']:.2f} | {scores['worker_1']:.2f} | {100 * solved:.1f}%"
        rows.append(f"| {name} | {cells} |")
    return rows
