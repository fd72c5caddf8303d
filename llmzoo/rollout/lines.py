"""Lines of play: what they yield, and how one with all its branches goes on.

A line of play is a generator. It yields what it needs and is sent the result:

* :class:`Ask`: k answers of a seat -> a list of completions.
* a list of :class:`Ask` -> a list of those lists (seats that choose at the same time).
* :class:`Act`: answers to step an environment with -> what each agent was paid.
* a list of :class:`Act` -> a list of those (forks of one state).
* a list of generators -> a list of their return values (branches of a tree).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any

from pettingzoo import AECEnv

from llmzoo.policies.base import Request
from llmzoo.records import Completion
from llmzoo.rollout.branching import advance


@dataclass(frozen=True, slots=True)
class Ask:
    """``k`` answers to one request (one greedy answer with ``greedy``)."""

    request: Request
    k: int = 1
    greedy: bool = False


@dataclass(frozen=True, slots=True)
class Act:
    """Step ``env``, in place, with the answers of the next deciders, as ``by`` does."""

    env: AECEnv
    texts: tuple[str, ...]
    by: Callable[[AECEnv, Sequence[str]], Any] = advance

    @property
    def slow(self) -> bool:
        """Whether the environment says that its steps are worth a thread."""
        return bool(self.env.metadata.get("slow_step", False))


Line = Generator[Any, Any, Any]
Name = int | str | tuple[int | str, ...]  # of a line: what its chance hangs on


def line_names(seeds: Sequence[int]) -> list[Name]:
    """A name for the line of each seed: the seed, and how often it has occurred before.

    So a seed's play is its own, and a batch split over processes draws the same answers.
    """
    before: Counter[int] = Counter()
    names: list[Name] = []
    for seed in seeds:
        names.append((seed, before[seed]))
        before[seed] += 1
    return names


@dataclass(slots=True)
class _Branch:
    line: Line
    path: tuple[Any, ...]  # the line's name, then which operation of each branch led here
    parent: _Branch | None = None
    slot: int = 0
    results: list[Any] = field(default_factory=list)  # of the operations or branches it waits for
    left: int = 0
    single: bool = False  # it yielded one operation, not a list
    yielded: int = 0

    def take(self, slot: int, result: Any) -> bool:
        """Note a result; true when it was the last one awaited."""
        self.results[slot] = result
        self.left -= 1
        return self.left == 0


class Strand:
    """A line with its branches. It goes on by itself between the answers of policies.

    ``asks`` and ``acts`` are what it waits for. Everything inside happens in one order, whatever
    other strands do meanwhile; one thread at a time may use it.
    """

    def __init__(self, line: Line, name: Name):
        self.acts: list[Act] = []
        self.asks: list[Ask] = []
        self.result: Any = None
        self._acting: list[tuple[_Branch, int]] = []  # who yielded each of the acts, and where
        self._asking: list[tuple[_Branch, int]] = []
        self._answers: dict[int, list[Completion]] = {}  # to those of ``asks`` that have one
        self._ready: deque[tuple[_Branch, Any]] = deque([(_Branch(line, (name,)), None)])

    def go_on(self) -> None:
        """Run every branch until each waits for a step or an answer, or all have ended."""
        while self._ready:
            branch, value = self._ready.popleft()
            try:
                wanted = branch.line.send(value)
            except StopIteration as stop:
                self._ended(branch, stop.value)
                continue
            branch.single = not isinstance(wanted, list)
            operations = [wanted] if branch.single else wanted
            branch.results = [None] * len(operations)
            branch.left = len(operations)
            if not operations:
                self._ready.append((branch, []))
            for slot, operation in enumerate(operations):
                path = (*branch.path, (branch.yielded, slot))
                if isinstance(operation, Ask):
                    request = replace(operation.request, noise=_noise(path))
                    self.asks.append(replace(operation, request=request))
                    self._asking.append((branch, slot))
                elif isinstance(operation, Act):
                    self.acts.append(operation)
                    self._acting.append((branch, slot))
                else:
                    self._ready.append((_Branch(operation, path, branch, slot), None))
            branch.yielded += 1

    def acted(self, results: Sequence[Any]) -> None:
        """Hand out what came of ``acts``, in order."""
        waiting, self._acting, self.acts = self._acting, [], []
        self._hand_out(waiting, results)

    def answered(self, slot: int, answers: list[Completion]) -> bool:
        """Note the answers to one of ``asks``; once all have theirs it can go on: then true."""
        self._answers[slot] = answers
        if len(self._answers) < len(self.asks):
            return False
        waiting, self._asking, self.asks = self._asking, [], []
        found, self._answers = self._answers, {}
        self._hand_out(waiting, [found[slot] for slot in range(len(waiting))])
        return True

    def _hand_out(self, waiting: Sequence[tuple[_Branch, int]], results: Sequence[Any]) -> None:
        for (branch, slot), result in zip(waiting, results, strict=True):
            if branch.take(slot, result):
                self._ready.append((branch, branch.results[0] if branch.single else branch.results))

    def _ended(self, branch: _Branch, value: Any) -> None:
        if branch.parent is None:
            self.result = value
        elif branch.parent.take(branch.slot, value):
            self._ready.append((branch.parent, branch.parent.results))


def _noise(path: tuple[Any, ...]) -> int:
    """62 bits that are the same for the same path on every machine."""
    return int.from_bytes(blake2b(repr(path).encode(), digest_size=8).digest(), "big") >> 2
