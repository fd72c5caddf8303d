"""Builds the documentation site: ``python docs/_site/build.py [FOLDER]``. Every warning is an error."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sphinx.cmd.build import main as sphinx
from stage import ROOT, stage


def build(out: Path, work: Path) -> int:
    """Build the site into ``out``, with what Sphinx keeps between builds in ``work``; its exit code."""
    source = work / "source"
    source.mkdir(parents=True, exist_ok=True)
    stage(source)
    return sphinx([*options(work / "trees"), str(source), str(out)])


def options(trees: Path) -> list[str]:
    """Of Sphinx: every warning is said, and fails the build."""
    strict = ["--fail-on-warning", "--keep-going", "--quiet"]
    return [*strict, "--doctree-dir", str(trees), "-b", "html"]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", nargs="?", type=Path, default=ROOT / "site", help="default: site/")
    parser.add_argument("--work", type=Path, default=ROOT / "build" / "docs", help="kept for speed")
    given = parser.parse_args()
    code = build(given.out, given.work)
    if code == 0:
        print(given.out / "index.html")
    return code


if __name__ == "__main__":
    sys.exit(main())
