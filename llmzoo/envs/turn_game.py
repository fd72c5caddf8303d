"""Games whose rules say who acts next.

A game has seeds and no tasks. Train gets even seeds and test odd ones (:func:`episode_seed`), so that no
episode is in both. In a game without chance all episodes begin alike, and the splits do not differ.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from llmzoo.envs.argument_checks import check_choice
from llmzoo.envs.base import MAX_ACTION_CHARS, Outcome, TextEnv
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


class TurnGame(TextEnv):
    """A game whose rules decide who acts next.

    A subclass supplies :meth:`start`, :meth:`play`, :meth:`agents_to_act` and :meth:`TextEnv.observation`. The
    reward components are local, and ``game`` is what the game itself pays.

    max_turns: answers in all, after which the episode is truncated.
    """

    def __init__(
        self,
        name: str,
        agents: list[str],
        *,
        max_turns: int,
        prompt: str,
        split: str,
        render_mode: str | None,
    ):
        check_choice("prompt", prompt, ("full", "terse"))
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

    def start(self, seed: int) -> None:
        """Set ``self.episode`` to the start of the game of this seed."""
        raise NotImplementedError

    def agents_to_act(self) -> list[str]:
        raise NotImplementedError

    def reset_task(self, rng: random.Random, task: int | str | None) -> None:
        number = rng.randrange(_SEEDS) if task is None else int(task)
        self.start(episode_seed(number, self.split))

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        super().reset(seed, options)
        self._select(self.agents_to_act()[0])

    def task_info(self) -> Mapping[str, Any]:
        return {
            "source": self.metadata["name"].partition(":")[0],
            "split": self.split,
            "tasks": None,
        }

    def step(self, action: str | None) -> None:
        agent = self.agent_selection
        if not self._begin_step(agent, action):
            return
        assert action is not None
        outcome: Outcome = self.play(agent, action)
        self._apply_outcome(outcome)
        self._accumulate_rewards()
        self.turn += 1
        ended = outcome.done
        if not ended and self.turn >= self.max_turns:
            ended = True
            self.truncations = dict.fromkeys(self.agents, True)
        if ended:
            self.infos = {a: {**info, **self.final_info(a)} for a, info in self.infos.items()}
        else:
            self._select(self.agents_to_act()[0])
        if self.render_mode == "human":
            self.render()


class MoveGame(TurnGame):
    """A game in which a turn is one legal move, named in free text.

    A subclass supplies :meth:`choices` and :meth:`move`. ``self.episode`` is a dataclass with the fields
    ``misses``, the wrong answers of the player in this turn, and ``forfeited``.

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
        tries: int,
        illegal_penalty: float,
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

    def choices(self, agent: str) -> MoveNames:
        """The legal moves of the agent whose turn it is."""
        raise NotImplementedError

    def move(self, agent: str, number: int) -> Outcome:
        """Play ``choices(agent).names[number]``."""
        raise NotImplementedError

    def play(self, agent: str, text: str) -> Outcome:
        try:
            if len(text) > MAX_ACTION_CHARS:
                raise UnreadableError(f"it is longer than {MAX_ACTION_CHARS} characters")
            number = self.choices(agent).read(text)
        except UnreadableError as error:
            return self._reject_move(agent, str(error))
        if self.episode.misses:
            self.episode = replace(self.episode, misses=0)
        return self.move(agent, number)

    def refusal(self, agent: str) -> str:
        """What the agent is told of its last answer; "" if it was no wrong one."""
        error = self.infos[agent]["error"] if agent in self.infos else None
        if error is None or not self.episode.misses:
            return ""
        left = self.tries - self.episode.misses
        return f"Your answer was refused: {error}. Tries left: {left}"

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        return self.random_move(agent, rng)

    def random_move(self, agent: str, rng: random.Random) -> str:
        """A legal move, drawn uniformly."""
        return self.format_move(rng.choice(self.choices(agent).names))

    def format_move(self, move: str) -> str:
        """An answer that names a move, in the form that the prompt asks for."""
        return move if self.prompt_style == "terse" else f"Move: {move}"

    def _reject_move(self, agent: str, error: str) -> Outcome:
        illegal, forfeit = self._penalties
        misses = self.episode.misses + 1
        over = misses == self.tries
        self.episode = replace(self.episode, misses=misses, forfeited=over)
        parts = {"illegal": -illegal, **({"forfeit": -forfeit} if over else {})}
        return Outcome(local={agent: parts}, errors={agent: error}, done=over)
