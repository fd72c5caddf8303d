"""# Commons

Fishers share a pond. Each round all of them name how many fish they take, at the same time. Those that are left grow, up
to what the pond can hold; if too few are left, all die.

| | |
|---|---|
| id | `commons_v0` |
| agents | `fisher_0`, `fisher_1`, ..., at the same time; with `num_agents=1`: `manager_0`, who decides for all of them |
| observation, action | text |
| rounds | as the task says, 4 to 8 |
| success | all together take at least 90% of the best possible harvest |

**The pond.** Everyone reads the rules, the number of fish and what each fisher took in the last round. If `left` fish are left
after a round, `rate · left · (1 - left / capacity)` are born, rounded down. With fewer left than the pond needs, they all die
and the season ends, except after the last round, when it does not matter. If all want more fish than there are, each
gets what it wants up to one level, the same for all.

**Actions.** A whole number from 0 to the limit of the task, alone on a line. With `message_chars` above 0, a line `say TEXT`
may stand beside it; all others read it in the next round. With `num_agents=1` the answer has a line for each fisher, such as
`fisher_0: 3`.

**Rewards**

| part | paid to | worth |
|---|---|---|
| team: harvest | all, with `reward="team"` | the fish of all in this round / the best harvest of a season |
| own | each, with `reward="selfish"` | its own fish in this round / a fisher's share of the best harvest |
| form | own answer | -0.05 in each round whose answer cannot be read; for `manager_0` times the share of fishers without a number |

With the team's reward the most is 1. With `reward="selfish"` the mean over the fishers is at most 1, and one may earn more
at the expense of others. Someone whose answer cannot be read takes nothing.

**Infos.** At the end: `collapse` (the fish died before the last round), `harvest` (by fisher), `equality` (1 minus the Gini
coefficient of the harvests, scaled so that 0 is all for one), and `optimum` (the best harvest of a season).

**Arguments.** `num_agents` (3; 2 to 8, or 1), `fishers` (None: as many as agents, or 3 for one agent), `reward` ("team" or
"selfish"; one agent has "team"), `message_chars` (0: no messages; up to 2,000), `prompt` ("full" or "terse"), `team_weight`,
`split` ("train", "test", "all"), `render_mode`.

**Tasks.** Capacity (6 to 14 fish for each fisher), rate (30% to 100%), the fewest fish that survive (10% to 30% of the
capacity), the fish at the start (50% to 100%) and the number of rounds are drawn at random, until the best harvest is at least 1.5 times the fish at the start. The split is by these numbers.

**The best harvest** is exact: `social_optimum` in `llmzoo/envs/crowd/commons/optimum.py` computes it backwards from the last
round, for every number of fish. `selfish_equilibrium` computes what fishers do who each think of themselves: a number for
each round and stock from which none gains by deviating (a symmetric Markov equilibrium), or, where whole numbers have none, the
one with the least to gain.

**The scripted expert** takes its share of the best harvest at the present stock. It reads what its prompt says, and needs no
messages.

Source: the game is ours. Common pools of fish as a test of language models are those of GovSim (Piatti et al., "Cooperate or
Collapse: Emergence of Sustainable Cooperation in a Society of LLM Agents", 2024,
[arXiv 2404.16698](https://arxiv.org/abs/2404.16698)), where fish double each month and agents converse at length. Numbers are
not comparable.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from llmzoo.envs.base import TextEnv, make_env_fns
from llmzoo.envs.crowd.commons import players, tasks
from llmzoo.envs.crowd.commons.optimum import social_optimum
from llmzoo.envs.crowd.commons.pond import Pond, grow, growth, share_out
from llmzoo.envs.crowd.crowd_env import CrowdEnv, CrowdState, RoundResult, count_members
from llmzoo.envs.crowd.fairness import measure_fairness
from llmzoo.envs.tasks import generate_tasks
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError

DEFAULT_FISHERS = 3
ENOUGH = 0.9  # of the best harvest, for success
LISTED = 6  # numbers of fish whose growth a prompt lists

_NUMBER = re.compile(r"(-?[0-9]{1,9})(?: fish)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Season:
    """stock: fish in the pond. taken: by each fisher so far. last: by each fisher in the last round."""

    stock: int
    taken: tuple[float, ...]
    last: tuple[float, ...] = ()
    collapsed: bool = False


PondState = CrowdState[Pond, Season]


class Commons(CrowdEnv[Pond, Season, int]):
    """A pond of fish that grows again."""

    metadata: dict[str, Any] = {
        **TextEnv.metadata,
        "name": "commons_v0",
        "team_components": ["harvest"],
    }
    idle = 0

    def __init__(
        self,
        *,
        num_agents: int = 3,
        fishers: int | None = None,
        reward: Literal["team", "selfish"] = "team",
        split: str = "train",
        **options: Any,
    ):
        count = count_members("fishers", num_agents, fishers, DEFAULT_FISHERS)
        if num_agents == 1 and reward == "selfish":
            raise ConfigError('reward="selfish" requires at least 2 agents, got num_agents=1')
        super().__init__(
            generate_tasks(
                tasks.sample_task,
                tasks.canonical,
                split=split,
                name=f"commons, {count}",
                fishers=count,
            ),
            [f"fisher_{number}" for number in range(count)],
            "manager_0" if num_agents == 1 else "",
            **options,
        )
        self.reward = reward

    def initial_world(self, task: Pond) -> Season:
        return Season(task.start, (0.0,) * task.fishers)

    def rounds(self, task: Pond) -> int:
        return task.rounds

    def fingerprint(self, task: Pond) -> str:
        return tasks.canonical(task)

    def read(self, task: Pond, line: str) -> int | None:
        match = _NUMBER.fullmatch(line.strip())
        if not match:
            return None
        if not 0 <= int(match[1]) <= task.limit:
            raise MalformedError(f"{match[1]} is not from 0 to {task.limit}")
        return int(match[1])

    def advance(self, state: PondState, values: Sequence[int]) -> RoundResult[Season]:
        pond, season = state.task, state.world
        shares = share_out(season.stock, values)
        harvest = min(season.stock, sum(values))
        stock = grow(pond, season.stock - harvest)
        taken = tuple(before + new for before, new in zip(season.taken, shares, strict=True))
        over = state.round + 1 == pond.rounds
        collapsed = not stock and not over
        best = self._optimum(pond)
        success = round(sum(taken)) >= ENOUGH * best
        season = Season(stock, taken, shares, collapsed)
        if self.reward == "selfish":
            own = {
                name: {"own": share * pond.fishers / best}
                for name, share in zip(self.members, shares, strict=True)
            }
            return RoundResult(season, {}, collapsed, success, own)
        return RoundResult(season, {"harvest": harvest / best}, collapsed, success)

    def hears(self, listener: str, speaker: str) -> bool:
        return True

    def audience(self) -> str:
        return "all others" if len(self.members) > 2 else "the other"

    def measure(self, state: PondState) -> Mapping[str, Any]:
        return {
            "collapse": state.world.collapsed,
            "harvest": dict(zip(self.members, state.world.taken, strict=True)),
            "equality": measure_fairness(state.world.taken),
            "optimum": self._optimum(state.task),
        }

    def choose(self, member: str) -> int:
        state = self.episode
        fisher = self.members.index(member)
        return players.choose_harvest(state.task, state.world.stock, state.round, fisher)

    def confuse(self, value: int, rng: random.Random) -> int:
        limit = self.episode.task.limit
        return rng.choice([number for number in range(limit + 1) if number != value])

    def rules(self, task: Pond, agent: str) -> str:
        count = task.fishers
        who = f"You are {agent}, one of {count} fishers at a pond."
        if self.alone:
            who = f"You are {agent}. You decide for {count} fishers at a pond, fisher_0 to fisher_{count - 1}."
        paid = {
            "team": "All of you earn the same for every fish that anyone takes.",
            "selfish": "You earn only for the fish that you take yourself.",
        }
        listed = "; ".join(f"{left}: {new}" for left, new in self._growth(task))
        return "\n".join(
            [
                who,
                f"Each round all name at the same time how many fish they take: a whole number from 0 to {task.limit}. "
                "If all want more than there are, the fish are divided evenly.",
                f"Then the fish that are left grow by {task.rate}% x left x (1 - left / {task.capacity}), rounded down. "
                f"With fewer than {task.fewest} left they all die. Fish that are left after the last round are worth nothing.",
                f"Fish left, and by how many they grow: {listed}.",
                paid[self.reward],
            ]
        )

    def describe_world(self, state: PondState, agent: str) -> list[str]:
        lines = [f"Fish in the pond: {state.world.stock}."]
        if state.world.last:
            taken = [
                f"{'you' if name == agent else name} {share:g}"
                for name, share in zip(self.members, _rounded(state.world.last), strict=True)
            ]
            lines += [f"Taken in the last round: {', '.join(taken)}."]
        return lines

    def terse(self, state: PondState, agent: str) -> list[str]:
        pond, season = state.task, state.world
        own = ["selfish"] if self.reward == "selfish" else []
        return [
            f"fish {season.stock}/{pond.capacity} rate {pond.rate} fewest {pond.fewest} limit {pond.limit} "
            f"{' '.join(self.members) if self.alone else f'fishers {pond.fishers}'}",
            f"grow {' '.join(f'{left}+{new}' for left, new in self._growth(pond))}",
            *([f"last {' '.join(f'{x:g}' for x in _rounded(season.last))}"] if season.last else []),
            *own,
        ]

    def board(self) -> str:
        """The pond and what each fisher has taken, for a person."""
        state = self.episode
        lines = [f"round {state.round} of {state.task.rounds}, fish {state.world.stock}"]
        for name, taken in zip(self.members, _rounded(state.world.taken), strict=True):
            lines += [f"{name}: {taken:g} fish"]
        return "\n".join([*lines, *(["collapse"] if state.world.collapsed else [])])

    def _optimum(self, pond: Pond) -> float:
        """The best harvest of a season."""
        return social_optimum(pond).values[0][pond.start]

    def _growth(self, pond: Pond) -> list[tuple[int, int]]:
        """Some numbers of fish and by how many they grow."""
        last = LISTED - 1
        apart = pond.capacity - pond.fewest
        listed = (pond.fewest + apart * step // last for step in range(LISTED))
        return [(left, growth(pond, left)) for left in listed]


def _rounded(shares: Sequence[float]) -> list[float]:
    return [round(share, 1) for share in shares]


raw_env = Commons
env, parallel_env = make_env_fns(Commons)
