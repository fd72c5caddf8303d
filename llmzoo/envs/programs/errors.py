"""What goes wrong with a user's program."""

from __future__ import annotations

from llmzoo.errors import LlmzooError


class ProgramError(LlmzooError):
    """A program raised, took too long, called nobody, or behaved differently when it was replayed."""


class ProgramClosed(BaseException):
    """Raised in a program whose episode is over or has been dropped, by its next call.

    It is no ``Exception``, so that ``except Exception`` in a program does not keep it alive.
    """
