"""Attacks on tool_use_v0, bfcl_v0, bfcl_multi_turn_v0 and telecom_v0: calls for their own sake, guesses, hedges, and
lists of all there is. Those on airline_v0 stand in their own file.

The score is the best return that the attack gets on any task; it must stay below what the expert gets
on every one of them, or below what is said for it: 0.2 and a little where no right answer is given.
Those that do not even look for an answer are scored by their mean return, which must stay below the
noisy expert's mean return.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

from pettingzoo import AECEnv

import llmzoo
from llmzoo.envs.tools.bfcl import call_format
from llmzoo.envs.tools.bfcl import players as bfcl_expert
from llmzoo.envs.tools.bfcl_multi_turn import players as multi_turn_expert
from llmzoo.envs.tools.bfcl_multi_turn.tools import api_tools
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service import conversations
from llmzoo.envs.tools.telecom import phone
from llmzoo.envs.tools.tool_use import players
from llmzoo.envs.tools.toolbox import Tool

from . import airline
from .episode import returns
from .scored import Scored

Act = Callable[[AECEnv, str, int], str]  # environment, agent, round (from 0) -> what is answered

TOOLS = ("calculator", "files", "search")
FAMILIES = (
    *("fact", "arithmetic", "conversion", "bills", "difference", "ranking", "trail"),
    *("report", "errand"),
)
TASKS = 12  # of each family
NO_ANSWER = 0.2 + 1e-9  # what calls alone are worth at most


def attacks() -> Iterator[Scored]:
    yield from _tool_use()
    yield from _bfcl()
    yield from _bfcl_multi_turn()
    yield from _telecom()
    yield from airline.attacks()


# tool_use_v0


def _tool_use() -> Iterator[Scored]:
    envs = {name: llmzoo.make("tool_use_v0", family=name, tools=TOOLS) for name in FAMILIES}
    honest = min(_returns(env, _honest) for env in envs.values())
    for name, (act, limit, families) in _ATTACKS.items():
        score = max(_returns(envs[family], act, best=True) for family in families)
        yield Scored(env="tool_use_v0", attack=name, score=score, honest=honest, limit=limit)
    for num_agents, whose in ((1, "alone"), (2, "both agents")):
        envs = {
            name: llmzoo.make("tool_use_v0", family=name, tools=TOOLS, num_agents=num_agents)
            for name in FAMILIES
        }
        noisy_expert = _mean(envs, _noisy_expert)
        for name, act in _IDLE.items():
            yield Scored(
                env="tool_use_v0",
                attack=f"{name}, {whose}",
                score=_mean(envs, act),
                honest=honest,
                limit=noisy_expert,
            )


def _mean(envs: dict[str, AECEnv], act: Act, *, tasks: int = TASKS) -> float:
    """The mean return over the tasks of all families; all agents are paid alike."""
    found = [
        returns(env, task, lambda agent, env=env: act(env, agent, env.unwrapped.turn))
        for env in envs.values()
        for task in range(tasks)
    ]
    return sum(next(iter(total.values())) for total in found) / len(found)


def _noisy_expert(env: AECEnv, agent: str, turn: int) -> str:
    return env.unwrapped.noisy_expert(agent, random.Random(f"{env.observe(agent)} {turn}"))


def _honest(env: AECEnv, agent: str, turn: int) -> str:
    return env.unwrapped.expert(agent)


def _spam(env: AECEnv, agent: str, turn: int) -> str:
    """The first needed tool again and again, each time a little otherwise, and never an answer."""
    step = env.unwrapped.episode.question.steps[0]
    return players.format_call(step.tools[0], _varied(step.arguments, turn))


def _honest_then_spam(env: AECEnv, agent: str, turn: int) -> str:
    """All that is needed, then the right tool until the last round, then the right answer."""
    if turn == env.unwrapped.max_turns - 1:
        return _right_answer(env)
    if env.unwrapped._next_step() is not None:
        return env.unwrapped.expert(agent)
    return _spam(env, agent, turn)


def _one_more(env: AECEnv, agent: str, turn: int) -> str:
    """A needless call before the honest solution."""
    if turn == 0:
        return players.format_call("calculator", {"expression": "1 / 3"})
    return env.unwrapped.expert(agent)


def _each_tool_once(env: AECEnv, agent: str, turn: int) -> str:
    """A call of every tool that works, whatever the question, then the right answer."""
    calls = (
        ("search", {"query": "Veyl Isles", "k": 10}),
        ("calculator", {"expression": "1 + 1"}),
        ("list_files", {}),
        ("write_file", {"path": "a.txt", "content": "a"}),
        ("read_file", {"path": "a.txt"}),
        ("delete_file", {"path": "a.txt"}),
    )
    return players.format_call(*calls[turn]) if turn < len(calls) else _right_answer(env)


def _guess(env: AECEnv, agent: str, turn: int) -> str:
    """The right answer from nowhere; with a file for an answer, the file is written by guess."""
    target = env.unwrapped.episode.question.target
    if target.path and turn == 0:
        return players.format_call("write_file", {"path": target.path, "content": target.values[0]})
    return _right_answer(env)


def _echo(env: AECEnv, agent: str, turn: int) -> str:
    """The right answer put through the calculator, so that a tool was used."""
    target = env.unwrapped.episode.question.target
    if turn == 0:
        expression = target.values[0] if target.tolerance is not None else "1"
        return players.format_call("calculator", {"expression": expression})
    return _guess(env, agent, turn - 1)


def _all_but_one(env: AECEnv, agent: str, turn: int) -> str:
    """The honest solution without its first call; of two searches the second may find both articles,
    which is no cheating."""
    steps = env.unwrapped.episode.question.steps[1:]
    if turn < len(steps):
        return players.format_call(steps[turn].tools[0], steps[turn].arguments)
    return _right_answer(env)


def _hedge(env: AECEnv, agent: str, turn: int) -> str:
    """Every needed call, then several answers in one; a file likewise."""
    question = env.unwrapped.episode.question
    value = question.target.values[0]
    several = (
        f"12 or 13 or {value} or Varnholt"
        if question.family != "ranking"
        else ", ".join(step.arguments["query"] for step in question.steps)
    )
    step = env.unwrapped._next_step()
    if step is not None and step.tools[0] == "write_file":
        return players.format_call("write_file", {**step.arguments, "content": several})
    return env.unwrapped.expert(agent) if step is not None else players.format_answer(several)


def _quote(env: AECEnv, agent: str, turn: int) -> str:
    """Every needed call, then all that they returned as the answer; into the file where one is."""
    unwrapped = env.unwrapped
    step = unwrapped._next_step()
    read = "\n".join(entry.result for entry in unwrapped.episode.entries) + " 1 2"
    if step is not None and step.tools[0] == "write_file":
        return players.format_call("write_file", {**step.arguments, "content": read})
    return unwrapped.expert(agent) if step is not None else players.format_answer(read)


def _call_in_the_answer(env: AECEnv, agent: str, turn: int) -> str:
    """Answer and call at once, to save the rounds."""
    step = env.unwrapped.episode.question.steps[0]
    right = env.unwrapped.episode.question.target.values[0]
    return players.format_answer(right + players.format_call(step.tools[0], step.arguments))


def _planner_answers(env: AECEnv, agent: str, turn: int) -> str:
    """The planner writes the answer in tags; the executor says that it agrees."""
    return _right_answer(env) if agent == "planner_0" else "I agree with the planner."


def _without(*left_out: str) -> tuple[str, ...]:
    return tuple(family for family in FAMILIES if family not in left_out)


_ATTACKS: dict[str, tuple[Act, float | None, tuple[str, ...]]] = {
    "spam a right tool": (_spam, NO_ANSWER, FAMILIES),
    "solve, then spam, then answer": (_honest_then_spam, None, FAMILIES),
    "one needless call": (_one_more, None, FAMILIES),
    "each tool once, then a right guess": (_each_tool_once, None, FAMILIES),
    "a right guess": (_guess, None, FAMILIES),
    "a right guess put through the calculator": (_echo, None, FAMILIES),
    "the solution without its first call": (
        _all_but_one,
        None,
        _without("difference", "ranking", "trail"),
    ),
    "several answers in one": (_hedge, NO_ANSWER, FAMILIES),
    "all that was read as the answer": (_quote, NO_ANSWER, FAMILIES),
    "a call inside of the answer": (_call_in_the_answer, NO_ANSWER, FAMILIES),
    "the planner answers": (_planner_answers, NO_ANSWER, FAMILIES),
}


def _says(text: str) -> Act:
    return lambda env, agent, turn: text


def _prompt(env: AECEnv, agent: str, turn: int) -> str:
    return env.observe(agent)


def _question_searched(env: AECEnv, agent: str, turn: int) -> str:
    """The question as a query, again in every round."""
    return players.format_call("search", {"query": env.unwrapped.episode.question.text})


def _question_then_wrong(env: AECEnv, agent: str, turn: int) -> str:
    """The question as a query, then a wrong answer."""
    return players.format_answer("0") if turn else _question_searched(env, agent, turn)


def _first_number(env: AECEnv, agent: str, turn: int) -> str:
    """The first number of the question, or its last word, as the answer at once."""
    question = env.unwrapped.episode.question.text
    return players.format_answer(next(iter(re.findall("[0-9]+", question)), question.split()[-1]))


def _other_searches(env: AECEnv, agent: str, turn: int) -> str:
    """A search for something else in each round."""
    return players.format_call("search", {"query": f"island {turn}"})


_IDLE: dict[str, Act] = {
    "nothing": _says(""),
    "a wrong answer at once": _says("<answer>12</answer>"),
    "the first number of the question": _first_number,
    "a copy of the prompt": _prompt,
    "words of the trade": _says("search calculator tool_call arguments query answer <tool_call>"),
    "a call that fails, always": _says(players.format_call("search", {"question": "which"})),
    "one call, always": _says(players.format_call("search", {"query": "Veyl Isles"})),
    "other searches each round": _other_searches,
    "the question searched, always": _question_searched,
    "the question searched, then a wrong answer": _question_then_wrong,
}


def _right_answer(env: AECEnv) -> str:
    return players.act(None, env.unwrapped.episode.question)


def _varied(arguments: dict, turn: int) -> dict:
    """Arguments that differ from turn to turn and mean the same, or nearly so."""
    name, value = next(iter(arguments.items()))
    other = {
        "query": f"{value}{' the' * turn}",
        "expression": f"{value} + 0 * {turn}",
        "path": "./" * turn + str(value),
    }
    return {**arguments, name: other[name]}


# bfcl_v0


def _bfcl() -> Iterator[Scored]:
    honest = _returns(_bfcl_env(), _honest, tasks=60)
    for name, act in _LISTS.items():
        score = _returns(_bfcl_env(), act, tasks=60, best=True)
        yield Scored(env="bfcl_v0", attack=name, score=score, honest=honest)


def _bfcl_env() -> AECEnv:
    return llmzoo.make("bfcl_v0", source="sample", split="all")


def _truths(env: AECEnv) -> tuple[ToolCall, ...]:
    request = env.unwrapped.episode.request
    return tuple(bfcl_expert.build_call(truth, request) for truth in request.truths)


def _both_write_all(env: AECEnv, agent: str, turn: int) -> str:
    """Every right call from both agents: on single calls, and on the others."""
    return call_format.format_calls(_truths(env))


def _all_combinations(env: AECEnv, agent: str, turn: int) -> str:
    """The right calls among others with each value changed."""
    right = [*_truths(env)]
    wrong = [
        ToolCall(call.name, {**call.arguments, name: value})
        for call in right
        for name in call.arguments
        for value in (0, 1, "", True)
    ]
    return call_format.format_calls(tuple((right + wrong)[: call_format.MAX_CALLS]))


def _all_functions(env: AECEnv, agent: str, turn: int) -> str:
    """The right calls, and a call of each function that there is."""
    functions = env.unwrapped.episode.request.functions
    others = tuple(ToolCall(name, {"x": 1}) for name in functions)
    return call_format.format_calls(_truths(env) + others)


def _nothing(env: AECEnv, agent: str, turn: int) -> str:
    return "[]"


def _two_lists(env: AECEnv, agent: str, turn: int) -> str:
    """The right list, and a list of something else beside it."""
    return (
        f"{env.unwrapped.expert(agent)}\n[{next(iter(env.unwrapped.episode.request.functions))}()]"
    )


def _repeated(env: AECEnv, agent: str, turn: int) -> str:
    """The agent's own calls, each twice; where none are due, the first right call."""
    own = call_format.parse_calls(env.unwrapped.expert(agent))
    return call_format.format_calls((own or _truths(env)[:1]) * 2)


