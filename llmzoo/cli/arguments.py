"""Options that several commands share, and checks of the values that they are given."""

# no postponed annotations: jsonargparse reads inherited fields from the subclass's module

import os
import re
import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Literal, get_type_hints

from gymnasium.spaces import Discrete

from llmzoo import registry
from llmzoo.cli.options import CommandOptions, check_types, option_hints, parse_names
from llmzoo.errors import ConfigError, FallbackWarning
from llmzoo.evaluation.collect import refuse_fallback
from llmzoo.learners import learner_config
from llmzoo.models.devices import check_device
from llmzoo.policies import run_models
from llmzoo.policies.base import Policy
from llmzoo.policies.settings import LoadSettings
from llmzoo.runs import run_folder
from llmzoo.runs.evaluation_policies import load_agent_policies
from llmzoo.runs.policy_plans import AgentConfig
from llmzoo.runs.trust import check_environment

_MAX_NAME_CHARS = 120  # characters of a folder


@dataclass(frozen=True, kw_only=True)
class EnvOptions(CommandOptions):
    """An environment.

    Args:
        env: id of the environment; can be given first, without --env.
        env_args: arguments of the environment; --env.NAME VALUE sets one.
    """

    env: str
    env_args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PromptOptions(CommandOptions):
    """How a model reads prompts and answers, and where it runs.

    Args:
        system: system prompt, for models with a chat template.
        chat_template_args: arguments of the chat template, such as {enable_thinking: false};
            --chat_template_args.NAME VALUE sets one.
        thought_end: the text that ends a model's thoughts; only what follows it is the answer. By
            default it is read from the tokenizer or the chat template. none: the whole output is
            the answer.
        device: where models run: cpu, cuda, cuda:1 or mps; by default the first GPU of CUDA, or the CPU
            without one.
        trust_remote_code: run Python code that comes with a model. Only use it for models whose
            code you have read. Without it such models are refused.
    """

    system: str | None = None
    chat_template_args: Mapping[str, Any] | None = None
    thought_end: str | None = None
    device: str | None = None
    trust_remote_code: bool = False

    def __post_init__(self) -> None:
        check_device(self.device)

    def chat(self) -> dict[str, Any]:
        """The prompt settings that were given."""
        return _not_none(self, "system", "chat_template_args", "thought_end")

    def load_settings(self) -> LoadSettings:
        """How policies are loaded."""
        return LoadSettings(
            chat=self.chat(), device=self.device, trust_remote_code=self.trust_remote_code
        )


@dataclass(frozen=True, kw_only=True)
class SamplingOptions(CommandOptions):
    """How a model samples its answers.

    Args:
        greedy: take the most likely answer instead of sampling.
        temperature: sampling temperature.
        top_p: nucleus sampling threshold; 1 is off.
        top_k: number of most likely tokens to sample from; 0 is all.
        max_new_tokens: maximum tokens of an answer; 64 for the embedded model, otherwise 256.
    """

    greedy: bool = False
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_new_tokens: int | None = None

    def sampling(self) -> dict[str, Any]:
        """The sampling settings that were given."""
        return _not_none(self, "temperature", "top_p", "top_k", "max_new_tokens")


@dataclass(frozen=True, kw_only=True)
class ModelOptions(PromptOptions, SamplingOptions):
    """How a model reads prompts, and samples its answers."""

    def load_settings(self) -> LoadSettings:
        return replace(super().load_settings(), sampling=self.sampling())


@dataclass(frozen=True, kw_only=True)
class AgentOptions(CommandOptions):
    """Policies of single agents.

    Args:
        agent_args: settings of single agents. --agent.NAME.policy POLICY gives one a policy of its own,
            --agent.NAME.temperature 0.5 its own sampling.
        others: the policy of the other agents.
    """

    agent_args: Mapping[str, Any] = field(default_factory=dict)
    others: str | None = None


@dataclass(frozen=True, kw_only=True)
class PlayerOptions(ModelOptions):
    """A policy that plays an environment.

    Args:
        env: id of the environment, also given first, without --env; that of the run where --policy is a
            run folder.
        env_args: arguments of the environment; --env.NAME VALUE sets one. A run folder's own are the
            defaults in its own environment.
        policy: expert, noisy expert, random, silent, tiny (the embedded model), smollm2 (after llmzoo
            fetch smollm2), a run folder of llmzoo train, a model folder, a hub id, or openai:MODEL@URL for
            a model behind an endpoint, such as one of llmzoo serve.
        seed: seeds sampling and the chance of scripted policies.
        json: print one JSON object instead of text.
    """

    env: str | None = None
    env_args: Mapping[str, Any] = field(default_factory=dict)
    policy: str = "tiny"
    seed: int = 0
    json: bool = False

    def load_policies(
        self, split: str, agent_args: Mapping[str, Mapping[str, Any]] = MappingProxyType({})
    ) -> tuple[str, dict[str, Policy], dict[str, Any]]:
        """The environment, the policy of every agent, and the checked arguments of the environment.

        ``agent_args``: settings of single agents; ``policy`` plays those without a policy of their own.
        """
        if "human" in (self.policy, *(args.get("policy") for args in agent_args.values())):
            raise ConfigError("use llmzoo play to play yourself")
        env, run_args = self._resolve_environment()
        where: dict[str, Any] = {"split": "use --split", "chosen": split}
        env_args = check_env_args(env, self.env_args, **where)
        if run_args:  # the parser would import code that they name
            env_args = check_env_args(env, {**run_args, **env_args}, saved=True, **where)
        agent_policies = load_agent_policies(
            registry.make(env, **env_args, split=split).possible_agents,
            self.policy,
            agent_args,
            self.load_settings(),
            seed=self.seed,
        )
        return env, agent_policies, env_args

    def _resolve_environment(self) -> tuple[str, dict[str, Any]]:
        """The environment, given or that of the run, and in that one the run's own arguments."""
        run = run_models.find_run(self.policy)
        saved = {} if run is None else run_folder.read_config(run)
        trained = (saved or {}).get("env")
        env = self.env or trained
        if env is None:
            raise ConfigError(
                "give --env ID, or --policy with a run folder, whose environment counts"
            )
        run_args = (saved or {}).get("env_args", {}) if env == trained else {}
        run_args = {name: value for name, value in run_args.items() if name != "split"}
        check_environment(run, {"env": env, "env_args": run_args}, self.env, self.env_args)
        return env, run_args


