"""The rules of a game of two players, as functions of states that never change."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar, Generic, TypeVar

from llmzoo.envs.drawing import Board

S = TypeVar("S", bound=Hashable)


class GameRules(Generic[S]):
    """A game in extensive form: chance, players 0 and 1, hidden cards, payments at the end.

    A subclass supplies the methods below. Information states are distinguished by
    :meth:`terse_information_text`, so it holds all that the player has seen since the start.

    name: of the game. short: its name in terse prompts. common: both players are paid alike;
    otherwise what one wins the other loses. small: its states can be walked through (:mod:`.exact`). most:
    the most that a player is ever paid. moves_seen: :meth:`terse_information_text` shows which moves are legal, so that
    terse prompts need not list them.
    """

    name: ClassVar[str]
    short: ClassVar[str]
    is_common_payoff: ClassVar[bool] = False
    is_enumerable: ClassVar[bool] = True
    has_visible_moves: ClassVar[bool] = False
    most: float

    def words(self) -> str:
        """The rules, for the full prompt."""
        raise NotImplementedError

    def start(self) -> S:
        raise NotImplementedError

    def chances(self, state: S) -> Sequence[tuple[float, S]]:
        """The states that chance leads to, with their probabilities; empty if a player moves next."""
        return ()

    def player(self, state: S) -> int | None:
        """Whose turn it is; None if the game is over. Not asked where chance moves next."""
        raise NotImplementedError

    def moves(self, state: S) -> tuple[str, ...]:
        """The legal moves by name, at least one while the game is not over."""
        raise NotImplementedError

    def after(self, state: S, move: str) -> S:
        """The state after a legal move."""
        raise NotImplementedError

    def returns(self, state: S) -> tuple[float, float]:
        """What each player is paid at the end of the game."""
        raise NotImplementedError

    def information_text(self, state: S, player: int) -> str:
        """What a player has seen, in words."""
        raise NotImplementedError

    def terse_information_text(self, state: S, player: int) -> str:
        """The same in few characters."""
        raise NotImplementedError

    def board(self, state: S) -> Board | None:
        """The state as a picture, for a person; None if the game has no board."""
        return None
