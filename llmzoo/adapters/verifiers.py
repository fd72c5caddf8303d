"""Our environments for verifiers' v1 interface, ``import verifiers.v1 as vf``.

``load_environment("sudoku_v0", agent="planner_1")`` is a ``vf.Env`` in which a model of verifiers
plays one agent or several, and our policies play the others. In verifiers' own commands and in
prime-rl, use the taskset ``llmzoo-verifiers`` with the settings of :class:`LlmzooConfig`.

* Row i is task i of the split with seed ``seed + i``. It plays exactly as in
  :func:`llmzoo.evaluate`.
* Every observation is a user message. It contains everything that an agent may use, so the taskset's
  own harness, in this process, sends only the latest one. A harness of verifiers that can continue
  an exchange (``null``) sends the whole exchange instead.
* The reward is the agent's ``return``. The metrics are ``success``, ``decisions``, ``errors`` and each
  part of the reward, ``component_NAME``. Text that the environment cannot use is still a decision: the
  environment defines its penalty, and it counts in ``errors``.
* Each of the model's agents is a separate agent of verifiers (``first``, ``second``, ...) with its own trace, so no
  baseline mixes agents.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from itertools import count
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.adapters.answered_episode import AnsweredEpisode
from llmzoo.adapters.others import fill_other_agents, with_shared_lock
from llmzoo.errors import ConfigError, UnknownNameError, require_extra
from llmzoo.evaluation.collect import refuse_fallback
from llmzoo.records import Completion
from llmzoo.rollout.scheduler import SampleRequest
from llmzoo.thoughts import strip_thoughts

with require_extra("the adapter for verifiers", "verifiers"):
    import httpx
    import verifiers.v1 as vf
    from verifiers.v1.dialects.chat import message_to_wire

TASKSET = "llmzoo-verifiers"
AGENTS = ("first", "second", "third", "fourth")  # of verifiers, by the order of ``agents``


class LlmzooConfig(vf.TasksetConfig):
    """The environment, the players and the rows; ``--env.taskset.*`` on the command line."""

    id: str = TASKSET
    env: str = ""  # an id, "module:attribute", or "grpc://host:port/id"
    args: dict[str, Any] = {}  # of the environment
    agents: list[str] = []  # that the model plays; none: all
    others: str | dict[str, str] = "expert"  # who plays the rest: a policy's name, or one per agent
    split: Literal["train", "test", "all"] = "train"
    tasks: int | None = None  # rows; None: the whole split, infinite if tasks are generated
    seed: int = 0


class LlmzooData(vf.TaskData):
    """A row: the task's number in the split, and the seed of its randomness."""

    task: int
    seed: int


class LlmzooTask(vf.Task[LlmzooData, vf.State, vf.TaskConfig]):
    """A task. :meth:`LlmzooEnv.run` plays it to score it."""


class LlmzooTaskset(vf.Taskset[LlmzooTask, LlmzooConfig]):
    """The rows of an environment's split.

    Raises :class:`ConfigError` or :class:`UnknownNameError` for invalid settings, and for a public
    set that cannot be reached (``args={"source": "sample"}`` plays the sample instead).
    """

    INFINITE = True  # if the environment does not know its number of tasks

    def __init__(self, config: LlmzooConfig):
        super().__init__(config)
        if not config.env:
            raise ConfigError("say which environment: --env.taskset.env sudoku_v0")
        if config.tasks is not None and config.tasks < 1:
            raise ConfigError(f"tasks must be at least 1, got {config.tasks}")
        env = self.make()
        refuse_fallback(env, config.env)
        self.agents = _agents(config.agents, env.possible_agents)
        self.others = [agent for agent in env.possible_agents if agent not in self.agents]
        env.reset(seed=config.seed)
        known = next(iter(env.infos.values())).get("tasks")
        env.close()
        sizes = [size for size in (known, config.tasks) if size is not None]
        self._size = min(sizes) if sizes else None

    def make(self) -> AECEnv:
        """A new environment."""
        config = self.config
        return registry.make(config.env, **{**config.args, "split": config.split})

    @property
    def bounded(self) -> bool:
        return self._size is not None if self._bounded is None else self._bounded

    def load(self) -> Iterator[LlmzooTask]:
        config = self.config
        for task in count() if self._size is None else range(self._size):
            name = f"{config.env}/{config.split}/{task}"
            data = LlmzooData(name=name, task=task, seed=config.seed + task)
            yield LlmzooTask(data, config.task)


