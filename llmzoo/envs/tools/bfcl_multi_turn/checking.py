"""Whether a dialogue went as its ground truth does: BFCL's multi-turn checker, reimplemented.

After each user turn whose ground truth has calls, BFCL compares two things (Patil et al., ICML 2025;
``multi_turn_checker`` of bfcl-eval 2026.3.23):

* state: the attributes of each API are as after the ground truth's calls;
* response: each response of the turn's ground truth is among the responses of the model's calls so far.

A turn without a call is wrong if its ground truth has one. Where the ground truth is empty nothing is checked,
and calls change the state all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import Padding
from llmzoo.envs.tools.bfcl_multi_turn.execution import APICall, World, copy_world, execute
from llmzoo.envs.tools.bfcl_multi_turn.tasks import (
    Dialogue,
    ReferenceTurn,
    ResponseCounts,
    count_responses,
    reference_turns,
)


@dataclass(frozen=True, slots=True)
class TurnVerdict:
    """A checked turn. differs: the parts of the state that are wrong, as "API.attribute". found: the share
    of the ground truth's responses that were given. silent: no call was made."""

    differs: tuple[str, ...]
    found: float
    silent: bool

    @property
    def valid(self) -> bool:
        return not self.differs and not self.silent and self.found == 1


def check_turn(
    world: World, responses: ResponseCounts, truth: ReferenceTurn, *, silent: bool
) -> TurnVerdict:
    """A turn after its last call. ``responses``: the responses so far, of all turns."""
    wrong_state = tuple(
        f"{name}.{attribute}"
        for name, api in truth.world.items()
        for attribute in world[name]._state_differences(api)
    )
    found = sum(min(responses.get(each, 0), count) for each, count in truth.given.items())
    return TurnVerdict(wrong_state, found / max(sum(truth.given.values()), 1), silent)


def first_wrong_turn(
    dialogue: Dialogue, steps: Sequence[Sequence[Sequence[APICall]]], padding: Padding | None
) -> int | None:
    """BFCL's verdict on whole dialogues: the number of the first wrong turn, or None.

    ``steps``: the calls of each step of each turn. Raises ``ValueError`` for another number of turns.
    """
    world, responses = copy_world(dialogue.start(padding)), count_responses(())
    played = zip(steps, reference_turns(dialogue, padding), dialogue.truths, strict=True)
    for number, (turn, truth, calls) in enumerate(played):
        for step in turn:
            responses = count_responses(execute(step, world), responses)
        if calls and not check_turn(world, responses, truth, silent=not any(turn)).valid:
            return number
    return None