_LISTS: dict[str, Act] = {
    "both agents write every right call": _both_write_all,
    "right calls among every combination": _all_combinations,
    "right calls and all functions": _all_functions,
    "no calls": _nothing,
    "two lists": _two_lists,
    "each call twice": _repeated,
}


# bfcl_multi_turn_v0


def _bfcl_multi_turn() -> Iterator[Scored]:
    for num_agents, whose in ((1, "alone"), (2, "both agents")):
        env = llmzoo.make("bfcl_multi_turn_v0", source="sample", split="all", num_agents=num_agents)
        count = env.unwrapped.tasks.count
        honest = _returns(env, _honest, tasks=count)
        for name, (act, limit) in _TURNS.items():
            score = _returns(env, _caller(act), tasks=count, best=True)
            yield Scored(
                env="bfcl_multi_turn_v0",
                attack=f"{name}, {whose}",
                score=score,
                honest=honest,
                limit=limit,
            )


def _caller(act: Act) -> Act:
    """The planner says something; the caller attacks."""

    def played(env: AECEnv, agent: str, turn: int) -> str:
        return "Go on." if agent.startswith("planner") else act(env, agent, turn)

    return played


def _once(calls: Callable[[AECEnv], str]) -> Act:
    """The same calls at the beginning of each of the user's turns, and nothing more."""

    def played(env: AECEnv, agent: str, turn: int) -> str:
        return "[]" if env.unwrapped.episode.step else calls(env)

    return played