class LlmzooHarness(vf.Harness[vf.HarnessConfig]):
    """Asks the model once per turn with the observation only, from this process."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        system, prompt = self.resolve_prompt(data)
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        if isinstance(prompt, str):
            messages.append({"role": "user", "content": prompt})
        else:
            messages += [message_to_wire(message) for message in prompt or ()]
        async with httpx.AsyncClient(timeout=None) as client:  # the agent's timeout bounds it
            response = await client.post(
                f"{endpoint}/chat/completions",
                headers={"Authorization": f"Bearer {secret}"},
                json={"model": ctx.model, "messages": messages},
            )
        failed = response.status_code != httpx.codes.OK
        return vf.ProgramResult(int(failed), "", response.text if failed else "")

    async def resume(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
        messages: vf.Messages,
        tool_interception_url: str | None = None,
    ) -> vf.ProgramResult:
        alone = data.model_copy(update={"prompt": messages})
        return await self.launch(ctx, trace, runtime, endpoint, secret, mcp_urls, alone)


class LlmzooEnvConfig(vf.EnvConfig):
    """verifiers' own agents. The i-th plays the i-th of ``agents``; the rest play nothing."""

    first: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    second: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    third: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())
    fourth: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class LlmzooEnv(vf.Env[LlmzooEnvConfig]):
    """Plays one of our episodes as one episode of verifiers, with one trace per agent."""

    taskset: LlmzooTaskset

    def __init__(self, config: LlmzooEnvConfig):
        super().__init__(config)
        others = self.taskset.config.others
        self._policies = with_shared_lock(fill_other_agents(others, self.taskset.others))

    async def run(self, task: LlmzooTask, agents: vf.Agents) -> None:
        model_agents = self.taskset.agents
        env = await asyncio.to_thread(self.taskset.make)
        interactions: dict[str, vf.Interaction] = {}
        episode: AnsweredEpisode | None = None
        try:
            async with AsyncExitStack() as stack:
                for slot, agent in zip(AGENTS, model_agents, strict=False):
                    interaction = getattr(agents, slot).interaction(task)
                    interactions[agent] = await stack.enter_async_context(interaction)
                episode = await asyncio.to_thread(
                    AnsweredEpisode, env, task.data.seed, task.data.task
                )
                await self._play(episode, interactions)
        finally:
            env.close()
        for agent, interaction in interactions.items():
            interaction.trace.record_reward("return", episode.totals[agent])
            interaction.trace.record_metrics(episode.metrics(agent))
            interaction.trace.info["agent"] = agent

    async def _play(
        self, episode: AnsweredEpisode, interactions: Mapping[str, vf.Interaction]
    ) -> None:
        """Play until the episode ends, or until verifiers ends an exchange (limit or failed call)."""
        while requests := episode.pending_requests:
            given = await asyncio.gather(*(self._answer(ask, interactions) for ask in requests))
            answers = [answer for answer in given if answer is not None]
            if len(answers) < len(requests):
                return
            await asyncio.to_thread(episode.submit_completions, answers)

    async def _answer(
        self, sample_request: SampleRequest, interactions: Mapping[str, vf.Interaction]
    ) -> Completion | None:
        request = sample_request.request
        if request.agent not in interactions:
            return await asyncio.to_thread(self._answer_for_other, sample_request)
        segment = await interactions[request.agent].turn(str(request.observation))
        return None if segment.terminated else Completion(text=_text(segment))

    def _answer_for_other(self, sample_request: SampleRequest) -> Completion:
        return self._policies[sample_request.request.agent].respond([sample_request.request])[0][0]


def load_environment(
    env_id: str,
    *,
    agent: str | Sequence[str] | None = None,
    others: str | Mapping[str, str] = "expert",
    split: Literal["train", "test", "all"] = "train",
    tasks: int | None = None,
    seed: int = 0,
    args: Mapping[str, Any] | None = None,
) -> LlmzooEnv:
    """The environment ``env_id`` for verifiers.

    ``agent``: the agent or agents of the model (None: all). ``others``: the name of the policy that plays the
    other agents, such as ``"tiny"``, or one for each. Train on ``split="train"`` and evaluate on
    ``"test"``; they share no task. ``tasks``: number of rows (None: the whole split, which is
    infinite if tasks are generated). ``args``: arguments of the environment.

    Raises :class:`UnknownNameError` or :class:`ConfigError` for unknown names and invalid settings.
    """
    taskset = LlmzooConfig(
        env=env_id,
        args=dict(args or {}),
        agents=[agent] if isinstance(agent, str) else list(agent or ()),
        others=others if isinstance(others, str) else dict(others),
        split=split,
        tasks=tasks,
        seed=seed,
    )
    return LlmzooEnv(LlmzooEnvConfig(taskset=taskset))


def _agents(wanted: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    for agent in wanted:
        if agent not in known:
            raise UnknownNameError("agent", agent, known)
    agents = tuple(wanted) or tuple(known)
    if len(set(agents)) < len(agents):
        raise ConfigError(f"an agent is named twice: {', '.join(agents)}")
    if len(agents) > len(AGENTS):
        raise ConfigError(
            f"{len(agents)} agents for the model, and at most {len(AGENTS)} are possible here: "
            "name fewer in agents"
        )
    return agents


def _text(segment: vf.Segment) -> str:
    """What the model wrote after its thoughts, unchanged; empty if a thought is open.

    ``last_reply`` drops whitespace that code may need.
    """
    if segment.root_reply is not None:
        return strip_thoughts(str(segment.root_reply)) or ""
    contents = [m.content for m in segment.messages if isinstance(m, vf.AssistantMessage)]
    return strip_thoughts(contents[-1] or "") or "" if contents else ""
