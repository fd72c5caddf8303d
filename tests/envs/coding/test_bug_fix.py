"""Bug fixing: reading answers, what they are worth, and episodes with worked-out rewards."""

from __future__ import annotations

import random
from functools import partial

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.coding import judging
from llmzoo.envs.coding.bug_fix import players, scoring, tasks
from llmzoo.envs.coding.bug_fix.scoring import Location, NoLocation
from llmzoo.envs.coding.programs import NoProgram
from llmzoo.errors import ConfigError
from llmzoo.sandbox.results import CaseResult, Verdict

LINE_OFF = {"function": "f", "line": 3, "reason": "r"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"function": "f", "line": 7, "reason": "off by one"}', Location("f", 7, "off by one")),
        ('```json\n{"line": "7", "function": "f()"}\n```', Location("f", 7, "")),
        (
            'I think {"function": "g", "line": 1}, no: {"function": "f", "line": 7}',
            Location("f", 7, ""),
        ),
        (
            '{"function": "f", "line": 7, "reason": "{x} is wrong"}',
            Location("f", 7, '{x} is wrong"}'),
        ),
        ("function: f, line: 7, reason: a < b", Location("f", 7, "a < b")),
        ("The mistake is in **Function** `f`, line 7.", Location("f", 7, "")),
        ("function: f\nline: 7\nreason: too many", Location("f", 7, "too many")),
        ("function f(), lines 7-8", Location("f", 7, "")),
        ("function: g, line: 1 ... function: f, line: 7", Location("f", 7, "")),
    ],
)
def test_parse(text, expected):
    assert scoring.parse_location(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "the loop is wrong",
        "line 7",
        '{"function": "f"}',
        '{"function": "f", "line": -1}',
        '{"function": 3, "line": 7}',
        '{"function": "f", "line": true}',
        '{"function": "f", "line": 1e400}',
        '{"function": "f", "line": ' + "9" * 300 + "}",
        "x" * 30_000,
        "{" * 20_000,
        "function " * 2_000,
    ],
)
def test_no_location(text):
    with pytest.raises(NoLocation):
        scoring.parse_location(text)


@pytest.mark.parametrize(
    ("function", "line", "share"),
    [("f", 7, 1.0), ("f", 12, 1.0), ("f", 8, 0.5), ("f", 11, 0.5), ("f", 9, 0.1), ("g", 7, 0.0)],
)
def test_location_share(function, line, share):
    assert scoring.location_share({("f", 7), ("f", 12)}, Location(function, line, "")) == share


@pytest.mark.parametrize(
    ("before", "after", "share"),
    [(0.0, 0.5, 0.5), (0.5, 0.75, 0.5), (0.25, 1.0, 1.0), (0.5, 0.5, 0.0), (0.5, 0.25, 0.0)],
)
def test_tests_share(before, after, share):
    assert scoring.tests_share(before, after) == share


BROKEN = "def g(a):\n    return a\n\ndef f(a):\n    return g(a) - 1"


def test_a_fix_replaces_functions_and_keeps_the_rest():
    fixed = scoring.apply_fix(
        BROKEN,
        "Here:\n```python\nimport math\n\ndef f(a):\n    return g(a) + h(1)\n\ndef h(a):\n    return a\n```",
    )
    assert fixed == (
        "import math\n\ndef g(a):\n    return a\n\n"
        "def f(a):\n    return g(a) + h(1)\n\ndef h(a):\n    return a"
    )


@pytest.mark.parametrize("text", ["", "I cannot", "def h(a):\n    return a", "def f(a) return 1"])
def test_no_fix(text):
    with pytest.raises(NoProgram):
        scoring.apply_fix(BROKEN, text)


# Episodes, with tests that pass as a test of this file wants


