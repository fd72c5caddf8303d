"""All comparisons in one run: ``make bench``. Writes ``bench.json`` and prints a table."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import conversations
import dialogue_peers
import duel_peers
import environment_peers
import environment_steps
import generation_peers
import import_time
import level_generation
import math_checks
import neighbour_overhead
import program_calls
import remote_steps
import sampling
import sandbox
import tool_steps
import training_step
import updates
from rich.console import Console
from rich.table import Table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("bench.json"))
    parser.add_argument("--seconds", type=float, default=2.0, help="for each rate")
    parser.add_argument("--repeats", type=int, default=7, help="of what is timed as a whole")
    parser.add_argument(
        "--without-peers",
        action="store_true",
        help="leave out those that are installed in environments of their own (minutes, gigabytes)",
    )
    parser.add_argument(
        "--without-large",
        action="store_true",
        help="leave out the model of 135 million weights (half an hour, 12 GB)",
    )
    args = parser.parse_args()
    large = not args.without_large

    rows = [
        *import_time.compare(args.repeats),
        *environment_steps.compare(6 * args.repeats),
        *tool_steps.compare(2 * args.repeats),
        *program_calls.compare(args.repeats),
        *conversations.compare(),
        *remote_steps.compare(args.repeats),
        *level_generation.compare(args.seconds),
        *math_checks.compare(args.seconds, args.repeats),
        *sampling.compare(args.repeats, large=large),
        *updates.compare(
            max(1, args.repeats // 3), updates.SIZES | (updates.LARGE if large else {})
        ),
        *sandbox.compare(args.seconds, max(1, args.repeats // 2)),
    ]
    if not args.without_peers:
        rows += environment_peers.compare(2 * args.repeats)
        rows += dialogue_peers.compare(2 * args.repeats)
        rows += duel_peers.compare(2 * args.repeats)
        rows += neighbour_overhead.compare(2 * args.repeats)
        rows += generation_peers.compare(2 * args.repeats)
        rows += training_step.compare(args.repeats, large_too=large)
    args.out.write_text(json.dumps(rows, indent=2) + "\n")

    table = Table("name", "ours", "theirs", "ratio", "unit")
    for row in rows:
        digits = ",.0f" if row["ours"] >= 100 else ".3f"
        theirs = "" if row["theirs"] is None else f"{row['theirs']:{digits}}"
        ratio = "" if row["ratio"] is None else f"{row['ratio']:.2f}"
        table.add_row(row["name"], f"{row['ours']:{digits}}", theirs, ratio, row["unit"])
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