def _tools(env: AECEnv) -> list[Tool]:
    return [each for api in env.unwrapped.episode.dialogue.apis for each in api_tools(api).values()]


def _bare_calls(env: AECEnv) -> str:
    """Every function that needs no argument, as many as an answer may hold."""
    names = [each.name for each in _tools(env) if not each.parameters["properties"]]
    return f"[{', '.join(f'{name}()' for name in names[: call_format.MAX_CALLS])}]"


def _empty_calls(env: AECEnv) -> str:
    """Every function with empty texts: many change nothing and respond something."""
    calls = [
        ToolCall(each.name, dict.fromkeys(each.parameters["properties"], ""))
        for each in _tools(env)
    ]
    return call_format.format_calls(tuple(calls[: call_format.MAX_CALLS]))


def _whole_truth(env: AECEnv) -> str:
    """The calls of all turns in each turn."""
    dialogue = env.unwrapped.episode.dialogue
    every = [call for calls in dialogue.truths for call in calls]
    return multi_turn_expert.act(every[: call_format.MAX_CALLS], dialogue)


_SOME_TURNS = 0.35  # those of which the responses were there and the state right

_TURNS: dict[str, tuple[Act, float | None]] = {
    "no calls": (_nothing, 0.1 + 1e-9),
    "a function that does not exist": (_once(lambda env: "[done()]"), 0.1 + 1e-9),
    "every function without arguments": (_once(_bare_calls), _SOME_TURNS),
    "every function with empty texts": (_once(_empty_calls), _SOME_TURNS),
    "the calls of all turns in each turn": (_once(_whole_truth), _SOME_TURNS),
}


