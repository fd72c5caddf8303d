"""Records episodes of a run for reading, in ``played.jsonl``; docs/run_folder.md documents its rows.

Recording does not affect sampling or learning: it reads the batch after the update, with the
advantages that the update used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from llmzoo.engine.base import Iteration
from llmzoo.files import open_for_append
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Completion, Episode, EpisodeOutcome, Group
from llmzoo.runs.run_folder import keep_lines

MAX_CHARACTERS = 20_000  # of a text; the rest is not recorded

Advantages = Mapping[int, float | None]  # by the id of the completion
Row = dict[str, Any]


class Recorder(AbstractContextManager["Recorder"]):
    """Appends the first, the last and every ``every``-th iteration to ``played.jsonl``.

    ``tasks``: how many rollouts of an iteration are recorded. ``every=0`` records nothing.
    ``completed_steps``: the number of iterations that a resumed run has done. Rows of later iterations are
    dropped, because the run writes them again. ``ended``: no iteration follows. The last iteration is
    recorded only because it is the last. So if an ended run now continues, the row of that iteration is
    dropped, unless ``every`` asks for it.
    """

    def __init__(
        self, run: Path, *, every: int, tasks: int, completed_steps: int = 0, ended: bool = False
    ):
        self._every, self._tasks = every, tasks
        path = run / "played.jsonl"
        ended = ended or every == 0
        keep_lines(
            path,
            lambda row: (
                row["step"] < completed_steps or self._is_due(row["step"], completed_steps, ended)
            ),
        )
        self._file = open_for_append(path) if every else None

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def record_iteration(
        self, step: int, iteration: Iteration, agent_policies: Mapping[str, Policy], *, last: bool
    ) -> None:
        """Record iteration ``step``, counted from 1, if it is due; ``last``: no iteration follows."""
        if self._file is None or not self._is_due(step, step, last):
            return
        for row in rollout_rows(
            iteration.batch, iteration.credits, agent_policies, tasks=self._tasks
        ):
            self._file.write(json.dumps({"step": step, **row}) + "\n")
        self._file.flush()

    def flush(self) -> None:
        """Make the rows written so far safe on disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def _is_due(self, step: int, newest: int, last: bool) -> bool:
        return step <= newest and is_due(step, self._every, last=last)


def is_due(step: int, every: int, *, last: bool) -> bool:
    """Whether iteration ``step``, counted from 1, is recorded; ``last``: no iteration follows."""
    return last or step == 1 or (every > 0 and step % every == 0)


def rollout_rows(
    batch: Batch,
    credits: Sequence[float | None],
    agent_policies: Mapping[str, Policy],
    *,
    tasks: int,
) -> list[Row]:
    """The rows for the first ``tasks`` rollouts of a batch.

    ``credits``: the advantage of each of ``batch.completions``. ``agent_policies``: the policies that
    played; their tokenizers decode the prompts.
    """
    ids = map(id, batch.completions)
    advantages = dict(zip(ids, credits, strict=True))
    if batch.episodes:
        return [
            _rollout_row(
                [EpisodeOutcome.from_episode(episode)],
                _episode_turns(episode, advantages, agent_policies),
            )
            for episode in batch.episodes[:tasks]
        ]
    seeds = list(dict.fromkeys(ending.seed for ending in batch.endings))[:tasks]
    return [
        _rollout_row(
            [ending for ending in batch.endings if ending.seed == seed],
            _tree_turns([g for g in batch.groups if g.key[0] == seed], advantages, agent_policies),
        )
        for seed in seeds
    ]


def _rollout_row(endings: Sequence[EpisodeOutcome], turns: list[Row]) -> Row:
    agents = endings[0].totals
    return {
        "seed": endings[0].seed,
        "success": sum(ending.success for ending in endings) / len(endings),
        "returns": {a: sum(e.totals[a] for e in endings) / len(endings) for a in agents},
        "endings": [
            {"success": e.success, "totals": dict(e.totals), "decisions": e.decisions}
            for e in endings
        ],
        "turns": turns,
    }


def _tree_turns(
    groups: Sequence[Group], advantages: Advantages, agent_policies: Mapping[str, Policy]
) -> list[Row]:
    """The groups of one tree, a parent before its children."""
    nodes: dict[tuple[Any, ...], list[Group]] = {}
    for group in groups:
        nodes.setdefault(_path(group), []).append(group)
    prompts = {
        group.key: truncate_text(_decode(group.prompt_ids, agent_policies[group.agent]))
        for group in groups
    }

    def reply(group: Group, number: int) -> str | None:
        path = _path(group)
        if len(nodes[path]) > 1:  # a child follows from the completions of several agents
            return None
        following = nodes.get((*path, number), [])
        own = [other for other in following if other.agent == group.agent]
        return next((prompts[other.key] for other in own or following), None)

    return [
        {
            "agent": group.agent,
            "turn": group.turn,
            "path": list(path),
            "prompt": prompts[group.key],
            "answers": [
                _completion_row(
                    completion,
                    group.returns[number],
                    advantages,
                    group.infos[number] if group.infos else {},
                    reply(group, number),
                    agent_policies[group.agent],
                )
                for number, completion in enumerate(group.completions)
            ],
        }
        for path in sorted(nodes)
        for group in nodes[path]
    ]


def _episode_turns(
    episode: Episode, advantages: Advantages, agent_policies: Mapping[str, Policy]
) -> list[Row]:
    """The decisions of an episode, each with its single completion."""
    following = dict(episode.final)
    rows = []
    decisions = list(zip(episode.decisions, episode.returns(), strict=True))
    for decision, returned in reversed(decisions):
        completion = decision.completion
        prompt = (
            _decode(completion.prompt_ids, agent_policies[decision.agent]) or decision.observation
        )
        reply = following.get(decision.agent)
        following[decision.agent] = decision.observation
        rows.append(
            {
                "agent": decision.agent,
                "turn": decision.turn,
                "path": [decision.turn],
                "prompt": truncate_text(prompt),
                "answers": [
                    _completion_row(
                        completion,
                        returned,
                        advantages,
                        decision.info,
                        reply,
                        agent_policies[decision.agent],
                    )
                ],
            }
        )
    return rows[::-1]


def _completion_row(
    completion: Completion,
    returned: float,
    advantages: Advantages,
    info: Mapping[str, Any],
    reply: str | None,
    policy: Policy,
) -> Row:
    error = info.get("error")
    sampled = _decode(completion.ids, policy)
    return {
        "text": truncate_text(completion.text),
        "sampled": None if sampled in ("", completion.text) else truncate_text(sampled),
        "return": float(returned),
        "advantage": advantages[id(completion)],
        "tokens": len(completion.ids),
        "truncated": completion.truncated,
        "error": truncate_text(str(error)) if error else None,
        "reward_components": {n: float(v) for n, v in info.get("reward_components", {}).items()},
        "reply": None if reply is None else truncate_text(reply),
        **({"board": info["board"]} if "board" in info else {}),
    }


def _path(group: Group) -> tuple[Any, ...]:
    return group.key[1:-1]  # the key is (seed, *path, agent)


def _decode(ids: Sequence[int], policy: Policy) -> str:
    """Tokens as text, special tokens included; empty for a policy without tokens."""
    if not ids or not isinstance(policy, TransformersPolicy):
        return ""
    return str(policy.tokenizer.decode(list(ids), skip_special_tokens=False))


def truncate_text(text: str) -> str:
    """The text, or its first ``MAX_CHARACTERS`` characters and how many were left out."""
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}\n[{len(text) - MAX_CHARACTERS:,} more characters were not recorded]"
