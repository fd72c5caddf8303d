"""``llmzoo export``"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json, redirect_stdout_to_stderr
from llmzoo.errors import require_extra
from llmzoo.export.inspect_log import export_evaluation, is_evaluation


@dataclass(frozen=True, kw_only=True)
class ExportOptions(CommandOptions):
    """Export the trained models of a run as transformers or peft folders, with a model card.

    Of a folder of llmzoo eval --out the episodes are exported, as a log of Inspect.

    Args:
        run: run folder of llmzoo train, or folder of llmzoo eval --out; can be given first, without
            --run.
        out: the folder to create; for an evaluation the file, .json.
        step: iteration of the checkpoint; the newest one by default.
        base: folder with the base model of adapters, which is copied. Needed if the base is not on
            the hub: folders that only the run names are not opened.
        push: repository of the Hugging Face hub to upload to, as USER/NAME. Log in with hf auth
            login or set HF_TOKEN.
        private: create the repository as private.
        json: print one JSON object instead of a list.
    """

    POSITIONAL = ("run",)
    USAGE = "llmzoo export RUN --out FOLDER [--step N] [--base FOLDER] [--push REPO]"
    EXAMPLES = (
        "llmzoo export runs/demo --out exported/demo",
        "llmzoo export runs/demo --out exported/demo --push me/sudoku --private false",
        "llmzoo export evals/tiny --out tiny.json",
    )

    run: str
    out: str
    step: int | None = None
    base: str | None = None
    push: str | None = None
    private: bool = True
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = ExportOptions(**parse_options("export", argv, ExportOptions))
    if is_evaluation(options.run):
        out = export_evaluation(options.run, options.out)
        print_json({"log": str(out)}) if options.json else print(f"log of Inspect: {out}")
        return
    with require_extra("the export of a run", "train"):
        from llmzoo.export import export_run, push_to_hub
    with redirect_stdout_to_stderr():
        done = export_run(options.run, options.out, step=options.step, base=options.base)
        address = None
        if options.push is not None:
            address = push_to_hub(done.folder, options.push, private=options.private)
    if options.json:
        print_json(
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
