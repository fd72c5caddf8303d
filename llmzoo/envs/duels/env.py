"""A game of two players in words: prompts, illegal answers, payments, forks."""

from __future__ import annotations

import copy
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Generic, Literal

from llmzoo.envs.base import Outcome
from llmzoo.envs.drawing import Board
from llmzoo.envs.duels.rules import GameRules, S
from llmzoo.envs.moves import MoveNames
from llmzoo.envs.tasks import content_id
from llmzoo.envs.turn_game import MoveGame, MoveState

PLAYERS = ["player_0", "player_1"]
MAX_TURNS = 400  # of any game here; none takes as long


@dataclass(frozen=True, slots=True)
class DuelState(MoveState, Generic[S]):
    """The state of an episode: the seed of its chance, where the game stands, and how often chance has moved."""

    seed: int
    position: S
    draws: int = 0


class Duel(MoveGame[DuelState[S]], Generic[S]):
    """A game of two players by its :class:`GameRules`.

    A subclass supplies ``rules`` and, for a scripted expert, :meth:`advice`.
    """

    rules: GameRules[S]
    forfeit: ClassVar[float] = 2.0  # the default of forfeit_penalty: at least the worst defeat
    metadata: dict[str, Any] = {**MoveGame.metadata, "team_components": [], "team_and_local": False}

    def __init__(
        self,
        *,
        tries: int = 2,
        illegal_penalty: float = 0.1,
        forfeit_penalty: float | None = None,
        prompt: Literal["full", "terse"] = "full",
        split: str = "train",
        render_mode: str | None = None,
    ):
        super().__init__(
            self.metadata["name"],
            list(PLAYERS),
            tries=tries,
            illegal_penalty=illegal_penalty,
            forfeit_penalty=self.forfeit if forfeit_penalty is None else forfeit_penalty,
            max_turns=MAX_TURNS,
            prompt=prompt,
            split=split,
            render_mode=render_mode,
        )
        if self.rules.is_common_payoff:
            self.metadata |= {"team_components": ["game"], "team_and_local": True}
        else:
            self.metadata["sides"] = [[agent] for agent in self.possible_agents]

    # What a game may supply

    def advice(self, player: int, rng: random.Random) -> str:
        """The expert's move. ``rng`` is for mixed strategies."""
        return str(super().expert(PLAYERS[player]))

    # The game

    def start(self, seed: int) -> DuelState[S]:
        return self._resolve_chance(DuelState(seed, self.rules.start()))

    def acting(self, state: DuelState[S]) -> tuple[str, ...]:
        player = _current_player(self.rules, state.position)
        return () if player is None else (PLAYERS[player],)

    def choices(self, state: DuelState[S], agent: str) -> MoveNames:
        return _legal_moves(self.rules, state.position)

    def move(self, state: DuelState[S], agent: str, number: int) -> tuple[DuelState[S], Outcome]:
        moved = self.rules.after(state.position, self.choices(state, agent).names[number])
        state = self._resolve_chance(DuelState(state.seed, moved, state.draws))
        if _current_player(self.rules, state.position) is not None:
            return state, Outcome()
        paid = self.rules.returns(state.position)
        if self.rules.is_common_payoff:
            best = paid[0] >= self.rules.most
            return state, Outcome(team={"game": paid[0]}, done=True, success=best)
        local = {a: {"game": p} for a, p in zip(PLAYERS, paid, strict=True)}
        return state, Outcome(local=local, done=True, success=paid[0] > paid[1])

    def task_info(self) -> Mapping[str, Any]:
        content = content_id(f"{self.metadata['name']} {self.episode.seed}")
        return {"source": "rules", "split": self.split, "tasks": None, "task_id": content}

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """``success``, and ``won``: whether the agent itself was paid more than the other.

        Both are the same unless the players are paid alike. Where they are not, ``outcomes`` says of each
        player whether it has ``won``, ``drawn`` or ``lost``; after a forfeit both have lost.
        """
        if self.rules.is_common_payoff:
            return {**super().final_info(agent), "won": False}
        outcomes = dict(zip(PLAYERS, self._outcomes(), strict=True))
        won = outcomes[agent] == "won"
        return {**super().final_info(agent), "success": won, "won": won, "outcomes": outcomes}

    def _outcomes(self) -> tuple[str, str]:
        if self.episode.forfeited:
            return "lost", "lost"
        first, second = self.rules.returns(self.episode.position)
        if first == second:
            return "drawn", "drawn"
        return ("won", "lost") if first > second else ("lost", "won")

    def with_state(self, state: S, seed: int = 0) -> Duel[S]:
        """A game in this state, where a player is to move; ``seed`` is that of its chance."""
        game = copy.copy(self)
        game.reset(seed=seed)
        game.episode = DuelState(seed, state)
        game._select_acting()
        return game

    # What a player reads

    def observation(self, state: DuelState[S], agent: str) -> str:
        playing, number, rules = state.position, PLAYERS.index(agent), self.rules
        over = state.forfeited or _current_player(rules, playing) is None
        if self.prompt_style == "terse":
            return self._brief(state, agent, over)
        lines = [
            f"You are {agent} in {rules.name}.",
            rules.words(),
            rules.information_text(playing, number),
        ]
        if over:
            return "\n\n".join([*lines, "The game is over."])
        if number != _current_player(rules, playing):
            return "\n\n".join([*lines, f"It is the turn of {PLAYERS[1 - number]}."])
        names = self.choices(state, agent).names
        lines += [f"Legal moves: {', '.join(names)}", self.refusal(state, agent)]
        lines += ['End your answer with a line "Move: " and one of them.']
        return "\n\n".join(line for line in lines if line)

    def _brief(self, state: DuelState[S], agent: str, over: bool) -> str:
        playing, number = state.position, PLAYERS.index(agent)
        seen = f"{self.rules.short} {number} {self.rules.terse_information_text(playing, number)}"
        if over or number != _current_player(self.rules, playing):
            return f"{seen}\n{'over' if over else 'wait'}"
        listed = (
            ""
            if self.rules.has_visible_moves
            else f"\n{' '.join(self.choices(state, agent).names)}"
        )
        refused = "\nrefused" if state.misses else ""
        return f"{seen}{listed}{refused}\nmove "

    # For people and scripts

    def board(self) -> str:
        state = self.episode.position
        drawn = self.rules.board(state)
        if drawn is not None:
            return drawn.text()
        return "\n".join(
            f"{a}\n{self.rules.information_text(state, n)}" for n, a in enumerate(PLAYERS)
        )

    def picture(self) -> Board | None:
        return self.rules.board(self.episode.position)

    def expert(self, agent: str) -> str:
        playing = self.episode
        seen = self.rules.terse_information_text(playing.position, PLAYERS.index(agent))
        rng = random.Random(f"{playing.seed}/{playing.draws}/{seen}/expert")
        return self.format_move(self.advice(PLAYERS.index(agent), rng))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """The expert's move in half of the turns, otherwise any legal one."""
        return self.expert(agent) if rng.random() < 0.5 else super().noisy_expert(agent, rng)

    def _resolve_chance(self, playing: DuelState[S]) -> DuelState[S]:
        """The episode after all chance that comes before the next choice.

        A draw depends on the episode's seed and on the number of draws before it, so a copy of an
        episode draws what the episode draws.
        """
        while outcomes := _chance_outcomes(self.rules, playing.position):
            chances, states = zip(*outcomes, strict=True)
            drawn = random.Random(f"{playing.seed}/{playing.draws}").choices(states, chances)[0]
            playing = replace(playing, position=drawn, draws=playing.draws + 1)
        return playing


# asked for by the prompt, by the reader and by the move of each turn
@lru_cache(maxsize=4096)
def _current_player(rules: GameRules[S], state: S) -> int | None:
    return rules.player(state)


@lru_cache(maxsize=4096)
def _chance_outcomes(rules: GameRules[S], state: S) -> Sequence[tuple[float, S]]:
    return rules.chances(state)


@lru_cache(maxsize=4096)
def _legal_moves(rules: GameRules[S], state: S) -> MoveNames:
    return _make_moves(rules.moves(state))


@lru_cache(maxsize=1024)
def _make_moves(moves: tuple[str, ...]) -> MoveNames:
    return MoveNames(moves)
