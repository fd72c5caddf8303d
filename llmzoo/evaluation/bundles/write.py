"""Makes a bundle of evaluations that were saved with their episodes."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from llmzoo import files
from llmzoo.errors import ConfigError
from llmzoo.evaluation.bundles import layout
from llmzoo.evaluation.bundles.claims import compute_claims
from llmzoo.evaluation.episode_folder import EPISODES_FILE
from llmzoo.policies import run_models
from llmzoo.records.episode_rows import read_rows
from llmzoo.runs import run_folder
from llmzoo.runs.provenance import PROVENANCE_FILE

_LOGPROB_DECIMALS = 4


def write_bundle(
    out: str | Path,
    evaluations: Mapping[str, str | Path],
    *,
    title: str,
    price: tuple[float, float] | None = None,
) -> Path:
    """Write a bundle to the new folder ``out``, and return it.

    ``evaluations``: the names that evaluations have in the bundle, and the folders of ``llmzoo eval --out``
    or ``llmzoo.evaluate(out=...)``. ``price``: of a million tokens that endpoints read and write. Raises
    :class:`ConfigError` if ``out`` exists or an evaluation has not ended.
    """
    out = Path(out)
    if out.exists():
        raise ConfigError(f"{out} exists: choose a new folder for the bundle")
    if not evaluations:
        raise ConfigError(
            "a bundle has at least one evaluation: give a folder of llmzoo eval --out"
        )
    for name, folder in evaluations.items():
        layout.check_name(name, out)
        _check_ended(Path(folder))
    with files.create_folder(out) as partial:
        for name, folder in evaluations.items():
            _copy_evaluation(Path(folder), partial / name)
        write_manifest(partial, list(evaluations), title=title, price=price)
    return out


def write_manifest(
    bundle: Path,
    names: list[str],
    *,
    title: str,
    price: tuple[float, float] | None,
) -> None:
    """Write ``bundle.json``: the claims of the evaluations, and the sizes and hashes of their files."""
    paths = sorted(path for path in bundle.rglob("*") if path.parent != bundle and path.is_file())
    manifest: dict[str, Any] = {
        "format": layout.FORMAT,
        "title": title,
        "price": price,
        "evaluations": names,
        "claims": [],
        "files": {path.relative_to(bundle).as_posix(): describe_file(path) for path in paths},
    }
    file = bundle / layout.BUNDLE_FILE
    files.write(file, json.dumps(manifest))
    manifest["claims"] = compute_claims(layout.read_bundle(bundle).evaluations, price)
    files.write(file, json.dumps(manifest, indent=1) + "\n")


def describe_file(path: Path) -> dict[str, Any]:
    """The size and the SHA-256 of a plain file."""
    return {"sha256": files.hash_file(path), "bytes": path.stat().st_size}


def _check_ended(folder: Path) -> None:
    for name in (layout.CONFIG_FILE, PROVENANCE_FILE, EPISODES_FILE, layout.RESULT_FILE):
        if not (folder / name).is_file():
            raise ConfigError(
                f"{folder} has no {name}: a bundle needs folders of llmzoo eval --out whose evaluations "
                "have ended"
            )


def _copy_evaluation(folder: Path, out: Path) -> None:
    out.mkdir(parents=True)
    for name in (layout.CONFIG_FILE, PROVENANCE_FILE, layout.RESULT_FILE):
        files.check_plain_file(folder / name)
        shutil.copyfile(folder / name, out / name)
    with (
        (out / layout.EPISODES_FILE).open("xb") as file,
        # without a name and a time, so that the same episodes give the same bytes
        gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packed,
    ):
        for row in read_rows(folder):
            _round_logprobs(row)
            packed.write(json.dumps(row).encode() + b"\n")
    training = _describe_training(layout.read_json(folder / layout.CONFIG_FILE))
    if training is not None:
        files.write(out / layout.TRAINING_FILE, json.dumps(training, indent=1) + "\n")


def _round_logprobs(row: Mapping[str, Any]) -> None:
    """Log-probabilities are half of a file, and four decimals are enough to recognise a model."""
    for decision in row["decisions"]:
        completion = decision["completion"]
        completion["logprobs"] = [
            round(value, _LOGPROB_DECIMALS) for value in completion["logprobs"]
        ]


def _describe_training(config: Mapping[str, Any]) -> dict[str, Any] | None:
    """The settings, provenance and cost of the run whose policies played; None if they are of no run."""
    names = [Path(settings["policy"]) for settings in config["policies"].values()]
    # the policy of a run is a folder in a checkpoint
    found = [run_models.find_run(name) or run_models.find_run(name.parent) for name in names]
    runs = list(dict.fromkeys(filter(None, found)))
    if not runs:
        return None
    if len(runs) > 1:
        raise ConfigError(
            f"policies of several runs play together ({', '.join(map(str, runs))}): a bundle describes "
            "the training of one"
        )
    (run,) = runs
    rows = run_folder.read_metrics(run, "train")
    return {
        "config": run_folder.require_config(run),
        "starts": layout.read_json(run / PROVENANCE_FILE)["starts"],
        "steps": max((row["step"] for row in rows), default=0),
        "tokens": sum(row["tokens"] for row in rows),
        "seconds": round(sum(row["rollout_seconds"] + row["update_seconds"] for row in rows), 2),
    }
