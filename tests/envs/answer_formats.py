"""The ways in which chat models wrap an answer, and an episode whose experts write so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmzoo.envs.planning.message_env import MessageEnv
from llmzoo.envs.tools.service.env import ServiceEnv

Wrap = Callable[[str], str]

# around an answer of any length
AROUND: dict[str, Wrap] = {
    "space around": lambda a: f"\n  \n{a}\n\n ",
    "line ends of Windows": lambda a: a.replace("\n", "\r\n"),
    "an opening": lambda a: f"Sure! Here is my answer:\n\n{a}",
    "a closing": lambda a: f"{a}\n\nLet me know if you need anything else!",
    "both": lambda a: f"Certainly.\n\n{a}\n\nI hope this helps!",
    "a heading": lambda a: f"## Answer\n\n{a}",
    "a bold heading": lambda a: f"**Answer:**\n\n{a}",
    "reasons before": lambda a: f"Let me think about this step by step.\n\n{a}",
    "a note after": lambda a: f"{a}\n\nNote: this follows from the rules above.",
    "a rule": lambda a: f"---\n\n{a}\n\n---",
}
# around an answer without a fence of its own
FENCES: dict[str, Wrap] = {
    "a fence": lambda a: f"```\n{a}\n```",
    "a fence with a language": lambda a: f"```{language(a)}\n{a}\n```",
    "an opening and a fence": lambda a: f"Here is my answer:\n\n```\n{a}\n```",
    "a bold heading and a fence": lambda a: f"**Final answer:**\n```{language(a)}\n{a}\n```\nDone.",
}
# around an answer of one line
IN_LINE: dict[str, Wrap] = {
    "bold": lambda a: f"**{a}**",
    "code": lambda a: f"`{a}`",
    "The answer is": lambda a: f"The answer is {a}",
    "Answer:": lambda a: f"Answer: {a}",
    "**Answer:**": lambda a: f"**Answer:** {a}",
    "Final answer: bold": lambda a: f"Final answer: **{a}**",
    "a bullet": lambda a: f"- {a}",
    "a table": lambda a: f"| Answer |\n|---|\n| {a} |",
}
WRAPPINGS = {**AROUND, **FENCES, **IN_LINE}


def language(answer: str) -> str:
    """What a chat model names after the fence."""
    starts = answer.lstrip()[:1]
    if "def " in answer or "import " in answer or "print(" in answer or "class " in answer:
        return "python"
    return "json" if starts in ("{", "[") else "text"


def wrap(name: str, answer: str) -> str:
    """The answer as wrapped; as it is where the wrapping is for answers of another form."""
    if name in FENCES and "```" in answer:
        return answer
    if name in IN_LINE and ("\n" in answer.strip() or "`" in answer):
        return answer
    return WRAPPINGS[name](answer)


def play(env: Any, treat: Wrap, seed: int = 1) -> tuple[dict[str, float], bool]:
    """What each agent earns and whether the episode succeeds, if what the experts write is treated so.

    Text that another agent reads as it stands has no form and stays: messages, and what is said in a call.
    """
    env.reset(seed=seed)
    totals = dict.fromkeys(env.possible_agents, 0.0)
    success = False
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        totals[agent] += reward
        if terminated or truncated:
            success = success or bool(info.get("success"))
            env.step(None)
            continue
        answer = env.unwrapped.expert(agent)
        env.step(treat(answer) if _has_form(env.unwrapped, answer) else answer)
    return totals, success


def _has_form(env: Any, answer: str) -> bool:
    if isinstance(env, MessageEnv):
        return not env.is_message_round(env.episode)
    return not isinstance(env, ServiceEnv) or "<tool_call>" in answer