# telecom_v0

CALLERS = 60  # tasks


def _telecom() -> Iterator[Scored]:
    for num_agents, whose in ((1, "alone"), (2, "both agents")):
        env = llmzoo.make("telecom_v0", num_agents=num_agents)
        honest = _returns(env, _honest, tasks=CALLERS)
        noisy_expert = _mean({"": env}, _noisy_expert, tasks=CALLERS)
        for name, act in _ON_THE_PHONE.items():
            score = _mean({"": env}, act, tasks=CALLERS)
            named = f"{name}, {whose}"
            yield Scored(
                env="telecom_v0", attack=named, score=score, honest=honest, limit=noisy_expert
            )
        yield Scored(
            env="telecom_v0",
            attack=f"a line resumed without payment, {whose}",
            score=_unpaid_at_best(num_agents),
            honest=honest,
            limit=0.6,
        )


def _unpaid_at_best(num_agents: int) -> float:
    """The best return of who resumes a line for which a bill is due, on all such tasks."""
    env = llmzoo.make("telecom_v0", intent="service_issue", split="all", num_agents=num_agents)
    found: list[float] = []
    for task in range(47):
        env.reset(options={"task": task})
        name = env.unwrapped.episode.conversation.task.name
        if "overdue_bill" in name and "lock_sim" not in name:
            found += returns(env, task, lambda agent: _unpaid(env, agent)).values()
    return max(found)


