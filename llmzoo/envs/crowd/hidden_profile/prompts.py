"""What a member of the group reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmzoo.envs.crowd.hidden_profile.facts import ASPECTS, KEYWORDS, Fact, FactNames


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileView:
    """What an agent may read. ``places``: their names in full prompts. ``error``: what was wrong with the agent's
    last action, "" for nothing. ``over``: the group has voted."""

    agent: str
    agents: Sequence[str]
    places: Sequence[str]
    names: FactNames
    facts: Sequence[Fact]
    messages: Sequence[Mapping[str, str]]
    rounds: int
    words: int
    error: str
    over: bool


def write_prompt(view: ProfileView, *, terse: bool) -> str:
    return _write_terse(view) if terse else _write_full(view)


def _write_terse(view: ProfileView) -> str:
    lines = [f"profile {view.agent.rpartition('_')[2]}", *view.names.write(view.facts).split("; ")]
    for messages in view.messages:
        lines += [f"{agent.rpartition('_')[2]}: {text}" for agent, text in messages.items()]
    if view.error:
        lines += [view.error.partition(":")[0]]
    return "\n".join([*lines, "over" if view.over else "say " if _is_talk(view) else "vote "])


def _write_full(view: ProfileView) -> str:
    alone = len(view.agents) == 1
    lines = [f"You are {view.agent}. {_explain(view, alone)}", "", "The facts that you know:"]
    for place, name in enumerate(view.places):
        lines += [
            f"About {name}:",
            *(_describe(fact) for fact in view.facts if fact.place == place),
        ]
    for number, messages in enumerate(view.messages, 1):
        lines += ["", f"Said in round {number}:"]
        lines += [f"{agent}: {text or '(nothing)'}" for agent, text in messages.items()]
    if view.error:
        lines += ["", f"About your last answer: {view.error}"]
    return "\n".join([*lines, "", *_ask(view)])


def _is_talk(view: ProfileView) -> bool:
    return len(view.messages) < view.rounds


def _explain(view: ProfileView, alone: bool) -> str:
    places = f"{', '.join(view.places[:-1])} and {view.places[-1]}"
    rule = "Each fact is good (+) or bad (-) and counts the same: the best place has the most good facts minus bad facts"
    if alone:
        return f"Choose the best place for a workshop: {places}. {rule}."
    others = [agent for agent in view.agents if agent != view.agent]
    return (
        f"You and {', '.join(others)} choose the best place for a workshop: {places}. {rule}, over the facts of "
        "all members together, each counted once. Some of your facts the others know too; some only you know. "
        "Every member votes for itself, and the group earns the share of right votes."
    )


def _describe(fact: Fact) -> str:
    keyword = KEYWORDS[fact.aspect]
    return f"{'+' if fact.good else '-'} {keyword}: {ASPECTS[keyword][0 if fact.good else 1]}"


def _ask(view: ProfileView) -> list[str]:
    if view.over:
        return ["The vote is over."]
    if _is_talk(view):
        return [
            f"Round {len(view.messages) + 1} of {view.rounds} before the vote. Write a message to all members, of at "
            f"most {view.words} words. They write theirs at the same time. A short form is enough, such as "
            f"{view.places[0]} +{KEYWORDS[0]} -{KEYWORDS[1]}.",
            "",
            "Your message:",
        ]
    return [
        'Vote for the best place. End your answer with a line "Answer: " and its name.',
        "",
        "Your answer:",
    ]
