"""# Relay

A secret passes along a chain. The first agent reads it, each agent in the middle reads only a message and a table of
its own, and the last agent must answer with the secret after all tables have changed it. Every agent is needed.

| | |
|---|---|
| id | `relay_v0` |
| agents | `first_0`, `middle_1`, ..., `last_N` in turns; with `num_agents=1`: `last_0`, who reads everything |
| observation, action | text |
| rounds | 1 |
| success | the last agent answers with the secret after all tables |

**The secret** is a list of `length` digits from 1 to `symbols`. Each agent but the first has a table, which
says what each digit becomes. Different digits become different ones. The tables apply in the order of the agents.

**Actions.** All agents but the last write a message to the next agent, which nobody else reads: 1 to `max_len` of
the first `vocab_size` capital letters (digits from 1 in terse prompts). Spaces and commas do not matter. A message
with anything else, an empty one and a longer one is malformed and not delivered. The last agent writes `length`
digits.

**Rewards**

| part | paid to | worth |
|---|---|---|
| team: right | all | 0.5 x the share of the digits that are right |
| team: solved | all | 0.5 if all are |
| form | own text | 0.1 if it can be read |

A text that cannot be read costs its part `form`, and a malformed answer is worth nothing to the team. The most
is 1.1.

**Every agent is needed.** With the default arguments, the best that the others can do without knowing the secret
solves 1 task in 16. Without knowing one of the tables they solve 1 in 8: two equal digits become equal ones. A
test sums over all secrets and tables. The control is `num_agents=1`, one agent that reads everything.

**Arguments.** `num_agents` (3 to 8; 1), `length` (2; 1 to 6), `symbols` (4; 2 to 8), `vocab_size` (None: as
many letters as symbols; 2 to 9), `max_len` (None: as many letters as digits; 1 to 20), `chain_length` (None: as
many as `num_agents`, or 3 for one agent; the number of agents in the chain), `prompt` ("full" or "terse"),
`team_weight`, `split` ("train", "test", "all"), `render_mode`. There must be at least as many messages of
`max_len` letters as secrets.

**Tasks.** The secret and the tables are drawn at random. The split is by both. Renamed digits are not the same
task here, because a code names digits.

**The scripted expert** writes a letter for each digit, or the secret as a number in letters, and reads messages
in the same way. It uses nothing but what its prompt shows.

This game is ours; its two-agent form without a table is the signalling game of [`signal_v0`](signal.md).

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.base import make_env_fns
from llmzoo.envs.signals import code
from llmzoo.envs.signals.chain import ChainEnv, ChainState, Values
from llmzoo.envs.signals.code import format_digits
from llmzoo.envs.tasks import generate_tasks
from llmzoo.errors import ConfigError

MAX_CHAIN = 8


@dataclass(frozen=True, slots=True)
class RelayTask:
    """The secret, and the table of each agent but the first: what each digit becomes, from 0."""

    secret: Values
    tables: tuple[Values, ...]


def sample_task(rng: random.Random, chain_length: int, length: int, symbols: int) -> RelayTask:
    """A random secret and random tables."""
    secret = tuple(rng.randrange(symbols) for _ in range(length))
    tables = tuple(tuple(rng.sample(range(symbols), symbols)) for _ in range(chain_length - 1))
    return RelayTask(secret, tables)


def canonical(task: RelayTask) -> str:
    return " ".join(map(format_digits, (task.secret, *task.tables)))


def apply_tables(secret: Values, tables: Sequence[Values]) -> Values:
    """The secret after the tables have changed it, one after the other."""
    for table in tables:
        secret = tuple(table[digit] for digit in secret)
    return secret


class Relay(ChainEnv[RelayTask]):
    """A chain of agents, each of which changes a secret by a table of its own."""

    metadata: dict[str, Any] = {**ChainEnv.metadata, "name": "relay_v0"}

    def __init__(
        self,
        *,
        num_agents: int = 3,
        length: int = 2,
        symbols: int = 4,
        vocab_size: int | None = None,
        max_len: int | None = None,
        chain_length: int | None = None,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        split: str = "train",
        render_mode: str | None = None,
    ):
        if num_agents != 1:
            check_range("num_agents", num_agents, 3, MAX_CHAIN)
        if chain_length is None:
            chain_length = 3 if num_agents == 1 else num_agents
        check_range("chain_length", chain_length, 3, MAX_CHAIN)
        if num_agents not in (1, chain_length):
            raise ConfigError(
                f"num_agents must be 1, or as many as chain_length ({chain_length}), got {num_agents}"
            )
        check_range("length", length, 1, 6)
        check_range("symbols", symbols, 2, 8)
        self.length = length
        self.values = symbols
        middle = [f"middle_{number}" for number in range(1, num_agents - 1)]
        super().__init__(
            ["first_0", *middle, f"last_{num_agents - 1}"] if num_agents > 1 else ["last_0"],
            generate_tasks(
                sample_task,
                canonical,
                split=split,
                name=f"relay, seats {chain_length}, length {length}, symbols {symbols}",
                chain_length=chain_length,
                length=length,
                symbols=symbols,
            ),
            code.make_alphabet(vocab_size, max_len, length, symbols, prompt),
            prompt=prompt,
            team_weight=team_weight,
            render_mode=render_mode,
        )

    def read(self, text: str) -> Values:
        return code.parse_digits(text, self.length, self.values)

    def write(self, values: Values) -> str:
        return format_digits(values)

    def solution(self, task: RelayTask) -> Values:
        return apply_tables(task.secret, task.tables)

    def describe_mistake(self, task: RelayTask, answer: Values) -> str:
        return "not what the tables make of the secret"

    def expert_values(self, agent: str) -> Values:
        """What an agent knows of the secret after its own table."""
        task = self.episode.task
        tables = self._tables(task, agent)
        if agent == self.possible_agents[0]:
            return apply_tables(task.secret, tables)
        message = self.received_message(self.episode, agent)
        meant = self.alphabet.decode(message, self.length, self.values) if message else None
        return apply_tables(meant or (0,) * self.length, tables)

    def confuse_values(self, values: Values, rng: random.Random) -> Values:
        """The values with one of them changed."""
        place = rng.randrange(self.length)
        other = (values[place] + rng.randrange(1, self.values)) % self.values
        return (*values[:place], other, *values[place + 1 :])

    def render_task(self) -> str:
        task = self.episode.task
        return f"secret: {format_digits(task.secret)}\ntables: {' '.join(map(format_digits, task.tables))}"

    def observation(self, state: ChainState[RelayTask], agent: str) -> str:
        prompt = self._terse if self.prompt_style == "terse" else self._full_prompt
        return prompt(state, agent)

    def _tables(self, task: RelayTask, agent: str) -> tuple[Values, ...]:
        """The tables that an agent reads."""
        number = self.possible_agents.index(agent)
        if len(self.possible_agents) == 1:
            return task.tables
        return task.tables[number - 1 : number] if number else ()

    def _terse(self, state: ChainState[RelayTask], agent: str) -> str:
        lines = [f"relay {agent.partition('_')[0]}"]
        lines += [f"table {format_digits(table)}" for table in self._tables(state.task, agent)]
        if agent == self.possible_agents[0]:
            lines += [f"secret {format_digits(state.task.secret)}"]
        else:
            lines += [f"message {self.quote_message(state, agent)}"]
        return "\n".join([*lines, "answer", ""])

    def _full_prompt(self, state: ChainState[RelayTask], agent: str) -> str:
        agents = self.possible_agents
        number = agents.index(agent)
        digits_of = code.describe_digits(self.length, self.values)
        lines = [f"You are {agent} in a relay of {', '.join(agents)}."]
        if len(agents) == 1:
            lines = [f"You are {agent}."]
        lines += [
            f"A secret of {digits_of} is changed by tables, one after the other. "
            "A table says what each digit becomes."
        ]
        if len(agents) > 1:
            lines += [
                f"Only {agents[0]} sees the secret; each of the others sees one table of its own, and reads a "
                f"message from the one before it. {agents[-1]} must answer with what the secret has become "
                "after all tables."
            ]
        lines += [""]
        if number == 0:
            lines += [f"The secret: {format_digits(state.task.secret)}"]
        else:
            lines += [f"The message of {agents[number - 1]}: {self.quote_message(state, agent)}"]
        lines += [
            f"{_name(agents)}: {_in_words(table)}" for table in self._tables(state.task, agent)
        ]
        lines += [""]
        if agent == agents[-1]:
            lines += [
                f"Answer with what the secret has become after all tables: {digits_of}, such as "
                f"{'1' * self.length}, and nothing else."
            ]
        else:
            lines += [self.message_instructions(agents[number + 1])]
        return "\n".join([*lines, "", "Your answer:"])


def _name(agents: Sequence[str]) -> str:
    return "Your table" if len(agents) > 1 else "Next table"


def _in_words(table: Values) -> str:
    return ", ".join(f"{old} becomes {new + 1}" for old, new in enumerate(table, start=1))


raw_env = Relay
env, parallel_env = make_env_fns(Relay)
