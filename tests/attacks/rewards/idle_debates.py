"""Policies that take no notice of the debate, in every agent of every form of ``debate_v0``.

Each plays one agent beside noisy experts, or all the speakers' agents before a judge who grants everything.
Its score is the mean return over some topics, and must stay below the noisy expert's in the same agent.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import llmzoo
from llmzoo.envs.debate.env import DebateEnv

from .episode import returns
from .scored import Scored

Speaks = Callable[[DebateEnv, str], str]  # what an agent says
FORMS: Mapping[str, Mapping[str, Any]] = {
    "zero-sum": {"reward": "zero-sum"},
    "zero-sum, judged": {"reward": "zero-sum", "judge_agent": True},
    "cooperative": {"reward": "cooperative"},
    "cooperative, judged": {"reward": "cooperative", "judge_agent": True},
    "one debater": {"num_agents": 1},
}
TOPICS = range(0, 60, 4)


def attacks() -> Iterator[Scored]:
    """Every idle policy for every agent of every form."""
    for name, form in FORMS.items():
        env = llmzoo.make("debate_v0", split="all", **form).unwrapped
        everyone = (env.possible_agents,) if form.get("reward") == "cooperative" else ()
        for agents in (*([one_agent] for one_agent in env.possible_agents), *everyone):
            if agents == env.possible_agents[-1:] and env.judge_agent:
                policies: Mapping[str, Speaks] = VERDICTS
            elif len(agents) == 1 or not env.judge_agent:
                policies = SPEECHES
            else:
                policies = {
                    f"{text} and a generous judge": _before_a(speaks)
                    for text, speaks in SPEECHES.items()
                }
            honest = mean_return(env, agents, noisy_expert)
            for policy, speaks in policies.items():
                attack = f"{policy} ({name}, {'all' if len(agents) > 1 else agents[0]})"
                yield Scored(
                    env="debate_v0",
                    attack=attack,
                    score=mean_return(env, agents, speaks),
                    honest=honest,
                )


def mean_return(env: DebateEnv, agents: Sequence[str], speaks: Speaks) -> float:
    """The mean return, over the topics, of the speakers among ``policies`` or of the judge."""
    paid = [one_agent for one_agent in agents if one_agent != env.judge_agent] or agents
    total = 0.0
    for topic in TOPICS:
        earned = returns(
            env, topic, lambda agent: (speaks if agent in agents else noisy_expert)(env, agent)
        )
        total += sum(earned[one_agent] for one_agent in paid) / len(paid)
    return total / len(TOPICS)


def noisy_expert(env: DebateEnv, agent: str) -> str:
    return env.noisy_expert(
        agent, random.Random(f"{env.episode.debate.topic.id} {env.turn} {agent}")
    )


def _says(text: str) -> Speaks:
    return lambda env, agent: text


def _soup(env: DebateEnv, agent: str) -> str:
    words = sorted(set(env.observe(agent).split()))
    random.Random(0).shuffle(words)
    return " ".join(words)


def _before_a(speaks: Speaks) -> Speaks:
    return lambda env, agent: (VERDICTS["1 and 1"] if agent == env.judge_agent else speaks)(
        env, agent
    )


def _first_claim(env: DebateEnv, agent: str) -> str:
    side = env.episode.side if env.alone else agent[:3]
    return env.episode.debate.topic.brief(side).points[0].claim


SPEECHES: Mapping[str, Speaks] = {
    "silence": _says(""),
    "few words": _says("I have nothing to say."),
    "the same words always": _says(
        "I speak for my side, as I have done before, because it is in the right and all of us know "
        "that. First, there are good reasons for it. Second, nobody has shown the contrary. I ask "
        "you to remember this when you come to weigh what has been said here."
    ),
    "a copy of the prompt": lambda env, agent: str(env.observe(agent)),
    "words of the prompt": _soup,
    "the first claim": _first_claim,
    "giving up": _says("My opponent is right in everything. I give up my case and thank you all."),
}
VERDICTS: Mapping[str, Speaks] = {
    "no verdict": _says(""),
    "a copy of the prompt": lambda env, agent: str(env.observe(agent)),
    **{
        f"{pro:g} and {con:g}": _says(f'{{"pro": {pro}, "con": {con}}}')
        for pro, con in ((0.5, 0.5), (1, 1), (0, 0), (1, 0), (0, 1), (0.7, 0.4), (0.52, 0.5))
    },
}