@pytest.fixture
def hidden_passed(monkeypatch):
    """How many hidden tests a program passes, by a piece of its text; 2 where nothing is said."""
    said: dict[str, int] = {}

    def check_calls(code, cases, limits=None):
        public, hidden = tasks.load_programs()[cases[0][0]].calls()
        assert cases in (public, hidden)
        passed = next((n for piece, n in said.items() if piece in code), 2)
        shown = len(public) * (passed == len(hidden))
        right = [i < (shown if cases == public else passed) for i in range(len(cases))]
        results = tuple(CaseResult(passed=r, got="" if r else "'odd'", error="") for r in right)
        status = "passed" if all(right) else "failed"
        return Verdict(status=status, passed=sum(right), total=len(right), cases=results)

    monkeypatch.setattr(judging, "check_calls", check_calls)
    return said


def at(task, **kwargs):
    env = llmzoo.make("bug_fix_v0", split="all", **kwargs)
    env.reset(options={"task": task})
    return env


def first_of(name):
    """The first single mutant of a program, by its number in the split "all"."""
    return next(i for i, t in enumerate(tasks.load_tasks(None)) if t.program.name == name)


def answer(env, text):
    """Steps; what every agent was paid for it, and why."""
    env.step(text)
    return dict(env.rewards), {a: dict(info["reward_components"]) for a, info in env.infos.items()}


def say(location, off=0):
    function, line = location
    return f"function: {function}, line: {line + off}, reason: odd"


def variant(task, mark):
    """A fix that says ``mark`` in a comment's stead."""
    function = task.program.name
    return f"def {function}(*args):\n    return '{mark}'"


def test_worked_rewards_of_two_rounds(hidden_passed):
    """12 cases: 4 public, 8 hidden, of which the broken program passes 2."""
    env = at(first_of("caesar"))
    task = env.unwrapped.episode.task
    assert len(task.program.calls()[1]) == 8
    [true] = task.locations
    hidden_passed["half"] = 5  # (5 - 2) / (8 - 2) = 1/2
    # round 1: the line after the true one is worth 0.1, half of the missing tests 0.375, form 0.05
    rewards, _ = answer(env, say(true, 1))
    assert rewards == {"locator_0": 0.1, "fixer_1": 0.1}
    rewards, parts = answer(env, variant(task, "half"))
    assert rewards == pytest.approx({"locator_0": 0.425, "fixer_1": 0.425})
    assert parts["fixer_1"] == {"tests": 0.375, "parses": 0.05}
    assert parts["locator_0"] == {"location": 0.1, "tests": 0.375, "parses": 0.05}
    # round 2: the true line brings what was missing; a fix that passes fewer takes all back
    rewards, _ = answer(env, say(true))
    assert rewards == {"locator_0": 0.1, "fixer_1": 0.1}
    hidden_passed["less"] = 1
    rewards, _ = answer(env, variant(task, "less"))
    assert rewards == {"locator_0": -0.375, "fixer_1": -0.375}
    assert env.truncations == {"locator_0": True, "fixer_1": True}
    assert not env.infos["fixer_1"]["success"]


def test_the_full_fix_ends_the_episode(hidden_passed):
    env = at(first_of("caesar"), team_weight=2.0)
    hidden_passed["all"] = 8
    answer(env, "no idea")
    assert "malformed: no" in env.infos["locator_0"]["error"]
    rewards, _ = answer(env, variant(env.unwrapped.episode.task, "all"))
    assert rewards == pytest.approx({"locator_0": 1.6, "fixer_1": 1.6})
    assert env.terminations == {"locator_0": True, "fixer_1": True}
    assert env.infos["locator_0"]["success"]


def test_malformed_fix(hidden_passed):
    env = at(0)
    answer(env, "function: f, line: 1")
    rewards, _ = answer(env, "I give up")
    assert rewards == {"locator_0": 0.0, "fixer_1": 0.0}
    assert env.infos["fixer_1"]["error"].startswith("malformed: syntax error")
    assert "It could not be used: syntax error" in env.observe("fixer_1")


