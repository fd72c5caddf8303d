"""A program that calls language models, as an environment."""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from pettingzoo import AECEnv

from llmzoo.envs.base import (
    MAX_OBSERVATION_CHARS,
    FastOrderEnforcingWrapper,
    Outcome,
    TextEnv,
    find_length_errors,
)
from llmzoo.envs.programs.errors import ProgramError
from llmzoo.envs.programs.messages import ProgramCall
from llmzoo.envs.programs.rewards import add_earlier_rewards, parse_outcome
from llmzoo.envs.programs.running import TOGETHER, Program, ProgramRun
from llmzoo.envs.tasks import TaskList, describe_task
from llmzoo.envs.user_tasks import TaskRow, TaskSource, load_tasks
from llmzoo.errors import ConfigError
from llmzoo.spaces import Observation

_ROUNDING = 1e-9  # of sums of rewards
_JOIN_SECONDS = 1.0  # for a thread to end when an environment is closed
Expert = Callable[[Mapping[str, Any], str, Sequence[Mapping[str, Any]]], str]
NoisyExpert = Callable[[Mapping[str, Any], str, Sequence[Mapping[str, Any]], random.Random], str]


def from_program(
    program: Program,
    *,
    agents: Sequence[str],
    tasks: TaskSource,
    success: float = 1.0,
    max_turns: int = 50,
    time_limit: float | None = 60.0,
    replayable: bool = True,
    on_error: Literal["raise", "end"] = "raise",
    slow: bool = False,
    together: float = TOGETHER,
    expert: Expert | None = None,
    noisy_expert: NoisyExpert | None = None,
    split: str = "train",
    render_mode: str | None = None,
) -> AECEnv:
    """An environment whose agents answer the calls of a program.

    Parameters
    ----------
    program: ``program(task, client)``, a function or a coroutine function. ``task`` is a mapping, and
        ``client`` has the shape of OpenAI's client (:class:`llmzoo.envs.programs.client.Client`). It
        returns the reward: a number for all agents, a mapping from agents to numbers or to named parts,
        or either with whether the task was solved, as ``(reward, success)``.
    agents: the names that the program calls as ``model``.
    tasks: rows with columns (a text stands for ``{"prompt": text}``), or a ``.jsonl`` file of them, split
        into train and test by their content; or ``{"train": rows, "test": rows}``.
    success: the least team reward of an episode that counts as success, where the program does not say.
    max_turns: rounds of calls after which the episode is truncated.
    time_limit: seconds that the program may take between two calls; None for no limit.
    replayable: whether the same answers lead the program to the same calls. Then :meth:`ProgramEnv.fork`
        copies an episode by running the program again. Trees need that; learners that play whole episodes
        do not.
    on_error: what an exception of the program does: ``"raise"`` raises :class:`ProgramError`, ``"end"``
        ends the episode with what was paid so far, and ``infos[agent]["error"]`` says why.
    slow: whether a step is worth a thread, since the program waits for something itself.
    together: seconds within which calls from several threads count as made at the same time.
    expert: ``expert(task, agent, messages)`` returns the best answer; for ``llmzoo.scripted_expert``.
    noisy expert: ``noisy_expert(task, agent, messages, rng)`` returns a sloppy player's answer; for the checks.

    Calls that are made together (``asyncio.gather``, threads) are answered together: no agent sees
    another's answer. The answers of an agent that is called twice at once are taken one after the other.
    """
    return FastOrderEnforcingWrapper(
        ProgramEnv(
            program,
            load_tasks(tasks, split),
            agents,
            success=success,
            max_turns=max_turns,
            time_limit=time_limit,
            replayable=replayable,
            on_error=on_error,
            slow=slow,
            together=together,
            expert=expert,
            noisy_expert=noisy_expert,
            render_mode=render_mode,
        )
    )


@dataclass(frozen=True, slots=True)
class ProgramEpisode:
    """An episode so far: what was asked together and answered, what is asked now, and what the team was paid."""

    row: TaskRow
    seed: int
    rounds: tuple[tuple[tuple[ProgramCall, ...], tuple[str, ...]], ...] = ()
    calls: tuple[ProgramCall, ...] = ()
    team_paid: float = 0.0

    def last_call(self, agent: str) -> ProgramCall | None:
        """The latest call of an agent."""
        history = [*self.calls, *(call for calls, _ in reversed(self.rounds) for call in calls)]
        return next((call for call in history if call.agent == agent), None)


