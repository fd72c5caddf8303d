"""Opponents: earlier copies of the policies that learn, and scripted players, across the table.

In self-play one set of weights plays every agent, and each update changes the opponent too. Policies
then chase each other in circles, or collapse. A pool of frozen opponents gives them something to hold on to
(Lanctot et al., 2017, arXiv 1711.00832; Vinyals et al., 2019; Heinrich et al., 2015, fictitious
self-play).

In an episode against an opponent one agent learns, drawn by the episode's seed, and the opponent plays the
others. Its completions are recorded without tokens, like those of scripted players, so no learner trains on them.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from llmzoo import files
from llmzoo.distributed import ranks
from llmzoo.engine.opponents_config import OpponentArgs, OpponentSampling
from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.policies import load
from llmzoo.policies.base import Policy, PolicyRequest, RoutedPolicy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Completion

PRIORITY_EXPONENT = 2  # of prioritized draws: (1 - win rate) to this power, as AlphaStar's f_hard
RECENCY_DECAY = 0.7  # how much less each older copy is drawn


@dataclass(slots=True)
class MatchRecord:
    """Games of the learner against a member of the pool; draws count half."""

    games: int = 0
    won: float = 0.0

    @property
    def win_rate(self) -> float:
        """With one game won and one lost before the first."""
        return (self.won + 1.0) / (self.games + 2.0)


class Opponents:
    """The pool of a run: its members, what the learner won against each, and who plays where.

    Copies are folders of ``folder``, one for each iteration, with a model folder for each policy. A
    checkpoint holds the names of the members and their records.
    """

    def __init__(
        self,
        sampling: OpponentSampling,
        args: OpponentArgs,
        policies: Mapping[str, TransformersPolicy],
        agent_policies: Mapping[str, Policy],
        folder: Path,
    ):
        by_policy = {id(policy): name for name, policy in policies.items()}
        self.draw, self.args, self.folder = sampling, args, folder
        self.policies = dict(policies)
        self.names = {a: by_policy[id(p)] for a, p in agent_policies.items() if id(p) in by_policy}
        if len(self.names) < 2:
            raise ConfigError(
                f"opponents={sampling!r} needs two agents that learn: policies='shared', 'separate' or 'lora'"
            )
        self.records: dict[str, MatchRecord] = {name: MatchRecord() for name in args.scripted}
        self._scripted: dict[str, Policy] = {name: load(name) for name in args.scripted}
        self._places: list[dict[str, TransformersPolicy]] = []  # frozen copies, filled as needed
        self._drawn: list[str] = []  # members of this iteration
        self._loaded: dict[str, int] = {}  # member -> place
        self._rng_prefix = ""  # of this iteration's chance

    @property
    def copies(self) -> list[str]:
        """The members that are copies, from the oldest on."""
        return [name for name in self.records if name not in self._scripted]

    def begin(self, step: int, seed: int) -> None:
        """Copy the learner if it is time, and draw the opponents of iteration ``step``; ``seed``: its own."""
        self._rng_prefix = f"opponents/{seed}"
        if step % self.args.every == 0 and self._passes_gate():
            self._add_copy(f"{step:06d}")
        rng = random.Random(self._rng_prefix)
        names = list(self.records)
        weights = [self._weight(name) for name in names]
        self._drawn = rng.choices(names, weights, k=self.args.per_iteration)
        self._load([n for n in dict.fromkeys(self._drawn) if n not in self._scripted])

    def matchup(self, seed: int) -> tuple[str, str] | None:
        """The agent that learns in the episode of ``seed``, and the opponent; None: self-play."""
        rng = random.Random(f"{self._rng_prefix}/{seed}")
        if rng.random() >= self.args.share:
            return None
        return rng.choice(list(self.names)), rng.choice(self._drawn)

    def trained_agents(self, seed: int, agents: Collection[str]) -> Collection[str]:
        """Those of ``agents`` that learn in the episode of ``seed``."""
        matchup = self.matchup(seed)
        return agents if matchup is None else [matchup[0]]

    def with_opponents(self, players: Mapping[str, Policy]) -> dict[str, Policy]:
        """The players of all agents, with opponents in the episodes that have one."""
        routers: dict[int, Policy] = {}
        policies = dict(players)
        for agent in self.names:
            player = players[agent]
            policies[agent] = routers.setdefault(id(player), OpponentRouter(player, self))
        return policies

    def player(self, member: str, agent: str) -> Policy:
        """Who plays ``agent`` for a member that was drawn for this iteration."""
        if member in self._scripted:
            return self._scripted[member]
        return self._places[self._loaded[member]][self.names[agent]]

    def record(self, batch: Batch) -> dict[str, float]:
        """Count the games of a batch; returns metrics."""
        games, wins = 0, 0.0
        for ending in batch.endings:
            matchup = self.matchup(ending.seed)
            if matchup is None:
                continue
            agent, member = matchup
            agent_return = ending.totals[agent]
            others = [ending.totals[a] for a in self.names if a != agent]
            score = 0.5 + 0.5 * ((agent_return > max(others)) - (agent_return < max(others)))
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
        self._loaded.pop(name, None)
        self.records[name] = MatchRecord()
        if self.args.size is not None:
            for old in self.copies[::-1][self.args.size :]:
                del self.records[old]  # its folder stays, for checkpoints before this one

    def _weight(self, name: str) -> float:
        copies = self.copies
        if name in self._scripted or self.draw in ("uniform", "fictitious"):
            return 1.0
        if self.draw == "prioritized":
            return (1.0 - self.records[name].win_rate) ** PRIORITY_EXPONENT
        age = len(copies) - 1 - copies.index(name)
        return RECENCY_DECAY**age if self.draw == "recency" else float(age == 0)

    def _load(self, members: Sequence[str]) -> None:
        """Put each member into a place, those that are there already first."""
        used_slots = {self._loaded[name] for name in members if name in self._loaded}
        for name in members:
            if name in self._loaded:
                continue
            slot = next((i for i in range(len(self._places)) if i not in used_slots), None)
            if slot is None:
                slot = len(self._places)
                self._places.append({n: p.frozen_copy() for n, p in self.policies.items()})
            self._loaded = {n: i for n, i in self._loaded.items() if i != slot}
            for policy, model in self._places[slot].items():
                model.load_weights(self.folder / name / policy)
            self._loaded[name] = slot
            used_slots.add(slot)


class OpponentRouter(RoutedPolicy):
    """A learning policy for its agents, with an opponent in its place where the episode has one."""

    def __init__(self, learner: Policy, opponents: Opponents):
        self.learner, self.opponents = learner, opponents
        self.name, self.prompt_style = learner.name, learner.prompt_style

    def route(self, request: PolicyRequest) -> Policy:
        matchup = self.opponents.matchup(request.seed)
        if matchup is None or matchup[0] == request.agent:
            return self.learner
        return self.opponents.player(matchup[1], request.agent)

    def process_completions(
        self, policy: Policy, completions: list[Completion]
    ) -> list[Completion]:
        return completions if policy is self.learner else [_without_tokens(c) for c in completions]


def _without_tokens(completion: Completion) -> Completion:
    """No learner trains on an opponent's completions."""
    return Completion(
        text=completion.text, truncated=completion.truncated, refused=completion.refused
    )
