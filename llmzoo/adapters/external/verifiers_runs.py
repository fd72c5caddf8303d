"""An episode of verifiers without its servers: ``Env.run`` with recorded replies in place of a model.

``Env.run`` of verifiers is a coroutine that asks an agent for replies. :func:`run_with_replies` starts it from the
beginning and gives it the replies so far. When it asks for another one, it is cancelled and what the agent
would read is returned. When it ends, the task's own ``@vf.reward`` functions score it, and then
``Env.finalize``. So each answer costs a run of everything before it, and two copies of an episode share
nothing.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

from llmzoo.adapters.external.global_random import GlobalRandomState
from llmzoo.envs.text import replace_surrogates

TIME_LIMIT_S = 10.0  # of one run, from its first message to its scores
_GRACE_S = 1.0  # for a run that is cancelled to end


class TranscriptLine(NamedTuple):
    """A message: ``role`` is "system", "user", "assistant", "tool", or "you" for a reply of the agent."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class RunTranscript:
    """What a run did with the replies: the messages, and at its end the rewards.

    ``parts`` are the weighted rewards by name; None while the run asks for a reply. ``best`` is the sum of
    the weights above 0. ``error`` says what ended the run if it was not its own end, and ``late`` whether that
    was the time limit. ``detail`` is for the programmer: it may hold what the agent must not read.
    """

    lines: tuple[TranscriptLine, ...]
    parts: Mapping[str, float] | None = None
    best: float = 0.0
    error: str = ""
    late: bool = False
    detail: str = ""

    @property
    def success(self) -> bool:
        return self.best > 0.0 and sum((self.parts or {}).values()) >= self.best - 1e-9


def run_with_replies(
    env: Any, task: Any, replies: Sequence[str], seed: int, max_turns: int, time_limit_s: float
) -> RunTranscript:
    """Run ``task`` in ``env`` (a ``vf.Env`` with one agent) with these replies.

    The exchange is ended for the agent after ``max_turns`` replies, as by verifiers' own limit. Whatever
    the run raises, and a run of over ``time_limit_s`` seconds, ends it without rewards. Python's and
    NumPy's global generators begin with ``seed`` each time.
    """
    session = _Session(tuple(replies), max_turns)
    try:
        with GlobalRandomState(seed).swap_in():
            ended = _run_in_thread(lambda: _run_until_question(env, task, session), time_limit_s)
    except TimeoutError:
        return RunTranscript(
            tuple(session.lines), {}, error=f"it took over {time_limit_s:g} s", late=True
        )
    except Exception as fault:  # whatever a package's code raises on a text that it did not expect
        cause = fault.__cause__ or fault  # verifiers wraps what a reward raises
        error = f"it raised {type(cause).__name__}"
        return RunTranscript(tuple(session.lines), {}, error=error, detail=f"{error}: {fault}")
    if not ended:
        return RunTranscript(tuple(session.lines))
    return _score(session)


def _score(session: _Session) -> RunTranscript:
    rewards = {n: r for trace in session.traces for n, r in trace.rewards.items() if r is not None}
    lines = tuple(session.lines)
    best = float(sum(max(reward.weight, 0.0) for reward in rewards.values()))
    parts = {name: float(reward.value) for name, reward in rewards.items()}
    bad = [name for name, value in parts.items() if not math.isfinite(value)]
    if bad:
        return RunTranscript(lines, {}, best, f"the reward {bad[0]!r} is not finite")
    return RunTranscript(lines, parts, best)


async def _run_until_question(env: Any, task: Any, session: _Session) -> bool:
    """Whether the run came to its end; False if it waits for a reply."""
    vf = import_module("verifiers.v1")
    task = task.with_data()  # a copy: what the run changes in its data is gone with it
    task.data = task.data.model_copy(deep=True)
    name, config = next((n, c) for n, c in env.config if isinstance(c, vf.AgentConfig))
    agents = vf.Agents(env.config, lambda *_: _ReplayedAgent(session, name, config))

    async def run_and_finalize() -> None:
        await env.setup(agents)
        await env.run(task, agents)
        trace_task = _trace_task(task)
        episode = vf.Episode(env=vf.EnvInfo(id=env.config.env_id), task=trace_task, ok=True)
        episode.traces = session.traces
        await env.finalize(task, episode)

    running = asyncio.ensure_future(run_and_finalize())
    waiting = asyncio.ensure_future(session.asked.wait())
    await asyncio.wait({running, waiting}, return_when=asyncio.FIRST_COMPLETED)
    await asyncio.sleep(0)  # what runs beside the first question may raise
    waiting.cancel()
    if running.done():
        await running
        return True
    running.cancel()
    await asyncio.wait({running})
    return False


def _run_in_thread(make: Callable[[], Coroutine[Any, Any, bool]], time_limit_s: float) -> bool:
    """Run a coroutine in an event loop of its own, in a thread, since this one may have a loop.

    Raises :class:`TimeoutError`. Code that never awaits cannot be stopped: its thread is left behind.
    """
    results: list[bool] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(asyncio.run(asyncio.wait_for(make(), time_limit_s)))
        except BaseException as error:  # handed to the thread that waits
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True, name="llmzoo-verifiers")
    thread.start()
    thread.join(time_limit_s + _GRACE_S)
    if thread.is_alive():
        raise TimeoutError
    for error in errors:
        if isinstance(error, asyncio.TimeoutError):
            raise TimeoutError from error
        if not isinstance(error, Exception):
            raise RuntimeError("it ended its thread") from error
        raise error
    return results[0]


