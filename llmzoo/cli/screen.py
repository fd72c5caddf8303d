"""What ``llmzoo play`` has shown of an episode, so that it prints nothing twice."""

from __future__ import annotations

import sys

from pettingzoo import AECEnv

from llmzoo.envs.base import TextEnv
from llmzoo.envs.drawing import terminal
from llmzoo.terminal_text import escape_unprintable

SHOWN_BOARD = "[the state above]"
SHOWN_BEFORE = "[as before]"


class Screen:
    """Shortens the prompts of one episode to what is new.

    :data:`SHOWN_BOARD` replaces a board, or another state that prompts show, that stands on the screen.
    :data:`SHOWN_BEFORE` replaces paragraphs of the agent's last prompt or of the prompt before this one. The
    last paragraph, which asks for the answer, stays. Boards are in colour if the terminal shows colours.
    """

    def __init__(self, env: AECEnv):
        self._game = env.unwrapped
        self._colour = terminal.supports_colour(sys.stdout)
        self._board = ""  # the newest one on the screen
        self._prompts: dict[str, list[str]] = {}  # the paragraphs of each agent's last prompt
        self._last: list[str] = []

    def prompt(self, agent: str, text: str) -> str:
        """What is new in an observation; everything in the first one."""
        board, symbols = self._render_board(), self._board_text()
        if (
            symbols and symbols in text and symbols != text
        ):  # without a board it is the whole prompt
            text = text.replace(symbols, SHOWN_BOARD if board == self._board else board)
            self._board = board
        paragraphs = text.split("\n\n")
        known = {*self._prompts.get(agent, ()), *self._last} - {SHOWN_BOARD}
        self._prompts[agent] = self._last = paragraphs
        new = [SHOWN_BEFORE if one in known else one for one in paragraphs[:-1]] + paragraphs[-1:]
        kept = [
            one
            for i, one in enumerate(new)
            if one != SHOWN_BEFORE or new[i - 1 : i] != [SHOWN_BEFORE]
        ]
        return "\n\n".join(kept)

    def board(self) -> str:
        """The board if a prompt has shown one and it has changed since, otherwise an empty text."""
        board = self._render_board() if self._board else ""
        if board == self._board:
            return ""
        self._board = board
        return board

    def _render_board(self) -> str:
        """The board as it is printed."""
        picture = self._game.picture() if self._colour and isinstance(self._game, TextEnv) else None
        return self._board_text() if picture is None else terminal.render_coloured(picture)

    def _board_text(self) -> str:
        """The board as it appears in prompts."""
        return escape_unprintable(self._game.board()) if isinstance(self._game, TextEnv) else ""
