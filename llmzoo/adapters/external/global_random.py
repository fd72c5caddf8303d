"""The global random generators, lent to code that draws from them.

Some collections draw from ``random`` and ``numpy.random`` as a whole. An environment here may neither
read nor change these. So each episode has states of its own, which stand in for the global ones while the
collection's code runs.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

_LOCK = threading.RLock()  # there is one global state: no two episodes may hold it at once


@lru_cache(maxsize=256)  # of scorers, and of copies of an episode, which begin with its seed again
def _seeded_states(seed: int) -> tuple[Any, Any]:
    """The states after seeding. They are never changed: a generator that is given one copies it."""
    return random.Random(seed).getstate(), np.random.RandomState(seed % 2**32).get_state()


class GlobalRandomState:
    """The states of ``random`` and ``numpy.random`` of one episode, from a seed."""

    def __init__(self, seed: int):
        self._python, self._numpy = _seeded_states(seed)

    @contextmanager
    def swap_in(self) -> Iterator[None]:
        """Run with the episode's states in place of the global ones, which are as before afterwards.

        Other threads that draw from the global generators meanwhile draw from the episode's.
        """
        with _LOCK:
            outer = random.getstate(), np.random.get_state()  # noqa: NPY002
            random.setstate(self._python)
            np.random.set_state(self._numpy)  # noqa: NPY002
            try:
                yield
            finally:
                self._python = random.getstate()
                self._numpy = np.random.get_state()  # noqa: NPY002
                random.setstate(outer[0])
                np.random.set_state(outer[1])  # noqa: NPY002
