"""What has been noted for one call, and whom its outcomes are told to."""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Protocol

from llmzoo.errors import LlmzooError
from llmzoo.serve.generated import environments_pb2 as pb

if TYPE_CHECKING:
    from llmzoo.serve.remote import RemoteEnv


class Owner(Protocol):
    """What becomes of an item is told to its owner, in the order of items."""

    def take(self, noted: Noted, number: int, outcome: pb.Outcome) -> bool:
        """Take what came of item ``number``; true where its view has to be asked for again."""
        ...

    def lose(self, noted: Noted, error: LlmzooError, *, refused: bool) -> None:
        """The call failed. ``refused``: it was not begun; otherwise nobody knows what was done."""
        ...

    def ask_again(self) -> Noted:
        """Note that a view is wanted."""
        ...


class Noted:
    """Items for one call, and whose they are; once it is over, ``outcomes`` in the same order.

    ``company``: the environments that take part.
    """

    __slots__ = ("_kept", "company", "done", "message", "outcomes", "owners")

    def __init__(self) -> None:
        self.company: list[weakref.ref[RemoteEnv]] = []
        self.message = pb.Batch()
        self.owners: list[Owner] = []
        self.outcomes: list[pb.Outcome] = []
        self.done = threading.Event()
        self._kept: list[Owner] = []

    def keep(self, owner: Owner) -> None:
        """Let the session of ``owner``, which is about to be forked, last until the call."""
        self._kept.append(owner)

    def over(self) -> None:
        self.owners = []
        self._kept = []
        self.done.set()
