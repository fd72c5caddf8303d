"""Parsing one named move from free text."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gymnasium.spaces import Discrete, Space

from llmzoo.errors import ConfigError

MoveNaming = Sequence[str] | Callable[[int], str] | None  # of actions; None: their numbers

_NUMBER = r"-?[0-9]+(?:\.[0-9]+)?"
_WORD = re.compile(r"(?<![\w.])[0-9]+\.[0-9]+|(?<![\w-])-[0-9]+(?:\.[0-9]+)?|\w+")
_LABEL = re.compile(
    r"\b(?:move|action|answer|choice|play)\b[\"'`*_]{0,4}\s{0,4}(?:[:=>]|is\b)|boxed\{",
    re.IGNORECASE,
)
_OPENING = re.compile(r"[\s\"'`*_$(\[{<#:=]*")  # between a label and a move
_JOINT = re.compile(r"[\s\"'`*_$)\]}>]*(?:(?:[,/;|&–-]|\b(?:or|and|then)\b)[\s\"'`*_$(\[{<]*){1,3}")
_MAX_QUOTED_CHARS = 24  # characters of an answer in an error
_MAX_CACHED_CHARS = 60  # characters of an answer that is kept once it was read


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    text: str
    move: int | None  # None: a number that is no move


class UnreadableError(ValueError):
    """An answer that names no move, or more than one."""


class MoveNames:
    """The names of the moves. Move i is called ``names[i]``.

    Case, leading zeros and the characters between words are ignored. Raises ``ConfigError`` for a
    name without a letter or digit, and for two names that cannot be distinguished.
    """

    def __init__(self, names: Sequence[str]):
        self.names = tuple(names)
        self._moves: dict[tuple[str, ...], int] = {}
        for move, name in enumerate(self.names):
            key = tuple(_normalize_word(word) for word in _WORD.findall(name))
            if not key or key in self._moves:
                raise ConfigError(f"the name {name!r} of move {move} is empty or taken")
            self._moves[key] = move
        self._lengths = sorted({len(key) for key in self._moves}, reverse=True)
        self._numbered = all(re.fullmatch(_NUMBER, " ".join(key)) for key in self._moves)

    def read(self, text: str) -> int:
        """The move that an answer names.

        The first rule that applies decides:

        1. The text behind a label, such as ``Move:``, ``Answer =``, ``my move is``, ``<move>`` or
           ``\\boxed{``, up to the end of its line. Of several labels, the last one with a name behind
           it counts. A name directly behind the label wins over later ones ("Move: 4, since 2
           loses"), unless a second one is joined to it ("Move: 3 or 4").
        2. The last line that consists of a name only.
        3. The only name in the text, which may occur several times.

        Raises :class:`UnreadableError` otherwise. If all names are numbers, any other number counts
        as a move that does not exist, so "4 or 12" is unreadable. The time is linear in the
        length of the text.
        """
        return _parse_cached(self, text) if len(text) <= _MAX_CACHED_CHARS else self._read(text)

    def _read(self, text: str) -> int:
        mentions = self._find_mentions(text)
        starts = [mention.start for mention in mentions]
        line_ends = [*(newline.start() for newline in re.finditer("\n", text)), len(text)]

        def within(start: int, end: int) -> list[_Mention]:
            return mentions[bisect_left(starts, start) : bisect_left(starts, end)]

        for label in reversed(list(_LABEL.finditer(text))):
            start = _match_end(_OPENING, text, label.end())
            mentioned = within(start, line_ends[bisect_left(line_ends, start)])
            if mentioned and mentioned[0].start == start:
                joint = (
                    len(mentioned) > 1
                    and _match_end(_JOINT, text, mentioned[0].end) == mentioned[1].start
                )
                return _single_move(mentioned[:2] if joint else mentioned[:1])
            if mentioned:
                return _single_move(mentioned)
        end = len(text)
        for line in reversed(text.split("\n")):
            mentioned = within(end - len(line), end)
            if len(mentioned) == 1 and _WORD.findall(line) == _WORD.findall(mentioned[0].text):
                return _single_move(mentioned)
            end -= len(line) + 1
        return _single_move(mentions)

    def _find_mentions(self, text: str) -> list[_Mention]:
        """Every name in a text, longest first, and every number if names are numbers."""
        words = list(_WORD.finditer(text))
        plain = [_normalize_word(word[0]) for word in words]
        mentions = []
        at = 0
        while at < len(words):
            keys = (tuple(plain[at : at + length]) for length in self._lengths)
            key = next((key for key in keys if key in self._moves), None)
            size = len(key) if key else 1
            if key or (self._numbered and re.fullmatch(_NUMBER, plain[at])):
                start, end = words[at].start(), words[at + size - 1].end()
                move = self._moves[key] if key else None
                mentions.append(_Mention(start, end, text[start:end], move))
            at += size
        return mentions


@lru_cache(
    maxsize=4096
)  # the answers of a group, and of many episodes, are often the same few words
def _parse_cached(moves: MoveNames, text: str) -> int:
    return moves._read(text)


def name_moves(space: Space, names: MoveNaming) -> MoveNames:
    """The moves of a ``Discrete`` space, named by a list or by a function of the action's number.

    Raises :class:`ConfigError` for another space, or for a wrong number of names.
    """
    if not isinstance(space, Discrete):
        raise ConfigError(f"the action space is {space}, not Discrete")
    numbers = range(int(space.start), int(space.start + space.n))
    if names is None:
        names = str
    move_names = list(map(names, numbers)) if callable(names) else list(names)
    if len(move_names) != len(numbers):
        raise ConfigError(f"{len(move_names)} names for {len(numbers)} actions")
    return MoveNames(move_names)


def _single_move(mentions: Sequence[_Mention]) -> int:
    """The single move that is mentioned."""
    moves = {mention.move for mention in mentions}
    if len(moves) > 1:
        raise UnreadableError("it names more than one move")
    if not moves:
        raise UnreadableError("it names no move")
    (move,) = moves
    if move is None:
        raise UnreadableError(f"there is no move {mentions[0].text[:_MAX_QUOTED_CHARS]}")
    return move


def _match_end(pattern: re.Pattern[str], text: str, start: int) -> int:
    """Where a match of ``pattern`` at ``start`` ends; -1 if there is none."""
    match = pattern.match(text, start)
    return -1 if match is None else match.end()


def _normalize_word(word: str) -> str:
    """A word in the form in which names are compared: ``07`` is ``7``, ``Fold`` is ``fold``."""
    if re.fullmatch("[0-9]+", word):
        return word.lstrip("0") or "0"
    return word.casefold()
