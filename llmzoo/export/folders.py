"""Folders that ``from_pretrained`` loads without llmzoo."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from llmzoo import run_folder
from llmzoo.errors import CheckpointError, ConfigError, MissingExtraError
from llmzoo.export.card import card_of
from llmzoo.export.description import Part, described
from llmzoo.policies.base import TINY

BASE = "base"  # the folder of a base that is on no hub
_ADAPTER = "adapter_config.json"
_ADAPTER_BASE = "base_model_name_or_path"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export has written: the folder, and the folder of each policy in it."""

    folder: Path
    step: int  # the iteration of the checkpoint
    policies: dict[str, Path]
    base: Path | None  # of adapters, where it had to be added


def export_run(run: str | Path, out: str | Path, *, step: int | None = None) -> Exported:
    """Write the policies that a run has trained into a new folder.

    One policy is the folder itself; several are a folder each, named after their seats. Whole
    models are what ``AutoModelForCausalLM.from_pretrained`` loads, adapters what
    ``PeftModel.from_pretrained`` does, each with its tokenizer. An adapter names its base by its
    hub id; a base that is on no hub stands in the folder ``base``. ``README.md`` is a model card.

    ``step``: the iteration of the checkpoint; the newest one by default.

    Raises :class:`CheckpointError` where there is no such checkpoint, or the base of an adapter is
    gone, and :class:`ConfigError` for a folder that is there already.
    """
    run, out = Path(run), Path(out)
    if not run_folder.is_run(run):
        stages = sorted(path.parent for path in run.glob("[0-9]*-*/config.json"))
        remedy = f": name one of its stages, {', '.join(map(str, stages))}" if stages else ""
        raise CheckpointError(f"{run} is no run folder with checkpoints{remedy}")
    if out.exists():
        raise ConfigError(f"{out} exists already: choose another folder")
    checkpoint = _checkpoint(run, step)
    names = run_folder.policies_in(checkpoint)
    partial = out.with_name(f".writing_{out.name}")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    inside = {name: "" if len(names) == 1 else name for name in names}
    for name, place in inside.items():
        shutil.copytree(checkpoint / name, partial / place, dirs_exist_ok=True)
    base = _settle_base([partial / place for place in inside.values()], partial / BASE)
    description = described(
        run, checkpoint, [_part(n, p, partial) for n, p in inside.items()], base
    )
    (partial / "README.md").write_text(card_of(description, out.name))
    partial.rename(out)
    return Exported(
        folder=out,
        step=description.step,
        policies={name: out / place for name, place in inside.items()},
        base=out / BASE if base == BASE else None,
    )


def _checkpoint(run: Path, step: int | None) -> Path:
    if step is None:
        return run_folder.newest_checkpoint(run)
    found = run / "checkpoints" / f"step_{step:06d}"
    if not found.is_dir():
        there = ", ".join(str(int(p.name[5:])) for p in sorted(found.parent.glob("step_*")))
        raise CheckpointError(f"{run} keeps no checkpoint of iteration {step}; it has {there}")
    return found


def _settle_base(folders: list[Path], copy_to: Path) -> str | None:
    """Where the base of the adapters among ``folders`` is: its hub id, or ``base``.

    A base that is a folder here is copied, and the adapters no longer name its place. None where
    nothing is an adapter.
    """
    found: str | None = None
    for folder in folders:
        path = folder / _ADAPTER
        if not path.exists():
            continue
        config = json.loads(path.read_text())
        source = _here(str(config[_ADAPTER_BASE]))
        if source is None:
            found = str(config[_ADAPTER_BASE])
            continue
        if not copy_to.exists():
            shutil.copytree(source, copy_to, ignore=shutil.ignore_patterns("log.jsonl", ".*"))
        path.write_text(json.dumps({**config, _ADAPTER_BASE: None}, indent=2) + "\n")
        found = BASE
    return found


def _here(base: str) -> Path | None:
    """The folder of a base on this machine; None for a hub id."""
    try:
        from llmzoo.policies.loading import TINY_FOLDER
    except ModuleNotFoundError as error:
        raise MissingExtraError("the export of a run", "train", error.name) from error
    path = Path(base)
    # the embedded model comes with this package, wherever that stood when the run was made
    if base == TINY or path.parts[-4:] == TINY_FOLDER.parts[-4:]:
        return TINY_FOLDER
    if path.is_dir():
        return path
    if path.is_absolute():
        raise CheckpointError(f"the base of the adapters, {base}, is not there any more")
    return None


def _part(name: str, place: str, folder: Path) -> Part:
    """What stands in the folder of one policy."""
    from llmzoo.policies.loading import PreTrainedTokenizerFast, load_tokenizer

    at = folder / place
    tokenizer = load_tokenizer(str(at))
    own = type(tokenizer) is PreTrainedTokenizerFast
    return Part(
        name=name,
        place=place,
        is_adapter=(at / _ADAPTER).exists(),
        tokenizer_class="PreTrainedTokenizerFast" if own else "AutoTokenizer",
        has_chat=tokenizer.chat_template is not None,
        model_config=_model_config(at, folder / BASE),
    )


def _model_config(folder: Path, base: Path) -> dict[str, object]:
    """The configuration of the model, or of an adapter's base where it is here."""
    for path in (folder / "config.json", base / "config.json"):
        if path.exists():
            found: dict[str, object] = json.loads(path.read_text())
            return found
    return {}
