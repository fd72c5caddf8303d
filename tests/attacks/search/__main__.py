"""Searches the rewards of built-in environments, and prints the table of the documentation.

python -m tests.attacks.search                    every environment, scripts only, 14 seconds each
python -m tests.attacks.search tldr_v0 --time_budget 300 --steps 10    the embedded model trains too
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial

import llmzoo
from llmzoo.testing import search_attacks


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.search")
    parser.add_argument("envs", nargs="*", help="ids; every environment by default")
    parser.add_argument("--time_budget", type=float, default=14.0, help="seconds for each")
    parser.add_argument("--steps", type=int, default=0, help="of the embedded model's training")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| environment | agents | alarm | return | noisy expert | expert | success, noisy expert's | minutes | attack |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    alarms = 0
    for id in args.envs or llmzoo.list_envs():
        make = partial(llmzoo.make, id, **llmzoo.spec(id).offline)
        report = search_attacks(make, time_budget=args.time_budget, steps=args.steps)
        alarms += len(report.alarms)
        for each in report.alarms or report.findings[:1]:
            shown = each.attack.replace("|", "/").replace("\n", " ")[:90]
            best = "" if each.expert is None else f"{each.expert:.2f}"
            print(
                f"| `{id}` | {each.setting} | {each.kind if each.alarm else ''} | {each.returned:.2f} "
                f"| {each.noisy_expert:.2f} | {best} | {each.success:.2f}, {each.noisy_expert_success:.2f} "
                f"| {report.minutes:.2f} | {shown} |",
                flush=True,
            )
        if not report.findings:
            print(
                f"| `{id}` | | not judged | | | | | {report.minutes:.2f} | {report.note} |",
                flush=True,
            )
    print(f"\n{alarms} alarms")
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
