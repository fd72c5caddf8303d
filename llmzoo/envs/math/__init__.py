"""Mathematics: problems with exact answers."""

from __future__ import annotations

from llmzoo.registry import register

register(
    "math_v0",
    "llmzoo.envs.math.env:env",
    parallel_entry_point="llmzoo.envs.math.env:parallel_env",
    family="math",
    agents=("reasoner_0", "tool_1"),
    summary="Problems drawn without end: a reasoner's boxed answer, a tool's program that prints one.",
    extra="math",
    terse={"prompt": "terse"},
)

_SAMPLE = {"source": "sample"}

register(
    "gsm8k_v0",
    "llmzoo.envs.math.gsm8k:env",
    parallel_entry_point="llmzoo.envs.math.gsm8k:parallel_env",
    family="math",
    agents=("reasoner_0", "tool_1"),
    summary="GSM8K, grade-school word problems, for a reasoner and a tool.",
    extra="math",
    offline=_SAMPLE,
)
register(
    "math500_v0",
    "llmzoo.envs.math.math500:env",
    parallel_entry_point="llmzoo.envs.math.math500:parallel_env",
    family="math",
    agents=("reasoner_0", "tool_1"),
    summary="MATH-500, high-school competition problems, for a reasoner and a tool.",
    extra="math",
    offline=_SAMPLE,
)
register(
    "aime24_v0",
    "llmzoo.envs.math.aime24:env",
    parallel_entry_point="llmzoo.envs.math.aime24:parallel_env",
    family="math",
    agents=("reasoner_0", "tool_1"),
    summary="AIME 2024 for a reasoner and a tool.",
    extra="math",
    offline=_SAMPLE,
)
register(
    "aime25_v0",
    "llmzoo.envs.math.aime25:env",
    parallel_entry_point="llmzoo.envs.math.aime25:parallel_env",
    family="math",
    agents=("reasoner_0", "tool_1"),
    summary="AIME 2025 for a reasoner and a tool.",
    extra="math",
    offline=_SAMPLE,
)
register(
    "olympiadbench_v0",
    "llmzoo.envs.math.olympiadbench:env",
    parallel_entry_point="llmzoo.envs.math.olympiadbench:parallel_env",
    family="math",
    agents=("reasoner_0", "tool_1"),
    summary="OlympiadBench, olympiad problems with a final answer, for a reasoner and a tool.",
    extra="math",
    offline=_SAMPLE,
)
