"""What an environment is like before its first episode. The server writes it, the client reads it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gymnasium.spaces import Text
from pettingzoo import AECEnv

from llmzoo.envs.base import TextEnv
from llmzoo.serve import protobuf_values, validation
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.spaces import FreeText

MAX_CHARACTERS = 2**31  # of an observation or an action


@dataclass(frozen=True, slots=True)
class Description:
    """``name``: of the environment, as ``str`` gives it. ``fallback``: it plays a sample because
    its public set cannot be reached."""

    name: str
    agents: list[str]
    metadata: dict[str, Any]
    render_mode: str | None
    fallback: bool
    message: pb.Description


class Spaces:
    """The spaces of an environment and its forks, created on first use."""

    def __init__(self, description: Description):
        self._description = description

    @cached_property
    def observation(self) -> dict[str, Text]:
        description = self._description
        return dict(
            zip(
                description.agents,
                map(_read_space, description.message.observation_spaces),
                strict=True,
            )
        )

    @cached_property
    def action(self) -> dict[str, Text]:
        description = self._description
        return dict(
            zip(
                description.agents, map(_read_space, description.message.action_spaces), strict=True
            )
        )


def write_description(env: AECEnv, render_mode: str | None) -> pb.Description:
    """Describe an environment. Raises ``UntypedError`` for metadata that cannot be sent."""
    metadata = {
        **env.metadata,
        "render_modes": ["ansi"],
    }  # text can be sent; pictures and terminals cannot
    message = pb.Description(
        name=str(env), agents=env.possible_agents, metadata=protobuf_values.to_map(metadata)
    )
    protobuf_values.write(render_mode, message.render_mode)
    for agent in env.possible_agents:
        _write_space(env.observation_space(agent), message.observation_spaces.add())
        _write_space(env.action_space(agent), message.action_spaces.add())
    game = env.unwrapped
    message.fallback = isinstance(game, TextEnv) and game.fallback
    return message


def read_description(message: pb.Description) -> Description:
    """Read a description. Raises :class:`llmzoo.serve.validation.RemoteError` if it is inconsistent."""
    agents = validation.check_agents(message.agents)
    for spaces in (message.observation_spaces, message.action_spaces):
        if len(spaces) != len(agents):
            raise validation.invalid_reply_error(
                f"describes {len(spaces)} spaces of {len(agents)} agents"
            )
        for space in spaces:
            validation.check_number(
                space.max_length, max(space.min_length, 1), MAX_CHARACTERS, "a length of texts"
            )
    return Description(
        validation.to_single_line(message.name),
        agents,
        protobuf_values.read_entries(message.metadata.entries),
        protobuf_values.read(message.render_mode),
        message.fallback,
        message,
    )


def _write_space(space: Any, message: pb.Text) -> None:
    message.min_length = space.min_length
    message.max_length = space.max_length
    if not isinstance(space, FreeText):
        message.characters = space.characters


def _read_space(message: pb.Text) -> Text:
    if not message.HasField("characters"):
        return FreeText(message.max_length)
    return Text(message.max_length, min_length=message.min_length, charset=message.characters)
