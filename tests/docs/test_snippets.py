"""Every Python block, command and link in the README and docs/ works."""

from __future__ import annotations

import io
import re
import shlex
import warnings
from pathlib import Path

import pytest

from llmzoo import registry
from llmzoo.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

# commands that a page shows and this test does not run
NOT_RUN = {
    "pip install 'llmzoo-marl[train]'": "installs from the network",
    "pip install -e '.[all]'": "installs from the network",
    "pip install -e '.[all,dev]' -c constraints.txt": "installs from the network",
    "pip install -e '.[all]' -c constraints.txt "
    "--extra-index-url https://download.pytorch.org/whl/cpu": "installs from the network",
    "make demo PIP_ARGS='--extra-index-url https://download.pytorch.org/whl/cpu'": "as make demo",
    "make demo": "takes minutes; the demo is this project's own acceptance test",
    "make test": "would run this test",
    "make test-all": "would run this test",
    "make lint": "continuous integration runs it",
    "make bench": "takes minutes",
    "python docs/build.py": "writes pages; test_generated_pages.py compares them",
    "python -m llmzoo.policies.tiny.recipe --out FOLDER": "takes up to an hour",
    "python -m tests.attacks": "takes minutes; tests/attacks runs a part of it",
    "python -m tests.attacks.rewards": "the tests of each family run its rows",
    "tensorboard --logdir runs": "a server that does not end",
    "llmzoo train --model Qwen/Qwen2.5-0.5B-Instruct --env plan_path_v0 --steps 100": (
        "downloads a model"
    ),
    **dict.fromkeys(
        (
            "llmzoo serve --policy tiny",
            "llmzoo eval --env sudoku_v0 --env.max_turns 1 --policy grpc://127.0.0.1:50051 "
            "--tasks 20",
            "llmzoo play sudoku_v0 --policy grpc://127.0.0.1:50051",
            "llmzoo train --env sudoku_v0 --env.max_turns 1 --seats proposer_0 "
            "--others grpc://127.0.0.1:50051 --steps 2 --envs 2 --eval_tasks 8 --out runs/beside",
        ),
        "tests/serve/test_policy_docs.py runs it",
    ),
    "llmzoo bench --envs sudoku_v0,sokoban_v0,plan_path_v0 --learners all --seeds 0,1,2 "
    "--steps 1000 --token_budget 100000 --out runs/bench": "takes hours",
}

BLOCK = re.compile(r"^(`{3,})([^\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def blocks(page: Path) -> list[tuple[str, str, int]]:
    """(language, content, line) of every fenced block of a page."""
    text = page.read_text()
    return [(m[2], m[3], text.count("\n", 0, m.start()) + 2) for m in BLOCK.finditer(text)]


def commands(block: str) -> list[str]:
    """The commands of a bash block, without comments and line breaks."""
    joined = block.replace("\\\n", " ")
    lines = (re.sub(r"\s+#\s.*", "", line).strip() for line in joined.splitlines())
    return [" ".join(line.split()) for line in lines if line and not line.startswith("#")]


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def own_registry(monkeypatch):
    """What a page registers is forgotten after it."""
    monkeypatch.setattr(registry, "_specs", dict(registry._specs))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Overriding environment")  # PettingZoo keeps it
        yield


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_page_runs(page, tmp_path, monkeypatch, own_registry, capsys):
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    for language, block, line in blocks(page):
        where = f"{name_of(page)}:{line}"
        if language == "python":
            exec(compile("\n" * (line - 1) + block, str(page), "exec"), namespace)
        elif language == "bash":
            for command in commands(block):
                if command in NOT_RUN:
                    continue
                program, *arguments = shlex.split(command)
                assert program == "llmzoo", f"{where}: add {command!r} to NOT_RUN, with a reason"
                monkeypatch.setattr("sys.stdin", io.StringIO("\n" * 20))
                code = main(arguments)
                assert code == 0, f"{where}: {command} gave {code}: {capsys.readouterr().err}"
        elif language == "yaml":
            first, _, content = block.partition("\n")
            assert first.startswith("# "), f"{where}: the first line must name the file"
            (tmp_path / first.removeprefix("# ")).write_text(content)
        else:
            assert language == "text", f"{where}: a block of {language!r} is not run by this test"


def test_commands_that_are_not_run_are_shown_somewhere():
    shown = {
        c for page in PAGES for lang, b, _ in blocks(page) if lang == "bash" for c in commands(b)
    }
    assert set(NOT_RUN) <= shown


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    text = BLOCK.sub("", page.read_text())
    for target in LINK.findall(text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target} does not exist"
        if anchor:
            assert anchor in anchors(file), f"{target}: no such heading"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}
