"""Tasks whose answers are programs, which run in the sandbox and are judged by tests."""

from __future__ import annotations

from llmzoo.registry import register

_FUNCTIONS = {
    "coop_functions_v0": "One function in two parts at once: a helper's aux, and main that calls it.",
    "humaneval_v0": "HumanEval: a helper writes aux, main the function that calls it.",
    "coop_humaneval_v0": "CoopHumanEval: a helper writes aux, main what calls it.",
    "mbpp_v0": "MBPP: a helper writes aux, main writes the function that calls it.",
}
_CONTESTS = {
    "contests_v0": "Contest problems: a coder writes a program, a tester writes tests.",
    "apps_v0": "APPS: a coder writes a program, a tester writes tests.",
    "code_contests_v0": "CodeContests: a coder's program, a tester's tests.",
    "livecodebench_v0": "LiveCodeBench: a coder's program, a tester's tests.",
}
_OWN_TASKS = {"coop_functions_v0": "env", "contests_v0": "env"}  # the others are public sets

for _package, _agents, _summaries in (
    ("functions", ("helper_0", "main_1"), _FUNCTIONS),
    ("contests", ("coder_0", "tester_1"), _CONTESTS),
):
    for _id, _summary in _summaries.items():
        register(
            _id,
            f"llmzoo.envs.coding.{_package}.{_OWN_TASKS.get(_id, _id.removesuffix('_v0'))}:env",
            family="coding",
            agents=_agents,
            summary=_summary,
            terse={"prompt": "terse"} if _package == "functions" else {},
            offline={} if _id in _OWN_TASKS else {"source": "sample"},
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
    summary="Repair a broken program: a locator says where it is wrong, a fixer rewrites it.",
)
