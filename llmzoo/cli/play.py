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

    Paragraphs of a prompt that are on the screen already are not printed again. A terminal shows
    the boards of sudoku, sokoban and plan_path in colour. Files, pipes and terminals with NO_COLOR
    set get plain text.

    Args:
        human: the agent that you play; by default the first one without --agent.NAME.policy.
        others: the policy of the other agents without --agent.NAME.policy; expert by default.
        policy: instead of --human and --others: the policy of all agents without
            --agent.NAME.policy, while you watch.
        task: number of the task in its split, or its id as text; by default the seed selects one.
        split: train, test or all.
        seed: seeds the episode.
        record: a file NAME.gif, to which the boards of the episode are written as an animation.
    """

    POSITIONAL = ("env",)
    USAGE = "llmzoo play ENV [--human AGENT | --policy NAME] [--agent.AGENT.policy NAME] [--others NAME] [options]"
    EXAMPLES = (
        "llmzoo play sudoku_v0 --human planner_1",
        "llmzoo play sokoban_v0 --policy expert --env.boxes 2 --seed 3",
    )

    human: str | None = None
    policy: str | None = None
    task: int | str | None = None
    split: str = "train"
    seed: int = 0
    record: str | None = None


class GifRecorder:
    """Records the boards of an episode: a frame for each action that changes the board.

    ``env`` must have been reset. Raises :class:`ConfigError` if ``env`` has no board, if ``path``
    does not end in ``.gif``, or if its folder does not exist; :class:`llmzoo.errors.MissingExtraError` if
    Pillow is missing.
    """

    def __init__(self, env: AECEnv, path: str):
        self.path = Path(path)
        if self.path.suffix.lower() != ".gif":
            raise ConfigError(f"--record writes an animated GIF, but {path} does not end in .gif")
        if not self.path.absolute().parent.is_dir():
            raise ConfigError(f"--record {path}: there is no folder {self.path.parent}")
        game = env.unwrapped
        start = game.picture() if isinstance(game, TextEnv) else None
        if not isinstance(game, TextEnv) or start is None:
            raise ConfigError(f"--record: {env} has no board to draw")
        pixels.require_pillow()
        self._env = env
        self._game = game
        self._boards = [start]

    def step(self, answer: str) -> None:
        """Step the environment. An answer that changes no board, such as a plan, adds no frame."""
        self._env.step(answer)
        board = self._game.picture()
        if board is not None and board != self._boards[-1]:
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
    recorder = None if options.record is None else GifRecorder(env, options.record)
    play_in_terminal(env, agent_policies, options.seed, recorder)
    if recorder is not None:
        recorder.save()
        print(f"recorded in {recorder.path}")


def play_in_terminal(
    env: AECEnv,
    agent_policies: Mapping[str, Policy],
    seed: int,
    recorder: GifRecorder | None = None,
) -> None:
    """Play an episode from its start and print each step. The human policy prints its prompts."""
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
            text = shown  # the human policy prints it
        else:
            print(f"\n--- {agent} ({agent_policies[agent].name}) ---\n{shown}")
        request = PolicyRequest(agent=agent, observation=text, env=env, seed=seed)
        answer = agent_policies[agent].respond([request])[0][0].text
        print(escape_unprintable(f"\n{agent} answers:\n{answer}"))
        before = {**env.infos, agent: {}}
        if recorder is None:
            env.step(answer)
        else:
            recorder.step(answer)
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
    """Print the effects of the last answer: errors, rewards by component, and the board if it changed.

    ``before``: the infos before the answer; those of the agent that answered are empty.
    """
    for agent, info in env.infos.items():
        if info.get("error") and info["error"] != before[agent].get("error"):
            print(escape_unprintable(f"{agent}: {info['error']}"))
    for agent, reward in env.rewards.items():
        if not reward:
            continue
        earlier = before[agent].get("reward_components", {})
        components = {
            name: value - earlier.get(name, 0.0)
            for name, value in env.infos[agent].get("reward_components", {}).items()
        }
        breakdown = ", ".join(f"{name} {value:+.3f}" for name, value in components.items() if value)
        print(f"reward of {agent}: {reward:+.3f}" + (f" ({breakdown})" if breakdown else ""))
    board = screen.board()
    if board:
        print(board)


def _agent_policies(options: PlayOptions, agents: Sequence[str]) -> dict[str, Policy]:
    agent_args = check_agent_args(options.agent_args)
    if options.policy is not None:
        for name in ("human", "others"):
            if getattr(options, name) is not None:
                raise ConfigError(
                    f"--{name} and --policy exclude each other: --policy plays all agents without "
                    "--agent.NAME.policy"
                )
    default_policy = options.policy or options.others or "expert"
    policy_by_agent = policy_names(agents, "", agent_args)
    unassigned = [agent for agent, name in policy_by_agent.items() if not name]
    if options.policy is None and (unassigned or options.human is not None):
        human = unassigned[0] if options.human is None else options.human
        if human not in agents:
            raise UnknownNameError("agent", human, agents)
        if policy_by_agent[human]:
            raise ConfigError(
                f"{human} is played by {policy_by_agent[human]}: leave out --human {human} or "
                f"--agent.{human}.policy"
            )
        agent_args = {**agent_args, human: {"policy": "human"}}
    return load_agent_policies(
        agents, default_policy, agent_args, options.load_settings(), seed=options.seed
    )
