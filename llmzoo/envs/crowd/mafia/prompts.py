"""What a player of Mafia reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from llmzoo.envs.crowd.mafia.game import DETECTIVE, NOBODY, Day, MafiaState, role_of
from llmzoo.envs.crowd.mafia.odds import MAFIA, NIGHT, TALK, VILLAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class MafiaView:
    """What a player may read. ``names``: what each player is called in this prompt style."""

    state: MafiaState
    agent: str
    names: Mapping[str, str]
    words: int
    over: bool

    @property
    def listed(self) -> list[str]:
        """All players in an order that does not depend on their roles."""
        return sorted(self.names, key=self.state.names.__getitem__)

    def list_names(self, agents: list[str] | tuple[str, ...], joint: str = ", ") -> str:
        return joint.join(self.names[a] for a in self.listed if a in agents)

    @property
    def plays_village(self) -> bool:
        """Whether one agent plays the village."""
        return role_of(self.agent) == VILLAGE

    @property
    def knows_checks(self) -> bool:
        return self.plays_village or role_of(self.agent) == DETECTIVE

    @property
    def acts(self) -> bool:
        return not self.over and (self.plays_village or self.agent in self.state.acting)


def write_prompt(view: MafiaView, *, terse: bool) -> str:
    return _write_terse(view) if terse else _write_full(view)


def _write_terse(view: MafiaView) -> str:
    state, names = view.state, view.names
    friends = view.list_names(_friends(view), " ")
    if view.plays_village:
        lines = [f"mafia village d {names[_detective(view)]}"]
    else:
        lines = [f"mafia {names[view.agent]} {role_of(view.agent)[0]} {friends}"]
    for day in state.days:
        lines += [f"dead {_name_role(view, day.killed)}"]
        lines += [f"{names[a]}: {day.messages[a]}" for a in view.listed if a in day.messages]
        cast = [f"{names[a]}>{_name(view, day.votes[a])}" for a in view.listed if a in day.votes]
        lines += [" ".join(["votes", *cast])] if cast else []
        lines += [f"out {_name_role(view, day.removed)}"] if day.votes else []
    if view.knows_checks:
        lines += [f"check {names[a]} {'m' if role_of(a) == MAFIA else '-'}" for a in state.checks]
    lines += [f"alive {view.list_names(state.alive, ' ')}"]
    if error := state.errors.get(view.agent):
        lines += [error.partition(":")[0]]
    ask = {NIGHT: "kill " if role_of(view.agent) == MAFIA else "check ", TALK: "say "}
    vote = "remove " if view.plays_village else "vote "
    return "\n".join([*lines, ask.get(state.phase, vote) if view.acts else "over"])


def _write_full(view: MafiaView) -> str:
    lines = [_introduce_village(view) if view.plays_village else _introduce(view)]
    for number, day in enumerate(view.state.days, 1):
        lines += ["", f"Day {number}", *_tell(view, day)]
    if view.knows_checks and view.state.checks:
        found = (
            f"{view.names[a]} is {'mafia' if role_of(a) == MAFIA else 'not mafia'}"
            for a in view.state.checks
        )
        who = "The detective" if view.plays_village else "You"
        lines += ["", f"{who} checked: {', '.join(found)}."]
    lines += ["", f"Alive: {view.list_names(view.state.alive)}."]
    if error := view.state.errors.get(view.agent):
        lines += ["", f"About your last answer: {error}"]
    return "\n".join([*lines, "", *_ask(view)])


def _introduce(view: MafiaView) -> str:
    agents = list(view.names)
    detective = any(role_of(a) == DETECTIVE for a in agents)
    count = _count_mafia(view)
    role = f"Your role: {role_of(view.agent)}."
    if friends := _friends(view):
        role += f" The mafia with you: {view.list_names(friends)}."
    if detective:
        what = f"{count} mafia, one is the detective, and the others are villagers."
        check = " The detective then learns of one player whether it is mafia."
    else:
        what, check = f"{count} mafia, and the others are villagers.", ""
    return (
        f"You are {view.names[view.agent]} in a game of Mafia. The players: {view.list_names(agents)}. {what} {role}\n\n"
        f"Each night the mafia kills one of the others.{check} Each day all players talk and then vote, at the "
        "same time, for a player or for nobody. Whoever has the most votes is removed; a tie removes nobody. The role of a player who is killed or "
        "removed is shown. The village wins when no mafia is left. The mafia wins when it is at least as many as "
        "the others."
    )


def _introduce_village(view: MafiaView) -> str:
    detective = view.names[_detective(view)]
    return (
        f"You decide for the village in a game of Mafia. The players: {view.list_names(list(view.names))}. "
        f"{_count_mafia(view)} mafia, {detective} is the detective, and the others are villagers. You know what the "
        "detective knows.\n\n"
        "Each night the mafia kills one of the others. The detective then learns of one player whether it is mafia. Each "
        "day you name a player or nobody. Whom you name is removed, because the village has the most votes. The role of "
        "a player who is killed or removed is shown. The village wins when no mafia is left. The mafia wins when it is at "
        "least as many as the others."
    )


def _count_mafia(view: MafiaView) -> str:
    mafia = sum(role_of(agent) == MAFIA for agent in view.names)
    return "One of them is" if mafia == 1 else f"{mafia} of them are"


def _detective(view: MafiaView) -> str:
    return next(agent for agent in view.names if role_of(agent) == DETECTIVE)


def _tell(view: MafiaView, day: Day) -> Iterator[str]:
    if day.killed is None:
        yield "Nobody was killed in the night."
    else:
        yield f"{_name_role(view, day.killed)} was killed in the night."
    for agent in view.listed:
        if agent in day.messages:
            yield f"{view.names[agent]}: {day.messages[agent] or '(nothing)'}"
    if day.votes:
        cast = [
            f"{view.names[a]} {_name(view, day.votes[a])}" for a in view.listed if a in day.votes
        ]
        if cast:
            yield f"Votes: {', '.join(cast)}."
        yield (
            f"{_name_role(view, day.removed)} was removed."
            if day.removed
            else "Nobody was removed."
        )


def _ask(view: MafiaView) -> list[str]:
    state = view.state
    if not view.acts:
        return ["The game is over." if view.over else "You wait."]
    if state.phase == TALK:
        return [
            f"Day {len(state.days)}. Say something to all players, in at most {view.words} words. They speak "
            "at the same time.",
            "",
            "Your message:",
        ]
    if state.phase == NIGHT:
        number = len(state.days) + 1
        if role_of(view.agent) == MAFIA:
            ask = f"Night {number}. Whom does the mafia kill?"
        else:
            ask = f"Night {number}. Whom {'does the detective' if view.plays_village else 'do you'} check?"
    elif view.plays_village:
        ask = f"Day {len(state.days)}. Whom does the village remove?"
    else:
        ask = f"Day {len(state.days)}. For whose removal do you vote?"
    choices = ", ".join(_name(view, choice) for choice in state.choices(view.agent))
    return [
        f'{ask} One of: {choices}. End your answer with a line "Answer: " and the name.',
        "",
        "Your answer:",
    ]


def _friends(view: MafiaView) -> list[str]:
    if role_of(view.agent) != MAFIA:
        return []
    return [a for a in view.names if role_of(a) == MAFIA and a != view.agent]


def _name(view: MafiaView, agent: str | None) -> str:
    return "-" if agent is None else NOBODY if agent == NOBODY else view.names[agent]


def _name_role(view: MafiaView, agent: str | None) -> str:
    return "-" if agent is None else f"{view.names[agent]} ({role_of(agent)})"
