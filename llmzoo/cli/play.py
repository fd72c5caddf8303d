"""``llmzoo play``"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pettingzoo import AECEnv

from llmzoo import registry
from llmzoo.cli.arguments import (
    AgentOptions,
    EnvOptions,
    PromptOptions,
    check_agent_args,
    check_env_args,
)
from llmzoo.cli.options import parse_options
from llmzoo.cli.screen import Screen
from llmzoo.envs.base import TextEnv
from llmzoo.envs.drawing import pixels
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.evaluation.collect import prompt_style_args
from llmzoo.policies.base import Policy, PolicyRequest
from llmzoo.runs.evaluation_policies import load_agent_policies, policy_names
from llmzoo.terminal_text import escape_unprintable


@dataclass(frozen=True, kw_only=True)
class PlayOptions(AgentOptions, PromptOptions, EnvOptions):
    """Play one episode in the terminal. An empty line ends your answer.

    Parts of a prompt that have been shown are left out. A terminal shows the boards of sudoku, sokoban
    and plan_path in colour. Files, pipes and terminals with NO_COLOR set show them as plain text.

    Args:
        seat: the agent that you play; by default the first one that --agent.NAME.policy does not name.
        others: the policy of the agents that neither you nor --agent.NAME.policy plays; oracle by
            default.
        policy: in place of --seat and --others: the policy of these agents, while you watch.
        task: number of the task in its split, or its id as text; by default the seed draws one.
        split: train, test or all.
        seed: seeds the episode.
        record: a file NAME.gif that receives the boards of the episode as an animated picture.
    """

    POSITIONAL = ("env",)
    USAGE = "llmzoo play ENV [--seat AGENT | --policy NAME] [--agent.AGENT.policy NAME] [--others NAME] [options]"
    EXAMPLES = (
        "llmzoo play sudoku_v0 --seat planner_1",
        "llmzoo play sokoban_v0 --policy oracle --env.boxes 2 --seed 3",
    )

    seat: str | None = None
    policy: str | None = None
    task: int | str | None = None
    split: str = "train"
    seed: int = 0
    record: str | None = None


class GifRecorder:
    """The boards that an episode goes through from now on: each move or fill that is carried out.

    ``env`` has been reset. Raises :class:`ConfigError` where there is no board, or ``path`` does not
    end in ``.gif`` or lies in no folder; :class:`MissingExtraError` where Pillow is missing.
    """

    def __init__(self, env: AECEnv, path: str):
        self.path = Path(path)
        if self.path.suffix.lower() != ".gif":
            raise ConfigError(f"--record writes an animated GIF: {path} does not end in .gif")
        if not self.path.absolute().parent.is_dir():
            raise ConfigError(f"--record {path}: there is no folder {self.path.parent}")
        game = env.unwrapped
        start = game.picture() if isinstance(game, TextEnv) else None
        if not isinstance(game, TextEnv) or start is None:
            raise ConfigError(f"--record: {env} has no board to make a picture of")
        pixels.require_pillow()
        self._env = env
        self._game = game
        self._boards = [start]

    def step(self, answer: str) -> None:
        """Step the environment; an answer that changes nothing (a plan, an illegal one) is not seen."""
        between = self._game.intermediate_boards(answer)
        self._env.step(answer)
        now = self._game.picture()
        if now is not None and now != self._boards[-1]:
            for board in [*between, now]:
                if board != self._boards[-1]:
                    self._boards.append(board)

    def save(self) -> None:
        pixels.save_gif(self._boards, self.path)


def run(argv: Sequence[str]) -> None:
    options = PlayOptions(**parse_options("play", argv, PlayOptions))
    env_args = check_env_args(
        options.env, options.env_args, split="use --split", chosen=options.split, measured=False
    )
    agents = registry.make(options.env, **env_args, split=options.split).possible_agents
    agent_policies = _agent_policies(options, agents)
    arguments = {
        **prompt_style_args(options.env, agent_policies.values()),
        "split": options.split,
        **env_args,
    }
    env = registry.make(options.env, **arguments)
    env.reset(seed=options.seed, options=None if options.task is None else {"task": options.task})
    film = None if options.record is None else GifRecorder(env, options.record)
    play_in_terminal(env, agent_policies, options.seed, film)
    if film is not None:
        film.save()
        print(f"recorded in {film.path}")


def play_in_terminal(
    env: AECEnv, agent_policies: Mapping[str, Policy], seed: int, film: GifRecorder | None = None
) -> None:
    """Play an episode from its start and print what is new. Human agents print their own prompts."""
    screen = Screen(env)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    success = False
    outcomes: Mapping[str, str] = {}
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        if terminated or truncated:
            success = success or bool(info.get("success", False))
            outcomes = info.get("outcomes", outcomes)
            env.step(None)
            continue
        text = observation or ""
        shown = screen.prompt(agent, escape_unprintable(text))
        if agent_policies[agent].name == "human":
            text = shown  # a person's own prompt prints itself
        else:
            print(f"\n--- {agent} ({agent_policies[agent].name}) ---\n{shown}")
        request = PolicyRequest(agent=agent, observation=text, env=env, seed=seed)
        answer = agent_policies[agent].respond([request])[0][0].text
        print(escape_unprintable(f"\n{agent} answers:\n{answer}"))
        before = {**env.infos, agent: {}}
        if film is None:
            env.step(answer)
        else:
            film.step(answer)
        _print_step(env, before, screen)
        for name, reward in env.rewards.items():
            totals[name] += float(reward)
    outcome_text = ", ".join(f"{agent} {outcome}" for agent, outcome in outcomes.items())
    returns = ", ".join(f"{agent} {total:.3f}" for agent, total in totals.items())
    print(
        escape_unprintable(
            f"\n{outcome_text or ('solved' if success else 'not solved')}\nreturns: {returns}"
        )
    )


def _print_step(env: AECEnv, before: Mapping[str, Mapping[str, Any]], screen: Screen) -> None:
    """Print the effect of the last answer: errors, rewards with their parts, and a changed board.

    ``before``: the infos before the answer, empty for the agent that answered.
    """
    for agent, info in env.infos.items():
        if info.get("error") and info["error"] != before[agent].get("error"):
            print(escape_unprintable(f"{agent}: {info['error']}"))
    for agent, reward in env.rewards.items():
        if not reward:
            continue
        earlier = before[agent].get("reward_parts", {})
        parts = {
            name: value - earlier.get(name, 0.0)
            for name, value in env.infos[agent].get("reward_parts", {}).items()
        }
        named = ", ".join(f"{name} {value:+.3f}" for name, value in parts.items() if value)
        print(f"reward of {agent}: {reward:+.3f}" + (f" ({named})" if named else ""))
    board = screen.board()
    if board:
        print(board)


def _agent_policies(options: PlayOptions, agents: Sequence[str]) -> dict[str, Policy]:
    agent_args = check_agent_args(options.agent_args)
    if options.policy is not None:
        for name in ("seat", "others"):
            if getattr(options, name) is not None:
                raise ConfigError(
                    f"--{name} and --policy exclude each other: a policy plays all agents but those "
                    "that --agent.NAME.policy names"
                )
    rest = options.policy or options.others or "oracle"
    named = policy_names(agents, "", agent_args)
    free = [agent for agent, name in named.items() if not name]
    if options.policy is None and (free or options.seat is not None):
        person = free[0] if options.seat is None else options.seat
        if person not in agents:
            raise UnknownNameError("agent", person, agents)
        if named[person]:
            raise ConfigError(
                f"{person} is played by {named[person]}: leave out --seat, or its policy"
            )
        agent_args = {**agent_args, person: {"policy": "human"}}
    return load_agent_policies(
        agents,
        rest,
        agent_args,
        seed=options.seed,
        chat=options.chat(),
        device=options.device,
        trust_remote_code=options.trust_remote_code,
    )
