"""Writing: two authors write two parts of one text at the same time."""

from __future__ import annotations

from llmzoo.registry import register

for _id, _agents, _summary in (
    (
        "tldr_v0",
        ("concise_0", "detailed_1"),
        "Summarize a post: one author briefly, the other in detail.",
    ),
    (
        "arxiv_v0",
        ("background_0", "method_1"),
        "Expand an abstract to an introduction: background and motivation, method and implications.",
    ),
    (
        "story_v0",
        ("first_0", "second_1"),
        "Continue a story: each author writes one of the next two passages.",
    ),
):
    register(
        _id,
        f"llmzoo.envs.writing.{_id.removesuffix('_v0')}:env",
        family="writing",
        agents=_agents,
        summary=_summary,
        offline={} if _id == "story_v0" else {"source": "sample"},
    )
