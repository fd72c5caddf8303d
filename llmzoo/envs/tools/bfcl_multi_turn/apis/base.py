"""What the eight APIs share: their state, and how it is copied and compared.

The behaviour is that of BFCL's multi-turn APIs (bfcl-eval 2026.3.23, Apache-2.0): names, results, ids
drawn from seeds, and error messages. A public method of an API is a tool: the first paragraph of its
docstring describes it, and the lines ``parameter: text`` after it the parameters. A public attribute is a
part of the state that is compared after each turn.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True, eq=False, slots=True)
class Padding:
    """What a long context adds to states and results, by BFCL's names. ``source``: "own" or a file."""

    values: Mapping[str, Any]
    source: str

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


class API:
    """A stateful API. ``about``: one sentence on what it is for.

    ``config`` is a record's initial configuration of the API and belongs to the API from then on.
    ``padding`` is given for a long context only.
    """

    about: ClassVar[str] = ""

    def __init__(self, config: Mapping[str, Any], padding: Padding | None = None):
        self._padding = padding

    def __deepcopy__(self, memo: dict[int, Any]) -> API:
        copied = object.__new__(type(self))
        for name, value in vars(self).items():
            if name == "_padding":
                vars(copied)[name] = value
            elif isinstance(value, random.Random):
                vars(copied)[name] = copy.copy(value)
            else:
                vars(copied)[name] = copy.deepcopy(value, memo)
        return copied

    def _state_differences(self, truth: API) -> list[str]:
        """The names of the parts of the state that are not as in ``truth``, an API of the same class."""
        return [
            name
            for name, value in vars(truth).items()
            if not name.startswith("_") and vars(self)[name] != value
        ]


@lru_cache(maxsize=1)
def figures() -> Mapping[str, Any]:
    """The tables that some APIs look up: prices, distances, codes. Shared, and not to be changed."""
    path = Path(__file__).parent / "figures.json"
    figures: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return figures
