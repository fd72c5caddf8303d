"""Names a trained seat from whose groups nothing is learned, with the likely reason."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from llmzoo.engine.base import Iteration
from llmzoo.errors import FlatGroupsWarning
from llmzoo.records import Group
from llmzoo.rollout.trees import differs, negligible

WINDOW = 10  # iterations
_NEARLY_ALL = 0.95


@dataclass(slots=True)
class FlatSeats:
    """Watches the groups of ``agents`` over a run.

    A seat is flat in an iteration if it has groups, the returns differ in none of them, and no
    answer of its has an advantage. One that is flat in ``window`` iterations in a row is warned
    about once; again only after its groups have differed. Plain episodes have no groups and are
    not watched.
    """

    agents: Collection[str]
    window: int = WINDOW
    _flat: dict[str, list[_Seen]] = field(default_factory=dict)  # of the iterations in a row

    def iteration(self, found: Iteration) -> None:
        """Take in an iteration; warns (:class:`FlatGroupsWarning`) of a seat that is flat too long."""
        for agent in self.agents:
            seen = _seen(agent, found)
            if seen is None:
                continue
            if not seen.flat:
                self._flat[agent] = []
                continue
            row = self._flat.setdefault(agent, [])
            row.append(seen)
            if len(row) == self.window:
                warnings.warn(
                    f"{agent} has learned nothing in {self.window} iterations: the returns of its "
                    f"answers to a prompt are all the same. {_reason(row)}",
                    FlatGroupsWarning,
                    stacklevel=2,
                )


@dataclass(frozen=True, slots=True)
class _Seen:
    """One iteration of a seat; ``total``: what it was paid in a whole episode, on average."""

    groups: Sequence[Group]
    flat: bool
    total: float


def _seen(agent: str, found: Iteration) -> _Seen | None:
    groups = []
    flat = True
    credits = iter(found.credits)  # of the groups' completions, in their order
    for group in found.batch.groups:
        given = [next(credits) or 0.0 for _ in group.completions]
        if group.agent == agent:
            groups.append(group)
            learned = any(not negligible(credit, group.returns) for credit in given)
            flat = flat and not learned and not differs(group)
    if not groups:
        return None
    totals = [ending.totals.get(agent, 0.0) for ending in found.batch.endings]
    return _Seen(groups, flat, sum(totals) / max(1, len(totals)))


def _reason(seen: Sequence[_Seen]) -> str:
    """The likely reason, by what was seen."""
    groups = [group for one in seen for group in one.groups]
    returns = [value for group in groups for value in group.returns]
    infos = [info for group in groups for info in group.infos]
    errors = [str(info["error"]) for info in infos if info.get("error")]
    paid = sum(one.total for one in seen) / len(seen)
    if all(len({c.text for c in group.completions}) == 1 for group in groups):
        return "They are the same text: raise the temperature, or let it explore otherwise."
    if infos and len(errors) >= _NEARLY_ALL * len(infos):
        return (
            f"Nearly all of them are refused (the last: {errors[-1][:200]!r}): show the model the "
            "answer format by sft, or choose an easier setting."
        )
    if not any(returns):
        if abs(paid) > 1e-9:
            return (
                f"Nothing is paid because of them that this learner counts, while an episode pays "
                f"the seat {paid:.3g}: a learner on joint trees, such as magrpo, counts all that "
                "follows."
            )
        return "Nothing was paid at all: the tasks are too hard for this model as it is."
    if infos and all(info.get("success") for info in infos):
        return "All of them succeed: the tasks are too easy to learn from."
    return (
        f"They earn {sum(returns) / len(returns):.3g} on average, whatever they say: the reward "
        "may not depend on this seat's answers, or the tasks are too easy or too hard."
    )
