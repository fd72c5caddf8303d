"""How many small mistakes in the core the tests notice: ``python scripts/mutants.py --out FILE``.

Each mutant is a copy of the repository in which one place of one file is changed, as
``llmzoo/envs/coding/mutations.py`` changes programs for ``bug_fix_v0``. It is killed when one of the
tests of that file fails, or takes too long. The tests are those that ``make test`` runs, or with
``--set test-all`` those of ``make test-all``. Results go to FILE, one JSON object a mutant; a call that was
cut off goes on where it stood.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

# a file, relative to llmzoo/, and the tests that are about it, relative to tests/
SUBJECTS = {
    "learners/advantages.py": "learners/test_advantages.py learners/test_credit.py learners",
    "learners/losses.py": "learners/test_losses.py learners",
    "learners/value_estimation.py": "learners/test_values.py learners",
    "rollout/trees.py": "rollout learners/test_reach.py learners/test_credit.py",
    "models/packing.py": "policies learners/updates",
    "models/scoring.py": "policies",
    "envs/coding/functions/scoring.py": "envs/coding",
    "envs/games/sudoku/scoring.py": "envs/games",
    "sandbox/judge/verdicts.py": "sandbox",
    "sandbox/judge/asserts.py": "sandbox",
}
SETS = {"test": "not slow and not long", "test-all": "not long"}
HEADER = ("import torch", "import transformers", "import pettingzoo", "import pytest")


def mutants(root: Path, subjects: dict[str, str], count: int, seed: int) -> list[tuple[str, str]]:
    """``count`` pairs of a file and the name of a mutation in it, an equal number for each file.

    No two change the same line of a file, and none a docstring or a signature.
    """
    from llmzoo.envs.coding.mutations import changes, mutate

    rng = random.Random(seed)
    chosen: list[tuple[str, str]] = []
    for number, path in enumerate(subjects):
        source = (root / "llmzoo" / path).read_text()
        plain = ast.unparse(ast.parse(source))
        names = sorted(changes(source))
        rng.shuffle(names)
        share = count // len(subjects) + (number < count % len(subjects))
        lines: set[int] = set()
        for name in names:
            if share == 0:
                break
            try:
                changed = mutate(source, [name])
            except ValueError:
                continue
            line = _first_difference(plain, changed)
            if line is not None and line not in lines:
                lines.add(line)
                chosen.append((path, name))
                share -= 1
    return chosen


def _first_difference(before: str, after: str) -> int | None:
    for number, (one, other) in enumerate(
        zip(before.splitlines(), after.splitlines(), strict=False)
    ):
        if one != other:
            return number
    return None


def survives(tree: Path, tests: str, marks: str, limit: float) -> bool:
    """Whether all tests pass in ``tree``. Heavy packages are imported once, by the parent."""
    child = os.fork()
    if child == 0:
        os.setsid()
        os.chdir(tree)
        sys.path.insert(0, str(tree))
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        import pytest

        paths = [f"tests/{path}" for path in tests.split()]
        options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", marks]
        os._exit(int(pytest.main([*options, f"--basetemp={tree}/.tmp", *paths])))
    until = time.monotonic() + limit
    while time.monotonic() < until:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.1)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1])
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", choices=SETS, default="test", help="which tests run")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for a mutant's tests")
    parser.add_argument(
        "--subject", action="append", default=[], metavar="FILE=TESTS", help="in place of the usual"
    )
    options = parser.parse_args()
    marks = SETS[options.set]
    subjects = dict(given.split("=", 1) for given in options.subject) or SUBJECTS
    sys.path.insert(0, str(options.root))
    from llmzoo.envs.coding.mutations import mutate

    done = {}
    if options.out.exists():
        rows = map(json.loads, options.out.read_text().splitlines())
        done = {(row["file"], row["mutation"]): row["killed"] for row in rows}
    chosen = mutants(options.root, subjects, options.count, options.seed)
    for name in [name for name in sys.modules if name.partition(".")[0] == "llmzoo"]:
        del sys.modules[name]  # the child imports the tree's own
    sys.path.remove(str(options.root))
    for line in HEADER:
        exec(line)
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        ignored = shutil.ignore_patterns(".venv", ".git", "runs", "__pycache__", "site", ".*_cache")
        shutil.copytree(options.root, tree, ignore=ignored)
        os.environ["PYTHONPATH"] = str(tree)
        subprocess.run(["git", "init", "-q"], cwd=tree, check=True)
        checked: set[str] = set()
        for path, name in chosen:
            if (path, name) in done:
                continue
            if path not in checked and not survives(tree, subjects[path], marks, options.limit):
                sys.exit(f"the tests of {path} fail without any change")
            checked.add(path)
            file = tree / "llmzoo" / path
            source = file.read_text()
            file.write_text(mutate(source, [name]))
            started = time.monotonic()
            killed = not survives(tree, subjects[path], marks, options.limit)
            file.write_text(source)
            row = {"file": path, "mutation": name, "killed": killed}
            row["seconds"] = round(time.monotonic() - started, 1)
            with options.out.open("a") as out:
                out.write(json.dumps(row) + "\n")
            done[path, name] = killed
    total, dead = (
        Counter(path for path, _ in chosen),
        Counter(key[0] for key in chosen if done[key]),
    )
    for path in subjects:
        print(f"{path}: {dead[path]} of {total[path]}")
    print(f"killed: {dead.total()} of {total.total()}")


if __name__ == "__main__":
    main()
