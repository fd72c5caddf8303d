"""Reading a walk over a grid from an answer: moves up, down, left and right."""

from __future__ import annotations

import re

from llmzoo.envs.text import MalformedError

# (rows, columns) that a move adds to a position
DELTAS = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}

_WORDS = {"up": "U", "down": "D", "left": "L", "right": "R"}
_LETTERS = frozenset("udlrUDLR")
_ENGLISH = frozenset(
    {"dud", "dull", "lull", "lulu", "url"}
)  # words of these letters that are no moves
_LABEL = re.compile(
    r"\b(?:answer|plan|moves?|path|solution|actions?)\b[\"'`*_]*[ \t]{0,9}(?:[:=>]|is\b|are\b)"
    r"|boxed\{",
    re.IGNORECASE,
)
_SPAN = re.compile(r"\[[^\[\]]*\]|`[^`\n]*`")  # a list, or code within a line
_BETWEEN = r"\s,;\[\](){}<>\"'`*_|!→-"
NOISE = re.compile(rf"\b(?:(?:step )?\d{{1,4}}[.):]|and\b|then\b)|[.{_BETWEEN}]+", re.IGNORECASE)
_TOKEN = re.compile(rf"[A-Za-z]+|[{_BETWEEN}]+|.")
_MOVE = r"(?<!\w)(?:[UDLR]+|[udlrUDLR]{3,}|(?i:up|down|left|right))(?!\w)"
_RUN = re.compile(rf"{_MOVE}(?:(?:[\s,;>→-]|\band\b|\bthen\b)+{_MOVE})*")


def parse_moves(text: str, limit: int = 1000) -> str:
    """The moves of an answer as a string of ``U``, ``D``, ``L`` and ``R``.

    Moves are letters in either case, together or apart (``RRDLU``, ``rrDLu``, ``R, D``), the words up,
    down, left and right, and lists of either. Of several candidates in an answer, the last one of the
    first of these kinds counts:

    1. a code fence that holds only moves (after its label, if it has one), or moves after a label such
       as ``Answer:``, ``Plan:``, ``the moves are`` or ``<answer>``. They may begin on the next line. A
       single move followed by other words does not count;
    2. whole lines of moves (consecutive lines are one plan, a blank line ends it), or a list or code
       span of at least two moves within a line;
    3. at least three moves in a row in a sentence: words, capitals, or runs of three or more letters
       that are no English word. "up, down, left, right" alone names the directions and is no plan.

    So "I would go left" is no plan, and "DULL" never outweighs an ``Answer:`` line. Raises
    :class:`MalformedError` if there are no moves, or more than ``limit``. The time is linear in the length
    of the text.
    """
    # most answers are nothing but moves, and need no search
    moves = text.upper() if _LETTERS.issuperset(text) else ""
    moves = (
        moves
        or _find_explicit_moves(text)
        or _find_move_block(text.replace("```", "\n"))
        or _find_moves_in_prose(text)
    )
    if not moves:
        raise MalformedError(
            "no moves in it; write them as one string of U, D, L and R such as RRDLU"
        )
    if len(moves) > limit:
        raise MalformedError(f"{len(moves)} moves; at most {limit} are allowed")
    return moves


def _find_explicit_moves(text: str) -> str:
    """The last code fence of moves or labelled moves, or ``""``."""
    pieces = text.split("```")
    for number in range(len(pieces) - 1, -1, -1):
        piece = pieces[number].strip()
        moves = _find_labelled_moves(piece.split("\n")) if _LABEL.search(piece) else ""
        if piece and not moves and number % 2:
            _, _, body = piece.partition("\n")  # the first line may name a language
            moves = _parse_line(body) or _parse_line(piece) or ""
        if moves:
            return moves
    return ""


def _find_labelled_moves(lines: list[str]) -> str:
    """The last moves that follow a label, or ``""``."""
    for number in range(len(lines) - 1, -1, -1):
        line = lines[number]
        labels = list(_LABEL.finditer(line))
        for label in reversed(labels):
            whole = _parse_line(line[label.end() :]) if label is labels[-1] else None
            moves = (
                _find_leading_moves(line, label.end())
                if whole is None
                else _extend_block(whole, lines, number)
            )
            if moves:
                return moves
    return ""


def _find_leading_moves(line: str, start: int) -> str:
    """The moves at the beginning of a sentence: at least two, or one before a punctuation mark."""
    moves, end = "", start
    for token in _TOKEN.finditer(line, start):
        word = token[0]
        if _parse_word(word):
            moves, end = moves + _parse_word(word), token.end()
        elif word[0] in ".:?" or (word[0].isalnum() and word not in ("and", "then")):
            break
    following = line[end : end + 40].lstrip()[:1]
    return moves if len(moves) >= 2 or not following.isalnum() else ""


def _extend_block(moves: str, lines: list[str], number: int) -> str:
    """``moves`` and those of the lines of moves after line ``number``; a blank line ends them."""
    blocks = [moves]
    for following in range(number + 1, len(lines)):
        more = _parse_line(lines[following])
        if more is None or (any(blocks) and not lines[following].strip()):
            break
        blocks.append(more)
    return "".join(blocks)


def _find_move_block(text: str) -> str:
    """The last block of lines of moves, list or code span, or ``""``."""
    block: list[str] = []  # its lines, last first
    end, position = -1, len(text)
    for line in reversed(text.split("\n")):
        moves = _parse_line(line)
        if moves:
            block.append(moves)
            end = max(end, position)
        elif block and (moves is None or not line.strip()):
            break
        position -= len(line) + 1
    spans = [_parse_line(span[0]) or "" for span in _SPAN.finditer(text, max(end, 0))]
    return next((moves for moves in reversed(spans) if len(moves) >= 2), "".join(block[::-1]))


def _find_moves_in_prose(text: str) -> str:
    """The last run of at least three moves in sentences, or ``""``."""
    best = ""
    for run in _RUN.findall(text):
        moves = [
            _parse_word(word)
            for word in NOISE.sub(" ", run).split()
            if word.lower() not in _ENGLISH
        ]
        if len("".join(moves)) >= 3 and sorted(moves) != sorted(DELTAS):
            best = "".join(moves)
    return best


def _parse_line(line: str) -> str | None:
    """The moves of a text that holds nothing else (``""`` for none), or None."""
    moves = [_parse_word(word) for word in NOISE.sub(" ", line).split()]
    return "".join(moves) if all(moves) else None


def _parse_word(word: str) -> str:
    """The moves that a word means, or ``""``."""
    if _LETTERS.issuperset(word):
        return word.upper()
    return _WORDS.get(word.lower(), "")
