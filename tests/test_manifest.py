"""What the package offers, by name. Nothing here disappears by accident.

``manifest.json`` lists what users rely on, and what was removed on purpose. A removed name must be gone,
and CHANGELOG.md must name it, beside what replaces it.
"""

from __future__ import annotations

import json
from configparser import ConfigParser
from pathlib import Path

import pytest

import llmzoo
from llmzoo import adapters, learners, policies, testing
from llmzoo.cli import COMMANDS
from llmzoo.envs.tools.toolbox import BUILT_IN

ROOT = Path(__file__).parent.parent
MANIFEST = json.loads((Path(__file__).parent / "manifest.json").read_text(encoding="utf-8"))


def offered() -> dict[str, list[str]]:
    """What stands now, by kind, in the form of the manifest."""
    setup = ConfigParser()
    setup.read(ROOT / "setup.cfg")
    return {
        "environments": sorted(llmzoo.list_envs()),
        "learners": learners.list_learners(),
        "commands": sorted(COMMANDS),
        "extras": sorted(setup["options.extras_require"]),
        "public names": sorted(llmzoo.__all__),
        "policies": sorted(policies.__all__),
        "adapters": sorted(
            path.stem for path in Path(adapters.__path__[0]).iterdir() if path.stem[0] != "_"
        ),
        "tools": sorted(BUILT_IN),
        "checks": sorted(name for name in vars(testing) if name.startswith("check_")),
    }


@pytest.mark.parametrize("kind", MANIFEST["offered"])
def test_what_is_offered(kind: str) -> None:
    assert offered()[kind] == MANIFEST["offered"][kind]


def test_the_manifest_lists_every_kind() -> None:
    assert list(MANIFEST["offered"]) == list(offered())


@pytest.mark.parametrize("name", MANIFEST["removed"])
def test_what_is_removed(name: str) -> None:
    kind, _, removed = name.partition(": ")
    assert removed not in MANIFEST["offered"][kind]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased = changelog.partition("## [Unreleased]\n")[2].partition("\n## ")[0]
    assert f"`{removed}`" in unreleased
