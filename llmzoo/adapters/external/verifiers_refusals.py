"""Which packages for verifiers are not played: those that need a model, a server or a container."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

_PLAIN_HARNESSES = ("bash", "null")  # the default, and the one without tools


def refusal_reason(env: Any, task: Any) -> str:
    """Why an environment with a task such as this one is refused; "" if it is played."""
    reasons = (*_environment_reasons(env), *_task_reasons(env, task))
    return next((reason for reason in reasons if reason), "")


def _environment_reasons(env: Any) -> Iterable[str]:
    vf = import_module("verifiers.v1")
    agents = [name for name, value in env.config if isinstance(value, vf.AgentConfig)]
    if len(agents) != 1:
        yield f"it has {len(agents)} agents ({', '.join(agents)}), and one agent is played"
    for harness in env.config.agent_harnesses().values():
        if harness.id not in _PLAIN_HARNESSES:
            yield f"its harness {harness.id!r} is a program of its own"
    for hook in ("start", "stop"):
        if getattr(type(env), hook) is not getattr(vf.Env, hook):
            yield f"its environment serves something of its own, in {hook}()"


def _task_reasons(env: Any, task: Any) -> Iterable[str]:
    vf = import_module("verifiers.v1")
    config = env.taskset.config
    tools = [*env.taskset.toolsets(config), *type(task).toolsets(config.task)]
    if tools:
        yield f"it serves tools ({', '.join(type(tool).__name__ for tool in tools)})"
    if type(task).NEEDS_CONTAINER or task.data.image is not None:
        yield "its tasks run in a container"
    for judge in task.config.judges:
        yield f"its judge {judge.name or judge.id!r} needs a model"
    for name, value in (*config, *task.config):
        if isinstance(value, vf.JudgeConfig):
            yield f"its judge {name!r} needs a model"
    for kind in ("stop", "intercept"):
        hooks = import_module("verifiers.v1.utils.decorators").discover_decorated(task, kind)
        for hook in hooks:
            yield f"its @vf.{kind} {hook.__name__!r} is called on a model's requests, and there are none"
    if task.config.stops:
        yield "it has stops, which are called on a model's requests, and there are none"
    for reward in task.hooks("reward"):
        yield _missing_argument(f"its reward {reward.__name__!r}", reward, ("task", "trace"))
    for metric in task.hooks("metric"):
        yield _missing_argument(
            f"its metric {metric.__name__!r}", metric, ("task", "trace", "runtime")
        )
    for name in ("setup", "finalize"):
        if getattr(type(task), name) is not getattr(vf.Task, name):
            yield _missing_argument(f"its {name}()", getattr(task, name), ("trace",))


def _missing_argument(what: str, function: Callable[..., Any], given: tuple[str, ...]) -> str:
    """Which argument a function needs that nobody gives it here; "" if none."""
    for name, parameter in inspect.signature(function).parameters.items():
        variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if name not in given and parameter.default is parameter.empty and not variadic:
            return f"{what} needs {name!r}, and there is {' and '.join(given)} only"
    return ""
