"""Tasks whose answers are programs: they are read as text, run in the sandbox, and judged by tests."""

from __future__ import annotations

from llmzoo.registry import register

_PUBLIC_SETS = (
    *("humaneval_v0", "coop_humaneval_v0", "mbpp_v0"),
    *("apps_v0", "code_contests_v0", "livecodebench_v0"),
)

for _id, _module, _summary in (
    (
        "coop_functions_v0",
        "env",
        "One function in two parts at once: a helper's aux, and main that calls it.",
    ),
    (
        "humaneval_v0",
        "humaneval",
        "HumanEval: a helper writes aux, main the function that calls it.",
    ),
    (
        "coop_humaneval_v0",
        "coop_humaneval",
        "CoopHumanEval: a helper writes aux, main what calls it.",
    ),
    ("mbpp_v0", "mbpp", "MBPP: a helper writes aux, main writes the function that calls it."),
):
    register(
        _id,
        f"llmzoo.envs.coding.functions.{_module}:env",
        family="coding",
        agents=("helper_0", "main_1"),
        summary=_summary,
        terse={"prompt": "terse"},
        offline={"source": "sample"} if _id in _PUBLIC_SETS else {},
    )

for _id, _module, _summary in (
    ("contests_v0", "env", "Contest problems: a coder writes a program, a tester writes tests."),
    ("apps_v0", "apps", "APPS: a coder writes a program, a tester writes tests."),
    ("code_contests_v0", "code_contests", "CodeContests: a coder's program, a tester's tests."),
    ("livecodebench_v0", "livecodebench", "LiveCodeBench: a coder's program, a tester's tests."),
):
    register(
        _id,
        f"llmzoo.envs.coding.contests.{_module}:env",
        family="coding",
        agents=("coder_0", "tester_1"),
        summary=_summary,
        offline={"source": "sample"} if _id in _PUBLIC_SETS else {},
    )

register(
    "classeval_v0",
    "llmzoo.envs.coding.class_eval:env",
    family="coding",
    agents=("writer_0", "writer_1"),
    summary="Write one class: its methods are divided over writers who all write at once.",
    offline={"source": "sample"},
)
register(
    "bug_fix_v0",
    "llmzoo.envs.coding.bug_fix:env",
    family="coding",
    agents=("locator_0", "fixer_1"),
    summary="Mend a broken program: a locator says where it is wrong, a fixer writes it anew.",
)
