"""The environment and the policies of a TRL run, and the rows of the trainer's dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.adapters.others import Others, fill_other_agents
from llmzoo.errors import ConfigError, UnknownNameError, require_extra
from llmzoo.evaluation.collect import prompt_style_args, refuse_fallback


class TrlSetup:
    """An environment, the agents that learn, and the policies that play the others.

    env: an id, or a function without arguments that makes an AEC text environment; ``env_args`` are
        the arguments for an id. If another player needs terse prompts, the environment uses them unless
        ``env_args`` say otherwise.
    agents: those that learn; None is all of them.
    others: the players of the remaining agents: a name as in ``llmzoo eval`` (scripted, a model, a run
        folder, an endpoint), a policy, or a mapping from agents to either. Entries for learning
        agents are ignored.

    Raises :class:`UnknownNameError` for an unknown agent. Raises :class:`ConfigError` for an agent without
    a player, and if a shipped sample would replace a public set.
    """

    def __init__(
        self,
        env: str | Callable[[], AECEnv],
        *,
        agents: Sequence[str] | None,
        others: Others,
        env_args: Mapping[str, Any] | None,
    ):
        env_options = dict(env_args or {})
        if env_options and not isinstance(env, str):
            raise ConfigError("env_args are for an id: give them to the function that makes env")
        first_env = registry.make(env, **env_options) if isinstance(env, str) else env()
        possible_agents = list(first_env.possible_agents)
        self.agents = tuple(possible_agents if agents is None else agents)
        for agent in self.agents:
            if agent not in possible_agents:
                raise UnknownNameError("agent", agent, possible_agents)
        if not self.agents:
            raise ConfigError(
                f"name at least one agent that learns, of {', '.join(possible_agents)}"
            )
        if isinstance(others, Mapping):
            others = {agent: other for agent, other in others.items() if agent not in self.agents}
        self.others = fill_other_agents(
            others, [agent for agent in possible_agents if agent not in self.agents]
        )
        self.make: Callable[[], AECEnv]
        if isinstance(env, str):
            self.make = partial(
                registry.make,
                env,
                **{**prompt_style_args(env, self.others.values()), **env_options},
            )
        else:
            self.make = env
        refuse_fallback(first_env, str(first_env))


def dataset(seeds: Iterable[int], *, decisions: int | None = None, instructions: str = "") -> Any:
    """A ``datasets.Dataset`` with the columns ``prompt`` and ``seed``, one row per task.

    The seed fixes the task, so all K samples of a row share it. For ``environment_factory``, omit
    ``decisions``: TRL passes the seed to the agent and appends the agent's observation to ``prompt``,
    which is one user message with ``instructions``.

    For ``rollout_func``, ``decisions`` is the number of trained decisions of an episode, in order
    of play, over all learning agents: sudoku with two agents and up to four rounds has 8. Each
    decision is a row, numbered in the column ``decision``. TRL passes only the prompts to a
    ``rollout_func``, so both numbers are also in the prompt's message, as ``"seed"`` and
    ``"decision"``. The model does not read the text of that message; it reads its agent's
    observation.
    """
    with require_extra("TRL's dataset", "train"):
        from datasets import Dataset
    seeds = [int(seed) for seed in seeds]
    if not seeds:
        raise ConfigError("a dataset needs at least one seed")
    message = {"role": "user", "content": instructions}
    if decisions is None:
        return Dataset.from_list([{"prompt": [message], "seed": seed} for seed in seeds])
    if decisions < 1:
        raise ConfigError(f"decisions is at least 1, got {decisions}")
    if instructions:
        raise ConfigError("the model reads only what its agent observes: leave out instructions")
    rows = [{"seed": seed, "decision": number} for seed in seeds for number in range(decisions)]
    return Dataset.from_list([{"prompt": [{**message, **row}], **row} for row in rows])
