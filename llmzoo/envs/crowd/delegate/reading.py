"""How texts are read: lines that bring in workers, requests for a page, notes, and numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from llmzoo.envs.text import MalformedError, content_lines, replace_surrogates, strip_markup

INSTRUCTION_CHARS = 200  # of an instruction; the rest of a longer one is cut
_MAX_DIGITS = 9  # a longer number is not read
_NUMBER = re.compile(r"(?<!\w)-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")
_TITLED = re.compile(r"[^A-Za-z]*([A-Za-z]+)[*_`\s]*:(.*)", re.DOTALL)
_ANSWER = re.compile(
    r"[\W_]*(?:the\s+)?(?:final\s+)?answer(?:\s+is)?[\W_]*?(-?[0-9]+(?:,[0-9]{3})*)[\W_]*",
    re.IGNORECASE,
)
_OPEN = re.compile(r"[\W_]*read[\s*_`:]+([A-Za-z]+)[\W_]*", re.IGNORECASE)


class Assignment(NamedTuple):
    """The page that a worker reads, and what the lead asks of it."""

    title: str
    instruction: str


class Plan(NamedTuple):
    """A lead's first text. ``answer``: of a lead that answers at once. ``problem``: what was not read."""

    assignments: tuple[Assignment, ...] = ()
    answer: int | None = None
    problem: str = ""


class Reading(NamedTuple):
    """A text of a reader alone: its note, and the page that it asks for or its answer."""

    note: str
    title: str | None
    answer: int | None


def parse_plan(text: str, titles: Sequence[str], most: int) -> Plan:
    """The lines ``MONTH: instruction`` of a text, at most ``most``; or the line ``Answer: NUMBER``.

    Other lines have no effect. Raises :class:`MalformedError` if there is no such line.
    """
    assignments: dict[str, str] = {}
    problem = ""
    for title, instruction in _titled_lines(text, titles):
        if not instruction:
            problem = f"the line of {title} has no instruction"
        elif title in assignments:
            problem = f"two lines for {title}"
        elif len(assignments) == most:
            problem = f"more than {most} lines"
        else:
            if len(instruction) > INSTRUCTION_CHARS:
                problem = f"an instruction of more than {INSTRUCTION_CHARS} characters"
            assignments[title] = instruction[:INSTRUCTION_CHARS]
    if assignments:
        return Plan(tuple(map(Assignment, assignments, assignments.values())), problem=problem)
    answer = _find_answer(text)
    if answer is None:
        raise MalformedError(problem or "no line of the form MONTH: instruction or Answer: NUMBER")
    return Plan(answer=answer)


def parse_reading(text: str, titles: Sequence[str], limit: int) -> Reading:
    """The last line ``Read: MONTH`` of a text or its line ``Answer: NUMBER``; its other lines are the note,
    of which the first ``limit`` characters count."""
    note, title = [], None
    for line in text.splitlines():
        found = _OPEN.fullmatch(strip_markup(line))
        named = _known_title(found[1], titles) if found else None
        title = named or title
        if named is None and not _ANSWER.fullmatch(line):
            note.append(line)
    answer = _find_answer(text)
    return Reading(clean_text("\n".join(note), limit), title, None if title else answer)


def clean_text(text: str, limit: int) -> str:
    """One line of at most ``limit`` characters, as another agent reads it."""
    return replace_surrogates(" ".join(text.split()))[:limit]


def parse_number(text: str) -> int:
    """The last number of a text; raises :class:`MalformedError` unless it is a whole one."""
    numbers = _NUMBER.findall(text)
    if not numbers:
        raise MalformedError("no number")
    last = numbers[-1].replace(",", "")
    if "." in last or len(last) > _MAX_DIGITS:
        raise MalformedError("its last number is not a whole number of up to 9 digits")
    return int(last)


def find_number(text: str) -> int | None:
    """The last number of a text; None if that is not a whole number."""
    try:
        return parse_number(text)
    except MalformedError:
        return None


def _titled_lines(text: str, titles: Sequence[str]) -> Iterator[tuple[str, str]]:
    for line in content_lines(text):
        found = _TITLED.fullmatch(line)
        title = _known_title(found[1], titles) if found else None
        if found and title:
            instruction = replace_surrogates(" ".join(found[2].split()))
            yield title, instruction.strip("*_` ")


def _known_title(word: str, titles: Sequence[str]) -> str | None:
    return next((title for title in titles if title.lower() == word.lower()), None)


def _find_answer(text: str) -> int | None:
    """The number of the last line ``Answer: NUMBER``."""
    found = [match[1] for line in text.splitlines() if (match := _ANSWER.fullmatch(line))]
    return find_number(found[-1]) if found else None
