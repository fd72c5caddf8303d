"""Builds the learner of a run from its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmzoo.errors import ConfigError
from llmzoo.fields import field_names
from llmzoo.learners import learner_class
from llmzoo.learners.base import Learner
from llmzoo.learners.groups import GroupLearner
from llmzoo.learners.per_agent import PerAgentLearner, tree_options
from llmzoo.names import check_names


def build_learner(
    name: str, args: Mapping[str, Any], agent_args: Mapping[str, Mapping[str, Any]]
) -> Learner:
    """The learner of a run: the one called ``name`` with the options ``args``, or one for each agent.

    ``agent_args``: settings of single agents. An agent with ``learner`` or ``learner_args`` has its own
    learner. The run's options apply to it too, as far as it has them and ``learner_args`` does not override
    them. Raises :class:`ConfigError` for learners that cannot share one tree.
    """
    cls = learner_class(name)
    run_learner: Learner = cls(_configure(cls, args, f"learner {name!r}"))
    own_learners: dict[str, GroupLearner] = {}
    for agent, settings in agent_args.items():
        if "learner" not in settings and "learner_args" not in settings:
            continue
        agent_learner_name = settings.get("learner", name)
        what = f"agent {agent!r} has the learner {agent_learner_name!r}"
        own_cls = learner_class(agent_learner_name)
        for learner_name, learner_cls in ((name, cls), (agent_learner_name, own_cls)):
            if not issubclass(learner_cls, GroupLearner) or learner_cls.env_defaults:
                why = (
                    "is for one agent"
                    if learner_cls.env_defaults
                    else "has no groups for each agent"
                )
                raise ConfigError(
                    f"{what}, and {learner_name!r} {why}: agents can have different learners only among those on groups, "
                    "such as magrpo, marloo, maxrl, ccpo and maremax, or at_grpo with different options"
                )
        known = field_names(own_cls.Config)
        tree_settings = {
            n: getattr(run_learner.config, n) for n in tree_options(run_learner) if n in known
        }
        given = {n: value for n, value in args.items() if n in known}
        options = {**tree_settings, **given, **settings.get("learner_args", {})}
        own_learners[agent] = own_cls(_configure(own_cls, options, what))
    if not own_learners:
        return run_learner
    assert isinstance(run_learner, GroupLearner)
    return PerAgentLearner(run_learner, own_learners)


def _configure(cls: Any, values: Mapping[str, Any], what: str) -> Any:
    check_names(f"option of {what}", values, field_names(cls.Config))
    return cls.Config(**values)
