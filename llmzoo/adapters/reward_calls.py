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

_MAX_SHOWN = 200  # characters of an answer in an error


class RewardFunctionError(LlmzooError, RuntimeError):
    """A user's reward function, formatter or transition raised or returned something invalid."""


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function in error messages."""
    if isinstance(function, FunctionType | MethodType | type):
        return f"{function.__module__}.{function.__qualname__}"
    return repr(function)


class RewardCall:
    """Calls ``function`` with prompts, answers and a task, and returns one number.

    Each list that the function gets has one element: one joint answer is scored at a time. The
    parameters ``prompts`` and ``batch_items`` (the task) are passed by name; for one agent,
    ``completions`` and the task's own ``columns`` are too.
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
                f"the parameters of reward function {self.name} cannot be read: {error}"
            ) from None
        self._known_names = {"prompts", "batch_items"}
        if agents == 1:
            self._known_names |= {"completions", *columns}
        self._determine_form()

    def __call__(
        self, prompts: Sequence[str], answers: Sequence[str], task: Mapping[str, Any]
    ) -> float:
        """The reward of one joint answer. Raises :class:`RewardFunctionError` if it is not a
        number."""
        args, keywords = self._arguments(prompts, answers, task)
        shown_answers = ", ".join(repr(truncate(answer, _MAX_SHOWN)) for answer in answers)
        try:
            returned = self.function(*args, **keywords)
        except Exception as error:
            raise RewardFunctionError(
                f"reward function {self.name} raised {error!r} for the answers {shown_answers}"
            ) from error
        return self._parse_reward(returned, shown_answers)

    def _parse_reward(self, returned: Any, shown_answers: str) -> float:
        what = f"reward function {self.name} returned {truncate(repr(returned), _MAX_SHOWN)}"
        try:
            values = np.asarray(returned, dtype=np.float64)
        except (TypeError, ValueError, RuntimeError):
            raise RewardFunctionError(
                f"{what} for the answers {shown_answers}: no list of numbers"
            ) from None
        if values.ndim > 1 or values.size != 1:
            raise RewardFunctionError(
                f"{what}: {values.size} values for one joint answer of {self.agents} agents; "
                "it must be one, which they share"
            )
        value = float(values.reshape(())) if values.ndim == 0 else float(values[0])
        if not math.isfinite(value):
            raise RewardFunctionError(
                f"{what} for the answers {shown_answers}: rewards are finite numbers"
            )
        return value

    def _arguments(
        self, prompts: Sequence[str], answers: Sequence[str], task: Mapping[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        known: dict[str, Any] = {"prompts": [prompts[0]], "batch_items": [dict(task)]}
        if self.agents == 1:
            columns = {name: [value] for name, value in task.items()}
            known = {**columns, **known, "completions": [answers[0]]}
        values = iter(self._positional_values([[answer] for answer in answers], [prompts[0]]))
        args: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter in self._parameters:
            name, kind = parameter.name, parameter.kind
            if kind is parameter.VAR_POSITIONAL:
                args += values
            elif kind is parameter.VAR_KEYWORD:
                explicit_names = {p.name for p in self._parameters}
                keywords |= {
                    key: value for key, value in known.items() if key not in explicit_names
                }
            elif name in self._known_names and name in known:
                if kind is parameter.KEYWORD_ONLY:
                    keywords[name] = known[name]
                else:
                    args.append(known[name])
            elif kind is not parameter.KEYWORD_ONLY:
                value = next(values, parameter.default)
                args.append(value)
        return args, keywords

    def _positional_values(self, lists: list[list[str]], prompts: list[str]) -> list[Any]:
        """The arguments for parameters without a known name, in order."""
        if self._form == "each":
            return lists
        if self._form == "prompts first":
            return [prompts, *lists]
        return [lists] if self._form == "all in one" else []

    def _determine_form(self) -> None:
        """Set ``_form``, the way in which answers are passed. Raises :class:`ConfigError` if none fits."""
        kinds = [p.kind for p in self._parameters]
        answer_parameters = [
            p
            for p in self._parameters
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            and p.name not in self._known_names
        ]
        required_count = sum(p.default is p.empty for p in answer_parameters)
        names = {p.name for p in self._parameters}
        takes_varargs = inspect.Parameter.VAR_POSITIONAL in kinds
        if self.agents == 1 and "completions" in names and required_count == 0:
            self._form = "by name"
        elif required_count <= self.agents <= len(answer_parameters) or (
            takes_varargs and required_count <= self.agents
        ):
            self._form = "each"
        elif required_count == self.agents + 1 and not takes_varargs:
            self._form = "prompts first"
        elif required_count == 1 and not takes_varargs:
            self._form = "all in one"
        else:
            self._form = ""
        unknown = [
            p.name
            for p in self._parameters
            if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name not in self._known_names
        ]
        if not self._form or unknown:
            raise ConfigError(
                f"reward function {self.name}({', '.join(map(str, self._parameters))}) does not fit "
                f"{self.agents} agents: it takes a list of answers for each of them, and by name "
                f"{', '.join(sorted(self._known_names))}"
            )


Task = Mapping[str, Any]
Formatter = Callable[..., str]
Transition = Callable[..., Sequence[str]]
EXTERNAL_PARAMETER = "external_prompts"  # the formatter parameter for a later turn's prompt


class Formatters:
    """One formatter per agent. It turns a task into a prompt, and at later turns an external
    prompt.

    ``formatters`` None: the task's column ``prompt``, and at later turns the external prompt. At later
    turns a formatter gets the task with the external prompt in its column ``prompt`` (the original one is
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
            formatter_list = [formatters or _default_formatter] * len(agents)
        else:
            formatter_list = list(formatters)
        if len(formatter_list) != len(agents):
            raise ConfigError(f"{len(formatter_list)} formatters for {len(agents)} agents")
        self._formatters = formatter_list
        self._agents = agents
        self._passthrough = passthrough

    def first(self, task: Task) -> tuple[str, ...]:
        """What each agent reads at the first turn."""
        pairs = zip(self._formatters, self._agents, strict=True)
        return tuple(_format_prompt(format, agent, dict(task)) for format, agent in pairs)

    def later(self, task: Task, external: Sequence[str]) -> tuple[str, ...]:
        """What each agent reads after a transition returned ``external``."""
        if self._passthrough:
            return tuple(external)
        texts = []
        for format, agent, prompt in zip(self._formatters, self._agents, external, strict=True):
            later_task = {**task, "_original_prompt": task.get("prompt", ""), "prompt": prompt}
            takes_external = EXTERNAL_PARAMETER in inspect.signature(format).parameters
            texts.append(
                _format_prompt(
                    format,
                    agent,
                    later_task,
                    **({EXTERNAL_PARAMETER: prompt} if takes_external else {}),
                )
            )
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
        returned = transition(
            prompt=task.get("prompt", ""),
            agent_completions=[own[-1] for own in answers],
            num_agents=len(answers),
            prompt_history_per_agent=[list(own) for own in prompts],
            response_history_per_agent=[list(own) for own in answers],
        )
    except Exception as error:
        raise RewardFunctionError(f"{what} raised {error!r}") from error
    if (
        not isinstance(returned, list | tuple)
        or len(returned) != len(answers)
        or not all(isinstance(prompt, str) for prompt in returned)
    ):
        raise RewardFunctionError(
            f"{what} returned {truncate(repr(returned), 200)}; it must be a list of {len(answers)} prompts"
        )
    return tuple(returned)


def _default_formatter(task: Task) -> Any:
    try:
        return task["prompt"]
    except KeyError:
        raise ConfigError(
            f"a task has no column 'prompt', only {', '.join(task)}: give formatters"
        ) from None


def _format_prompt(format: Formatter, agent: str, task: dict[str, Any], **external: str) -> str:
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