@dataclass(slots=True)
class _Session:
    """The replies of one run, and what it showed and scored."""

    replies: tuple[str, ...]
    max_turns: int
    used: int = 0
    opened: int = 0
    lines: list[TranscriptLine] = field(default_factory=list)
    traces: list[Any] = field(default_factory=list)
    asked: asyncio.Event = field(default_factory=asyncio.Event)

    async def reply(self) -> str:
        """The next reply; without one the run waits here until it is cancelled."""
        if self.used == len(self.replies):
            self.asked.set()
            await asyncio.Event().wait()
        self.used += 1
        return self.replies[self.used - 1]


class _ReplayedAgent:
    """What ``Env.run`` gets as its agent: ``run`` and ``interaction`` of ``vf.Agent``."""

    def __init__(self, session: _Session, name: str, config: Any):
        self._session, self.name, self.config = session, name, config
        self.trainable = True

    async def run(self, task: Any) -> Any:
        async with self.interaction(task) as interaction:
            await interaction.turn()
        return interaction.trace

    @asynccontextmanager
    async def interaction(self, task: Any) -> AsyncIterator[_ReplayedInteraction]:
        self._session.opened += 1
        if self._session.opened > 1:
            raise RuntimeError("it opens a second exchange, and only one is played")
        interaction = _ReplayedInteraction(self._session, task, self.name, self.config)
        await _call_own_hook(task, "setup", interaction.trace)
        yield interaction
        await _call_own_hook(task, "finalize", interaction.trace)
        await task.score(interaction.trace)
        interaction.trace.ok = True
        self._session.traces.append(interaction.trace)


class _ReplayedInteraction:
    """An open exchange, ``vf.Interaction``: each turn takes the next recorded reply."""

    def __init__(self, session: _Session, task: Any, name: str, config: Any):
        vf = import_module("verifiers.v1")
        self._session, self._prompt = session, task.data.prompt
        most = session.max_turns if config.max_turns is None else config.max_turns
        self._max_turns = min(session.max_turns, most)
        self._started = self._over = False
        state = import_module("verifiers.v1.state").state_cls(type(task))()
        config = config.model_copy(update={"model": "llmzoo"})
        agent = vf.AgentInfo(config=config, name=name)
        self.trace = vf.Trace(task=_trace_task(task), agent=agent, state=state)
        if task.data.system_prompt is not None:
            self._say(vf.SystemMessage(content=task.data.system_prompt))

    async def turn(self, message: Any = None) -> Any:
        vf = import_module("verifiers.v1")
        if self._over:
            raise RuntimeError("the exchange is over")
        opens = not self._started and self._prompt is not None
        if opens == (message is not None):
            raise ValueError(
                "a task with a prompt opens with a bare turn(), another turn needs a message"
            )
        self._started = True
        if self.trace.num_turns == self._max_turns:
            self._over = True
            self.trace.stop("max_turns")
            return vf.Segment(messages=[], terminated=True)
        for given in _parse_messages(self._prompt if opens else message):
            self._say(given)
        reply = vf.AssistantMessage(content=await self._session.reply())
        self._say(reply, sampled=True)
        return vf.Segment(messages=[reply])

    def _say(self, message: Any, sampled: bool = False) -> None:
        vf = import_module("verifiers.v1")
        nodes = self.trace.nodes
        parent = len(nodes) - 1 if nodes else None
        nodes.append(vf.MessageNode(parent=parent, message=message, sampled=sampled))
        self._session.lines.append(
            TranscriptLine("you" if sampled else message.role, message_text(message))
        )


async def _call_own_hook(task: Any, name: str, trace: Any) -> None:
    """Call a task's own hook; verifiers' own does nothing, and needs a runtime."""
    if getattr(type(task), name) is not getattr(import_module("verifiers.v1").Task, name):
        invoke = import_module("verifiers.v1.utils.decorators").invoke
        await invoke(getattr(task, name), {"trace": trace})


def _parse_messages(given: Any) -> list[Any]:
    """The messages of a prompt or a turn, which may be a text, or messages typed or as mappings."""
    if isinstance(given, str):
        return [import_module("verifiers.v1").UserMessage(content=given)]
    parse = import_module("verifiers.v1.dialects.chat").parse_message
    return [parse(message) if isinstance(message, dict) else message for message in given]


def message_text(message: Any) -> str:
    """The text of a message. Raises :class:`ValueError` for one with an image."""
    content = message.content or ""
    if isinstance(content, str):
        return replace_surrogates(content)
    if any(part.type != "text" for part in content):
        raise ValueError("a message has an image, and agents read text")
    return replace_surrogates("\n".join(part.text for part in content))


def _trace_task(task: Any) -> Any:
    make = import_module("verifiers.v1").TraceTask
    return make(type=type(task).__name__, data=task.data, key=task.key, hash=task.hash)
