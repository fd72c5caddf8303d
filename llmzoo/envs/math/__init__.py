"""Mathematics: problems with exact answers."""

from __future__ import annotations

from llmzoo.registry import register

_AGENTS = ("reasoner_0", "tool_1")

register(
    "math_v0",
    "llmzoo.envs.math.env:env",
    family="math",
    agents=_AGENTS,
    summary="Problems drawn without end: a reasoner's boxed answer, a tool's program that prints one.",
    extra="math",
    terse={"prompt": "terse"},
)
for _id, _set in {
    "gsm8k_v0": "GSM8K, grade-school word problems,",
    "math500_v0": "MATH-500, high-school competition problems,",
    "aime24_v0": "AIME 2024",
    "aime25_v0": "AIME 2025",
    "olympiadbench_v0": "OlympiadBench, olympiad problems with a final answer,",
}.items():
    register(
        _id,
        f"llmzoo.envs.math.{_id.removesuffix('_v0')}:env",
        family="math",
        agents=_AGENTS,
        summary=f"{_set} for a reasoner and a tool.",
        extra="math",
        offline={"source": "sample"},
    )
