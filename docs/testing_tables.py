"""Writes the tables of docs/testing_tables.md: what scripted policies earn in every environment.

    python docs/testing_tables.py                        # every environment
    python docs/testing_tables.py sudoku_v0 signal_v0    # these; the rows of the others stay

The tables come from docs/groups_that_differ.py and from ``python -m tests.attacks.degenerate``.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import groups_that_differ

import llmzoo

PAGE = Path(__file__).with_suffix(".md")
EPISODES = 8  # of each form and tree, in the table of groups


def group_rows(id: str) -> list[str]:
    return list(groups_that_differ.rows(id, EPISODES))


def degenerate_rows(id: str) -> list[str]:
    """Raises CalledProcessError if a policy earns more than the noisy expert."""
    printed = subprocess.run(
        [sys.executable, "-m", "tests.attacks.degenerate", id],
        cwd=PAGE.parents[1],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [line for line in printed.stdout.splitlines() if line.startswith("| `")]


TABLES: dict[str, Callable[[str], list[str]]] = {
    "groups": group_rows,
    "degenerate": degenerate_rows,
}


def split_table(page: str, name: str) -> tuple[str, dict[str, list[str]]]:
    """The head of a table of the page, and its rows by environment."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->"
    lines = page.partition(begin)[2].partition(end)[0].splitlines()
    rows: dict[str, list[str]] = {}
    for line in lines[2:]:
        rows.setdefault(re.findall("`([^`]+)`", line)[0], []).append(line)
    return "\n".join(lines[:2]), rows


def replace_rows(page: str, name: str, changed: dict[str, list[str]]) -> str:
    """The page with other rows for the changed environments, in the order of the registry."""
    head, rows = split_table(page, name)
    rows |= changed
    text = "\n".join([head, *(row for id in llmzoo.list_envs() for row in rows.get(id, []))])
    begin, end = f"<!-- begin {name} -->\n", f"\n<!-- end {name} -->"
    before, _, rest = page.partition(begin)
    return before + begin + text + end + rest.partition(end)[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("envs", nargs="*", help="ids; all that are registered by default")
    for id in parser.parse_args().envs or llmzoo.list_envs():
        for name, make_rows in TABLES.items():
            rows = make_rows(id)
            PAGE.write_text(replace_rows(PAGE.read_text(), name, {id: rows}))
        print(id, flush=True)


if __name__ == "__main__":
    main()
