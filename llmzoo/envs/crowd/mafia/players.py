"""Scripted players. They use nothing but what their prompts show."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from llmzoo.envs.crowd.mafia.game import DETECTIVE, NOBODY, MafiaState, role_of
from llmzoo.envs.crowd.mafia.odds import MAFIA, NIGHT, village_win_probability

SILENCE = "I have nothing to report."
LIE = 0.05  # the weight of a claim that is not the detective's
_CLAIM = re.compile(r"I checked (\w+): (not mafia|mafia)")

Claim = tuple[str, str, bool]  # the speaker, who was checked, and whether it is said to be mafia


def write_claim(name: str, guilty: bool) -> str:
    return f"I checked {name}: {'mafia' if guilty else 'not mafia'}."


def read_claims(state: MafiaState, names: dict[str, str]) -> Iterator[Claim]:
    """What was said about checks so far. ``names``: what each player is called in this prompt style."""
    by_name = {name: agent for agent, name in names.items()}
    for day in state.days:
        for speaker, text in day.messages.items():
            for name, verdict in _CLAIM.findall(text):
                if name in by_name:
                    yield speaker, by_name[name], verdict == "mafia"


def find_suspects(state: MafiaState, agent: str, claims: Sequence[Claim]) -> dict[str, float]:
    """How likely each living player is mafia, for a player of the village.

    A player weighs all ways to assign roles that agree with what it knows: its own role, those of the dead, and its
    own checks. They are equally likely, but those in which mafia made n of the claims are ``LIE**n`` times as
    likely as others. A claim of anybody else is true, and the detective's. If no assignment agrees with the
    claims, they are left out.
    """
    known = {a: role_of(a) for a in state.names if a not in state.alive or a == agent}
    known_mafia = {a for a, role in known.items() if role == MAFIA}
    unknown = [a for a in state.names if a not in known]
    missing = sum(role_of(a) == MAFIA for a in state.names) - len(known_mafia)
    checked = state.checks if role_of(agent) == DETECTIVE else ()
    detective = [a for a, role in known.items() if role == DETECTIVE]
    weights = dict.fromkeys(state.alive, 0.0)
    total = 0.0
    for believed in (claims, ()):
        for guilty in combinations(unknown, missing):
            if any((a in guilty) != (role_of(a) == MAFIA) for a in checked if a in unknown):
                continue
            mafia = known_mafia.union(guilty)
            others = detective or [a for a in unknown if a not in mafia]
            weight = sum(_weigh(mafia, other, believed) for other in others)
            total += weight
            for suspect in guilty:
                weights[suspect] += weight
        if total:
            break
    return {a: weight / max(total, 1e-9) for a, weight in weights.items()}


def _weigh(mafia: set[str], detective: str, claims: Sequence[Claim]) -> float:
    honest = [claim for claim in claims if claim[0] not in mafia]
    if any(speaker != detective or (a in mafia) != guilty for speaker, a, guilty in honest):
        return 0.0
    return LIE ** (len(claims) - len(honest))


def choose_vote(state: MafiaState, agent: str, claims: Sequence[Claim]) -> str:
    """The most likely mafia, or nobody if that is better for the village, as if all played at random afterwards.

    The mafia votes for the other player whom the village suspects most.
    """
    choices = [choice for choice in state.choices(agent) if choice != NOBODY]
    if role_of(agent) == MAFIA:
        choices = [a for a in choices if role_of(a) != MAFIA]
        onlookers = [find_suspects(state, other, claims) for other in choices]
        return max(choices, key=lambda a: sum(seen[a] for seen in onlookers))
    suspects = find_suspects(state, agent, claims)
    suspect = max(choices, key=suspects.__getitem__)
    mafia, others = state.counts
    removed = suspects[suspect] * village_win_probability(mafia - 1, others, NIGHT)
    removed += (1 - suspects[suspect]) * village_win_probability(mafia, others - 1, NIGHT)
    return suspect if removed > village_win_probability(mafia, others, NIGHT) else NOBODY


def choose_by_night(state: MafiaState, agent: str, claims: Sequence[Claim]) -> str:
    """The mafia kills whoever claims to be the detective, and otherwise the last by name; the detective checks the most
    suspicious player whom it has not checked."""
    choices = state.choices(agent)
    if role_of(agent) == MAFIA:
        claimed = [speaker for speaker, *_ in claims]
        return next((a for a in choices if a in claimed), choices[-1])
    suspects = find_suspects(state, agent, claims)
    return max(choices, key=lambda a: (a not in state.checks, suspects[a]))


def draw_victim(state: MafiaState) -> str:
    """Whom the mafia kills if one agent plays the village: any of the others, drawn from the seed of the episode.

    An order by name, as in :func:`choose_by_night`, would show that those behind the victim are mafia.
    """
    rng = random.Random(f"mafia/{state.seed}/{len(state.days)}/kill")
    return rng.choice(state.choices(state.living(MAFIA)[0]))


def choose(state: MafiaState, agent: str, claims: Sequence[Claim]) -> str:
    return (choose_by_night if state.phase == NIGHT else choose_vote)(state, agent, claims)


def speak(state: MafiaState, agent: str, names: dict[str, str], claims: Sequence[Claim]) -> str:
    """The detective reports its checks as soon as one has found a mafia that is alive. Nobody else claims anything."""
    guilty = [a for a in state.checks if role_of(a) == MAFIA and a in state.alive]
    if role_of(agent) != DETECTIVE or not guilty:
        return SILENCE
    return write_claim(names[guilty[0]], True)
