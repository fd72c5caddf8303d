"""The model card of an export."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from llmzoo.errors import MissingExtraError
from llmzoo.export.description import Described, Part
from llmzoo.training.evaluation import counted
from llmzoo.version import __version__


def card_of(run: Described, name: str) -> str:
    """The text of ``README.md``: the hub's metadata, and what a reader wants to know.

    ``name``: of the model, under which the hub lists its results.
    """
    try:
        from huggingface_hub import ModelCard
    except ModuleNotFoundError as error:
        raise MissingExtraError("a model card", "train", error.name) from error
    sections = [
        f"# {name}",
        _summary(run),
        _results(run),
        _play(run),
        _use(run),
        _settings(run),
    ]
    body = "\n\n".join(sections)
    return str(ModelCard(f"---\n{_metadata(run, name).to_yaml()}\n---\n\n{body}\n").content)


def _metadata(run: Described, name: str) -> Any:
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


def _summary(run: Described) -> str:
    kind = "LoRA adapters" if any(part.is_adapter for part in run.parts) else "Language models"
    if len(run.parts) == 1:
        kind = "A LoRA adapter" if run.parts[0].is_adapter else "A language model"
    lines = [
        f"{kind} trained in the multi-agent text environment `{_plain(run.config['env'])}` with the "
        f"learner `{_plain(run.config['learner'])}` of llmzoo {__version__}.",
        "",
        "| | |",
        "|---|---|",
        f"| started from | {run.started_from} |",
        f"| seats | {_seats(run)} |",
        f"| checkpoint | iteration {run.step} of the run `{_plain(run.run)}` |",
        f"| seed of the run | {_number(run.config['seed'])} |",
    ]
    return "\n".join(lines)


def _seats(run: Described) -> str:
    if len(run.parts) == 1 and run.parts[0].name == "policy":
        return "one policy in all seats"
    names = ", ".join(f"`{part.name}`" for part in run.parts)
    others = f"; the others were played by `{_plain(run.config['others'])}`"
    arrangement = run.config["seats"]
    return f"trained: {names}" + ("" if arrangement in ("separate", "lora") else others)


def _results(run: Described) -> str:
    title = "## Before and after"
    rows = [
        (what, evaluation)
        for what, evaluation in (("before", run.before), ("after", run.after))
        if evaluation
    ]
    if not rows:
        return f"{title}\n\nThis checkpoint has not been measured."
    lines = [
        title,
        "",
        "| | success [95%] | mean return | tasks | decoding | seed |",
        "|---|---|---|---|---|---|",
    ]
    for what, evaluation in rows:
        paid = evaluation["mean_return"].items()
        returns = ", ".join(f"{_plain(agent)} {value:.3f}" for agent, value in paid)
        tasks = _plain(f"{counted(evaluation)}, {evaluation['split']} ({evaluation['source']})")
        cells = (
            what,
            _rate(evaluation),
            returns,
            tasks,
            *map(_plain, (evaluation["decoding"], evaluation["seed"])),
        )
        lines.append(f"| {' | '.join(cells)} |")
        if "greedy" in evaluation:
            lines.append(
                f"| {what}, greedy | {_rate(evaluation['greedy'])} | | {tasks} | greedy | |"
            )
    lines += [
        "",
        "Intervals are Wilson's for the success rate over these tasks; one run, one seed.",
    ]
    if run.after is None:
        lines.append("This checkpoint itself has not been measured.")
    return "\n".join(lines)


def _rate(evaluation: Mapping[str, Any]) -> str:
    low, high = evaluation["success_ci95"]
    return f"{evaluation['success']:.1%} [{low:.1%}, {high:.1%}]"


def _play(run: Described) -> str:
    config = run.config
    own = config.get("seat_args")
    system = (
        "through the chat template" if run.parts[0].has_chat else "as it is, without a template"
    )
    return "\n".join(
        [
            "## How it was played",
            "",
            f"- Prompts: the environment's `{_plain(run.prompt_style)}` form, given {system}.",
            *_chat_settings(config),
            f"- Arguments of the environment: `{json.dumps(config['env_args'])}`.",
            f"- Sampling: temperature {_number(config['temperature'])}, top_p "
            f"{_number(config['top_p'])}, top_k {_number(config['top_k'])} (0 is all), at most {run.max_new_tokens} tokens an answer"
            + ("; `seat_args` below says where a seat had its own." if own else "."),
        ]
    )


def _chat_settings(config: Mapping[str, Any]) -> list[str]:
    """The settings of prompts that were not the defaults; earlier versions had none."""
    lines = []
    if config.get("system") is not None:
        lines.append(f"- System prompt: `{json.dumps(config['system'])}`.")
    if config.get("chat_template_args"):
        lines.append(f"- Given to the template: `{json.dumps(config['chat_template_args'])}`.")
    return lines


def _use(run: Described) -> str:
    blocks = "\n\n".join(f"```python\n{_snippet(run, part)}\n```" for part in run.parts)
    return (
        "## How to use\n\n`where` is this folder; from the hub it is "
        '`huggingface_hub.snapshot_download("USER/NAME")`. A prompt is what a seat of '
        f"`{_plain(run.config['env'])}` reads; `llmzoo play` shows it.\n\n{blocks}"
    )


def _snippet(run: Described, part: Part) -> str:
    # not subfolder=..., with which transformers looks for generation_config.json in the wrong place
    here = f'f"{{where}}/{part.subfolder}"' if part.subfolder else "where"
    imports = sorted({"AutoModelForCausalLM", part.tokenizer_class})
    lines = [f"from transformers import {', '.join(imports)}"]
    if part.is_adapter:
        lines = ["from peft import PeftModel", *lines]
    lines += ["", 'where = "."']
    if not part.is_adapter:
        lines.append(f"model = AutoModelForCausalLM.from_pretrained({here})")
    else:
        base = f'"{run.adapter_base}"' if run.adapter_base != "base" else 'f"{where}/base"'
        lines += [
            f"base = AutoModelForCausalLM.from_pretrained({base})",
            f"model = PeftModel.from_pretrained(base, {here})",
        ]
    lines.append(f"tokenizer = {part.tokenizer_class}.from_pretrained({here})")
    if part.has_chat:
        messages = [{"role": "user", "content": "..."}]
        if run.config.get("system") is not None:
            messages.insert(0, {"role": "system", "content": run.config["system"]})
        given = run.config.get("chat_template_args")
        more = f", **{given!r}" if given else ""
        lines += [
            f"messages = {json.dumps(messages, ensure_ascii=False)}",
            "inputs = tokenizer.apply_chat_template(",
            '    messages, add_generation_prompt=True, return_dict=True, return_tensors="pt"'
            + more,
            ")",
        ]
    else:
        lines.append('inputs = tokenizer("...", return_tensors="pt")')
    config = run.config
    lines += [
        "answer = model.generate(",
        "    **inputs,",
        "    do_sample=True,",
        f"    temperature={_number(config['temperature'])},",
        f"    top_p={_number(config['top_p'])},",
        f"    top_k={_number(config['top_k'])},",
        f"    max_new_tokens={run.max_new_tokens},",
        ")",
        'start = inputs["input_ids"].shape[1]',
        "print(tokenizer.decode(answer[0, start:], skip_special_tokens=True))",
    ]
    return "\n".join(lines)


def _plain(value: object) -> str:
    """A word of the run's, without what Markdown reads: the run may be somebody else's."""
    return re.sub(r"[^\w .:/@,()=+-]", "", str(value))[:200]


def _number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"a number is asked for, and there is {value!r}")
    return value


def _settings(run: Described) -> str:
    settings = json.dumps(run.config, indent=2)
    return f"## Settings of the run\n\n```json\n{settings}\n```"
