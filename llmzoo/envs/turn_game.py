"""Games whose rules say who acts next.

A game has seeds and no tasks. Train gets even seeds and test odd ones (:func:`episode_seed`), so that no
episode is in both. In a game without chance all episodes begin alike, and the splits do not differ.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, State, TextEnv
from llmzoo.envs.moves import MoveNames, UnreadableError
from llmzoo.envs.tasks import check_split
from llmzoo.errors import ConfigError

_SEEDS = 2**30  # of unnumbered episodes


def episode_seed(seed: int, split: str) -> int:
    """The seed with which episode ``seed`` of a split is played.

    A game without tasks has seeds only. Train gets even ones and test odd ones, so no episode is in
    both; ``"all"`` gets every seed. In a game without chance, such as tic-tac-toe, all episodes begin
    alike, so the splits do not differ.
    """
    check_split(split)
    return seed if split == "all" else 2 * seed + (split == "test")


class TurnGame(TextEnv[State]):
    """A game whose rules decide who acts next.

    A subclass supplies :meth:`start`, :meth:`acting`, :meth:`TextEnv.apply` and :meth:`TextEnv.observation`. The
    reward components are local, and ``game`` is what the game itself pays.

    max_turns: answers in all, after which the episode is truncated.
    """

    def __init__(
        self,
        name: str,
        agents: list[str],
        *,
        max_turns: int = 300,
        prompt: Literal["full", "terse"] = "full",
        split: str = "train",
        render_mode: str | None = None,
    ):
        super().__init__(agents, max_turns=max_turns, render_mode=render_mode)
        self.metadata = {
            **self.metadata,
            "name": name,
            "team_components": [],
            "team_and_local": False,
            "delayed_reward_agents": list(agents) if len(agents) > 1 else [],
        }
        self.split = check_split(split)
        self.prompt_style = prompt

    def start(self, seed: int) -> State:
        """The state at the start of the game of this seed."""
        raise NotImplementedError

    def acting(self, state: State) -> tuple[str, ...]:
        raise NotImplementedError

    def reset_task(self, rng: random.Random, task: int | str | None) -> State:
        number = rng.randrange(_SEEDS) if task is None else int(task)
        return self.start(episode_seed(number, self.split))

    def task_info(self) -> Mapping[str, Any]:
        return {
            "source": self.metadata["name"].partition(":")[0],
            "split": self.split,
            "tasks": None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveState:
    """What the state of a :class:`MoveGame` has.

    misses: the wrong answers of the player in this turn. forfeited: whether they ended the game.
    """

    misses: int = 0
    forfeited: bool = False


MoveStateT = TypeVar("MoveStateT", bound=MoveState)


class MoveGame(TurnGame[MoveStateT]):
    """A game in which a turn is one legal move, named in free text.

    A subclass supplies ``start``, ``acting``, ``observation``, :meth:`choices` and :meth:`move`.

    tries: answers that a player has for one turn; after that many wrong ones it forfeits.
    illegal_penalty: what a wrong answer costs. Nothing is played in its place.
    forfeit_penalty: the additional cost of forfeiting. The game is then over, and the others are paid
        nothing.
    """

    def __init__(
        self,
        name: str,
        agents: list[str],
        *,
        tries: int = 2,
        illegal_penalty: float = 0.1,
        forfeit_penalty: float,
        **options: Any,
    ):
        if tries < 1 or illegal_penalty < 0 or forfeit_penalty < 0:
            raise ConfigError(
                f"tries is at least 1 and penalties are 0 or more, got tries={tries}, "
                f"illegal_penalty={illegal_penalty}, forfeit_penalty={forfeit_penalty}"
            )
        super().__init__(name, agents, **options)
        self.metadata["retries"] = tries > 1
        self.tries = tries
        self._penalties = (illegal_penalty, forfeit_penalty)

    def choices(self, state: MoveStateT, agent: str) -> MoveNames:
        """The legal moves of the agent whose turn it is."""
        raise NotImplementedError

    def move(self, state: MoveStateT, agent: str, number: int) -> tuple[MoveStateT, Outcome]:
        """Play ``choices(state, agent).names[number]``."""
        raise NotImplementedError

    def apply(self, state: MoveStateT, actions: Mapping[str, str]) -> tuple[MoveStateT, Outcome]:
        ((agent, text),) = actions.items()
        try:
            if len(text) > MAX_ACTION_CHARS:
                raise UnreadableError(f"it is longer than {MAX_ACTION_CHARS} characters")
            number = self.choices(state, agent).read(text)
        except UnreadableError as error:
            return self._reject_move(state, agent, str(error))
        return self.move(replace(state, misses=0) if state.misses else state, agent, number)

    def refusal(self, state: MoveStateT, agent: str) -> str:
        """What the agent is told of its last answer; "" if it was no wrong one."""
        error = self.infos[agent]["error"] if agent in self.infos else None
        if error is None or not state.misses:
            return ""
        left = self.tries - state.misses
        return f"Your answer was refused: {error}. Tries left: {left}"

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        return self.random_move(agent, rng)

    def random_move(self, agent: str, rng: random.Random) -> str:
        """A legal move, drawn uniformly."""
        return self.format_move(rng.choice(self.choices(self.episode, agent).names))

    def format_move(self, move: str) -> str:
        """An answer that names a move, in the form that the prompt asks for."""
        return move if self.prompt_style == "terse" else f"Move: {move}"

    def _reject_move(self, state: MoveStateT, agent: str, error: str) -> tuple[MoveStateT, Outcome]:
        illegal, forfeit = self._penalties
        misses = state.misses + 1
        over = misses == self.tries
        components = {"illegal": -illegal, **({"forfeit": -forfeit} if over else {})}
        rejected = replace(state, misses=misses, forfeited=over)
        return rejected, Outcome(local={agent: components}, errors={agent: error}, done=over)
