"""The models that an endpoint serves, by name: those of a run's agents, or a single one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llmzoo import files, registry
from llmzoo.endpoints import ENDPOINT_PREFIX
from llmzoo.errors import ConfigError
from llmzoo.models.model_catalog import MODEL_CATALOG, TINY
from llmzoo.names import NAME_RULE, is_name
from llmzoo.policies import SCRIPTED, run_models
from llmzoo.policies.histories import Histories
from llmzoo.policies.settings import DEFAULT_LOAD_SETTINGS, LoadSettings, Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.runs import run_folder
from llmzoo.runs.named_policies import load_policy_for_agents
from llmzoo.runs.trust import check_environment

_WINDOW = 8  # tokens before one that decide how its text is written


class ServedModel:
    """A model that is called by ``name``."""

    def __init__(self, name: str, policy: TransformersPolicy):
        self.name, self.policy = name, policy

    @property
    def sampling(self) -> Sampling:
        """The settings of requests that leave them out."""
        return self.policy.sampling_for(self.name)

    @property
    def context(self) -> int:
        """The maximum number of tokens of a prompt and its completion together."""
        return self.policy.context

    def count_tokens(self, prompt: str) -> int:
        """The number of a prompt's tokens."""
        return len(self.policy.encode(prompt, self.name))

    def growing_text(self, ids: Sequence[int], stop: Sequence[str], *, plain: bool) -> str:
        """What the text of a completion that grows begins with, whatever follows.

        ``plain``: it continues a text, without turns and thoughts.
        """
        prompts = self.policy.prompts_for(self.name)
        text = (prompts.answer(ids, plain=plain) or "").rstrip("\ufffd")
        opens = prompts.marks.opens if prompts.marks and not plain else None
        # a text that ends the completion, or begins a thought, may have begun
        for ending in [*stop, *filter(None, [opens])]:
            at = text.find(ending)
            begun = (n for n in range(len(ending) - 1, 0, -1) if text.endswith(ending[:n]))
            text = text[: at if at >= 0 else len(text) - next(begun, 0)]
        return text if plain else text.rstrip()

    def token_texts(self, ids: Sequence[int]) -> list[str]:
        """The text of each token. A character of several tokens is the last one's; before it stands U+FFFD."""
        texts = []
        for end in range(1, len(ids) + 1):
            window = list(ids[max(0, end - 1 - _WINDOW) : end])
            before, text = self._decode(window[:-1]), self._decode(window)
            if not text.startswith(before):  # this token completes a character
                before = before.rstrip("\ufffd")
            texts.append(text[len(before) :])
        return texts

    def _decode(self, ids: list[int]) -> str:
        return str(self.policy.tokenizer.decode(ids, skip_special_tokens=False))


def load_models(
    name: str, settings: LoadSettings = DEFAULT_LOAD_SETTINGS
) -> dict[str, ServedModel]:
    """The models of ``name``: one for each agent of a run or of its checkpoint, otherwise a single one.

    A single model has its own name, and that in a folder the folder's. A run's models have the run's
    sampling and prompt settings, where ``settings`` do not override them. Raises :class:`ConfigError` for what
    is no model.
    """
    if name in SCRIPTED:
        raise ConfigError(
            f"{name!r} cannot be served: it looks at the environment (or is a person), and only "
            "prompts travel. Name a run folder or a model"
        )
    if name.startswith(ENDPOINT_PREFIX):
        raise ConfigError(f"{name} is behind an endpoint already: call that one")
    run = run_models.find_run(name)
    agents = [_model_name(name)] if run is None else list_run_agents(run)
    policies = load_policy_for_agents(name, agents, settings)
    models = {
        agent: ServedModel(agent, policy)
        for agent, policy in policies.items()
        if isinstance(policy, TransformersPolicy)
    }
    if not models:
        raise ConfigError(f"no agent of {name} is played by a model: name another run")
    for model in models.values():
        # what was sampled before must not change how a conversation is read
        model.policy.histories = Histories(0)
    return models


def list_run_agents(run: str | Path) -> list[str]:
    """The agents of a run: those of its first evaluation, otherwise those of its environment.

    Raises :class:`ConfigError` for names that cannot be used, and for a run from elsewhere whose environment
    is code.
    """
    evaluation = files.read_json_object(Path(run) / "before.json") or {}
    agents = evaluation.get("mean_return")
    if not isinstance(agents, dict) or not agents:
        config = run_folder.require_config(run, "env")
        args = {k: v for k, v in config.get("env_args", {}).items() if k != "split"}
        check_environment(run, {"env": config["env"], "env_args": args}, None, None)
        agents = registry.make(config["env"], **args).possible_agents
    if not all(map(is_name, agents)):
        raise ConfigError(f"{run} names agents {[*agents]!r:.200}, and {NAME_RULE}")
    return list(agents)


def _model_name(name: str) -> str:
    if name in (TINY, *MODEL_CATALOG) or not Path(name).is_dir():
        return name
    return Path(name).resolve().name
