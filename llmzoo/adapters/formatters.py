"""What agents read of a task: CoMLRL's formatters, and its transitions between turns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from llmzoo.adapters.reward_calls import RewardFunctionError, name_of
from llmzoo.envs.text import cut
from llmzoo.errors import ConfigError

Task = Mapping[str, Any]
Formatter = Callable[..., str]
Transition = Callable[..., Sequence[str]]
EXTERNAL = "external_prompts"  # the parameter by which a formatter is given a later turn's prompt


class Formatters:
    """One formatter an agent: from a task, and at later turns a prompt from outside, to a text.

    None: the task's column ``prompt``, and at later turns the prompt from outside. At later turns
    a formatter is given the task with that prompt in its column ``prompt`` (the first one stands
    in ``_original_prompt``) and, where it has the parameter, as ``external_prompts``; or, with
    ``passthrough``, agents read that prompt as it is.
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
        """What each agent reads when a transition has given it ``external``."""
        if self._passthrough:
            return tuple(external)
        texts = []
        for format, agent, prompt in zip(self._each, self._agents, external, strict=True):
            changed = {**task, "_original_prompt": task.get("prompt", ""), "prompt": prompt}
            named = EXTERNAL in inspect.signature(format).parameters
            texts.append(_text(format, agent, changed, **({EXTERNAL: prompt} if named else {})))
        return tuple(texts)


def check_transition(transition: Transition) -> None:
    """Raise :class:`ConfigError` where it cannot be called as :func:`external_prompts` does."""
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
            f"external_transition {name_of(transition)} must take prompt, agent_completions, "
            f"num_agents, prompt_history_per_agent and response_history_per_agent: {error}"
        ) from None


def external_prompts(
    transition: Transition,
    task: Task,
    prompts: Sequence[Sequence[str]],
    answers: Sequence[Sequence[str]],
) -> tuple[str, ...]:
    """A prompt for each agent's next turn; ``prompts`` and ``answers``: of each agent, so far."""
    what = f"external_transition {name_of(transition)}"
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
            f"{what} returned {cut(repr(given), 200)}; it must be a list of {len(answers)} prompts"
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
            f"formatter {name_of(format)} of {agent} raised {error!r}"
        ) from error
    if not isinstance(text, str):
        raise RewardFunctionError(
            f"formatter {name_of(format)} of {agent} returned a {type(text).__name__}, not a text"
        )
    return text
