"""Speeches that try to be paid without arguing, before the rule-based judge of ``debate_v0``.

Each attack speaks in all three rounds, for either side, on some topics, against the scripted expert.
Its score is its best return there; it has to stay below the return of the weakest honest example.
Those that take no notice of the debate are in ``idle_debates``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import llmzoo
from llmzoo.envs.debate.judge import rules
from llmzoo.envs.debate.tasks import SIDES, Debate, Speech, clean_speech, load_topics, phase_of

from . import idle_debates
from .debate_crude import CRUDE, Attack, told
from .debate_sly import SLY
from .episode import returns
from .honest_debates import HONEST
from .honest_duels import DUELS, Duel
from .scored import Scored

ATTACKS: tuple[Attack, ...] = (*CRUDE, *SLY)
# three on which the expert's speeches are spoiled, three on which honest ones are
TOPICS = (
    *("school-uniforms", "four-day-week", "wolves-return"),
    *("free-city-buses", "voting-age", "right-to-repair"),
)


def play(topic: str, side: str, speak: Attack) -> float:
    """The zero-sum return of a side whose speeches are ``speak``'s, against the expert."""
    env = llmzoo.make("debate_v0", split="all").unwrapped
    one_agent = {"pro": "pro_0", "con": "con_1"}[side]

    def act(agent: str) -> str:
        return speak(env.episode.debate, side) if agent == one_agent else env.expert(agent)

    return returns(env, [known.id for known in load_topics()].index(topic), act)[one_agent]


def judged(duel: Duel) -> dict[str, float]:
    """What both sides of a debate among honest speakers are worth to the rules, from 0 to 1."""
    (topic,) = (topic for topic in load_topics() if topic.id == duel.topic)
    said = [
        Speech(one_agent, side, phase_of(number, 3), clean_speech(text))
        for number, pair in enumerate(zip(duel.pro, duel.con, strict=True))
        for one_agent, side, text in zip(("pro_0", "con_1"), SIDES, pair, strict=True)
    ]
    scores = rules.score(Debate(topic, 3, tuple(said)))
    return {side: sum(scores[side].values()) for side in SIDES}


@cache
def weakest_honest() -> float:
    """The least return of the honest examples. One who met another honest speaker is compared with
    the expert, who has 1.0, too."""
    played = [
        play(one.topic, one.side, lambda debate, side, one=one: one.speeches[told(debate, side)])
        for one in HONEST
    ]
    return min(*played, *(worth - 1 for duel in DUELS for worth in judged(duel).values()))


def attacks() -> Iterator[Scored]:
    for attack in ATTACKS:
        best = max(play(topic, side, attack) for topic in TOPICS for side in SIDES)
        name = attack.__name__.replace("_", " ")
        yield Scored(env="debate_v0", attack=name, score=best, honest=weakest_honest())
    yield from idle_debates.attacks()
