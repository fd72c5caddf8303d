"""Checks a dialogue against its ground truth: a reimplementation of BFCL's multi-turn checker.

After each user turn whose ground truth has calls, BFCL compares two things (Patil et al., ICML 2025;
``multi_turn_checker`` of bfcl-eval 2026.3.23):

* state: each API has the same attributes as after the ground truth's calls;
* response: each response of the turn's ground truth is among the responses of the model's calls so far.

A turn without a call is wrong if its ground truth has one. If the ground truth is empty, nothing is checked, but
the model's calls still change the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import Padding
from llmzoo.envs.tools.bfcl_multi_turn.execution import World, copy_world, execute
from llmzoo.envs.tools.bfcl_multi_turn.tasks import (
    Dialogue,
    ReferenceTurn,
    ResponseCounts,
    count_responses,
    reference_turns,
)
from llmzoo.envs.tools.call_syntax import ToolCall


@dataclass(frozen=True, slots=True)
class TurnVerdict:
    """The result of checking a turn.

    wrong_state: the attributes that differ from the ground truth, as "API.attribute".
    response_share: the share of the ground truth's responses that the model's calls got.
    silent: no call was made.
    """

    wrong_state: tuple[str, ...]
    response_share: float
    silent: bool

    @property
    def valid(self) -> bool:
        return not self.wrong_state and not self.silent and self.response_share == 1


def check_turn(
    world: World, responses: ResponseCounts, truth: ReferenceTurn, *, silent: bool
) -> TurnVerdict:
    """Check a turn after its last call.

    ``responses``: the responses to the model's calls in all turns so far. ``silent``: the model made no
    call in this turn.
    """
    wrong_state = tuple(
        f"{name}.{attribute}"
        for name, api in truth.world.items()
        for attribute in world[name]._state_differences(api)
    )
    found = sum(min(responses.get(each, 0), count) for each, count in truth.responses.items())
    return TurnVerdict(wrong_state, found / max(sum(truth.responses.values()), 1), silent)


def first_wrong_turn(
    dialogue: Dialogue, steps: Sequence[Sequence[Sequence[ToolCall]]], padding: Padding | None
) -> int | None:
    """BFCL's verdict on a whole dialogue: the index of the first wrong turn, counted from 0, or None.

    ``steps``: the model's calls in each step of each turn. Raises ``ValueError`` if it does not have as
    many turns as the dialogue.
    """
    world, responses = copy_world(dialogue.start(padding)), count_responses(())
    turns = zip(steps, reference_turns(dialogue, padding), dialogue.truths, strict=True)
    for number, (turn_steps, truth, truth_calls) in enumerate(turns):
        for calls in turn_steps:
            responses = count_responses(execute(calls, world), responses)
        if not truth_calls:
            continue
        if not check_turn(world, responses, truth, silent=not any(turn_steps)).valid:
            return number
    return None