class _SharedRun:
    """A run in the state of one or several episodes. The first that is stepped takes it."""

    _running: ProgramRun | None = None

    def __init__(self, running: ProgramRun | None):
        self._running = running
        self._lock = threading.Lock()

    def take(self) -> ProgramRun | None:
        with self._lock:
            running, self._running = self._running, None
        return running

    def __del__(self) -> None:
        if self._running is not None:
            self._running.close()


class ProgramEnv(TextEnv[ProgramEpisode]):
    """The environment of :func:`from_program`."""

    def __init__(
        self,
        program: Program,
        tasks: TaskList[TaskRow],
        agents: Sequence[str],
        *,
        success: float,
        max_turns: int,
        time_limit: float | None,
        replayable: bool,
        on_error: Literal["raise", "end"],
        slow: bool,
        together: float,
        expert: Expert | None,
        noisy_expert: NoisyExpert | None,
        render_mode: str | None,
    ):
        if isinstance(agents, str) or not agents or len(set(agents)) < len(agents):
            raise ConfigError(
                f"agents are the names of at least one agent, each once; got {agents}"
            )
        if on_error not in ("raise", "end"):
            raise ConfigError(f"on_error is 'raise' or 'end', got {on_error!r}")
        super().__init__(list(agents), max_turns=max_turns, render_mode=render_mode)
        name = getattr(program, "__name__", "program")
        self.metadata = {
            **self.metadata,
            "name": f"{name}_v0" if name.isidentifier() else "program_v0",
            "team_and_local": False,
            "slow_step": slow,
        }
        self.tasks = tasks
        self._program = program
        self._success_at = success
        self._time_limit = time_limit
        self._replayable = replayable
        self._on_error = on_error
        self._together = together
        self._expert = expert
        self._noisy_expert = noisy_expert
        self._live = _SharedRun(None)

    def reset_task(self, rng: random.Random, task: int | str | None) -> ProgramEpisode:
        self.close()
        row = self.tasks.sample(rng) if task is None else self.tasks[task]
        episode = ProgramEpisode(row, rng.getrandbits(48))
        running = self._start_program(episode)
        with _close_on_error(running):
            calls = running.calls()
            if not calls:
                why = "returned without a call" if running.error is None else _why(running.error)
                raise ProgramError(f"the program {why}, on task {row.text:.200}") from running.error
            episode = replace(episode, calls=_check(calls))
        self._live = _SharedRun(running)
        return episode

    def task_info(self) -> Mapping[str, Any]:
        return describe_task(self.tasks, self.episode.row.text, self.episode.row)

    def observation(self, state: ProgramEpisode, agent: str) -> Observation:
        """What an agent is asked, or was asked last; empty if the program has not called it yet."""
        call = state.last_call(agent)
        return Observation("") if call is None else call.observation()

    def observe(self, agent: str) -> Observation:
        return self.observation(self.episode, agent)

    def expert(self, agent: str) -> str:
        if self._expert is None:
            return super().expert(agent)
        return self._expert(*self._expert_arguments(agent))

    def noisy_expert(self, agent: str, rng: random.Random) -> str:
        if self._noisy_expert is None:
            return super().noisy_expert(agent, rng)
        return self._noisy_expert(*self._expert_arguments(agent), rng)

    def _expert_arguments(
        self, agent: str
    ) -> tuple[Mapping[str, Any], str, Sequence[Mapping[str, Any]]]:
        call = self.episode.last_call(agent)
        return copy.deepcopy(self.episode.row.columns), agent, () if call is None else call.messages

    def acting(self, state: ProgramEpisode) -> tuple[str, ...]:
        return tuple(call.agent for call in state.calls)

    def fork(self) -> ProgramEnv:
        if not self._replayable:
            raise ConfigError(
                f"{self.metadata['name']} says replayable=False, so its episodes cannot be copied; train on "
                "whole episodes: --learner ippo copies nothing"
            )
        forked = super().fork()
        assert isinstance(forked, ProgramEnv)
        return forked

    def close(self) -> None:
        """End the program, if no copy of this episode may still need it."""
        running = self._live.take()
        if running is not None:
            running.close()
            running.join(_JOIN_SECONDS)

    def apply(
        self, state: ProgramEpisode, actions: Mapping[str, str]
    ) -> tuple[ProgramEpisode, Outcome]:
        """Give the program the answers to its calls, and let it run to its next calls or its end."""
        errors = find_length_errors(actions)
        texts = tuple("" if call.agent in errors else actions[call.agent] for call in state.calls)
        running = self._live.take() or self._replay(state)
        with _close_on_error(running):
            running.answer(texts)
            calls = running.calls()
            outcome = Outcome() if calls else self._final_outcome(state, running)
            outcome = add_earlier_rewards(outcome, running.take_rewards())
            team = outcome.team
            state = replace(
                state,
                rounds=(*state.rounds, (state.calls, texts)),
                calls=_check(calls),
                team_paid=state.team_paid
                + (sum(team.values()) if isinstance(team, Mapping) else team),
            )
        self._live = _SharedRun(running)
        truncated = not outcome.done and self.turn + 1 >= self.max_turns
        if truncated:
            self.close()
        if (outcome.done or truncated) and outcome.success is None:
            enough = state.team_paid >= self._success_at - _ROUNDING
            outcome = outcome._replace(success=enough)
        return state, outcome._replace(errors={**errors, **outcome.errors})

    def _final_outcome(self, state: ProgramEpisode, running: ProgramRun) -> Outcome:
        """How the episode ends; its success is None if the program did not say."""
        if running.error is None:
            return parse_outcome(running.result, self.possible_agents)
        if self._on_error == "raise" or not isinstance(running.error, Exception):
            raise ProgramError(
                f"the program {_why(running.error)}, on task {state.row.text:.200}; "
                "on_error='end' ends the episode instead"
            ) from running.error
        errors = dict.fromkeys(self.agents, f"error: {_why(running.error)}")
        return Outcome(done=True, errors=errors, success=False)

    def _start_program(self, episode: ProgramEpisode) -> ProgramRun:
        task = copy.deepcopy(dict(episode.row.columns))
        return ProgramRun(
            self._program,
            task,
            self.possible_agents,
            episode.seed,
            self._time_limit,
            self._together,
        )

    def _replay(self, episode: ProgramEpisode) -> ProgramRun:
        """A run of the program up to the present calls. Raises :class:`ProgramError` if it makes others."""
        if not self._replayable:
            raise ConfigError(f"{self.metadata['name']} says replayable=False, and was closed")
        running = self._start_program(episode)
        with _close_on_error(running):
            for number, (calls, texts) in enumerate((*episode.rounds, (episode.calls, ()))):
                _compare(number, calls, running.calls(calls), running.error)
                if texts:
                    running.answer(texts)
        if episode.rounds:
            running.take_rewards()  # what was paid before belongs to steps that have been taken
        return running


