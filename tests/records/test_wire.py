"""Batches that travel arrive as they were."""

import math

import numpy as np

from llmzoo.policies.base import ScriptedPolicy
from llmzoo.records import (
    Batch,
    Completion,
    ComponentReturns,
    Decision,
    Episode,
    EpisodeOutcome,
    Group,
    wire,
)
from llmzoo.registry import make
from llmzoo.rollout.episodes import play_episodes

ANSWER = Completion(
    text="né\n\0🙂",
    prompt_ids=(1, 2),
    ids=(3, 2**40),
    logprobs=(-0.1, -1e-300),
    truncated=True,
)
EMPTY = Completion(text="")
REFUSED = Completion(text="", prompt_ids=(1, 2), refused=True)


def group(**changes):
    values = {
        "agent": "a",
        "turn": 2,
        "key": (7, 0, "a"),
        "prompt_ids": (1, 2),
        "completions": (ANSWER, EMPTY, REFUSED),
        "returns": (0.1 + 0.2, math.pi, -0.0),
        "greedy": 1 / 3,
        "components": {
            "team": ComponentReturns(
                returns=(0.1, math.pi, -0.0), greedy=0.1, counterfactual_returns=(0.1, 0.2, 0.3)
            ),
            "own": ComponentReturns(returns=(0.2, 0.0, 0.0)),
        },
        "reach": 0.1 + 0.2,
        "infos": ({"success": True}, {"count": 1}, {"share": 1.0}),
    }
    return Group(**{**values, **changes})


def test_a_batch_arrives_as_it_was():
    decision = Decision(
        agent="a",
        turn=0,
        observation="read",
        completion=ANSWER,
        reward=0.1 + 0.2,
        paid_after=((0, 0.1), (1, 0.2)),
        info={"reward_components": {"team": 0.1}, "error": None},
        state="all",
    )
    episode = Episode(
        env_id="x_v0",
        seed=3,
        decisions=(decision,),
        terminated=True,
        truncated=False,
        success=True,
        totals={"a": 0.3},
        info={"task": 4},
        final={"a": "end"},
        final_state="all over",
        cut_off=("a",),
        timed_task=True,
    )
    ending = EpisodeOutcome(
        seed=3, success=False, totals={"a": math.inf}, decisions=1, outcomes={"a": "won"}
    )
    batch = Batch(groups=(group(), group(greedy=None)), endings=(ending,), episodes=(episode,))
    back = wire.load(wire.dump(batch))
    assert back == batch
    assert math.copysign(1, back.groups[0].returns[2]) == -1
    kinds = [type(v) for info in back.groups[0].infos for v in info.values()]
    assert kinds == [bool, int, float]


def test_a_completion_that_a_batch_holds_twice_travels_once():
    long = Completion(text="x", ids=tuple(range(5000)), logprobs=(-0.123,) * 5000)
    one = len(wire.dump(Batch(groups=(group(completions=(long,) * 3),))))
    alone = len(wire.dump(Batch(groups=(group(completions=(long, EMPTY, EMPTY)),))))
    assert one < 1.1 * alone
    back = wire.load(wire.dump(Batch(groups=(group(completions=(long,) * 3),))))
    assert back.groups[0].completions == (long,) * 3


def test_infos_that_json_has_no_form_for():
    odd = {"array": np.arange(3), "number": np.float32(0.5), "pair": (1, "b"), "set": {4}, 5: b"x"}
    (info,) = wire.load(wire.dump(Batch(groups=(group(infos=(odd,)),)))).groups[0].infos
    assert info == {"array": [0, 1, 2], "number": 0.5, "pair": [1, "b"], "set": "{4}", "5": "b'x'"}
    odd = {(0, 1): {np.int64(2): True}, "kept": [{("a",): 1.0}]}
    (info,) = wire.load(wire.dump(Batch(groups=(group(infos=(odd,)),)))).groups[0].infos
    assert info == {"(0, 1)": {"2": True}, "kept": [{"('a',)": 1.0}]}


def test_played_episodes_arrive_as_they_were():
    def env_fn():
        return make("plan_path_v0", split="train")

    batch = Batch(episodes=tuple(play_episodes(env_fn, ScriptedPolicy(lambda r: "left"), [1, 2])))
    assert wire.load(wire.dump(batch)) == batch
