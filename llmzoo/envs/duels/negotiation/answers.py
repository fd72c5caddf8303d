"""How answers are read and written: an offer or the acceptance of one, and a message before it."""

from __future__ import annotations

import re
from typing import NamedTuple

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.envs.duels.negotiation.scenarios import KINDS, Share
from llmzoo.envs.text import MalformedError, strip_markup

ACCEPT = "Accept"
_OFFER = re.compile(r"(?:[-•][ \t]+)?[ \t*_`#]*offer[ \t*_`]*:(.*)", re.IGNORECASE)
_ACCEPT = re.compile(r"(?:[-•][ \t]+)?[ \t*_`#]*accept[ \t*_`.!]*", re.IGNORECASE)
_PART = re.compile(r"(\d{1,6})\s+(book|hat|ball)s?\b", re.IGNORECASE)
_BETWEEN = re.compile(r"(?:[\s,;.*_`]|\band\b)*", re.IGNORECASE)
_SPACES = re.compile(r"[\s,]+")


class NegotiationAnswer(NamedTuple):
    """``share``: what the player wants for itself; None accepts the last offer of the other player."""

    share: Share | None
    message: str = ""


def parse_answer(text: str, pool: Share, limit: int) -> NegotiationAnswer:
    """The last line that begins with ``Offer:`` or consists of ``Accept``; what stands above it is the
    message, and what stands below it does not matter.

    ``limit``: characters of a message. Raises :class:`MalformedError`.
    """
    lines = _check_message(text).splitlines()
    for number in reversed(range(len(lines))):
        line = strip_markup(lines[number])
        offer = _OFFER.fullmatch(line)
        if offer or _ACCEPT.fullmatch(line):
            message = "\n".join(lines[:number]).strip()
            if len(message) > limit:
                raise MalformedError(f"a message of {len(message)} characters, {limit} are allowed")
            return NegotiationAnswer(_parse_share(offer[1], pool) if offer else None, message)
    raise MalformedError('it has neither a line that begins with "Offer:" nor the line "Accept"')


def parse_terse_answer(text: str, pool: Share) -> NegotiationAnswer:
    """A digit for each kind, such as ``120``, or ``accept``, and nothing else; raises :class:`MalformedError`."""
    plain = _SPACES.sub("", _check_message(text)).lower()
    if plain == ACCEPT.lower():
        return NegotiationAnswer(None)
    if not re.fullmatch("[0-9]{3}", plain):
        raise MalformedError(f"not {len(KINDS)} digits, and not accept")
    books, hats, balls = map(int, plain)
    return NegotiationAnswer(_check_share((books, hats, balls), pool))


def format_share(share: Share) -> str:
    """A share in words: ``1 book, 2 hats``."""
    parts = [format_count(n, kind) for n, kind in zip(share, KINDS, strict=True) if n]
    return ", ".join(parts) or format_count(0, KINDS[0])


def format_count(number: int, kind: str) -> str:
    return f"{number} {kind}" if number == 1 else f"{number} {kind}s"


EXAMPLE = format_share((1, 1, 1))  # every pool has one thing of each kind


def format_digits(numbers: tuple[int, ...]) -> str:
    return "".join(map(str, numbers))


def _check_message(text: str) -> str:
    if len(text) > MAX_ACTION_CHARS:
        raise MalformedError(f"it is longer than {MAX_ACTION_CHARS} characters")
    return text


def _parse_share(text: str, pool: Share) -> Share:
    """What an offer names, such as ``1 book and 2 hats``; a kind that it does not name is not wanted."""
    found = {}
    at = 0
    for part in _PART.finditer(text):
        kind = part[2].lower()
        if kind in found:
            raise MalformedError(f"the offer names {kind}s twice")
        if not _BETWEEN.fullmatch(text, at, part.start()):
            break
        found[kind] = int(part[1])
        at = part.end()
    if not found or not _BETWEEN.fullmatch(text, at):
        raise MalformedError(
            f"an offer holds numbers of things and nothing else, such as {EXAMPLE}"
        )
    books, hats, balls = (found.get(kind, 0) for kind in KINDS)
    return _check_share((books, hats, balls), pool)


def _check_share(share: Share, pool: Share) -> Share:
    for kind, wanted, there in zip(KINDS, share, pool, strict=True):
        if wanted > there:
            raise MalformedError(
                f"the offer takes {format_count(wanted, kind)}, and there are {there}"
            )
    return share
