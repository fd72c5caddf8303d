"""Folders that ``from_pretrained`` loads without llmzoo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from llmzoo import files
from llmzoo.errors import CheckpointError, ConfigError, LlmzooError, MissingExtraError
from llmzoo.export.card import card_of
from llmzoo.export.copying import base_in, copy_base, copy_policy, hub_id, safe_name, without_base
from llmzoo.export.description import Part, described
from llmzoo.policies.base import TINY
from llmzoo.training import run_folder

BASE = "base"  # the folder of a base that is on no hub
_ADAPTER = "adapter_config.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export has written: the folder, and the folder of each policy in it."""

    folder: Path
    step: int  # the iteration of the checkpoint
    policies: dict[str, Path]
    base: Path | None  # of adapters, where it had to be added


def export_run(
    run: str | Path, out: str | Path, *, step: int | None = None, base: str | Path | None = None
) -> Exported:
    """Write the policies that a run has trained into a new folder.

    One policy is the folder itself; several are a folder each, named after their seats. Whole
    models are what ``AutoModelForCausalLM.from_pretrained`` loads, adapters what
    ``PeftModel.from_pretrained`` does, each with its tokenizer. An adapter names its base by its
    hub id; a base that is on no hub stands in the folder ``base``. ``README.md`` is a model card.

    ``step``: the iteration of the checkpoint; the newest one by default. ``base``: the folder of
    the adapters' base, to be copied. A folder that the adapters name themselves is not opened,
    since a run of somebody else's could name any; only the embedded model is.

    Raises :class:`CheckpointError` where there is no such checkpoint, one with links in it, or
    the base of an adapter is a folder and not given, and :class:`ConfigError` for a folder that is
    there already, and for a base where nothing is an adapter.
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
    strange = [name for name in names if not safe_name(name)]
    if strange:
        raise CheckpointError(f"{checkpoint} has a policy with the name {strange[0]!a}")
    inside = {name: "" if len(names) == 1 else name for name in names}
    partial = out.with_name(f"{files.WRITING}{out.name}")
    files.fresh_folder(partial)
    try:
        for name, subfolder in inside.items():
            copy_policy(checkpoint / name, partial / subfolder)
        folders = [partial / subfolder for subfolder in inside.values()]
        base_name = _settle_base(folders, None if base is None else Path(base), partial / BASE)
        parts = [_part(n, p, partial) for n, p in inside.items()]
        try:
            description = described(run, checkpoint, parts, base_name)
            card = card_of(description, out.name)
        except LlmzooError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(
                f"{run} holds settings or evaluations of another form than a run writes: {error!r}"
            ) from error
        files.write(partial / "README.md", card)
        partial.rename(out)
    except BaseException:
        files.remove(partial)
        raise
    return Exported(
        folder=out,
        step=description.step,
        policies={name: out / subfolder for name, subfolder in inside.items()},
        base=out / BASE if base_name == BASE else None,
    )


def _checkpoint(run: Path, step: int | None) -> Path:
    if step is None:
        return run_folder.newest_checkpoint(run)
    checkpoint = run / run_folder.CHECKPOINTS / f"step_{step:06d}"
    there = run_folder.checkpoints_in(checkpoint.parent)
    if checkpoint not in there:
        steps = ", ".join(str(int(path.name[5:])) for path in there)
        raise CheckpointError(f"{run} keeps no checkpoint of iteration {step}; it has {steps}")
    return run_folder.checked(checkpoint)


def _settle_base(folders: list[Path], given: Path | None, copy_to: Path) -> str | None:
    """Where the base of the adapters among ``folders`` is: its hub id, or ``base``.

    A base that is copied is no longer named by the adapters. None where nothing is an adapter.
    """
    named = {folder: base for folder in folders if (base := base_in(folder)) is not None}
    if not named:
        if given is not None:
            raise ConfigError("there is no adapter in this run: --base means nothing")
        return None
    source = given
    if source is None:
        hub_ids = {hub_id(base) for base in named.values()} - {None}
        if len(hub_ids) == 1 and all(map(hub_id, named.values())):
            return hub_ids.pop()
        if not all(map(_is_embedded, named.values())):
            others = sorted({base for base in named.values() if not _is_embedded(base)})
            raise CheckpointError(
                f"the adapters name the base {', '.join(map(ascii, others))}, which is no id of the "
                "hub, and a folder is not opened because a run names it: give the folder of the "
                "base, to be copied, with --base FOLDER"
            )
        source = _embedded()
    copy_base(source, copy_to)
    for folder in named:
        without_base(folder)
    return BASE


def _is_embedded(base: str) -> bool:
    """Whether this names the embedded model, wherever this package stood when the run was made."""
    return base == TINY or Path(base).parts[-4:] == _embedded().parts[-4:]


def _embedded() -> Path:
    try:
        from llmzoo.policies.loading import TINY_FOLDER
    except ModuleNotFoundError as error:
        raise MissingExtraError("the export of a run", "train", error.name) from error
    return TINY_FOLDER


def _part(name: str, subfolder: str, folder: Path) -> Part:
    """What stands in the folder of one policy."""
    from llmzoo.policies.loading import PreTrainedTokenizerFast, load_tokenizer

    at = folder / subfolder
    tokenizer = load_tokenizer(str(at))
    own = type(tokenizer) is PreTrainedTokenizerFast
    return Part(
        name=name,
        subfolder=subfolder,
        is_adapter=(at / _ADAPTER).exists(),
        tokenizer_class="PreTrainedTokenizerFast" if own else "AutoTokenizer",
        has_chat=tokenizer.chat_template is not None,
        model_config=_model_config(at, folder / BASE),
    )


def _model_config(folder: Path, base: Path) -> dict[str, object]:
    """The configuration of the model, or of an adapter's base where it is here."""
    for path in (folder / "config.json", base / "config.json"):
        config = files.read_object(path)
        if config is not None:
            return config
    return {}
