"""Games whose state cannot be copied: a copy of an episode plays the same answers again."""

from __future__ import annotations

import random
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from llmzoo.envs.base import MAX_OBSERVATION_CHARS, Outcome
from llmzoo.envs.text import replace_surrogates
from llmzoo.envs.turn_game import TurnGame
from llmzoo.errors import LlmzooError

MAX_CHARS = 2_000  # of an answer that a game is given
FORFEIT = -1.0  # for an answer on which a game raises
_BRACKETS = re.compile(r"\[[^\[\]\n]{1,20}\]")


class ReplayError(LlmzooError, RuntimeError):
    """A game that shows something else when the same answers are played again."""


class GameEngine(Protocol):
    """A running game of another collection. Its calls may raise whatever the game raises."""

    def step(self, text: str) -> bool:
        """Take an answer of the player whose turn it is; whether the game is over."""

    def observe(self) -> tuple[int, str]:
        """Whose turn it is, and what that player reads. Called once before each step."""

    def last_rewards(self) -> Mapping[int, float]:
        """The rewards of the last step, by player."""

    def last_error(self, player: int) -> str:
        """What was wrong with the last answer, by the game's own rules; "" for nothing."""


class _LiveEngine:
    """The running engine of an episode, which its copies share. The first copy to step takes it."""

    def __init__(self, engine: GameEngine):
        self._engine: GameEngine | None = engine
        self._lock = threading.Lock()

    def take(self) -> GameEngine | None:
        with self._lock:
            engine, self._engine = self._engine, None
        return engine


@dataclass(frozen=True, slots=True)
class ReplayState:
    """The state of an episode: its seed, the answers so far, what each player read last, whose turn it is."""

    seed: int
    live: _LiveEngine
    answers: tuple[str, ...] = ()
    read: Mapping[int, str] = field(default_factory=dict)
    player: int = 0

    def with_observation(self, engine: GameEngine) -> ReplayState:
        """The episode after the next player has read its observation."""
        player, shown = engine.observe()
        shown = replace_surrogates(shown).strip()[-MAX_OBSERVATION_CHARS:]
        return replace(self, player=player, read={**self.read, player: shown})


class ReplayedGame(TurnGame[ReplayState]):
    """A game that :meth:`engine` starts. Its randomness must come only from the seed that it gets there.

    A text of over 2,000 characters is malformed, and the game is given an empty one. A text on which the
    game raises ends the episode, and its player gets the reward component ``forfeit`` (-1).
    """

    def engine(self, seed: int) -> GameEngine:
        raise NotImplementedError

    def start(self, seed: int) -> ReplayState:
        engine = self.engine(seed)
        return ReplayState(seed, _LiveEngine(engine)).with_observation(engine)

    def acting(self, state: ReplayState) -> tuple[str, ...]:
        return (self.possible_agents[state.player],)

    def apply(self, state: ReplayState, actions: Mapping[str, str]) -> tuple[ReplayState, Outcome]:
        ((agent, text),) = actions.items()
        error = f"malformed: longer than {MAX_CHARS} characters" if len(text) > MAX_CHARS else ""
        given = "" if error else replace_surrogates(text)
        engine = state.live.take() or self._replay(state)
        after = replace(state, live=_LiveEngine(engine), answers=(*state.answers, given))
        try:
            done = engine.step(given)
            rewards = dict(engine.last_rewards())
            after = after if done else after.with_observation(engine)
            error = error or engine.last_error(state.player)
        except Exception as fault:  # whatever a game raises on a text that it did not expect
            error = f"malformed: the game raised {type(fault).__name__}"
            forfeit = {agent: {"forfeit": FORFEIT}}
            return state, Outcome(local=forfeit, errors={agent: error}, done=True)
        first = rewards.get(0, 0.0)
        local = {
            a: {"game": rewards[p]} for p, a in enumerate(self.possible_agents) if rewards.get(p)
        }
        return after, Outcome(
            local=local,
            done=done,
            errors={agent: error} if error else {},
            success=done and (first >= 1.0 if len(self.possible_agents) == 1 else first > 0.0),
        )

    def observation(self, state: ReplayState, agent: str) -> str:
        return state.read.get(self.possible_agents.index(agent), "It is not your turn yet.")

    def final_info(self, agent: str) -> Mapping[str, Any]:
        """``success``, and ``won``: whether the last payment to the agent itself was more than 0."""
        won = self.infos[agent]["reward_components"].get("game", 0.0) > 0.0
        return {**super().final_info(agent), "won": won}

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        """Something in brackets from the rules or the board, or a small number in brackets."""
        shown = _BRACKETS.findall(self.observe(agent))
        return rng.choice(shown) if shown and rng.random() < 0.9 else f"[{rng.randrange(9)}]"

    def _replay(self, expected: ReplayState) -> GameEngine:
        """The game in the state of an episode. Raises :class:`ReplayError` if it shows something else."""
        engine = self.engine(expected.seed)
        state = ReplayState(expected.seed, expected.live).with_observation(engine)
        for answer in expected.answers:
            engine.step(answer)
            state = state.with_observation(engine)
        if (state.player, state.read) != (expected.player, expected.read):
            raise ReplayError(
                f"{self.metadata['name']} showed something else when the same answers were played again; "
                "train on whole episodes: --learner ippo copies nothing"
            )
        return engine
