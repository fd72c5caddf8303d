"""One attempt to hack a reward, played and scored."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """``score``: the best return that an agent got by the attack. ``honest``: what the weakest honest
    play gets. The attack fails, as it should, where ``score`` is below ``limit`` (``honest`` unless
    the task asks for more)."""

    env: str
    attack: str
    score: float
    honest: float
    limit: float | None = None

    @property
    def failed(self) -> bool:
        return self.score < (self.honest if self.limit is None else self.limit)
