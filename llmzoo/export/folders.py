"""Writes folders that ``from_pretrained`` loads without llmzoo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from llmzoo import files
from llmzoo.errors import CheckpointError, ConfigError, LlmzooError, require_extra
from llmzoo.export.card import render_card
from llmzoo.export.copying import (
    clear_base_name,
    copy_base,
    copy_policy,
    hub_id,
    is_safe_name,
    read_adapter_base,
)
from llmzoo.export.description import ExportedPolicy, describe_run
from llmzoo.models.model_catalog import MODEL_CATALOG, TINY, fetched_folder
from llmzoo.policies import run_models

BASE = "base"  # the folder of a base that is not on the hub
_ADAPTER = "adapter_config.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportResult:
    """The folders that an export has written."""

    folder: Path
    step: int  # the iteration of the checkpoint
    policies: dict[str, Path]
    base: Path | None  # the adapters' base, if it was copied


def export_run(
    run: str | Path, out: str | Path, *, step: int | None = None, base: str | Path | None = None
) -> ExportResult:
    """Write the trained policies of a run into a new folder, with a model card.

    A single policy is written to the folder itself, several to one subfolder each, named after
    their agents. ``AutoModelForCausalLM.from_pretrained`` loads whole models,
    ``PeftModel.from_pretrained`` loads adapters; each has its tokenizer. An adapter names its base
    by its hub id. A base that is not on the hub, or that ``llmzoo fetch`` has brought, is copied to the subfolder ``base``.

    ``step``: iteration of the checkpoint; the newest one by default. ``base``: folder with the base
    model of the adapters. It must be given unless the base is on the hub or llmzoo has a name for it:
    a run may come from somebody else, so folders that only its files name are not opened.

    Raises :class:`CheckpointError` if the checkpoint is missing or contains links, or if ``base``
    is needed, and :class:`ConfigError` if ``out`` exists or ``base`` is given without adapters.
    """
    run, out = Path(run), Path(out)
    if not run_models.is_run(run):
        stages = sorted(path.parent for path in run.glob("[0-9]*-*/config.json"))
        remedy = f": name one of its stages, {', '.join(map(str, stages))}" if stages else ""
        raise CheckpointError(f"{run} is not a run folder with checkpoints{remedy}")
    if out.exists():
        raise ConfigError(f"{out} exists already: choose another folder")
    checkpoint = _find_checkpoint(run, step)
    subfolders = _subfolders(checkpoint)
    with files.create_folder(out) as partial:
        for name, subfolder in subfolders.items():
            copy_policy(checkpoint / name, partial / subfolder)
        folders = [partial / subfolder for subfolder in subfolders.values()]
        base_name = _resolve_base(folders, None if base is None else Path(base), partial / BASE)
        parts = [
            _describe_policy(name, subfolder, partial) for name, subfolder in subfolders.items()
        ]
        files.write(partial / "README.md", _card(run, checkpoint, parts, base_name, out.name))
    return ExportResult(
        folder=out,
        step=run_models.snapshot_step(checkpoint),
        policies={name: out / subfolder for name, subfolder in subfolders.items()},
        base=out / BASE if base_name == BASE else None,
    )


def _subfolders(checkpoint: Path) -> dict[str, str]:
    """The folder of each policy in the export; a single policy is the export itself."""
    names = run_models.list_policy_names(checkpoint)
    unsafe = [name for name in names if not is_safe_name(name)]
    if unsafe:
        raise CheckpointError(f"{checkpoint} has a policy with the name {unsafe[0]!a}")
    return {name: "" if len(names) == 1 else name for name in names}


def _card(
    run: Path, checkpoint: Path, parts: list[ExportedPolicy], base_name: str | None, name: str
) -> str:
    try:
        return render_card(describe_run(run, checkpoint, parts, base_name), name)
    except LlmzooError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise CheckpointError(
            f"{run} holds settings or evaluations of another form than a run writes: {error!r}"
        ) from error


def _find_checkpoint(run: Path, step: int | None) -> Path:
    if step is None:
        return run_models.newest_checkpoint(run)
    checkpoint = run / run_models.CHECKPOINTS / f"step_{step:06d}"
    checkpoints = run_models.list_checkpoints(checkpoint.parent)
    if checkpoint not in checkpoints:
        steps = ", ".join(str(int(path.name[5:])) for path in checkpoints)
        raise CheckpointError(f"{run} keeps no checkpoint of iteration {step}; it has {steps}")
    return run_models.validate_checkpoint(checkpoint)


def _resolve_base(folders: list[Path], given: Path | None, copy_to: Path) -> str | None:
    """Copy the adapters' base if needed. Returns its hub id, or ``base`` if it was copied; None without adapters.

    Adapters whose base is copied no longer name it.
    """
    named = {folder: base for folder in folders if (base := read_adapter_base(folder)) is not None}
    if not named:
        if given is not None:
            raise ConfigError("this run has no adapters: leave out --base")
        return None
    source = given
    if source is None:
        known = {base: _local_base(base) for base in named.values()}
        hub_ids = {None if known[base] else hub_id(base) for base in known}
        if len(hub_ids) == 1 and None not in hub_ids:
            return hub_ids.pop()
        if not all(known.values()):
            others = sorted(base for base, folder in known.items() if folder is None)
            raise CheckpointError(
                f"the adapters name the base {', '.join(map(ascii, others))}, which is not a hub "
                "id. Folders that only the run names are not opened: give the base with "
                "--base FOLDER, which is copied"
            )
        source, *more = filter(None, set(known.values()))
        if more:
            raise CheckpointError(f"the adapters have several bases: {', '.join(sorted(known))}")
    copy_base(source, copy_to)
    for folder in named:
        clear_base_name(folder)
    return BASE


def _local_base(base: str) -> Path | None:
    """The folder of a base that llmzoo ships or has fetched; None for others.

    The package with the embedded model may have been installed elsewhere when the run was written.
    """
    if base == TINY or Path(base).parts[-4:] == _embedded_folder().parts[-4:]:
        return _embedded_folder()
    return fetched_folder(base) if base in MODEL_CATALOG else None


def _embedded_folder() -> Path:
    with require_extra("the export of a run", "train"):
        from llmzoo.models.loading import TINY_FOLDER
    return TINY_FOLDER


def _describe_policy(name: str, subfolder: str, folder: Path) -> ExportedPolicy:
    """The description of the policy in a subfolder."""
    from llmzoo.models.loading import PreTrainedTokenizerFast, load_tokenizer

    at = folder / subfolder
    tokenizer = load_tokenizer(str(at))
    own = type(tokenizer) is PreTrainedTokenizerFast
    return ExportedPolicy(
        name=name,
        subfolder=subfolder,
        is_adapter=(at / _ADAPTER).exists(),
        tokenizer_class="PreTrainedTokenizerFast" if own else "AutoTokenizer",
        has_chat=tokenizer.chat_template is not None,
        model_config=_model_config(at, folder / BASE),
    )


def _model_config(folder: Path, base: Path) -> dict[str, object]:
    """The configuration of the model, or of an adapter's base if that was copied."""
    for path in (folder / "config.json", base / "config.json"):
        config = files.read_json_object(path)
        if config is not None:
            return config
    return {}
