"""Runs every block of pages of the documentation as a reader would, in an empty folder.

    PYTHON scripts/run_pages.py README.md docs/quickstart.md

``PYTHON`` is the interpreter of the environment in which the pages are tried, for example one with nothing
but a wheel. Its commands come first on the path. Commands run in a shell, and the blocks of Python of a page
in one namespace. Each gets a line with its seconds; what it printed stands in ``output.txt`` of the folder. The
exit code is 1 if one fails. tests/docs/test_snippets.py runs all pages in the development environment instead.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT / "tests")  # no module of scripts/ is importable: a reader has none

from pages import SAVED, blocks, commands  # noqa: E402

NOT_RUN = {  # by the first words of a command: why not
    **dict.fromkeys(("pip install", "pipx", "uv ", "uvx"), "installs: do it before"),
    "make": "for a clone",
    "llmzoo train --model Qwen": "downloads a model",
}


def run_command(command: str, output: TextIO) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        command,
        shell=True,  # by /bin/sh
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        check=True,
    )


def run_block(code: str, page: Path, line: int, names: dict[str, Any], output: TextIO) -> None:
    with redirect_stdout(output), redirect_stderr(output):
        exec(compile("\n" * (line - 1) + code, str(page), "exec"), names)


def run_page(page: Path, output: TextIO) -> bool:
    """Run a page's blocks in the current folder. Returns whether all succeeded."""
    names: dict[str, Any] = {"__name__": "__main__"}
    succeeded = True
    for language, block, line in blocks(page):
        if language == "bash":
            for command in commands(block):
                why = next((w for words, w in NOT_RUN.items() if command.startswith(words)), None)
                if why is None:
                    succeeded &= report(page, line, command, partial(run_command, command, output))
                else:
                    print(f"{page.name}:{line}    not run: {why:22} {command}")
        elif language == "python" and (file := SAVED.match(block)):
            Path(file[1]).write_text(block)
        elif language == "python":
            first = block.strip().splitlines()[0]
            run = partial(run_block, block, page, line, names, output)
            succeeded &= report(page, line, f"(Python) {first} ...", run)
    return succeeded


def report(page: Path, line: int, title: str, run: Callable[[], None]) -> bool:
    start = time.monotonic()
    try:
        run()
        result = "ok"
    except Exception:
        result = traceback.format_exc(limit=-1).strip().splitlines()[-1]
    print(f"{page.name}:{line} {time.monotonic() - start:6.1f} s  {result:22} {title}", flush=True)
    return result == "ok"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--folder", type=Path, help="an empty folder; default: a temporary one")
    args = parser.parse_args()
    pages = [page.resolve() for page in args.pages]
    folder = args.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        parser.error(f"{folder} is not empty: name another folder")
    os.chdir(folder)
    with open("output.txt", "w") as output:
        results = [run_page(page, output) for page in pages]
    print(f"printed: {folder.resolve() / 'output.txt'}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