def test_alone_both_parts_stand_in_one_answer(hidden_passed):
    env = at(first_of("caesar"), num_agents=1)
    assert env.agents == ["fixer_0"]
    task = env.unwrapped.episode.task
    hidden_passed["half"] = 5
    both = f"{say(min(task.locations))}\n```python\n{variant(task, 'half')}\n```"
    rewards, parts = answer(env, both)
    assert parts["fixer_0"] == {"location": 0.2, "tests": 0.375, "parses": 0.05}
    assert rewards["fixer_0"] == pytest.approx(0.625)


def test_alone_without_a_location_the_tests_count(hidden_passed):
    env = at(first_of("caesar"), num_agents=1)
    hidden_passed["all"] = 8
    _, parts = answer(env, variant(env.unwrapped.episode.task, "all"))
    assert parts["fixer_0"] == {"location": 0.0, "tests": 0.75, "parses": 0.05}
    assert env.infos["fixer_0"]["success"]


def test_what_an_agent_reads(hidden_passed):
    env = at(first_of("caesar"))
    task = env.unwrapped.episode.task
    text = env.observe("locator_0")
    assert "\n  1  def caesar(text, shift):\n  2      " in text
    assert "4 of 4 public tests fail:" in text
    assert "caesar('xyz!', 2)\n    expected 'zab!'\n    got 'odd'" in text
    assert '{"function": "name", "line": 7' in text
    env.step('{"function": "caesar", "line": 4, "reason": "why not"}')
    text = env.observe("fixer_1")
    assert "The locator says: function caesar, line 4: why not" in text
    env.step(variant(task, "x"))
    text = env.observe("locator_0")
    assert "Round 2 of 2." in text
    assert "You last said: function caesar, line 4: why not" in text
    assert f"The fixer's last answer:\n{variant(task, 'x')}" in text


def test_infos(hidden_passed):
    env = at(3)
    info = env.infos["locator_0"]
    assert (info["source"], info["split"], info["tasks"]) == (
        "shipped",
        "all",
        len(tasks.load_tasks(None)),
    )
    assert len(info["task_id"]) == 16


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"mutations": 3}, "mutations must be"),
        ({"num_agents": 3}, "num_agents must be"),
        ({"prompt": "terse"}, "prompt must be"),
        ({"split": "dev"}, "split must be"),
    ],
)
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("bug_fix_v0", **kwargs)


def test_single_and_double_tasks(hidden_passed):
    for count in (1, 2):
        env = llmzoo.make("bug_fix_v0", mutations=count, split="test")
        env.reset(seed=0)
        assert len(env.unwrapped.episode.task.mutants) == count


def test_mutants_of_one_program_stand_on_one_side(hidden_passed):
    sides: dict[str, set[str]] = {}
    for split in ("train", "test"):
        listed = llmzoo.make("bug_fix_v0", split=split).unwrapped.tasks
        for i in range(listed.count):
            sides.setdefault(listed[i].program.name, set()).add(split)
    assert len(sides) == 54
    assert all(len(results) == 1 for results in sides.values())


# Episodes in the sandbox


@pytest.mark.parametrize(
    ("agents", "every"), [(1, 90), (2, 90), pytest.param(2, 8, marks=pytest.mark.slow)]
)
def test_the_expert_earns_everything(agents, every):
    make = partial(llmzoo.make, "bug_fix_v0", split="all", num_agents=agents)
    testing.check_expert(make, range(0, len(tasks.load_tasks(None)), every), best=1.0)


def test_knowing_the_public_tests_by_heart_earns_what_hidden_tests_give():
    """The look-up passes every public test; of the hidden ones it passes what the broken program
    passed, which is nothing gained."""
    for number in range(0, len(tasks.load_tasks(1)), 100):
        env = at(number, mutations=1, max_turns=1)
        env.step(env.unwrapped.expert("locator_0"))
        env.step(players.memorize_public_tests(env.unwrapped.episode.task))
        assert "public tests pass." in env.observe("fixer_1")
        assert env.infos["fixer_1"]["reward_components"] == {"tests": 0.0, "parses": 0.05}
        assert not env.infos["fixer_1"]["success"]


