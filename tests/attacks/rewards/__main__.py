"""Plays every attack on a reward and prints the table; exits with 1 where one pays.

python -m tests.attacks.rewards             all families
python -m tests.attacks.rewards --only debate
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from dataclasses import asdict

from rich.console import Console
from rich.table import Table

from .scored import Scored

FAMILIES = (
    "math",
    "tools",
    "debate",
    "writing",
    "coding",
    "planning",
    "trips",
    "building",
    "signals",
    "crowd",
    "proposing",
    "delegate",
)


def scored(families: list[str]) -> list[Scored]:
    modules = [importlib.import_module(f"tests.attacks.rewards.{name}") for name in families]
    return [row for module in modules for row in module.attacks()]


def table(rows: list[Scored]) -> Table:
    drawn = Table("environment", "attack", "score", "must stay below", "honest", "")
    for row in rows:
        limit = row.honest if row.limit is None else row.limit
        numbers = [f"{value:.3f}" for value in (row.score, limit, row.honest)]
        drawn.add_row(row.env, row.attack, *numbers, "" if row.failed else "IT PAYS")
    return drawn


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.rewards", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = scored(args.only)
    if args.json:
        print(json.dumps([{**asdict(row), "failed": row.failed} for row in rows]))
    else:
        Console(width=None if sys.stdout.isatty() else 140).print(table(rows))
        paying = sum(not row.failed for row in rows)
        print(f"{len(rows)} attacks, {paying} of them pay")
    return 0 if all(row.failed for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
