"""Copies environments in the middle of an episode."""

from __future__ import annotations

import copy
from typing import Any

from gymnasium.spaces import Space
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv, ParallelEnv

from llmzoo.envs.base import TextEnv
from llmzoo.errors import ConfigError


def fork(env: AECEnv) -> AECEnv:
    """A copy of the environment in its current state. Stepping the copy does not change ``env``.

    Our own environments share their task data with the copy. Other environments are deep-copied,
    except for their spaces, which are shared. Raises :class:`ConfigError` for an environment that
    holds something that cannot be copied, such as a window.
    """
    return _copy(env, {})


def _copy(value: Any, memo: dict[int, Any]) -> Any:
    """A deep copy.

    Most environments of PettingZoo are :class:`EzPickle`. ``copy.deepcopy`` makes a new one from
    the constructor's arguments, which would silently restart the game. So environments are copied
    attribute by attribute, unless they define how to copy them.
    """
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, Space):
        return value
    new: Any
    if isinstance(value, TextEnv):
        new = memo[id(value)] = value.fork()
    elif isinstance(value, AECEnv | ParallelEnv | EzPickle) and not hasattr(value, "__deepcopy__"):
        new = memo[id(value)] = object.__new__(type(value))
        for name, attribute in vars(value).items():
            new.__dict__[name] = _copy(attribute, memo)
    elif type(value) is dict:
        new = memo[id(value)] = {}
        new.update((_copy(key, memo), _copy(attribute, memo)) for key, attribute in value.items())
    elif type(value) is list:
        new = memo[id(value)] = []
        new.extend(_copy(attribute, memo) for attribute in value)
    elif type(value) is tuple:
        new = tuple(_copy(attribute, memo) for attribute in value)
        new = memo.setdefault(id(value), new)  # a tuple in a cycle has been copied meanwhile
    else:
        try:
            new = copy.deepcopy(value, memo)
        except ConfigError:  # raised for a nested environment, with a more specific message
            raise
        except Exception as error:  # whatever a third party's object raises
            raise ConfigError(
                f"an environment that holds a {type(value).__name__} cannot be copied in the middle of "
                f"an episode ({error}); make it without a render_mode, give it a __deepcopy__, or use a "
                "learner that does not copy environments, such as --learner ippo"
            ) from error
    return new
