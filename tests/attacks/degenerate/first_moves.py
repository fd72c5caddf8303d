"""The first legal move of each family, and an answer of the right form that is wrong at once."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from llmzoo.envs.base import TextEnv
from llmzoo.envs.planning.calendar.tasks import format_slot
from llmzoo.envs.planning.travel import plans
from llmzoo.envs.planning.travel.plans import Day
from llmzoo.envs.planning.travel.prompts import fields_for_halves

from ..rewards.trips import first_rows

Answers = tuple[str, str]  # the first legal move, wrong at once


def answers(env: TextEnv, family: str, agent: str) -> Answers:
    """Both answers of an agent to what it reads now."""
    return _FAMILIES[family](env, agent.rpartition("_")[0], str(env.observe(agent)))


def _math(env: TextEnv, role: str, prompt: str) -> Answers:
    problem = prompt.partition("The problem:")[2] or prompt
    first = next(iter(re.findall(r"\d+", problem)), "0")
    if role == "tool":
        return f"print({first})", "print(-987654)"
    return rf"\boxed{{{first}}}", r"\boxed{-987654}"


def _games(env: TextEnv, role: str, prompt: str) -> Answers:
    if env.metadata["name"] == "sudoku_v0":
        return _sudoku(env.episode.world)
    legal = [move for move in "UDLR" if _moves(env, move)]
    blocked = [move for move in "UDLR" if move not in legal]
    return (legal or ["U"])[0], (blocked or ["U"])[0]


def _moves(env: TextEnv, move: str) -> bool:
    state = env.episode
    moved = env.execute(state.task, state.world, env.parse(state, move)).world
    return bool(moved != state.world)


def _sudoku(grid: str) -> Answers:
    size = int(len(grid) ** 0.5)
    side = int(size**0.5)
    blank = next((i for i, cell in enumerate(grid) if not cell.isdigit() or cell == "0"), 0)
    row, column = divmod(blank, size)
    seen = {
        grid[r * size + c]
        for r in range(size)
        for c in range(size)
        if r == row or c == column or (r // side, c // side) == (row // side, column // side)
    }
    digit = next((d for d in "123456789"[:size] if d not in seen), "1")
    return f"[[{row + 1}, {column + 1}, {digit}]]", "\n".join(["1" * size] * size)


def _tools(env: TextEnv, role: str, prompt: str) -> Answers:
    if env.metadata["name"] == "bfcl_multi_turn_v0" and role == "planner":
        return "Call the first function next.", "Nothing is left to do."
    if env.metadata["name"] == "telecom_v0":
        return _telephone(role)
    if env.metadata["name"] == "airline_v0":
        return _airline(role)
    if env.metadata["name"] != "tool_use_v0":
        function = json.loads(next(line for line in prompt.splitlines() if line.startswith("{")))
        required = function["parameters"].get("required", [])
        arguments = ", ".join(f"{name}=1" for name in required)
        return f"[{function['name']}({arguments})]", "[no_such_function()]"
    if role == "planner":
        return "Call list_files next.", "Everything is known now: answer with it."
    call = '<tool_call>{"name": "list_files", "arguments": {}}</tool_call>'
    return call, "<answer>unknown</answer>"


def _telephone(role: str) -> Answers:
    """A look at what the agent can look up, and the end of the call."""
    if role == "user":
        look = '<tool_call>{"name": "check_status_bar", "arguments": {}}</tool_call>'
        return look, "Goodbye. ###STOP###"
    look = '<tool_call>{"name": "get_customer_by_id", "arguments": {"customer_id": "C1001"}}</tool_call>'
    over = '{"name": "transfer_to_human_agents", "arguments": {"summary": "no"}}'
    return look, f"<tool_call>{over}</tool_call>"


def _airline(role: str) -> Answers:
    """A look at what the agent can look up, or consent, and the end of the call."""
    if role == "user":
        return "Yes, please go ahead.", "Goodbye. ###STOP###"
    look = '<tool_call>{"name": "list_all_airports", "arguments": {}}</tool_call>'
    return look, _telephone(role)[1]


def _planning(env: TextEnv, role: str, prompt: str) -> Answers:
    if env.metadata["name"] == "travel_v0":
        return _trip(env, role)
    task = env.episode.task
    first = task.slots[0]
    return format_slot(first), format_slot(first._replace(day="Friday", start=0, end=task.length))


def _trip(env: TextEnv, role: str) -> Answers:
    """The first row of each table, every day; and every day nothing."""
    days = first_rows(env.episode.task)
    fields = fields_for_halves((role,) if role != "planner" else ("booker", "guide"))
    return plans.format_plan(days, fields), plans.format_plan(
        [Day(day.number) for day in days], fields
    )


def _duels(env: TextEnv, role: str, prompt: str) -> Answers:
    if env.metadata["name"] == "negotiation_v0":
        return "Offer: 1 book", "Accept"
    names = env.rules.moves(env.episode.position)
    return f"Move: {names[0]}", "Move: none"


def _crowd(env: TextEnv, role: str, prompt: str) -> Answers:
    """The first that can be named, and one that cannot be; in talks a fact or a claim, and an empty promise."""
    return _CROWD[env.metadata["name"]](env, role)


def _hidden_profile(env: TextEnv, role: str) -> Answers:
    names = env.names(env.episode.task)
    if len(env.episode.messages) < env.rounds:
        return f"{names.places[0]} +{names.aspects[0]}", "I know the best place."
    return names.places[0], "Nowhere"


def _mafia(env: TextEnv, role: str) -> Answers:
    state = env.episode
    agent = env.agent_selection
    names = env.names(state)
    first = names[state.choices(agent)[0]]
    if state.phase == "talk":
        return f"I checked {first}: mafia.", "Trust me."
    return first, names.get(agent, "Nowhere")


def _building(env: TextEnv, role: str, prompt: str) -> Answers:
    """A block in the first cell that the agent reaches, or a step to the side."""
    if env.metadata["name"] == "resource_gathering_v0":
        world = env.episode.world
        worker = role if role in world.places else "miner"
        x, z = world.places[worker]
        name = "" if role == worker else f"{worker} "
        return f"{name}go {x - 1 if x else 1} {z}", f"{name}go 9999 9999"
    material = "stone" if prompt.startswith("You are builder_1") else "wood"
    middle = env.episode.task.box.width // 2  # which every agent reaches
    return f"setblock {middle} 0 0 {material}", "setblock 9999 0 0 wood"


def _signals(env: TextEnv, role: str, prompt: str) -> Answers:
    """The first letter as often as it takes and the first answer; the last letter, and the last answer."""
    if role in ("speaker", "first", "middle"):
        letters, most = env.alphabet.letters, env.alphabet.max_len
        return letters[0] * most, letters[-1] * most
    if env.metadata["name"] == "signal_v0":
        return env.write(env.episode.task.offered[0]), env.write((0,) * env.attributes)
    return env.write((0,) * env.length), env.write((env.values - 1,) * env.length)


def _members(env: TextEnv, role: str) -> Answers:
    """The left fork and nothing; one fish each, and all that a boat holds."""
    philosophers = env.metadata["name"] == "philosophers_v0"
    values = ("left", "wait") if philosophers else (1, env.episode.task.limit)
    members = env.members if role in ("host", "manager") else env.members[:1]
    first, wrong = ("\n".join(env.write(name, value) for name in members) for value in values)
    return first, wrong


def _proposing(env: TextEnv, role: str, prompt: str) -> Answers:
    """The first two numbers added, and a number that is not given; an answer of two numbers, and none."""
    a, b, *_ = env.episode.task.rules.numbers
    countdown = env.kind == "countdown"
    if role == "proposer":
        return (f"{a} {b} = {a + b}", f"{a} 1 = 1") if countdown else (f"{a} + {b}", f"{a} * 1")
    return (f"{a} + {b}", "1 + 1") if countdown else (str(a + b), "-987654")


def _delegate(env: TextEnv, role: str) -> Answers:
    """The first page, and its first amount; a page that is not needed, and an answer below all others."""
    task = env.episode.task
    if env.episode.phase not in ("plan", "read"):
        return "2", "-1"
    unneeded = next(title for title in task.titles if title not in task.question.titles)
    if env.episode.phase == "read":
        return f"2\nRead: {task.titles[0]}", f"2\nRead: {unneeded}"
    return f"{task.titles[0]}: report", f"{unneeded}: report"


def _debate(env: TextEnv, role: str, prompt: str) -> Answers:
    if role == "judge":
        return '{"pro": 0.5, "con": 0.5}', '{"pro": 1.0, "con": 1.0}'
    claim = next(iter(re.findall(r"(?m)^1\. (.*?\.)", prompt)), "That is so.")
    return claim, "The other side is right in everything. I agree with it and have no case."


def _writing(env: TextEnv, role: str, prompt: str) -> Answers:
    off_topic = "The weather was fine that day, and nobody thought of anything else. "
    text = prompt.partition(":\n")[2]
    return " ".join(re.findall(r"[A-Z][^.!?]*[.!?]", text)[:3]), off_topic * 8


def _coding(env: TextEnv, role: str, prompt: str) -> Answers:
    return _CODING[role](env, prompt)


def _helper(env: TextEnv, prompt: str) -> Answers:
    return (
        "def aux(*values):\n    return values[0]",
        "def aux(*values):\n    return None",
    )


def _main(env: TextEnv, prompt: str) -> Answers:
    name = next(n for n in re.findall(r"(?:def|function) (\w+)\(", prompt) if n != "aux")
    return (
        f"def {name}(*values):\n    return aux(*values)",
        f"def {name}(*values):\n    aux(*values)\n    return 0",
    )


def _writer(env: TextEnv, prompt: str) -> Answers:
    head = next(iter(re.findall(r"(?m)^class (\w+)", prompt)), "C")
    own = re.findall(r"no others: (.*)", prompt)[0].split(", ")
    methods = {
        value: "\n".join(
            f"    def {name}(self, *values):\n        return {value}\n" for name in own
        )
        for value in ("values[0]", "None")
    }
    first, wrong = (f"```python\nclass {head}:\n{text}```" for text in methods.values())
    return first, wrong


def _coder(env: TextEnv, prompt: str) -> Answers:
    return "```python\nprint(input())\n```", '```python\nprint("WRONG")\n```'


def _tester(env: TextEnv, prompt: str) -> Answers:
    shown = re.search(r"Example input:\n(.*?)\nExample output:\n(.*?)(?=\n\n)", prompt, re.DOTALL)
    example = shown.groups() if shown else ("1", "1")
    tests = [{"input": f"{example[0]}\n", "output": f"{example[1]}\n"}]
    wrong = [{"input": f"{example[0]}\n", "output": "WRONG\n"}]
    return json.dumps(tests), json.dumps(wrong)


def _locator(env: TextEnv, prompt: str) -> Answers:
    (function, *_) = re.findall(r"def (\w+)\(", prompt) or re.findall(r"(?m)^(\w+):$", prompt)
    where = {"function": function, "line": 1, "reason": "it differs from what is meant"}
    return json.dumps(where), json.dumps({**where, "function": "nothing", "line": 999})


def _fixer(env: TextEnv, prompt: str) -> Answers:
    lines = re.findall(r"(?m)^ {1,2}\d+  (.*)$", prompt)
    program = "\n".join(lines)
    name = re.findall(r"def (\w+)\(", program)[-1]
    return (
        f"```python\n{program}\n```",
        f"```python\ndef {name}(*values):\n    return None\n```",
    )


_CODING = {
    "helper": _helper,
    "main": _main,
    "writer": _writer,
    "coder": _coder,
    "tester": _tester,
    "locator": _locator,
    "fixer": _fixer,
}
_CROWD: dict[str, Callable[[TextEnv, str], Answers]] = {
    "delegate_v0": _delegate,
    "commons_v0": _members,
    "philosophers_v0": _members,
    "hidden_profile_v0": _hidden_profile,
    "mafia_v0": _mafia,
}
_FAMILIES: dict[str, Callable[[TextEnv, str, str], Answers]] = {
    "building": _building,
    "crowd": _crowd,
    "duels": _duels,
    "coding": _coding,
    "debate": _debate,
    "games": _games,
    "math": _math,
    "planning": _planning,
    "proposing": _proposing,
    "signals": _signals,
    "tools": _tools,
    "writing": _writing,
}