@dataclass(frozen=True, kw_only=True)
class PolicyOptions(PlayerOptions):
    """What eval and collect have in common.

    Args:
        tasks: number of tasks, from the first one on; all plays every task of the split.
        split: train, test or all.
        concurrency: episodes played at once.
        quiet: show no progress on standard error.
    """

    tasks: int | Literal["all"] = 200
    split: str = "test"
    concurrency: int = 256
    quiet: bool = False


def _not_none(options: CommandOptions, *names: str) -> dict[str, Any]:
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def check_env_args(
    env_id: str,
    args: Mapping[str, Any],
    *,
    split: str,
    chosen: str | None = None,
    saved: bool = False,
    measured: bool = True,
) -> dict[str, Any]:
    """The arguments of an environment, checked against its signature and by making it once.

    ``split``: what users set instead of ``--env.split``, for the error message. ``chosen``: the
    split that they chose; None is the environment's default. ``saved``: the arguments come from a
    run folder. They were checked when the run started, and the parser would import code that they
    name. ``measured``: refuse a sample that stands in for a public set.
    """
    add_cwd_to_path(env_id)
    spec = registry.spec(env_id)
    if "split" in args:
        raise ConfigError(f"split cannot be set as an environment argument here: {split}")
    checked = dict(args)
    if args and not saved:
        hints = registry.argument_types(spec)
        if hints is not None:
            checked = check_types(hints, args, f"argument of {env_id}")
    try:
        with warnings.catch_warnings():
            if measured:  # the error below says the same
                warnings.simplefilter("ignore", FallbackWarning)
            env = registry.make(env_id, **checked, **({} if chosen is None else {"split": chosen}))
    except (ValueError, TypeError, OSError) as error:  # what constructors raise on bad arguments
        if not checked or isinstance(error, ConfigError):
            raise
        raise ConfigError(f"{env_id}: {error}") from error
    if measured:
        refuse_fallback(env, env_id)
    if any(isinstance(env.action_space(agent), Discrete) for agent in env.possible_agents):
        raise ConfigError(
            f"{env_id} has discrete actions, but policies write text: pass a function that returns "
            "llmzoo.adapters.discrete_to_text(...) of it"
        )
    return checked


def check_learner_args(
    name: str, args: Mapping[str, Any], *, saved: bool = False
) -> dict[str, Any]:
    """The options of a learner, checked against its configuration. ``saved``: see :func:`check_env_args`."""
    add_cwd_to_path(name)
    config = learner_config(name)
    checked = dict(args)
    if args and not saved:
        checked = check_types(option_hints(config), args, f"option of learner {name!r}")
    try:
        config(**checked)
    except TypeError as error:
        if not saved:
            raise
        raise ConfigError(f"options of learner {name!r} in the run folder: {error}") from error
    return checked


def check_agent_learners(name: str, agent_args: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse unknown learners of single agents, and unknown options of these learners."""
    for agent, settings in agent_args.items():
        agent_learner = settings.get("learner", name)
        add_cwd_to_path(agent_learner)
        what = f"option of the learner of agent {agent!r},"
        check_types(
            option_hints(learner_config(agent_learner)), settings.get("learner_args", {}), what
        )


def check_agent_args(agent_args: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """The settings of single agents, checked against :class:`llmzoo.runs.policy_plans.AgentConfig`."""
    hints = get_type_hints(AgentConfig)
    return {
        agent: check_types(hints, values, f"setting of agent {agent!r}")
        for agent, values in agent_args.items()
    }


def add_cwd_to_path(name: str) -> None:
    """Make a ``module:name`` importable from the working directory.

    ``python -m`` looks there, the installed ``llmzoo`` does not. The directory goes last in the
    search path, so that a stray file such as ``datasets.py`` never replaces a package.
    """
    if registry.is_import_path(name) and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())


def make_run_name(env: str, learner: str, seed: int | str) -> str:
    """``env-learner-seed`` as a file name; other characters than ``=,.-`` and those of words
    become dots. Long names are cut and end in a hash of the whole."""
    name = re.sub(r"[^\w.=,-]+", ".", f"{env}-{learner}-{seed}")
    if len(name) <= _MAX_NAME_CHARS:
        return name
    return f"{name[:_MAX_NAME_CHARS]}-{sha256(name.encode()).hexdigest()[:8]}-{seed}"


def parse_prices(text: str | None) -> tuple[float, float] | None:
    """What a million tokens cost, read and written."""
    if text is None:
        return None
    try:
        read, written = map(float, parse_names(text))
    except ValueError:
        raise ConfigError(f"--price is two numbers, such as 0.15,0.6, got {text!r}") from None
    return read, written
