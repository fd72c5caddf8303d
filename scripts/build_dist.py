"""Builds the wheel and the source distribution: ``python scripts/build_dist.py FOLDER``, or ``make dist``.

They are built from a copy of the files that git knows. If setup.cfg names the address of the repository, the
README's links lead there, since PyPI shows the README without the files beside it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "docs"))

from address import absolute_links, source_address  # noqa: E402

PACKED = (
    *("llmzoo", "llmzoo_verifiers", "configs", "examples"),
    *("LICENSE", "README.md", "pyproject.toml", "setup.cfg"),
)


def stage(folder: Path, source: str | None) -> None:
    """Copy what belongs into a distribution. ``source``: the repository's address, if it has one."""
    command = ["git", "ls-files", *PACKED]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in names.splitlines():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    if source is not None:
        readme = folder / "README.md"
        readme.write_text(absolute_links(readme.read_text(), source))


def main(out: str) -> None:
    source = source_address()
    if source is None:
        print(
            "setup.cfg has no project_urls with a Source: on PyPI, the README's links lead nowhere"
        )
    with tempfile.TemporaryDirectory() as folder:
        stage(Path(folder), source)
        subprocess.run([sys.executable, "-m", "build", "--outdir", out, folder], check=True)


if __name__ == "__main__":
    main(sys.argv[1])
