"""What each agent reads: its role, the functions, the talk with the user so far, and the answer format."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from llmzoo.envs.text import count_to_omit, replace_surrogates, truncate
from llmzoo.envs.tools.bfcl_multi_turn.apis import APIS
from llmzoo.envs.tools.bfcl_multi_turn.tools import api_tools, describe_tool

PLANNER, CALLER, ALONE = "planner_0", "caller_1", "caller_0"

MAX_ADVICE_CHARS = 1_500
MAX_ANSWER_SHOWN = 2_000  # characters of an answer that had no calls
MAX_DIALOGUE_CHARS = 500_000  # of all that was said; the earliest of it is left out

NEW_FUNCTIONS = "(More functions are available now: {}. Continue with the last request.)"


@dataclass(frozen=True, slots=True)
class DialogueEntry:
    """An entry of the talk: who, and what is shown of it."""

    who: str
    text: str


def make_entry(who: str, text: str, most: int) -> DialogueEntry:
    return DialogueEntry(who, replace_surrogates(truncate(text, most)))


def for_agent(
    agent: str,
    *,
    apis: Iterable[str],
    hidden: frozenset[str],
    conversation: Sequence[DialogueEntry],
    advice: str,
    left: int,
) -> str:
    """The whole prompt of an agent. hidden: the functions that it may not know yet. left: the answers with
    calls that are left in this turn of the user."""
    lines = [_ROLES[agent], _RULES, "", "The functions:"]
    for api in apis:
        lines += ["", APIS[api].about]
        known = [tool for name, tool in api_tools(api).items() if name not in hidden]
        if agent == PLANNER:
            lines += [f"{tool.signature}: {tool.description}" for tool in known]
        else:
            lines += map(describe_tool, known)
    lines += ["", "The conversation so far:", ""]
    left_out = count_to_omit([entry.text for entry in conversation], MAX_DIALOGUE_CHARS)
    if left_out:
        lines += [f"({left_out} earlier entries are left out.)"]
    lines += [f"{each.who}: {each.text}" for each in conversation[left_out:]]
    lines += ["", f"Answers with calls left for this request: {left}."]
    if agent == CALLER:
        lines += [f"The planner says: {advice or '(nothing)'}"]
    return "\n".join([*lines, "", _ADVICE if agent == PLANNER else _FORMAT, "", "Your answer:"])


_SHARED = (
    "You and {} serve a user by calling functions. In each round the planner says what to do, and the caller "
    "writes calls; both of you see their results."
)
_ROLES = {
    PLANNER: f"You are the planner. {_SHARED.format('a caller')}",
    CALLER: f"You are the caller. {_SHARED.format('a planner')}",
    ALONE: "You serve a user by calling functions. You write calls and see their results.",
}
_RULES = (
    "Do everything that the user asks for now, and nothing else. When it is done, or cannot be done with the "
    "available information and functions, an answer without calls ends your turn, and the user speaks next."
)
_ADVICE = "Say in a few sentences which functions to call next and with which arguments, or that nothing is left to do."
_FORMAT = (
    'Answer with a list of calls and nothing else: [name(parameter=value, other="text")]. Separate '
    "several calls with commas; they run in this order. Give every argument by name, with a literal value. Write "
    "[] to end your turn."
)