@contextmanager
def _close_on_error(running: ProgramRun) -> Iterator[None]:
    """No run is left behind by a step that fails."""
    try:
        yield
    except BaseException:
        running.close()
        raise


def _compare(
    number: int,
    before: Sequence[ProgramCall],
    now: Sequence[ProgramCall],
    error: BaseException | None,
) -> None:
    if tuple(before) == tuple(now):
        return
    pairs = zip((*before, None), (*now, None), strict=False)
    was, is_now = next((b, n) for b, n in pairs if b != n)
    instead = f"{_describe_call(is_now)} now" if error is None else f"now it {_why(error)}"
    raise ProgramError(
        f"the program was run again with the same answers and differs in round {number + 1}: it asked "
        f"{_describe_call(was)} first, and {instead}. Draw from client.random instead of chance and clocks, "
        "await calls that are made together with asyncio.gather, or say replayable=False and train on "
        "whole episodes"
    ) from error


def _check(calls: Sequence[ProgramCall]) -> tuple[ProgramCall, ...]:
    for call in calls:
        if len(call.observation()) > MAX_OBSERVATION_CHARS:
            raise ProgramError(
                f"{call.agent} is asked more than {MAX_OBSERVATION_CHARS} characters"
            )
    return tuple(calls)


def _why(error: BaseException) -> str:
    return f"raised {type(error).__name__}: {error!s:.700}"


def _describe_call(call: ProgramCall | None) -> str:
    return "nobody" if call is None else f"{call.agent} {call.observation()[-200:]!r}"
