"""Class-level code: records, division, merging, rewards worked out by hand, and the shipped classes."""

from __future__ import annotations

import ast
import json
import random
from functools import partial

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.coding import judging
from llmzoo.envs.coding.class_eval import merging, players, scoring, tasks
from llmzoo.envs.coding.programs import NoProgram
from llmzoo.errors import ConfigError
from llmzoo.sandbox.limits import Limits
from llmzoo.sandbox.results import CaseResult, Verdict

RECORD = {
    "task_id": "box",
    "class_name": "Box",
    "import_statement": ["import math"],
    "skeleton": "import math\n\nclass Box:\n    SIDES = 6\n    ...",
    "solution_code": """
import math

class Box(dict):
    SIDES = 6

    def __init__(self, edge):
        self.edge = edge

    def paint(self, coats):
        return coats * self.surface()

    def surface(self):
        return self.SIDES * self.face()

    def face(self):
        return math.prod([self.edge, self.edge])

    def fits(self, width, height):
        return self.edge <= min(width, height)
""",
    "test": """
import unittest

def box():
    return Box(2)

class BoxTestPaint(unittest.TestCase):
    def test_1(self):
        self.assertEqual(box().paint(1), 24)
    def test_2(self):
        self.assertEqual(box().paint(2), 48)
    def test_3(self):
        self.assertEqual(box().paint(0), 0)

class BoxTestFace(unittest.TestCase):
    def setUp(self):
        self.box = box()
    def test_1(self):
        self.assertEqual(self.box.face(), 4)

class BoxTestFits(unittest.TestCase):
    def test_1(self):
        self.assertTrue(box().fits(2, 3))
    def test_2(self):
        self.assertFalse(box().fits(1, 3))

class BoxTest(unittest.TestCase):
    def test_1(self):
        self.assertEqual(box().surface(), 24)
    def test_2(self):
        self.assertEqual(Box(1).surface(), 6)
""",
    "methods_info": [
        {"method_name": "paint", "test_class": "BoxTestPaint"},
        {"method_name": "surface", "test_class": "BoxTestSurface"},
        {"method_name": "face", "test_class": "BoxTestFace"},
        {"method_name": "fits", "test_class": "BoxTestFits"},
    ],
}
BOX = tasks.parse_record(RECORD)
AGENTS = ["writer_0", "writer_1"]
OWN = {"writer_0": ("face", "surface"), "writer_1": ("paint", "fits")}


def merged(*answers, own=None):
    parts = {
        agent: merging.parse_completion(BOX, text)
        for agent, text in zip(AGENTS, answers, strict=True)
    }
    return merging.merge(BOX, parts, own or OWN)


def methods(source):
    return tasks.class_methods(tasks.find_class(source, "Box"))


# Tasks


def test_dependency_puts_a_method_after_those_that_it_calls():
    assert tasks.assign_methods(BOX, AGENTS, "dependency") == OWN


def test_arity_puts_fewest_parameters_first():
    assert tasks.assign_methods(BOX, AGENTS, "arity") == {
        "writer_0": ("surface", "face"),
        "writer_1": ("paint", "fits"),
    }


def test_earlier_agents_write_one_more_where_it_does_not_come_out_even():
    shares = tasks.assign_methods(BOX, ["a", "b", "c"], "dependency")
    assert shares == {"a": ("face", "surface"), "b": ("paint",), "c": ("fits",)}


def test_methods_that_call_one_another_keep_their_order():
    code = "class A:\n    def x(self): self.y()\n    def y(self): self.x()"
    listed = [{"method_name": name, "test_class": ""} for name in "xy"]
    task = tasks.parse_record(
        {**RECORD, "class_name": "A", "solution_code": code, "methods_info": listed}
    )
    assert tasks.assign_methods(task, ["a"], "dependency") == {"a": ("y", "x")}


