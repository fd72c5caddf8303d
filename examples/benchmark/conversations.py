"""Tokens that an update reads for programs of six turns, beside those of a row for every turn.

    python examples/benchmark/conversations.py

An agent is asked six times, each time with the whole conversation so far. The prompt is a sentence,
an answer has 12 tokens at most. The embedded model samples; nothing is timed.
"""

from __future__ import annotations

from typing import Any

import torch
from timing import Row, row

import llmzoo
from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.learners.updates.microbatches import count_tokens, make_microbatches
from llmzoo.models.packing import PackedGroups
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Group
from llmzoo.rollout import play_episodes

TURNS, EPISODES = 6, 16
ROOM = 2**14  # tokens in a pass


def program(task: Any, client: Any) -> float:
    messages = [{"role": "user", "content": f"task {task['prompt']}: what is the next digit?"}]
    for turn in range(TURNS):
        reply = client.chat.completions.create(model="asked", messages=messages)
        messages += [reply.choices[0].message, {"role": "user", "content": f"and then? {turn}"}]
    return 1.0


def compare() -> list[Row]:
    policy = TransformersPolicy.load("tiny", sampling=Sampling(max_new_tokens=12))
    played = play_episodes(
        lambda: llmzoo.from_program(program, agents=["asked_0"], tasks=["one"], split="all"),
        policy,
        range(EPISODES),
    )
    credited = [
        ScoredGroup(
            Group(
                agent=decision.agent,
                turn=decision.turn,
                key=(),
                prompt_ids=decision.completion.prompt_ids,
                completions=(decision.completion,),
                returns=(1.0,),
            ),
            torch.ones(1),
        )
        for episode in played
        for decision in episode.decisions
    ]
    read = 0
    for part in make_microbatches(policy, credited, ROOM):
        prompts = [c.group.prompt_ids for c in part]
        answers = [[completion.ids for completion in c.group.completions] for c in part]
        read += len(PackedGroups(prompts, answers, torch.device("cpu")).ids)
    apart = sum(count_tokens(c.group) for c in credited)
    return [row("conversation_tokens", read, "tokens", theirs=apart, higher_is_better=False)]


if __name__ == "__main__":
    for found in compare():
        print(f"{found['name']}: {found['ours']:.0f}, a row a turn {found['theirs']:.0f}")
