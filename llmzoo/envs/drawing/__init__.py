"""Boards of games, and ways to draw them: in a terminal, as pixels.

Import ``terminal`` and ``pixels`` only to draw something; ``pixels`` needs Pillow.
"""

from llmzoo.envs.drawing.board import Board, BoardCell, Kind, parse_board

__all__ = ["Board", "BoardCell", "Kind", "parse_board"]