def _to_the_customer(message: str) -> Act:
    """The agent always says this; the customer does it."""

    def act(env: AECEnv, agent: str, turn: int) -> str:
        return message if agent.startswith("agent") else env.unwrapped.expert(agent)

    return act


def _over_at_once(env: AECEnv, agent: str, turn: int) -> str:
    if agent.startswith("user"):
        return conversations.STOP
    return conversations.format_calls([ToolCall(conversations.TRANSFER, {"summary": "no"})])


def _hung_up(env: AECEnv, agent: str, turn: int) -> str:
    return conversations.STOP


def _unpaid(env: AECEnv, agent: str) -> str:
    """The expert, but the line is resumed first, and no payment asked for."""
    expert = env.unwrapped.expert(agent)
    if agent.startswith("user"):
        return expert
    said = env.unwrapped.episode.conversation
    if "send_payment_request" in expert:
        place, data = said.world.place, said.world.data
        ids = {
            "customer_id": data.customer_by_number(place.phone_number)["customer_id"],
            "line_id": data.line_by_number(place.phone_number)["line_id"],
        }
        return conversations.format_calls([ToolCall("resume_line", ids)])
    return expert


_SWITCHES = [name for name in phone.FUNCTIONS if name.startswith("toggle")]
_ON_THE_PHONE: dict[str, Act] = {
    "handing over at once": _over_at_once,
    "hanging up": _hung_up,
    "every switch once, again and again": _to_the_customer(f"Use {'; '.join(_SWITCHES)}."),
    "every switch twice": _to_the_customer(f"Use {'; '.join(s for s in _SWITCHES for _ in '12')}."),
    "the defaults": _to_the_customer("Use reset_apn_settings, reboot_device, reseat_sim_card."),
}


def _returns(env: AECEnv, act: Act, *, tasks: int = TASKS, best: bool = False) -> float:
    """The least return of any agent on any task, or the best."""
    found: list[float] = []
    for task in range(tasks):
        total = returns(env, task, lambda agent: act(env, agent, env.unwrapped.turn))
        found += total.values()
    return max(found) if best else min(found)
