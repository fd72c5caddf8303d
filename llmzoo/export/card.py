"""The model card of an export; ``card.md.j2`` is its text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llmzoo.errors import require_extra
from llmzoo.evaluation.evaluate import format_task_count
from llmzoo.export.description import RunDescription
from llmzoo.version import __version__


def render_card(run: RunDescription, name: str) -> str:
    """The text of ``README.md``: the hub's metadata, and what a reader wants to know.

    ``name``: the model's name, under which the hub lists its results.
    """
    with require_extra("a model card", "train"):
        from huggingface_hub import ModelCard
        from jinja2 import Environment, FileSystemLoader, StrictUndefined, UndefinedError
    templates = Environment(  # Markdown, so nothing is escaped for HTML
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    templates.filters |= {"plain": _plain, "number": _number, "rate": _rate, "code": _code}
    evaluations = (("before", run.before), ("after", run.after))
    try:
        body = templates.get_template("card.md.j2").render(
            run=run,
            name=name,
            config=run.config,
            version=__version__,
            kind=_kind(run),
            agents=_agents(run),
            evaluations=[(what, evaluation) for what, evaluation in evaluations if evaluation],
            counted=format_task_count,
            messages=json.dumps(_messages(run), ensure_ascii=False),
            settings=json.dumps(run.config, indent=2),
        )
    except UndefinedError as error:
        raise LookupError(str(error)) from error
    return str(ModelCard(f"---\n{_metadata(run, name).to_yaml()}\n---\n\n{body}").content)


def _metadata(run: RunDescription, name: str) -> Any:
    from huggingface_hub import EvalResult, ModelCardData

    adapters = any(part.is_adapter for part in run.parts)
    measured = []
    if run.after is not None:
        measured.append(
            EvalResult(
                task_type="text-generation",
                task_name="multi-agent reinforcement learning",
                dataset_type=str(run.after["env"]),
                dataset_name=str(run.after["env"]),
                dataset_split=str(run.after["split"]),
                metric_type="success_rate",
                metric_name="success rate",
                metric_value=run.after["success"],
            )
        )
    base = run.hub_base[0] if len(run.hub_base) == 1 else list(run.hub_base)
    return ModelCardData(
        base_model=base or None,
        library_name="peft" if adapters else "transformers",
        pipeline_tag="text-generation",
        tags=["llmzoo", "reinforcement-learning", "multi-agent", run.config["learner"]],
        model_name=name,
        eval_results=measured or None,
    )


def _kind(run: RunDescription) -> str:
    if len(run.parts) == 1:
        return "A LoRA adapter" if run.parts[0].is_adapter else "A language model"
    return "LoRA adapters" if any(part.is_adapter for part in run.parts) else "Language models"


def _agents(run: RunDescription) -> str:
    if len(run.parts) == 1 and run.parts[0].name == "policy":
        return "one policy for all agents"
    names = ", ".join(f"`{part.name}`" for part in run.parts)
    others = f"; the others were played by `{_plain(run.config['others'])}`"
    arrangement = run.config["policies"]
    if isinstance(arrangement, dict):
        return "; ".join(
            f"`{_plain(name)}` for `{_plain(agent)}`" for agent, name in arrangement.items()
        )
    return f"trained: {names}" + ("" if arrangement in ("separate", "lora") else others)


def _messages(run: RunDescription) -> list[dict[str, str]]:
    """A conversation as the run gave it to a chat template."""
    system = run.config.get("system")
    first = [] if system is None else [{"role": "system", "content": system}]
    return [*first, {"role": "user", "content": "..."}]


def _rate(evaluation: Mapping[str, Any]) -> str:
    low, high = evaluation["success_ci95"]
    return f"{evaluation['success']:.1%} [{low:.1%}, {high:.1%}]"


def _plain(value: object) -> str:
    """Text from the run without Markdown: the run may come from somebody else."""
    return re.sub(r"[^\w .:/@,()=+-]", "", str(value))[:200]


def _code(value: object) -> str:
    """A value as JSON in Markdown's code, whose marks are longer than any in the value."""
    text = json.dumps(value)
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{marks}{text}{marks}" if marks == "`" else f"{marks} {text} {marks}"


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"expected a number, got {value!r}")
    return value
