"""An episode as an animated picture."""

from __future__ import annotations

from pathlib import Path

from pettingzoo import AECEnv

from llmzoo.envs.base import TextEnv
from llmzoo.envs.drawing import pixels
from llmzoo.errors import ConfigError


class Film:
    """The boards that an episode goes through from now on: each move or fill that is carried out.

    ``env`` has been reset. Raises :class:`ConfigError` where there is no board, or ``path`` does not
    end in ``.gif`` or lies in no folder; :class:`MissingExtraError` where Pillow is missing.
    """

    def __init__(self, env: AECEnv, path: str):
        self.path = Path(path)
        if self.path.suffix.lower() != ".gif":
            raise ConfigError(f"--record writes an animated GIF: {path} does not end in .gif")
        if not self.path.absolute().parent.is_dir():
            raise ConfigError(f"--record {path}: there is no folder {self.path.parent}")
        game = env.unwrapped
        start = game.picture() if isinstance(game, TextEnv) else None
        if not isinstance(game, TextEnv) or start is None:
            raise ConfigError(f"--record: {env} has no board to make a picture of")
        pixels.check()
        self._env = env
        self._game = game
        self._boards = [start]

    def step(self, answer: str) -> None:
        """Step the environment; an answer that changes nothing (a plan, an illegal one) is not seen."""
        between = self._game.on_the_way(answer)
        self._env.step(answer)
        now = self._game.picture()
        if now is not None and now != self._boards[-1]:
            for board in [*between, now]:
                if board != self._boards[-1]:
                    self._boards.append(board)

    def save(self) -> None:
        pixels.animate(self._boards, self.path)
