"""Calls of a user's functions: reward functions, formatters, and transitions between turns."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from llmzoo.envs.text import truncate
from llmzoo.errors import ConfigError, LlmzooError

_SHOWN = 200  # characters of an answer in an error


class RewardFunctionError(LlmzooError, RuntimeError):
    """A user's reward function, formatter or transition raised or returned something invalid."""


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function in error messages."""
    if isinstance(function, FunctionType | MethodType | type):
        return f"{function.__module__}.{function.__qualname__}"
    return repr(function)


class RewardCall:
    """Calls ``function`` with prompts, answers and a task, and returns one number.

    The function gets lists of one element each. The parameters ``prompts`` and ``batch_items`` (the
    task) are passed by name; for one agent, ``completions`` and the task's own ``columns`` are too.
    The remaining parameters take the answers of N agents: one list per agent (also as ``*args``),
    all lists in one, or the prompts followed by one list per agent. These are the forms of CoMLRL's
    trainers and, for one agent, TRL's. The function returns one number, alone or in a list or
    array.

    Raises :class:`ConfigError` if the parameters fit none of these forms.
    """

    def __init__(self, function: Callable[..., Any], agents: int, columns: Sequence[str] = ()):
        self.function = function
        self.agents = agents
        self.name = function_name(function)
        try:
            self._parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError) as error:
            raise ConfigError(
                f"reward function {self.name} hides its parameters: {error}"
            ) from None
        self._named = {"prompts", "batch_items"}
        if agents == 1:
            self._named |= {"completions", *columns}
        self._check()

    def __call__(
        self, prompts: Sequence[str], answers: Sequence[str], task: Mapping[str, Any]
    ) -> float:
        """The reward of one joint answer. Raises :class:`RewardFunctionError` if it is not a
        number."""
        args, keywords = self._arguments(prompts, answers, task)
        shown = ", ".join(repr(truncate(answer, _SHOWN)) for answer in answers)
        try:
            returned = self.function(*args, **keywords)
        except Exception as error:
            raise RewardFunctionError(
                f"reward function {self.name} raised {error!r} for the answers {shown}"
            ) from error
        return self._number(returned, shown)

    def _number(self, returned: Any, shown: str) -> float:
        what = f"reward function {self.name} returned {truncate(repr(returned), _SHOWN)}"
        try:
            values = np.asarray(returned, dtype=np.float64)
        except (TypeError, ValueError, RuntimeError):
            raise RewardFunctionError(
                f"{what} for the answers {shown}: no list of numbers"
            ) from None
        if values.ndim > 1 or values.size != 1:
            raise RewardFunctionError(
                f"{what}: {values.size} values for one joint answer of {self.agents} agents; "
                "it must be one, which they share"
            )
        value = float(values.reshape(())) if values.ndim == 0 else float(values[0])
        if not math.isfinite(value):
            raise RewardFunctionError(f"{what} for the answers {shown}: rewards are finite numbers")
        return value

    def _arguments(
        self, prompts: Sequence[str], answers: Sequence[str], task: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        known: dict[str, Any] = {"prompts": [prompts[0]], "batch_items": [dict(task)]}
        if self.agents == 1:
            columns = {name: [value] for name, value in task.items()}
            known = {**columns, **known, "completions": [answers[0]]}
        values = iter(self._in_slots([[answer] for answer in answers], [prompts[0]]))
        args: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter in self._parameters:
            name, kind = parameter.name, parameter.kind
            if kind is parameter.VAR_POSITIONAL:
                args += values
            elif kind is parameter.VAR_KEYWORD:
                given = {p.name for p in self._parameters}
                keywords |= {key: value for key, value in known.items() if key not in given}
            elif name in self._named and name in known:
                if kind is parameter.KEYWORD_ONLY:
                    keywords[name] = known[name]
                else:
                    args.append(known[name])
            elif kind is not parameter.KEYWORD_ONLY:
                value = next(values, parameter.default)
                args.append(value)
        return args, keywords

    def _in_slots(self, lists: list[list[str]], prompts: list[str]) -> list[Any]:
        """The arguments for parameters without a known name, in order."""
        if self._form == "each":
            return lists
        if self._form == "prompts first":
            return [prompts, *lists]
        return [lists] if self._form == "all in one" else []

    def _check(self) -> None:
        """Determine the form of the parameters."""
        kinds = [p.kind for p in self._parameters]
        slots = [
            p
            for p in self._parameters
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in self._named
        ]
        needed = sum(p.default is p.empty for p in slots)
        names = {p.name for p in self._parameters}
        takes_any = inspect.Parameter.VAR_POSITIONAL in kinds
        if self.agents == 1 and "completions" in names and needed == 0:
            self._form = "by name"
        elif needed <= self.agents <= len(slots) or (takes_any and needed <= self.agents):
            self._form = "each"
        elif needed == self.agents + 1 and not takes_any:
            self._form = "prompts first"
        elif needed == 1 and not takes_any:
            self._form = "all in one"
        else:
            self._form = ""
        unknown = [
            p.name
            for p in self._parameters
            if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in self._named
        ]
        if not self._form or unknown:
            raise ConfigError(
                f"reward function {self.name}({', '.join(map(str, self._parameters))}) does not fit "
                f"{self.agents} agents: it takes a list of answers for each of them, and by name "
                f"{', '.join(sorted(self._named))}"
            )


Task = Mapping[str, Any]
Formatter = Callable[..., str]
Transition = Callable[..., Sequence[str]]
EXTERNAL = "external_prompts"  # the formatter parameter for a later turn's prompt


class Formatters:
    """One formatter per agent. It turns a task into a prompt, and at later turns an external
    prompt.

    None: the task's column ``prompt``, and at later turns the external prompt. At later turns a
    formatter gets the task with the external prompt in its column ``prompt`` (the original one is
    in ``_original_prompt``), and also as ``external_prompts`` if it has that parameter. With
    ``passthrough``, agents read the external prompt unchanged.
    """

    def __init__(
        self,
        formatters: Formatter | Sequence[Formatter] | None,
        agents: Sequence[str],
        *,
        passthrough: bool = False,
    ):
        if formatters is None or callable(formatters):
            each = [formatters or _prompt] * len(agents)
        else:
            each = list(formatters)
        if len(each) != len(agents):
            raise ConfigError(f"{len(each)} formatters for {len(agents)} agents")
        self._each = each
        self._agents = agents
        self._passthrough = passthrough

    def first(self, task: Task) -> tuple[str, ...]:
        """What each agent reads at the first turn."""
        pairs = zip(self._each, self._agents, strict=True)
        return tuple(_text(format, agent, dict(task)) for format, agent in pairs)

    def later(self, task: Task, external: Sequence[str]) -> tuple[str, ...]:
        """What each agent reads after a transition returned ``external``."""
        if self._passthrough:
            return tuple(external)
        texts = []
        for format, agent, prompt in zip(self._each, self._agents, external, strict=True):
            changed = {**task, "_original_prompt": task.get("prompt", ""), "prompt": prompt}
            named = EXTERNAL in inspect.signature(format).parameters
            texts.append(_text(format, agent, changed, **({EXTERNAL: prompt} if named else {})))
        return tuple(texts)


def check_transition(transition: Transition) -> None:
    """Raise :class:`ConfigError` if it cannot be called as :func:`external_prompts` does."""
    try:
        inspect.signature(transition).bind(
            prompt="",
            agent_completions=[],
            num_agents=1,
            prompt_history_per_agent=[],
            response_history_per_agent=[],
        )
    except TypeError as error:
        raise ConfigError(
            f"external_transition {function_name(transition)} must take prompt, agent_completions, "
            f"num_agents, prompt_history_per_agent and response_history_per_agent: {error}"
        ) from None


def external_prompts(
    transition: Transition,
    task: Task,
    prompts: Sequence[Sequence[str]],
    answers: Sequence[Sequence[str]],
) -> tuple[str, ...]:
    """Each agent's next prompt. ``prompts`` and ``answers``: of each agent so far."""
    what = f"external_transition {function_name(transition)}"
    try:
        given = transition(
            prompt=task.get("prompt", ""),
            agent_completions=[own[-1] for own in answers],
            num_agents=len(answers),
            prompt_history_per_agent=[list(own) for own in prompts],
            response_history_per_agent=[list(own) for own in answers],
        )
    except Exception as error:
        raise RewardFunctionError(f"{what} raised {error!r}") from error
    if (
        not isinstance(given, list | tuple)
        or len(given) != len(answers)
        or not all(isinstance(prompt, str) for prompt in given)
    ):
        raise RewardFunctionError(
            f"{what} returned {truncate(repr(given), 200)}; it must be a list of {len(answers)} prompts"
        )
    return tuple(given)


def _prompt(task: Task) -> Any:
    try:
        return task["prompt"]
    except KeyError:
        raise ConfigError(
            f"a task has no column 'prompt', only {', '.join(task)}: give formatters"
        ) from None


def _text(format: Formatter, agent: str, task: dict[str, Any], **external: str) -> str:
    try:
        text = format(task, **external)
    except ConfigError:
        raise
    except Exception as error:
        raise RewardFunctionError(
            f"formatter {function_name(format)} of {agent} raised {error!r}"
        ) from error
    if not isinstance(text, str):
        raise RewardFunctionError(
            f"formatter {function_name(format)} of {agent} returned a {type(text).__name__}, not a text"
        )
    return text
