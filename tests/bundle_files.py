"""Bundles with changed content, as a forger writes them: every hash and every claim fits."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmzoo.evaluation.bundles import layout
from llmzoo.evaluation.bundles.stored import recompute_result
from llmzoo.evaluation.bundles.verify import Verification, verify_bundle
from llmzoo.evaluation.bundles.write import write_manifest


@dataclass
class Content:
    """The content of an evaluation in a bundle, to be changed."""

    config: dict[str, Any]
    provenance: dict[str, Any]
    rows: list[dict[str, Any]]
    result: dict[str, Any]


def read_content(folder: Path) -> Content:
    return Content(
        config=json.loads((folder / layout.CONFIG_FILE).read_text()),
        provenance=json.loads((folder / "provenance.json").read_text()),
        rows=list(layout.read_rows(folder / layout.EPISODES_FILE)),
        result=json.loads((folder / layout.RESULT_FILE).read_text()),
    )


def write_content(folder: Path, content: Content) -> None:
    (folder / layout.CONFIG_FILE).write_text(json.dumps(content.config))
    (folder / "provenance.json").write_text(json.dumps(content.provenance))
    (folder / layout.RESULT_FILE).write_text(json.dumps(content.result))
    with gzip.open(folder / layout.EPISODES_FILE, "wt") as file:
        file.writelines(json.dumps(row) + "\n" for row in content.rows)


def forge(
    bundle: Path, out: Path, edit: Callable[[Content], object], *, recompute: bool = False
) -> Path:
    """A copy of a bundle whose first evaluation is edited, with hashes and claims that fit.

    ``recompute``: the numbers of the result fit the edited episodes too.
    """
    shutil.copytree(bundle, out)
    manifest = json.loads((out / layout.BUNDLE_FILE).read_text())
    name = manifest["evaluations"][0]
    content = read_content(out / name)
    edit(content)
    write_content(out / name, content)
    if recompute:
        (evaluation, *_) = layout.read_bundle(out).evaluations
        content.result |= recompute_result(evaluation)
        write_content(out / name, content)
    write_manifest(out, manifest["evaluations"], title=manifest["title"], price=None)
    return out


def edit_manifest(bundle: Path, out: Path, edit: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of a bundle with another ``bundle.json``."""
    shutil.copytree(bundle, out)
    manifest = json.loads((out / layout.BUNDLE_FILE).read_text())
    edit(manifest)
    (out / layout.BUNDLE_FILE).write_text(json.dumps(manifest))
    return out


def failed_checks(bundle: Path, **options: Any) -> set[str]:
    """The names of the checks that find something wrong."""
    return {check.name for check in verify_bundle(bundle, **options).wrong}


def statuses(verification: Verification) -> dict[str, str]:
    """The status of each check of a bundle with one evaluation."""
    return {check.name: check.status for check in verification.checks}