def test_the_broken_program_earns_nothing_but_form():
    env = at(10)
    env.step("")
    env.step(env.unwrapped.episode.task.broken_source)
    assert env.infos["fixer_1"]["reward_components"] == {"tests": 0.0, "parses": 0.05}


def test_form_is_paid_from_the_bottom(hidden_passed):
    """Prose, a fix that is begun, one that can be read."""
    for fix, worth in (
        ("It adds where it should subtract.", 0.0),
        ("def caesar(text, shift)\n    return text", 0.0125),
        ("def caesar(text, shift):\n    return ''", 0.05),
    ):
        env = at(first_of("caesar"))
        env.step("")
        env.step(fix)
        assert env.infos["fixer_1"]["reward_components"] == {"tests": 0.0, "parses": worth}


READS_ITS_MEMORY = """
import gc, os, socket, sys

def NAME(*given):
    seen = [repr(o) for o in gc.get_objects() if isinstance(o, (list, tuple, dict))][:20_000]
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            held = getattr(value, "_read", b"")
            seen.append(repr(bytes(held)) if isinstance(held, (bytes, bytearray)) else "")
        frame = frame.f_back
    for number in range(3, 32):
        try:
            waiting = socket.socket(fileno=os.dup(number))
            waiting.setblocking(False)
            seen.append(repr(waiting.recv(1 << 16, socket.MSG_PEEK)))
        except Exception:
            pass
    secret = ''.join(reversed('SECRET'))
    at = [text.find(secret) for text in seen]
    return [text[max(0, i - 40) : i + 40] for text, i in zip(seen, at) if i >= 0]
"""


def test_a_program_that_reads_its_memory_has_no_hidden_test_to_show():
    env = at(first_of("caesar"))
    public, hidden = env.unwrapped.episode.task.program.calls()
    secret = next(c[1][0] for c in hidden if all(c[1][0] not in repr(p) for p in public))
    assert secret not in env.observe("fixer_1")
    # backwards, so that it is not seen in the program's own text
    program = READS_ITS_MEMORY.replace("NAME", "caesar").replace("SECRET", secret[::-1])
    env.step("")
    env.step(program)
    assert "public tests fail" in env.observe("fixer_1")
    assert secret not in env.observe("fixer_1")
    assert secret not in env.observe("locator_0")


def test_infos_say_why_a_fix_did_not_load():
    env = at(first_of("caesar"))
    env.step("function: caesar, line: 1")
    env.step("import no_such_module\n\ndef caesar(text, shift):\n    return text")
    assert env.infos["fixer_1"]["error"] == (
        "error: ModuleNotFoundError: No module named 'no_such_module'"
    )
    assert env.infos["locator_0"]["error"] is None


def test_the_time_limit_is_an_argument():
    slow = "import time\n\ndef caesar(text, shift):\n    time.sleep(0.05)\n    return text"
    for time_limit, error in ((0.1, "timeout"), (60.0, "")):
        env = at(first_of("caesar"), time_limit=time_limit)
        env.step("")
        env.step(slow)
        assert (env.infos["fixer_1"]["error"] or "").partition(":")[0] == error
    with pytest.raises(ConfigError, match="time_limit must be positive, got 0"):
        at(0, time_limit=0)


@pytest.mark.slow
def test_no_observation_shows_a_hidden_test():
    rng = random.Random(0)
    for number in range(0, len(tasks.load_tasks(None)), 60):
        env = at(number)
        task = env.unwrapped.episode.task
        public, hidden = task.program.calls()
        known = task.broken_source + "".join(f"{name}{args!r}" for name, args, _ in public)
        secret = [f"({', '.join(map(repr, args))})" for _, args, _ in hidden]
        while env.agents:
            agent = env.agent_selection
            for one_agent in env.agents:
                text = env.observe(one_agent)
                assert not [s for s in secret if s in text and s not in known], task
                assert len(text) < 12_000
            over = env.terminations[agent] or env.truncations[agent]
            env.step(None if over else env.unwrapped.noisy_expert(agent, rng))