def test_first_third_hidden_second_fourth_public():
    public, hidden = tasks.split_tests(BOX.tests)
    assert public.names == ("BoxTestPaint.test_2", "BoxTestFits.test_2", "BoxTest.test_2")
    assert hidden.names == (
        "BoxTestPaint.test_1",
        "BoxTestPaint.test_3",
        "BoxTestFace.test_1",
        "BoxTestFits.test_1",
        "BoxTest.test_1",
    )
    for half in (public, hidden):
        tree = ast.parse(half.source)
        written = [
            f"{suite.name}.{test.name}"
            for suite in tree.body
            if isinstance(suite, ast.ClassDef)
            for test in suite.body
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test")
        ]
        assert tuple(written) == half.names
        assert "def box():" in half.source
        assert "def setUp(self):" in half.source


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class_name": None}, "'class_name' is missing"),
        ({"solution_code": "class A: ..."}, "does not define a class 'Box'"),
        ({"solution_code": "class Box"}, "'solution_code' is not a Python program"),
        ({"test": "def"}, "'test' is not a Python program"),
        ({"methods_info": {}}, "'methods_info' must be list"),
    ],
)
def test_bad_records_are_named(tmp_path, change, message):
    path = tmp_path / "classes.jsonl"
    path.write_text(json.dumps({**RECORD, **change}))
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("classeval_v0", source=str(path), split="all")


# Merging


def test_methods_of_two_answers_make_one_class():
    source = merged(
        "class Box:\n    def face(self):\n        return 1\n    def surface(self):\n        return 2",
        "def paint(self, coats):\n    return 3\n\ndef fits(self, width, height):\n    return 4",
    )
    assert list(methods(source)) == ["__init__", "paint", "surface", "face", "fits"]
    assert "class Box(dict):\n    SIDES = 6\n" in source
    assert source.startswith("import math\n")


