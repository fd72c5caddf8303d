"""Boards of games, and ways to draw them: in a terminal, as pixels.

Import ``terminal`` and ``pixels`` only to draw something; ``pixels`` needs Pillow.
"""

from llmzoo.envs.drawing.board import Board, BoardCell, BoardInText, Kind

__all__ = ["Board", "BoardCell", "BoardInText", "Kind"]
