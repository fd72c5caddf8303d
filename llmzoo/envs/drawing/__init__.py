"""Boards of games, and ways to draw them: in a terminal, as pixels.

``terminal`` and ``pixels`` are imported where something is drawn; the second needs Pillow.
"""

from llmzoo.envs.drawing.board import Board, Cell, Kind, Sighting

__all__ = ["Board", "Cell", "Kind", "Sighting"]
