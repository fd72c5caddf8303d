"""``llmzoo export``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llmzoo.cli.options import CommandOptions, read
from llmzoo.cli.output import apart, as_json
from llmzoo.errors import MissingExtraError


@dataclass(frozen=True, kw_only=True)
class ExportOptions(CommandOptions):
    """Export the trained models of a run as transformers or peft folders, with a model card.

    Args:
        run: run folder of llmzoo train; can be given first, without --run.
        out: the folder to create.
        step: iteration of the checkpoint; the newest one by default.
        base: folder with the base model of adapters, which is copied. Needed if the base is not on
            the hub: folders that only the run names are not opened.
        push: repository of the Hugging Face hub to upload to, as USER/NAME. Log in with hf auth
            login or set HF_TOKEN.
        private: create the repository as private.
        json: print one JSON object instead of a list.
    """

    FIRST = ("run",)
    USAGE = "llmzoo export RUN --out FOLDER [--step N] [--base FOLDER] [--push REPO]"
    EXAMPLES = (
        "llmzoo export runs/demo --out exported/demo",
        "llmzoo export runs/demo --out exported/demo --push me/sudoku --private false",
    )

    run: str
    out: str
    step: int | None = None
    base: str | None = None
    push: str | None = None
    private: bool = True
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = ExportOptions(**read("export", argv, ExportOptions))
    try:
        from llmzoo.export import export_run, push_to_hub
    except ModuleNotFoundError as error:
        raise MissingExtraError("the export of a run", "train", error.name) from error
    with apart():
        done = export_run(options.run, options.out, step=options.step, base=options.base)
        address = None
        if options.push is not None:
            address = push_to_hub(done.folder, options.push, private=options.private)
    if options.json:
        as_json(
            {
                "folder": str(done.folder),
                "step": done.step,
                "policies": {name: str(path) for name, path in done.policies.items()},
                "base": None if done.base is None else str(done.base),
                "pushed": address,
            }
        )
        return
    for name, path in done.policies.items():
        print(f"{name}: {path}")
    if done.base is not None:
        print(f"their base: {done.base}")
    print(f"model card: {Path(done.folder) / 'README.md'}")
    if address is not None:
        print(f"pushed to {address}")
