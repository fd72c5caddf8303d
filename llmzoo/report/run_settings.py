"""The settings of runs, with the defaults of the run, of its learner and of its environment."""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from llmzoo import registry
from llmzoo.envs.base import TextEnv
from llmzoo.errors import LlmzooError
from llmzoo.learners import learner_config
from llmzoo.policies import run_models
from llmzoo.policies.base import default_max_new_tokens
from llmzoo.registry import is_import_path
from llmzoo.report.runs import RunData
from llmzoo.report.series import differing_settings
from llmzoo.runs.run_folder import flatten


def settings_table(runs: Sequence[RunData]) -> dict[str, Any]:
    """The settings that differ between runs; for one run, those that are not the defaults.

    ``values`` are effective: a setting that a run was not given has the default. None: the run's
    learner or environment has no such setting, or its code is not imported here.
    """
    if len(runs) == 1:
        settings = {
            name: [value, default] for name, value, default in non_default_settings(runs[0].config)
        }
        columns = ["this run", "default"]
    else:
        own = [dict(flatten(_without_nulls(run.config), ".")) for run in runs]
        known = [default_settings(run.config) for run in runs]
        settings = {
            name: [
                one.get(name, known_of_run.get(name))
                for one, known_of_run in zip(own, known, strict=True)
            ]
            for name in differing_settings([run.config for run in runs])
        }
        settings = {k: v for k, v in settings.items() if any(value != v[0] for value in v)}
        columns = [run.name for run in runs]
    rows = [
        {
            "name": name,
            "values": [None if value is None else _format_value(value) for value in values],
        }
        for name, values in settings.items()
    ]
    return {"columns": columns, "rows": rows}


def non_default_settings(config: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """(name, value, default) of the settings that differ from their defaults."""
    known = default_settings(config)
    return [
        (name, value, known.get(name))
        for name, value in flatten(_without_nulls(config), ".")
        if name not in known or known[name] != value
    ]


def effective_settings(run: RunData) -> dict[str, Any]:
    """The settings as the run used them: with every option of the learner, also those not given."""
    learner_args = {**_learner_defaults(run.config), **run.config.get("learner_args", {})}
    logged = run.train[0].get("learning_rate") if run.train else None
    if learner_args.get("learning_rate", 0) is None and not learner_args.get("warmup"):
        learner_args["learning_rate"] = logged  # the first step's: unscaled
    limit = _null_meanings(run.config).get("max_new_tokens")
    max_new_tokens = run.config.get("max_new_tokens") or limit
    return {
        **run.config,
        "learner_args": learner_args,
        **({} if max_new_tokens is None else {"max_new_tokens": max_new_tokens}),
    }


def default_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of a run with this model, learner and environment, by flat name."""
    from llmzoo.training import FitConfig  # with torch

    values = {
        **{field.name: _field_default(field) for field in fields(FitConfig)},
        "learner_args": _learner_defaults(config),
        "env_args": _env_defaults(config),
    }
    return dict(flatten(json.loads(json.dumps(values, default=str)), ".")) | _null_meanings(config)


def _learner_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a learner of llmzoo and their defaults."""
    known = _find_learner_config(str(config.get("learner")))
    return (
        {} if known is None else {option.name: _field_default(option) for option in fields(known)}
    )


def _find_learner_config(learner: str) -> Any:
    """The configuration class of a learner of llmzoo; None for others, whose code is not imported."""
    if is_import_path(learner):
        return None
    try:
        return learner_config(learner)
    except LlmzooError:  # of another version
        return None


def _env_defaults(config: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a registered environment and their defaults."""
    cls = _env_class(str(config.get("env")))
    parameters = {} if cls is None else inspect.signature(cls).parameters
    return {
        name: parameter.default
        for name, parameter in parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }


def _null_meanings(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a null stands for, where that depends on the model."""
    meanings: dict[str, Any] = {}
    model = str(config.get("model", ""))
    if model and not run_models.is_run(model):
        meanings["max_new_tokens"] = default_max_new_tokens(model)
    known = _find_learner_config(str(config.get("learner")))
    if hasattr(known, "default_rates"):
        meanings["learner_args.learning_rate"] = known.default_rates()
    return meanings


def _without_nulls(config: Mapping[str, Any]) -> dict[str, Any]:
    """Without the nulls that :func:`_null_meanings` explains: they are the defaults."""
    learner_args = {
        name: value
        for name, value in config.get("learner_args", {}).items()
        if (name, value) != ("learning_rate", None)
    }
    plain = {**config, "learner_args": learner_args} if "learner_args" in config else dict(config)
    if plain.get("max_new_tokens", 0) is None:
        del plain["max_new_tokens"]
    return plain


def _field_default(field: Any) -> Any:
    if field.default is not MISSING:
        return field.default
    return None if field.default_factory is MISSING else field.default_factory()


def _format_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _env_class(env_id: str) -> type[TextEnv] | None:
    """The class of a registered environment; None for code and for what is absent here."""
    if registry.is_remote(env_id) or registry.imports_code(env_id):
        return None
    try:
        spec = registry.spec(env_id)
        env = registry.make(env_id, **spec.offline).unwrapped
    except (LlmzooError, OSError):  # unknown here, or what it needs is absent
        return None
    return type(env) if isinstance(env, TextEnv) else None
