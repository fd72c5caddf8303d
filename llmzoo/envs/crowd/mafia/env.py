"""# Mafia

A game of hidden roles. The mafia know each other and kill one of the others each night. By day all players talk, and
then vote on whom to remove. The village wins when no mafia is left.

| | |
|---|---|
| id | `mafia_v0` |
| agents | `mafia_0`, `detective_1`, `villager_2` to `villager_5`; with `num_agents` 5 to 8 and `mafia` 1 to 3, in this order of roles; with `num_agents=1`: `village_0`, who decides for the village |
| observation, action | text |
| rounds | up to `days` (as many as players) of a night, a talk and a vote; with `num_agents=1` no talk |
| success | each player its own, that it is there at the end and its side wins |

An agent's name says its role to you, and to no player: in the texts, players have names that are drawn for each
episode and listed by alphabet.

**Nights.** The mafia and the detective act at the same time. Each mafia names a player of the village; whoever is named
most often is killed, and chance decides a tie. The detective names a player and learns whether it is mafia.

**Days.** All players write a message at the same time. Its first `words` (30) words are heard by all, on one line
and with at most 12 characters for each word. Then all vote at the same time, for the removal of another player or of
`nobody`. Whoever has the most votes is removed; a tie removes nobody. The role of a player who is killed or removed is
shown.

**Actions.** A message, or the name of a player, read as in [other games](../adapters/discrete.md): `Answer: Ada`, or
the name alone. An answer that names nobody who may be named, or several, counts as no choice.

**The end.** The village wins when no mafia is left, and the mafia when it is at least as many as the others. After
`days` days without a decision the game is truncated, and both sides have lost.

**One agent.** With `num_agents=1`, `village_0` plays the village. By night, while the detective is alive, it names whom
the detective checks, and by day whom the village removes, or `nobody`. There is no talk, because it has nobody to tell. Whom
it names is removed, because all of the village has more votes than the mafia. It knows who the detective is and what the
detective found. It does not know who the villagers are: together they know that all others are mafia, and an agent that is told
so wins every game (a test plays 500). So the form keeps what the game is about, to find the mafia, and leaves out what
comes of many agents: checks that must be told and believed, and votes that must agree. The environment plays the
mafia, which kills any of the others, drawn from the seed of the episode. The rewards are those of an agent of the
village that stays to the end. A game without a decision ends and is lost.

**Rewards**

| part | worth |
|---|---|
| game | after each night and each vote, to all who were there: the change of what the position is worth to their side |
| malformed | -0.1 for a message that is empty or longer than 20,000 characters, and for an answer that names nobody who may be named |

A position is worth 2p - 1 to a side whose chance to win is p if all play at random from there on: 1 when it has won, -1 when
it has lost. The start is worth 0. So whoever stays to the end earns 1 or -1 in all, and the changes on the way are
potential-based: they favour no other play. Whoever is killed or removed leaves the episode
and has earned what the position without it is worth to its side, since nothing can be paid to an agent that has left. The
chances are exact (`village_win_probability` computes them by dynamic programming).

At each moment the worth of a position to one side is minus that to the other: the game is zero-sum between the
sides, though not over single agents, because sides differ in size. Only a game without a decision is lost by both, so that
nobody gains by idling. An agent of a side that is going to lose earns more if
it leaves early, so judge play by the outcome of games and not by the returns of single agents.

At the end `infos[agent]["outcomes"]` says for each agent whether its side has `won` or `lost`, also of those that left
before. `metadata["sides"]` lists the agents of both sides.

**Random play.** The chance that the village wins if all choices are random (a test plays them):

| | 5 players | 6 | 7 | 8 |
|---|---|---|---|---|
| 1 mafia | 17.8% | 23.5% | 27.4% | 30.5% |
| 2 mafia | | 2.3% | 4.0% | 6.0% |
| 3 mafia | | | | 0.4% |

**Leagues and opponents.** In a [league](../leagues.md#leagues), a player is the mafia in one game of a deal and the
village in the other. With `opponents`, all agents of one side learn in each episode, and a frozen copy plays the other
side. Both read who has won from `outcomes`, so they count agents that have left, and a game without a decision is a draw.
The odds of the sides differ, but everybody plays both, so equal players have a score and a win rate of one half. A run's
`policies` and `agent_args` take patterns such as `villager_*`. `metadata["sides"]` holds self-play to its start.

**Arguments.** `num_agents` (6; 5 to 8, or 1), `players` (None: as many as agents, or 6 for one agent), `mafia` (None: 1,
with 8 players 2; less than half of `players` - 1), `detective` (True, which one agent requires), `words` of a message (30; 5
to 100), `days` (None: as many as players; 1 to 8), `prompt` ("full" or "terse"), `split` ("train", "test", "all"),
`render_mode`. Terse prompts call players 1, 2, 3.

**Observations** hold the whole game so far, so their length is bounded by `players`, `days` and `words`.

**Cost**, when experts play, in tokens of SmolLM2 and milliseconds on one core:

| | 5 players | 8 |
|---|---|---|
| tokens of a prompt, mean (most), full | 252 (352) | 339 (503) |
| tokens of a prompt, mean (most), terse | 53 (131) | 119 (250) |
| tokens of an episode, full | 3,100 | 11,600 |
| a step | 0.2 ms | below 0.5 ms |

**Splits.** A game has no tasks to hold out: train and test have other seeds, which decide names and ties.

**The scripted experts** use nothing but what their prompts show. The village computes, for each player, the share of
all assignments of roles that agree with what is known and was claimed, and votes for the most likely mafia, the first by
alphabet if several are; so it never votes against public evidence. The detective checks the most suspicious player and
reports a mafia as soon as it has found one. The mafia kills whoever claims to be the detective, claims nothing,
and votes like a villager, but not for its own. The expert `village_0` plays best, by dynamic programming. A noisy expert
makes three choices in four at random.

**What one agent wins.** The share of the first 500 test games that the village wins when experts play:

| | 5 players, 1 mafia | 6, 1 mafia | 7, 1 mafia | 8, 2 mafia |
|---|---|---|---|---|
| one agent, exact | 85.4% | 91.0% | 90.8% | 75.6% |
| one agent, played | 85.6% [82.3%, 88.4%] | 91.2% [88.4%, 93.4%] | 91.0% [88.2%, 93.2%] | 74.8% [70.8%, 78.4%] |
| an agent for each, the same mafia | 45.2% [40.9%, 49.6%] | 57.8% [53.4%, 62.1%] | 51.4% [47.0%, 55.8%] | 25.0% [21.4%, 29.0%] |
| an agent for each, the experts' mafia | 42.0% [37.8%, 46.4%] | 42.4% [38.1%, 46.8%] | 38.2% [34.0%, 42.5%] | 13.8% [11.1%, 17.1%] |

These commands play the second and the last row (`won` of the detective); other columns have other numbers of players:

```text
llmzoo eval --env mafia_v0 --env.num_agents 1 --env.players 6 --split test --tasks 500 --policy expert
llmzoo eval --env mafia_v0 --env.num_agents 6 --split test --tasks 500 --policy expert
```

In the third row the mafia draws its victim as in the second, unless someone has reported a check; it speaks and votes as in the
last (`pytest -m '' tests/envs/crowd/test_mafia_village.py -k separate`). A game has the same names in every row. The
experts' mafia kills the last by name, while the village votes for the first. An agent that reads this order needs no
detective, so against one agent the mafia draws.

The second row less the third is what the village loses by being several, and also what its experts lose because they do not
plan ahead. With 6 and 8 players the latter is nothing: one agent that decides like the separate experts wins 92.6% and
74.6% of the games. With 5 and 7 it wins 60.0% and 80.0%, because it removes somebody where it should wait for a check.

Source: the game of Mafia (D. Davidoff, 1986). The texts are ours.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, make_env_fns
from llmzoo.envs.crowd.crowd_env import count_members
from llmzoo.envs.crowd.mafia import best_play, game, players, prompts
from llmzoo.envs.crowd.mafia.game import DETECTIVE, NOBODY, VILLAGER, MafiaState, role_of
from llmzoo.envs.crowd.mafia.odds import (
    MAFIA,
    NIGHT,
    TALK,
    VILLAGE,
    VOTE,
    village_win_probability,
)
from llmzoo.envs.crowd.word_limit import limit_words
from llmzoo.envs.moves import MoveNames, UnreadableError
from llmzoo.envs.tasks import content_id
from llmzoo.envs.turn_game import TurnGame
from llmzoo.errors import ConfigError

MALFORMED = -0.1
PHASES = (NIGHT, TALK, VOTE)
FEWEST_PLAYERS, DEFAULT_PLAYERS = 5, 6
SLOPPY = 0.75  # how often a noisy expert chooses at random


def side_of(agent: str) -> str:
    return MAFIA if role_of(agent) == MAFIA else VILLAGE


class Mafia(TurnGame[MafiaState]):
    """Mafia with 5 to 8 players."""

    metadata: dict[str, Any] = {**TurnGame.metadata, "name": "mafia_v0"}

    def __init__(
        self,
        *,
        num_agents: int = 6,
        players: int | None = None,
        mafia: int | None = None,
        detective: bool = True,
        words: int = 30,
        days: int | None = None,
        prompt: Literal["full", "terse"] = "full",
        split: str = "train",
        render_mode: str | None = None,
    ):
        count = count_members("players", num_agents, players, DEFAULT_PLAYERS, FEWEST_PLAYERS)
        mafia = (1 if count < 8 else 2) if mafia is None else mafia
        check_range("mafia", mafia, 1, (count - 2) // 2)
        check_range("words", words, 5, 100)
        days = count if days is None else days
        check_range("days", days, 1, 8)
        self.alone = num_agents == 1
        if self.alone and not detective:
            raise ConfigError(
                "num_agents=1 requires detective=True: it has the votes and the checks"
            )
        roles = [MAFIA] * mafia + [DETECTIVE] * bool(detective)
        roles += [VILLAGER] * (count - len(roles))
        members = [f"{role}_{number}" for number, role in enumerate(roles)]
        super().__init__(
            "mafia_v0",
            [f"{VILLAGE}_0"] if self.alone else members,
            max_turns=len(PHASES) * days,
            prompt=prompt,
            split=split,
            render_mode=render_mode,
        )
        self.simultaneous = True  # those that act by night, and all by day
        self.metadata["sides"] = [] if self.alone else [members[:mafia], members[mafia:]]
        self.members = members
        self.words = words
        self.days = days

    def start(self, seed: int) -> MafiaState:
        return game.start_game(seed, self.members)

    def acting(self, state: MafiaState) -> tuple[str, ...]:
        if state.winner is not None:
            return ()
        return tuple(self.possible_agents) if self.alone else state.acting

    def task_info(self) -> Mapping[str, Any]:
        content = content_id(f"mafia {self.members} {self.episode.seed}")
        return {**super().task_info(), "source": "rules", "task_id": content}

    def names(self, state: MafiaState) -> dict[str, str]:
        """What each player is called in this prompt style."""
        if self.prompt_style == "full":
            return dict(state.names)
        listed = sorted(state.names, key=state.names.__getitem__)
        return {agent: str(number) for number, agent in enumerate(listed, 1)}

    def apply(self, state: MafiaState, actions: Mapping[str, str]) -> tuple[MafiaState, Outcome]:
        if state.phase == TALK:
            found = {agent: limit_words(text, self.words) for agent, text in actions.items()}
            heard = {agent: message for agent, (message, _) in found.items()}
            errors = {agent: error for agent, (_, error) in found.items() if error}
            after = game.end_talk(state, heard)
            misread = [agent for agent, message in heard.items() if not message]
        else:
            choices, errors = self._read_choices(state, actions)
            if self.alone:
                (choice,) = choices.values()
                after = self._decide(state, choice)
            else:
                after = (game.end_night if state.phase == NIGHT else game.end_vote)(state, choices)
            misread = list(errors)
        after = replace(after, errors=errors)
        local = {agent: {"malformed": MALFORMED} for agent in misread}
        paid = self.possible_agents if self.alone else state.alive
        for agent in paid if state.phase != TALK else ():
            change = self._worth(after, agent) - self._worth(state, agent)
            local[agent] = {**local.get(agent, {}), "game": change}
        if after.winner or (self.alone and self._is_undecided(after)):
            return after, Outcome(local=local, errors=errors, done=True)
        present = None if self.alone else after.alive
        return after, Outcome(local=local, errors=errors, agents=present)

    def _decide(self, state: MafiaState, choice: str | None) -> MafiaState:
        """The next position in which one agent that plays the village has something to decide.

        It checks and removes whom it names. The scripted mafia kills, and no day has a talk.
        """
        if state.phase == VOTE:
            state, choice = game.end_vote(state, {f"{VILLAGE}_0": choice}), None
            if state.winner or self._is_undecided(state) or state.living(DETECTIVE):
                return state
        choices = dict.fromkeys(state.living(DETECTIVE), choice)
        choices |= dict.fromkeys(state.living(MAFIA), players.draw_victim(state))
        return replace(game.end_night(state, choices), phase=VOTE)

    def _worth(self, state: MafiaState, agent: str) -> float:
        """From -1 to 1: what a position is worth to the side of ``agent`` if all play at random from there on.

        0 at the start, so that an agent that stays to the end earns 1 or -1 in all.
        """
        if not state.days:
            return 0.0
        if self._is_undecided(state):
            return -1.0
        phase = NIGHT if state.phase == NIGHT else VOTE
        worth = 2 * village_win_probability(*state.counts, phase) - 1
        return worth if side_of(agent) == VILLAGE else -worth

    def _is_undecided(self, state: MafiaState) -> bool:
        over = state.phase == NIGHT and len(state.days) == self.days
        return over and state.winner is None

    def _read_choices(
        self, state: MafiaState, actions: Mapping[str, str]
    ) -> tuple[dict[str, str | None], dict[str, str]]:
        """Whom each player names, None for an answer that cannot be read, and why it cannot."""
        names = {**self.names(state), NOBODY: NOBODY}
        choices: dict[str, str | None] = {}
        errors = {}
        for agent, text in actions.items():
            possible = state.choices(agent)
            choices[agent] = None
            try:
                if len(text) > MAX_ACTION_CHARS:
                    raise UnreadableError(f"longer than {MAX_ACTION_CHARS} characters")
                number = MoveNames([names[a] for a in possible]).read(text)
                choices[agent] = possible[number]
            except UnreadableError as reason:
                errors[agent] = f"malformed: {reason}"
        return choices, errors

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """``success`` and ``won``: whether the agent's side has won. ``outcomes``: of each agent, at the end."""
        winner = self.episode.winner
        won = winner == side_of(agent)
        outcomes = {
            other: "won" if winner == side_of(other) else "lost" for other in self.possible_agents
        }
        over = winner is not None or self._is_undecided(self.episode)
        return {"success": won, "won": won, **({"outcomes": outcomes} if over else {})}

    def observation(self, state: MafiaState, agent: str) -> str:
        view = prompts.MafiaView(
            state=state,
            agent=agent,
            names=self.names(state),
            words=self.words,
            over=state.winner is not None or self._is_undecided(state),
        )
        return prompts.write_prompt(view, terse=self.prompt_style == "terse")

    # For people and scripts

    def board(self) -> str:
        state = self.episode
        lines = [
            f"{state.names[agent]}: {role_of(agent)}{'' if agent in state.alive else ', gone'}"
            for agent in sorted(state.names, key=state.names.__getitem__)
        ]
        return "\n".join([f"day {len(state.days)}, {state.phase}", *lines])

    def expert(self, agent: str) -> str:
        state = self.episode
        names = self.names(state)
        if self.alone:
            best = best_play.choose_for_village(state, state.choices(agent), self.days)
            return self._format_choice(best)
        claims = list(players.read_claims(state, names))
        if state.phase == TALK:
            return players.speak(state, agent, names, claims)
        return self._format_choice(players.choose(state, agent, claims))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """The expert's action, or three times in four a random one."""
        return self.random_move(agent, rng) if rng.random() < SLOPPY else self.expert(agent)

    def random_move(self, agent: str, rng: random.Random) -> str:
        """Nothing of interest in a talk, and otherwise a player that may be named, drawn uniformly."""
        if self.episode.phase == TALK:
            return players.SILENCE
        return self._format_choice(rng.choice(self.episode.choices(agent)))

    def _format_choice(self, agent: str) -> str:
        name = {**self.names(self.episode), NOBODY: NOBODY}[agent]
        return name if self.prompt_style == "terse" else f"Answer: {name}"


raw_env = Mafia
env, parallel_env = make_env_fns(Mafia)
