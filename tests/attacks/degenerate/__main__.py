"""Plays degenerate policies in every environment and prints what each earns.

python -m tests.attacks.degenerate                    every environment, 20 tasks each
python -m tests.attacks.degenerate sudoku_v0 --tasks 50

A policy plays every agent ("all"), or one agent beside noisy experts. Exits with 1 where one of them earns
more than the noisy expert in the same tasks, by more than two standard errors; that return is bold.
"""

from __future__ import annotations

import argparse
import sys
from statistics import mean

import llmzoo

from .played import forms, rows


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.attacks.degenerate",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("envs", nargs="*", help="ids; every environment by default")
    parser.add_argument("--tasks", type=int, default=20, help="tasks that each policy plays")
    args = parser.parse_args()
    printed, paying = 0, 0
    for id in args.envs or llmzoo.list_envs():
        for form in forms(id):
            for row in rows(id, form, args.tasks):
                if not printed:
                    names = " | ".join(row.returns)
                    print(
                        f"| environment | agent | {names} |\n|---|---|{'---|' * len(row.returns)}"
                    )
                cells = " | ".join(
                    f"**{mean(each):.2f}**" if name in row.paying else f"{mean(each):.2f}"
                    for name, each in row.returns.items()
                )
                named = f"`{id}`" + (f", {row.form}" if row.form else "")
                print(f"| {named} | {row.agent} | {cells} |", flush=True)
                printed += 1
                paying += len(row.paying)
    print(f"\n{printed} rows, {paying} returns above the noisy expert's")
    return 1 if paying else 0


if __name__ == "__main__":
    sys.exit(main())
