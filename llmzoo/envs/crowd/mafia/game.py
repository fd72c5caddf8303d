"""The state of a game of Mafia, and what nights and days do to it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from llmzoo.envs.crowd.mafia.odds import MAFIA, NIGHT, TALK, VILLAGE, VOTE, find_winner

DETECTIVE, VILLAGER = "detective", "villager"
NOBODY = "nobody"  # a choice in votes
NAMES = (
    *("Ada", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gwen", "Hugo"),
    *("Iris", "Jack", "Kim", "Leo", "Mia", "Ned", "Olga", "Pia"),
)


def role_of(agent: str) -> str:
    """The role that an agent's name says; no player reads the names of other agents."""
    return agent.rpartition("_")[0]


@dataclass(frozen=True, slots=True)
class Day:
    """What happened from a night to the next. killed, removed: agents, None for nobody. messages: what was heard.
    votes: by voter, an agent or ``NOBODY``, None for a vote that could not be read. One agent that plays the village
    votes alone."""

    killed: str | None
    messages: Mapping[str, str] = field(default_factory=dict)
    votes: Mapping[str, str | None] = field(default_factory=dict)
    removed: str | None = None


@dataclass(frozen=True, slots=True)
class MafiaState:
    """The state of an episode. Players are called by their agents' names, which they do not see.

    names: what the others call each player. alive: in the order of ``names``. days: those that have begun. checks: whom
    the detective has checked. errors: what was wrong with each player's last action.
    """

    seed: int
    names: Mapping[str, str]
    alive: tuple[str, ...]
    phase: str = NIGHT
    days: tuple[Day, ...] = ()
    checks: tuple[str, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict)

    def living(self, role: str) -> list[str]:
        return [agent for agent in self.alive if role_of(agent) == role]

    @property
    def counts(self) -> tuple[int, int]:
        """The living mafia and the living others."""
        mafia = len(self.living(MAFIA))
        return mafia, len(self.alive) - mafia

    @property
    def winner(self) -> str | None:
        return find_winner(*self.counts)

    @property
    def acting(self) -> tuple[str, ...]:
        """Who acts now: by night the mafia and the detective, by day all."""
        if self.phase != NIGHT:
            return self.alive
        return (*self.living(MAFIA), *self.living(DETECTIVE))

    def choices(self, agent: str) -> list[str]:
        """Whom an agent may name by night or in a vote, in the order of their public names; nobody only in a vote."""
        acts_for = {MAFIA: MAFIA, VILLAGE: DETECTIVE}.get(role_of(agent))
        own = self.living(acts_for) if self.phase == NIGHT and acts_for else [agent]
        others = sorted((a for a in self.alive if a not in own), key=self.names.__getitem__)
        return others if self.phase == NIGHT else [*others, NOBODY]


def start_game(seed: int, agents: Sequence[str]) -> MafiaState:
    """A game in which names, and so the order in which players are listed, do not depend on roles."""
    names = random.Random(f"mafia/{seed}").sample(NAMES, len(agents))
    return MafiaState(seed, dict(zip(agents, names, strict=True)), tuple(agents))


def find_most_named(votes: Collection[str | None]) -> list[str]:
    """Those who have the most votes; empty without votes."""
    counts = Counter(vote for vote in votes if vote is not None)
    most = max(counts.values(), default=0)
    return sorted(name for name, count in counts.items() if count == most)


def end_night(state: MafiaState, choices: Mapping[str, str | None]) -> MafiaState:
    """The morning after. If the mafia disagrees, chance decides among those that are named most often."""
    named = find_most_named([choice for a, choice in choices.items() if role_of(a) == MAFIA])
    named.sort(key=state.names.__getitem__)  # so that chance does not depend on roles
    rng = random.Random(f"mafia/{state.seed}/{len(state.days)}")
    killed = rng.choice(named) if named else None
    checked = [c for a, c in choices.items() if role_of(a) == DETECTIVE and c is not None]
    return replace(
        state,
        alive=tuple(agent for agent in state.alive if agent != killed),
        phase=TALK,
        days=(*state.days, Day(killed)),
        checks=(*state.checks, *checked),
    )


def end_talk(state: MafiaState, messages: Mapping[str, str]) -> MafiaState:
    today = replace(state.days[-1], messages=dict(messages))
    return replace(state, phase=VOTE, days=(*state.days[:-1], today))


def end_vote(state: MafiaState, votes: Mapping[str, str | None]) -> MafiaState:
    """The evening after a vote. A tie removes nobody."""
    named = find_most_named(votes.values())
    removed = named[0] if len(named) == 1 and named[0] != NOBODY else None
    today = replace(state.days[-1], votes=dict(votes), removed=removed)
    return replace(
        state,
        alive=tuple(agent for agent in state.alive if agent != removed),
        phase=NIGHT,
        days=(*state.days[:-1], today),
    )