def test_imports_helpers_and_constants_are_kept():
    source = merged(
        "from __future__ import annotations\nimport math\nimport re\nTWO = 2\ndef double(x):\n    return TWO * x\n"
        "class Box:\n    import json\n    SCALE = 3\n    SIDES = 99\n"
        "    def face(self):\n        return 1\n    def _help(self):\n        return 2",
        "import re\ndef double(x):\n    return 0\ndef paint(self, coats):\n    return double(coats)",
    )
    tree = ast.parse(source)
    imports = [ast.unparse(n) for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    assert imports == ["from __future__ import annotations", "import math", "import re"]
    assert source.count("def double") == 1
    assert "return TWO * x" in source  # the earlier agent's
    assert "import json" in source
    assert "SCALE = 3" in source
    assert "99" not in source  # the skeleton's own constants stand
    assert list(methods(source)) == ["__init__", "_help", "paint", "face"]


def test_of_two_versions_the_owners_counts():
    both = "def face(self):\n    return {0}\n\ndef paint(self, coats):\n    return {0}"
    source = merged(both.format("'first'"), both.format("'second'"))
    assert ast.unparse(methods(source)["face"].body[0]) == "return 'first'"
    assert ast.unparse(methods(source)["paint"].body[0]) == "return 'second'"


def test_what_only_another_agent_wrote_is_taken_from_it():
    source = merged("def paint(self, coats):\n    return 1", "def fits(self, a, b):\n    return 1")
    assert list(methods(source)) == ["__init__", "paint", "fits"]


def test_the_constructor_of_an_answer_is_passed_over():
    source = merged(
        "class Box:\n    def __init__(self):\n        self.edge = 0\n    def face(self):\n        return 1",
        "def fits(self, a, b):\n    return 1",
    )
    assert ast.unparse(methods(source)["__init__"].args) == "self, edge"


def test_a_property_and_its_setter_stay_together():
    source = merged(
        "class Box:\n    @property\n    def face(self):\n        return 1\n"
        "    @face.setter\n    def face(self, value):\n        return 2",
        "def fits(self, a, b):\n    return 1",
    )
    assert source.count("def face") == 2


@pytest.mark.parametrize("body", ["pass", "...", "'''Later.'''", "'''Later.'''\n        pass"])
def test_an_empty_method_counts_as_not_written(body):
    part = merging.parse_completion(BOX, f"class Box:\n    def face(self):\n        {body}")
    assert merging.count_writers(BOX, {"writer_0": part}) == dict.fromkeys(BOX.methods, 0)


def test_writers():
    parts = {
        "writer_0": merging.parse_completion(
            BOX, "def face(self): return 1\ndef paint(self, c): return 1"
        ),
        "writer_1": merging.parse_completion(BOX, "def paint(self, c): return 2"),
    }
    assert merging.count_writers(BOX, parts) == {"paint": 2, "surface": 0, "face": 1, "fits": 0}


@pytest.mark.parametrize(
    "text",
    ["", "I cannot do that.", "class Box", "def other():\n    return 1", "class Bax:\n    x = 1"],
)
def test_no_program(text):
    with pytest.raises(NoProgram):
        merging.parse_completion(BOX, text)


def test_a_whole_that_does_not_compile():
    part = merging.parse_completion(BOX, "def face(self):\n    nonlocal x\n    return x")
    with pytest.raises(NoProgram, match="syntax error: no binding for nonlocal"):
        merging.merge(BOX, {"writer_0": part}, OWN)


@pytest.mark.parametrize(
    "text",
    [
        "a" + ".a" * 2_000 + " = 1\ndef face(self): return 1",
        "def face(self):\n    return " + "1 + " * 3_000 + "1",
        "def face(self):\n    return " + "9" * 6_000,
        "def face(self):\n    return '\\q' is 'x'",
        "class Box:\n" + "    def face(self): return 1\n" * 500,
    ],
)
def test_hostile_programs_are_merged_or_refused(text):
    try:
        part = merging.parse_completion(BOX, text)
        merging.merge(BOX, {"writer_0": part}, OWN)
    except NoProgram:
        pass


# Rewards


def test_score():
    """3 of 4 methods, one of them twice, half of the tests: 2 x 3/4 + 4 x 1/2 - 1/4 = 3.25."""
    writers = {"paint": 2, "surface": 1, "face": 1, "fits": 0}
    paper = scoring.score(writers, 0.5, "paper")
    assert paper == {"methods": 1.5, "tests": 2.0, "overlap": -0.25}
    unit = scoring.score(writers, 0.5)
    assert unit == pytest.approx({"methods": 0.075, "tests": 0.45, "overlap": -0.0125})
    # two written, one begun, one missing: (2 + 1/4) of 4
    writers = {"paint": 1, "surface": 2, "face": 0, "fits": 0}
    assert scoring.score_unmerged(writers, {"face", "paint"}) == {
        "methods": pytest.approx(0.1 * 2.25 / 4),
        "tests": 0.0,
        "overlap": 0.0,
    }
    assert scoring.score_unmerged(writers, {"face"}, "paper") == scoring.NOTHING


def test_a_class_whose_tests_get_no_verdict_is_left_out_and_counted(tmp_path):
    path = tmp_path / "boxes.jsonl"
    logs = RECORD["test"].replace("self.assertTrue(box", "self.assertLogs(); self.assertTrue(box")
    records = [RECORD, {**RECORD, "task_id": "logging", "test": logs}]
    path.write_text("\n".join(map(json.dumps, records)))
    env = llmzoo.make("classeval_v0", source=str(path), split="all")
    env.reset(seed=0)
    info = env.infos["writer_0"]
    assert (info["tasks"], info["left_out"]) == (1, 1)


@pytest.fixture
def box_file(tmp_path):
    path = tmp_path / "box.jsonl"
    path.write_text(json.dumps(RECORD))
    return str(path)


@pytest.fixture
def passing(monkeypatch):
    """How many tests pass of the public and of the hidden half."""
    said = {"public": 0, "hidden": 0}

    def check(code, tests, entry_point=None, prelude="", limits=None):
        public, hidden = tasks.split_tests(BOX.tests)
        half, name = (public, "public") if tests.endswith(public.source) else (hidden, "hidden")
        assert tests.startswith("import math\n")
        cases = tuple(
            CaseResult(passed=i < said[name], name=test, error="" if i < said[name] else "24 != 25")
            for i, test in enumerate(half.names)
        )
        ok = said[name] >= len(cases)
        status = "passed" if ok else "failed"
        return Verdict(status=status, passed=said[name], total=len(cases), cases=cases)

    monkeypatch.setattr(judging, "check", check)
    return said


FIRST = (
    "class Box:\n    def face(self):\n        return 4\n    def surface(self):\n        return 24"
)
SECOND = "class Box:\n    def paint(self, coats):\n        return 24\n    def fits(self, w, h):\n        return 1"


def play(env, *answers):
    for text in answers:
        env.step(text)
    return env.rewards, {a: info["reward_components"] for a, info in env.infos.items()}


def test_worked_rewards_of_two_rounds(box_file, passing):
    env = llmzoo.make("classeval_v0", source=box_file, split="all", max_turns=2, reward="paper")
    env.reset(seed=0)
    # the first agent writes three methods, the second two: all four, one twice; 2 of 5 tests
    passing["hidden"] = 2
    extra = f"{FIRST}\n    def fits(self, w, h):\n        return 2"
    _, parts = play(env, extra, SECOND)
    assert parts["writer_0"] == {"methods": 2.0, "tests": 1.6, "overlap": -0.25}
    assert parts["writer_1"] == parts["writer_0"]
    # nobody writes a method twice, one is missing, 4 of 5 tests: differences to the first round
    passing["hidden"] = 4
    _, parts = play(env, FIRST, "class Box:\n    def paint(self, coats):\n        return 24")
    assert parts["writer_0"] == {
        "methods": pytest.approx(1.5 - 2.0),
        "tests": pytest.approx(3.2 - 1.6),
        "overlap": 0.25,
    }
    assert all(env.truncations.values())
    assert not env.infos["writer_0"]["success"]


def test_all_hidden_tests_end_the_episode(box_file, passing):
    env = llmzoo.make("classeval_v0", source=box_file, split="all", max_turns=3, team_weight=2.0)
    env.reset(seed=0)
    passing["hidden"] = 5
    passing["public"] = 3
    rewards, _ = play(env, FIRST, SECOND)
    assert rewards == {"writer_0": pytest.approx(2.0), "writer_1": pytest.approx(2.0)}
    assert all(env.terminations.values())
    assert env.infos["writer_0"]["success"]


def test_a_failed_public_test_is_no_success(box_file, passing):
    env = llmzoo.make("classeval_v0", source=box_file, split="all", max_turns=2)
    env.reset(seed=0)
    passing["hidden"] = 5
    passing["public"] = 2
    rewards, _ = play(env, FIRST, SECOND)
    assert rewards["writer_0"] == pytest.approx(1.0)
    assert not env.terminations["writer_0"]
    play(env, FIRST, SECOND)
    assert env.infos["writer_0"]["success"] is False


def test_all_tests_count_where_none_is_shown(box_file, monkeypatch):
    given = []

    def check(code, tests, **limits):
        given.append(tests)
        return Verdict(status="failed", passed=6, total=8)

    monkeypatch.setattr(judging, "check", check)
    env = llmzoo.make("classeval_v0", source=box_file, split="all", reward="paper")
    env.reset(seed=0)
    _, parts = play(env, FIRST, SECOND)
    assert parts["writer_0"]["tests"] == pytest.approx(4 * 6 / 8)
    assert given == [f"import math\n{BOX.tests}"]


def test_the_time_limit_is_an_argument(box_file):
    slow = SECOND.replace("return 24", "import time\n        time.sleep(0.1)\n        return 24")
    for time_limit, error in ((0.1, "timeout"), (60.0, None)):
        env = llmzoo.make("classeval_v0", source=box_file, split="all", time_limit=time_limit)
        env.reset(seed=0)
        play(env, FIRST, slow)
        assert (env.infos["writer_1"]["error"] or "").partition(":")[0] == (error or "")
    with pytest.raises(ConfigError, match="time_limit must be positive, got 0"):
        llmzoo.make("classeval_v0", source=box_file, split="all", time_limit=0)


def test_infos_name_missing_modules_and_what_was_left_out(box_file):
    env = llmzoo.make("classeval_v0", source=box_file, split="all")
    env.reset(seed=0)
    play(env, FIRST, f"import no_such_module\n{SECOND}")
    assert "No module named 'no_such_module'" in env.infos["writer_1"]["error"]
    env.reset(seed=0)
    play(env, FIRST, f"```python\n{SECOND}\n```\nor\n```\ndef paint(self:\n    pass\n```")
    assert env.infos["writer_1"]["error"].startswith("left out: syntax error in line 1")
    assert env.infos["writer_0"]["error"] is None


def test_a_syntax_error_makes_the_tests_worth_nothing(box_file, passing):
    env = llmzoo.make("classeval_v0", source=box_file, split="all", max_turns=2)
    env.reset(seed=0)
    passing["hidden"] = 5
    rewards, _ = play(env, FIRST, "class Box:\n    def paint(self, coats)\n        return 24")
    # the other's two methods are written, one is begun: (2 + 1/4) of 4
    assert rewards == {"writer_0": pytest.approx(0.05625), "writer_1": pytest.approx(0.05625)}
    assert env.infos["writer_0"]["error"] is None
    assert env.infos["writer_1"]["error"].startswith("malformed: syntax error")
    assert "another writer's answer could not be used" in env.observe("writer_0")
    assert "It could not be used: malformed: syntax error" in env.observe("writer_1")


def test_feedback_is_of_the_public_tests_of_ones_own_methods(box_file, passing):
    env = llmzoo.make("classeval_v0", source=box_file, split="all", max_turns=2)
    env.reset(seed=0)
    passing["public"] = 1
    play(env, FIRST, SECOND)
    text = env.observe("writer_1")
    assert "Public tests passed: paint 1 of 1, surface 0 of 0, face 0 of 0, fits 0 of 1." in text
    assert (
        "Failed: BoxTestFits.test_2\ndef test_2(self):\n    self.assertFalse(box().fits(1, 3))"
        in text
    )
    assert "Error: 24 != 25" in text
    assert "Failed: BoxTest.test_2" in text
    assert f"Your last answer:\n{SECOND}" in text
    other = env.observe("writer_0")
    assert "Failed: BoxTestFits.test_2" not in other
    assert "Failed: BoxTest.test_2" in other
    assert SECOND not in other


def test_what_an_agent_reads(box_file):
    env = llmzoo.make("classeval_v0", source=box_file, split="all")
    env.reset(seed=0)
    text = env.observe("writer_1")
    assert BOX.skeleton in text
    assert "Write these methods and no others: paint, fits" in text
    assert "The other writers write these, as the class describes them: surface, face" in text
    env.step(FIRST)
    assert env.observe("writer_1") == text  # simultaneous: nothing of the first agent's answer


def test_infos(box_file):
    env = llmzoo.make("classeval_v0", source=box_file, split="all")
    env.reset(seed=0)
    info = env.infos["writer_0"]
    assert (info["source"], info["fallback"], info["tasks"]) == (box_file, False, 1)
    assert len(info["task_id"]) == 16


def test_classes_with_fewer_methods_than_agents_are_left_out(box_file):
    assert (
        llmzoo.make(
            "classeval_v0", source="sample", split="all", num_agents=7
        ).unwrapped.tasks.count
        < 14
    )
    with pytest.raises(ConfigError, match="none of its 0 tasks"):
        llmzoo.make("classeval_v0", source=box_file, split="all", num_agents=5)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_agents": 0}, "num_agents must be"),
        ({"divide": "random"}, "divide must be"),
        ({"reward": "raw"}, "reward must be"),
        ({"prompt": "terse"}, "prompt must be"),
    ],
)
def test_wrong_arguments(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("classeval_v0", source="sample", **kwargs)


# The shipped classes


SHIPPED = [tasks.parse_record(record) for record in tasks.PUBLIC_SET.sample_records()]


def test_shipped_classes():
    assert len(SHIPPED) == 14
    assert len({task.class_name for task in SHIPPED}) == 14
    for split in ("train", "test"):
        assert llmzoo.make("classeval_v0", source="sample", split=split).unwrapped.tasks.count >= 3


@pytest.mark.parametrize("task", SHIPPED, ids=lambda task: task.task_id)
def test_shipped_class(task):
    assert len(task.methods) >= 4
    public, hidden = tasks.split_tests(task.tests)
    for method, suite in task.suites:
        for half in (public, hidden):
            count = sum(name.startswith(f"{suite}.") for name in half.names)
            assert count >= 2, f"{method} has {count} tests in a half"
    bodies = tasks.class_methods(tasks.find_class(task.reference, task.class_name))
    assert all(ast.get_docstring(bodies[name]) for name in task.methods)
    called = {
        n.attr for body in bodies.values() for n in ast.walk(body) if isinstance(n, ast.Attribute)
    }
    assert called & set(task.methods), "no method depends on another"
    # the skeleton keeps signatures, and of the bodies the docstrings only
    shown = tasks.class_methods(tasks.find_class(task.skeleton, task.class_name))
    for name in task.methods:
        assert ast.dump(shown[name].args) == ast.dump(bodies[name].args)
        assert ast.get_docstring(shown[name]) == ast.get_docstring(bodies[name])
        assert len(shown[name].body) == 1
    assert ast.dump(shown["__init__"]) == ast.dump(bodies["__init__"])


@pytest.mark.slow
@pytest.mark.parametrize(("agents", "divide"), [(1, "dependency"), (2, "dependency"), (3, "arity")])
def test_the_experts_parts_make_the_reference(agents, divide):
    for task in SHIPPED:
        own = tasks.assign_methods(task, [f"writer_{i}" for i in range(agents)], divide)
        assert sorted(name for share in own.values() for name in share) == sorted(task.methods)
        parts = {
            s: merging.parse_completion(task, players.expert(task, share))
            for s, share in own.items()
        }
        assert set(merging.count_writers(task, parts).values()) == {1}
        whole = tasks.find_class(merging.merge(task, parts, own), task.class_name)
        known = tasks.find_class(task.reference, task.class_name)
        assert {n: ast.dump(m) for n, m in tasks.class_methods(whole).items()} == {
            n: ast.dump(m) for n, m in tasks.class_methods(known).items()
        }


def test_noisy_experts_err_in_every_way():
    task = SHIPPED[0]
    own = tasks.assign_methods(task, AGENTS, "dependency")["writer_0"]
    expected = merging.count_writers(
        task, {"a": merging.parse_completion(task, players.expert(task, own))}
    )
    seen = set()
    for seed in range(60):
        try:
            part = merging.parse_completion(
                task, players.noisy_expert(task, own, random.Random(seed))
            )
        except NoProgram:
            seen.add("syntax")
            continue
        count = sum(merging.count_writers(task, {"a": part}).values())
        seen.add(count - sum(expected.values()))
    assert seen == {"syntax", -1, 0, 1}


# In the sandbox


@pytest.mark.slow
def test_the_expert_earns_everything():
    for kwargs in ({}, {"num_agents": 3, "divide": "arity"}):
        make = partial(llmzoo.make, "classeval_v0", source="sample", split="all", **kwargs)
        testing.check_expert(make, range(len(SHIPPED)), best=1.0)


def test_skeletons_are_the_solutions_without_bodies():
    """What solvers read has the methods and docstrings of the reference, and each method has its tests."""

    def documented(source, name):
        found = tasks.class_methods(tasks.find_class(source, name))
        return {method: ast.get_docstring(node) for method, node in found.items()}

    for record in tasks.PUBLIC_SET.sample_records():
        name = record["class_name"]
        methods = documented(record["skeleton"], name)
        assert methods == documented(record["solution_code"], name)
        assert [m["method_name"] for m in record["methods_info"]] == [
            method for method in methods if method != "__init__"
        ]
        for method in record["methods_info"]:
            assert f"class {method['test_class']}(unittest.TestCase)" in record["test"]


def test_public_tests_pass_too_and_are_named_as_expected():
    for task in SHIPPED:
        public, _ = tasks.split_tests(task.tests)
        verdict = scoring.judge(task, task.reference, public)
        assert verdict.ok, verdict
        assert {".".join(case.name.split(".")[-2:]) for case in verdict.cases} == set(public.names)


def test_an_off_by_one_error_costs_the_tests_that_see_it():
    env = llmzoo.make("classeval_v0", source="sample", split="all", max_turns=2)
    number = next(i for i, task in enumerate(SHIPPED) if task.class_name == "RingBuffer")
    env.reset(options={"task": number})
    first, second = (env.unwrapped.expert(agent) for agent in AGENTS)
    assert "self.count += 1" in first
    env.step(first.replace("self.count += 1", "self.count += 2"))
    env.step(second)
    parts = env.infos["writer_0"]["reward_components"]
    assert parts["methods"] == pytest.approx(0.1)
    assert parts["overlap"] == 0
    assert 0 < parts["tests"] < 0.9
    assert "Failed: RingBufferTest" in env.observe("writer_0")


# these four need packages that may be absent
NEED_PACKAGES = {"ClassEval_28", "ClassEval_30", "ClassEval_34", "ClassEval_38"}
# its tests count two mines that the solution may have put in one place: a matter of chance
BY_CHANCE = {"ClassEval_58"}


@pytest.mark.slow
def test_real_solutions_pass(shared_data):
    source = str(shared_data / "classeval_dev.jsonl")
    ample = 60.0  # seconds, on a busy machine too
    env = llmzoo.make("classeval_v0", source=source, split="all", time_limit=ample).unwrapped
    failed = set()
    for number in range(env.tasks.count):
        env.reset(options={"task": number})
        task = env.episode.task
        for agent in env.possible_agents:
            env.step(env.expert(agent))
        public, _ = tasks.split_tests(task.tests)
        judged = scoring.judge(task, task.reference, public, Limits(time_limit=ample))
        if not env.success or not judged.ok:
            failed.add(task.task_id)
    assert env.tasks.count == 40
    assert failed <= NEED_PACKAGES | BY_CHANCE
