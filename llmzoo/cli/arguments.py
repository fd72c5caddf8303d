"""Checks of what a command is asked to work with, before anything long begins."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from typing import Any, get_type_hints

from gymnasium.spaces import Discrete

from llmzoo import registry
from llmzoo.cli.options import field_names, typed
from llmzoo.errors import ConfigError
from llmzoo.learners import learner_class


def sampling(options: Any) -> dict[str, Any]:
    """The sampling settings among a command's options that were given."""
    names = ("temperature", "top_p", "top_k", "max_new_tokens")
    chosen = {name: getattr(options, name) for name in names}
    return {name: value for name, value in chosen.items() if value is not None}


def chat(options: Any) -> dict[str, Any]:
    """The settings of prompts among a command's options that were given."""
    names = ("system", "chat_template_args", "thought_end")
    chosen = {name: getattr(options, name) for name in names}
    return {name: value for name, value in chosen.items() if value is not None}


def env_arguments(
    env_id: str,
    args: Mapping[str, Any],
    *,
    split: str,
    chosen: str | None = None,
    saved: bool = False,
) -> dict[str, Any]:
    """The arguments of an environment, checked against its signature and by making it once.

    ``split`` says what chooses the split of tasks instead of ``--env.split``, and ``chosen`` is the
    one that was chosen; None: the environment's own default. ``saved``: the arguments are from a
    run folder. They were checked when it began, and the parser would import what they name.
    """
    find_here(env_id)
    found = registry.spec(env_id)
    if "split" in args:
        raise ConfigError(f"the split of tasks is no environment argument here: {split}")
    checked = dict(args)
    if args and not saved:
        hints = registry.arguments_of(found)
        if hints is not None:
            checked = typed(hints, args, f"argument of {env_id}")
    try:
        env = registry.make(env_id, **checked, **({} if chosen is None else {"split": chosen}))
    except (ValueError, TypeError, OSError) as error:  # what constructors raise on bad arguments
        if not checked or isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{env_id}: {error}") from error
    if any(isinstance(env.action_space(agent), Discrete) for agent in env.possible_agents):
        raise ConfigError(
            f"{env_id} takes numbers for actions, and policies write text: name a function of yours "
            "that returns llmzoo.adapters.discrete_to_text(...) of it"
        )
    return checked


def learner_arguments(name: str, args: Mapping[str, Any], *, saved: bool = False) -> dict[str, Any]:
    """The options of a learner, checked against its configuration. ``saved``: as above."""
    find_here(name)
    cls = learner_class(name)
    checked = dict(args)
    if args and not saved:
        known = field_names(cls.Config)
        hints = {key: hint for key, hint in get_type_hints(cls.Config).items() if key in known}
        checked = typed(hints, args, f"option of learner {name!r}")
    try:
        cls(cls.Config(**checked))
    except TypeError as error:
        if not saved:
            raise
        raise ConfigError(f"options of learner {name!r} in the run folder: {error}") from error
    return checked


def seat_arguments(seats: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The settings of seats of their own, checked against :class:`llmzoo.training.seats.SeatConfig`."""
    from llmzoo.training.seats import SeatConfig  # with torch

    hints = get_type_hints(SeatConfig)
    return {
        agent: typed(hints, values, f"setting of seat {agent!r}") for agent, values in seats.items()
    }


def find_here(name: str) -> None:
    """Let a ``module:name`` be found in the working directory too.

    ``python -m`` looks there by itself, the installed ``llmzoo`` does not. Only for such a name,
    and after everything installed, so that a file that lies about (``datasets.py``) is never
    imported in place of a package.
    """
    if registry.is_path(name) and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def run_name(env: str, learner: str, seed: int) -> str:
    """``env-learner-seed`` as a file name: paths and addresses hold what not every system takes."""
    return re.sub(r"[:/]+", ".", f"{env}-{learner}-{seed}")
