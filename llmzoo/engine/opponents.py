"""A pool of opponents: frozen copies of the learning policies, and scripted policies.

In self-play one set of weights plays every agent, so each update changes the opponent too. Policies can then
cycle or collapse. A pool of frozen opponents makes training more stable (Lanctot et al., 2017,
arXiv 1711.00832; Vinyals et al., 2019; Heinrich et al., 2015, fictitious self-play).

In an episode against an opponent, the agents of one side learn, which the episode's seed selects, and the opponent
plays all others. Its completions are recorded without tokens, like those of scripted policies, so no learner trains
on them.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from llmzoo import files
from llmzoo.distributed import ranks
from llmzoo.engine.opponents_config import OpponentArgs, OpponentSampling
from llmzoo.envs.sides import Side, score_side
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.policies import load
from llmzoo.policies.base import Policy, PolicyRequest, RoutedPolicy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Completion

PRIORITY_EXPONENT = 2  # prioritized: the weight is (1 - win rate) to this power, AlphaStar's f_hard
RECENCY_DECAY = 0.7  # recency: the weight of a copy relative to the next newer one


@dataclass(slots=True)
class MatchRecord:
    """Results of the learner against a member of the pool; a drawn game counts as half a win."""

    games: int = 0
    won: float = 0.0

    @property
    def win_rate(self) -> float:
        """The share of games won, with one win and one loss added."""
        return (self.won + 1.0) / (self.games + 2.0)


class Opponents:
    """The pool of a run: its members, the results against each, and the matchup of each episode.

    ``sides``: the agents of each side (:func:`llmzoo.envs.sides.list_sides`); at least two need agents that learn.
    ``folder``: contains a folder for each copy, named after its iteration, with a model folder for each
    policy. A checkpoint contains the names of the members and the results against them.
    """

    def __init__(
        self,
        sampling: OpponentSampling,
        args: OpponentArgs,
        policies: Mapping[str, TransformersPolicy],
        agent_policies: Mapping[str, Policy],
        sides: Sequence[Side],
        folder: Path,
    ):
        by_policy = {id(policy): name for name, policy in policies.items()}
        self.sampling, self.args, self.folder = sampling, args, folder
        self.policies = dict(policies)
        self.names = {a: by_policy[id(p)] for a, p in agent_policies.items() if id(p) in by_policy}
        learning = (tuple(agent for agent in side if agent in self.names) for side in sides)
        self.sides = [side for side in learning if side]  # those of their agents that learn
        if len(self.sides) < 2:
            raise ConfigError(
                f"opponents={sampling!r} needs agents that learn on two sides, got {self.sides}: set "
                "policies='shared', 'separate' or 'lora'"
            )
        self.records: dict[str, MatchRecord] = {name: MatchRecord() for name in args.scripted}
        self._scripted: dict[str, Policy] = {name: load(name) for name in args.scripted}
        self._slots: list[
            dict[str, TransformersPolicy]
        ] = []  # models in memory, each with the weights of one copy
        self._sampled_members: list[str] = []  # opponents in this iteration, with repetitions
        self._slot_by_member: dict[str, int] = {}  # index into _slots
        self._rng_prefix = ""  # seeds the sampling of this iteration

    @property
    def copies(self) -> list[str]:
        """The members that are copies, oldest first."""
        return [name for name in self.records if name not in self._scripted]

    def start_iteration(self, step: int, seed: int) -> None:
        """Add a copy to the pool if it is due, and sample the opponents of iteration ``step``.

        ``seed``: that of the iteration.
        """
        self._rng_prefix = f"opponents/{seed}"
        if step % self.args.every == 0 and self._passes_gate():
            self._add_copy(f"{step:06d}")
        rng = random.Random(self._rng_prefix)
        names = list(self.records)
        weights = [self._sampling_weight(name) for name in names]
        self._sampled_members = rng.choices(names, weights, k=self.args.per_iteration)
        self._load_copies(
            [n for n in dict.fromkeys(self._sampled_members) if n not in self._scripted]
        )

    def matchup(self, seed: int) -> tuple[Side, str] | None:
        """The learning side and the opponent in the episode with this seed; None for self-play."""
        rng = random.Random(f"{self._rng_prefix}/{seed}")
        if rng.random() >= self.args.share:
            return None
        return rng.choice(self.sides), rng.choice(self._sampled_members)

    def trained_agents(self, seed: int, agents: Collection[str]) -> Collection[str]:
        """Those of ``agents`` that learn in the episode with this seed."""
        matchup = self.matchup(seed)
        return agents if matchup is None else matchup[0]

    def with_opponents(self, rollout_policies: Mapping[str, Policy]) -> dict[str, Policy]:
        """The policies of all agents, with the opponent's policy in the episodes that have one."""
        routers: dict[int, Policy] = {}
        policies = dict(rollout_policies)
        for agent in self.names:
            member_policy = rollout_policies[agent]
            policies[agent] = routers.setdefault(
                id(member_policy), OpponentRouter(member_policy, self)
            )
        return policies

    def member_policy(self, member: str, agent: str) -> Policy:
        """The policy of ``agent`` for a member that was sampled for this iteration."""
        if member in self._scripted:
            return self._scripted[member]
        return self._slots[self._slot_by_member[member]][self.names[agent]]

    def record_results(self, batch: Batch) -> dict[str, float]:
        """Count the games of a batch; returns metrics."""
        games, wins = 0, 0.0
        for ending in batch.endings:
            matchup = self.matchup(ending.seed)
            if matchup is None:
                continue
            side, member = matchup
            score = score_side(side, self.sides, ending.totals, ending.outcomes)
            self.records[member].games += 1
            self.records[member].won += score
            games, wins = games + 1, wins + score
        metrics = {"opponents": float(len(self.records))}
        return {**metrics, "win_rate": wins / games} if games else metrics

    def save(self, folder: Path) -> None:
        if ranks.rank() == 0:
            records = {name: [r.games, r.won] for name, r in self.records.items()}
            files.write(folder / "opponents.json", files.dump_json(records))

    def load(self, folder: Path) -> None:
        saved = files.read_json_object(folder / "opponents.json")
        if saved is None:
            raise CheckpointError(f"{folder} has no opponents.json: its run had no opponents")
        self.records = {name: MatchRecord(games, won) for name, (games, won) in saved.items()}
        for name in self.copies:
            if not (self.folder / name).is_dir():
                raise CheckpointError(f"{self.folder / name} is missing: the run's opponent {name}")

    def _passes_gate(self) -> bool:
        copies = self.copies
        if self.args.gate is None or not copies:
            return True
        return self.records[copies[-1]].win_rate >= self.args.gate

    def _add_copy(self, name: str) -> None:
        final, partial = self.folder / name, self.folder / f"{files.TEMPORARY_PREFIX}{name}"
        if ranks.rank() == 0:
            files.recreate_folder(partial)
        ranks.barrier()
        for policy, model in self.policies.items():
            model.save(partial / policy)
        if ranks.rank() == 0:
            files.remove(final)
            partial.rename(final)
        ranks.barrier()
        self._slot_by_member.pop(name, None)
        self.records[name] = MatchRecord()
        if self.args.size is not None:
            for old in self.copies[::-1][self.args.size :]:
                del self.records[old]  # its folder stays, for checkpoints before this one

    def _sampling_weight(self, name: str) -> float:
        copies = self.copies
        if name in self._scripted or self.sampling in ("uniform", "fictitious"):
            return 1.0
        if self.sampling == "prioritized":
            return (1.0 - self.records[name].win_rate) ** PRIORITY_EXPONENT
        age = len(copies) - 1 - copies.index(name)
        return RECENCY_DECAY**age if self.sampling == "recency" else float(age == 0)

    def _load_copies(self, members: Sequence[str]) -> None:
        """Load the weights of each copy into a slot, unless a slot has them already."""
        used_slots = {
            self._slot_by_member[name] for name in members if name in self._slot_by_member
        }
        for name in members:
            if name in self._slot_by_member:
                continue
            slot = next((i for i in range(len(self._slots)) if i not in used_slots), None)
            if slot is None:
                slot = len(self._slots)
                self._slots.append({n: p.frozen_copy() for n, p in self.policies.items()})
            self._slot_by_member = {n: i for n, i in self._slot_by_member.items() if i != slot}
            for policy, model in self._slots[slot].items():
                model.load_weights(self.folder / name / policy)
            self._slot_by_member[name] = slot
            used_slots.add(slot)


class OpponentRouter(RoutedPolicy):
    """Routes a request to the learning policy, or to the opponent of the episode."""

    def __init__(self, learner: Policy, opponents: Opponents):
        self.learner, self.opponents = learner, opponents
        self.name, self.prompt_style = learner.name, learner.prompt_style

    def route(self, request: PolicyRequest) -> Policy:
        matchup = self.opponents.matchup(request.seed)
        if matchup is None or request.agent in matchup[0]:
            return self.learner
        return self.opponents.member_policy(matchup[1], request.agent)

    def process_completions(
        self, policy: Policy, completions: list[Completion]
    ) -> list[Completion]:
        return completions if policy is self.learner else [_without_tokens(c) for c in completions]


def _without_tokens(completion: Completion) -> Completion:
    """The completion without tokens, so that no learner trains on it."""
    return Completion(
        text=completion.text, truncated=completion.truncated, refused=completion.refused
    )
