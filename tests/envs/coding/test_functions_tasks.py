"""The problems for two writers: ours, the generated, and those of public sets."""

from __future__ import annotations

import ast
import importlib
import json
import random
import time

import pytest
from each_record import for_each

import llmzoo
from llmzoo.envs.coding import judging, programs
from llmzoo.envs.coding.functions import (
    coop_humaneval,
    generator,
    humaneval,
    mbpp,
    players,
    scoring,
)
from llmzoo.envs.coding.functions.tasks import canonical, example_asserts, stub
from llmzoo.envs.sources import BadField
from llmzoo.errors import ConfigError, NoScriptedPolicyError
from llmzoo.sandbox import Sandbox
from scripts.samples import build

PROBLEMS = build.problems()
NAMES = [problem.name for problem in PROBLEMS]
for_each_problem = for_each(PROBLEMS, lambda problem: problem.name)


def run(source, tests=""):
    namespace: dict = {}
    exec(f"{source}\n{tests}", namespace)
    return namespace


def full_marks(helper, main, entry_point):
    result = scoring.collect_facts(
        programs.functions(programs.merge(helper, main)), ["aux"], entry_point, parses=True
    )
    return sum(scoring.reward_components(result, 1.0).values()) == pytest.approx(1.0)


def test_there_are_enough_problems_and_none_twice():
    assert len(PROBLEMS) >= 60
    assert len(set(NAMES)) == len(NAMES)
    assert len({problem.description() for problem in PROBLEMS}) == len(PROBLEMS)


@for_each_problem
def test_our_problems(problem):
    assert problem.public_count == 2
    assert len(problem.tests) >= 7
    assert len(set(problem.tests)) == len(problem.tests)
    assert problem.helper.startswith("aux(")
    tests = [f"assert {test}" for test in problem.tests]
    run(f"{problem.aux}\n{problem.main}", "\n".join(tests))
    for test in tests:
        (comparison,) = [n for n in ast.walk(ast.parse(test)) if isinstance(n, ast.Compare)]
        assert isinstance(comparison.left, ast.Call)
        for argument in [*comparison.left.args, comparison.comparators[0]]:
            ast.literal_eval(argument)
    assert full_marks(problem.aux, problem.main, problem.name)


@for_each_problem
def test_our_problems_cannot_be_passed_by_a_constant(problem):
    values = {test.rpartition("==")[2] for test in problem.tests[problem.public_count :]}
    assert len(values) > 1


@pytest.mark.slow
@for_each_problem
def test_our_problems_as_records_of_public_sets(problem):
    for module in (humaneval, coop_humaneval, mbpp):
        write = build.mbpp if module is mbpp else build.humaneval
        task = module.parse_record(json.loads(json.dumps(write(problem))))
        (solution,) = task.solution
        assert task.entry_point == problem.name
        assert len(task.public) == (1 if module is mbpp else 2)
        helper, main = players.split_solution(solution, problem.name)
        assert full_marks(helper, main, problem.name)
        call = f"\ncheck({problem.name})" if "def check(" in task.tests else ""
        run(f"{task.prelude}\n{helper}\n{main}", task.tests + call)
        hidden = ast.unparse(ast.parse(task.hidden_tests)).replace("candidate(", f"{problem.name}(")
        for test in task.public:
            assert ast.unparse(ast.parse(test)) not in hidden


def test_generated_problems_are_right_and_their_solutions_earn_full_marks():
    rng = random.Random(0)
    drawn = [generator.generate_task(rng) for _ in range(150)]
    for task in drawn:
        helper, main = task.solution
        run(f"{helper}\n{main}", "\n".join([*task.public, task.hidden_tests]))
        assert full_marks(helper, main, "f"), task.terse
        values = {
            line.rpartition("==")[2] for line in [*task.public, *task.hidden_tests.split("\n")]
        }
        assert len(values) >= generator.MIN_RESULTS
    assert len({canonical(task) for task in drawn}) > 120


def test_the_same_words_give_the_same_problem():
    rng = random.Random(1)
    seen = {}
    for _ in range(1_000):
        task = generator.generate_task(rng)
        known = seen.setdefault(canonical(task), task)
        assert known == task
        assert (known.tests, known.public) == (task.tests, task.public)


def test_drawing_is_quick(no_collector):
    rng = random.Random(2)
    started = time.process_time()
    for _ in range(300):
        generator.generate_task(rng)
    assert (time.process_time() - started) / 300 < 0.005  # 0.0003 on an idle machine


def test_a_composition_by_hand():
    helper = generator.NUMBER_HELPERS[6].step(3, 1)
    fold = generator.NUMBER_FOLDS[0].step(2, 1)
    odd = generator.NUMBER_FILTERS[0].step(2, 1)
    minus = generator.ENDINGS[1].step(2, 2)
    made = generator.Composition("numbers", helper, fold, before=odd, ending=minus)
    assert made.words() == "aux x times 3 plus 1\nf a odd aux total minus 2"
    assert made.solution() == (
        "def aux(x):\n return x*3+1",
        "def f(a):\n return sum(aux(x) for x in a if x%2)-2",
    )
    assert made([1, 2, 3]) == 4 + 10 - 2
    after = generator.Composition("range", helper, fold, after=odd)
    assert after.words() == "aux x times 3 plus 1\nf n aux odd total"
    assert after.solution()[1] == "def f(n):\n return sum(x for x in map(aux,range(n)) if x%2)"
    assert after(4) == 1 + 7  # of 1, 4, 7, 10


def test_an_noisy_expert_is_right_about_half_the_time():
    rng = random.Random(3)
    right = {"helper": 0, "main": 0}
    for _ in range(200):
        task = generator.generate_task(rng)
        helper, main = task.solution
        for name, program in (
            ("helper", f"{players.add_slips(helper, rng)}\n{main}"),
            ("main", f"{helper}\n{players.add_slips(main, rng)}"),
        ):
            try:
                run(program, task.hidden_tests)
                right[name] += 1
            except Exception:
                continue
    for count in right.values():
        assert 0.4 < count / 200 < 0.6  # some slips change nothing


ONE_PIECE = """
import math

def spread(numbers):
    middle = sum(numbers) / len(numbers)
    return math.sqrt(sum((n - middle) ** 2 for n in numbers) / len(numbers))
"""


def test_a_solution_in_one_piece_is_taken_apart():
    helper, main = players.split_solution(ONE_PIECE, "spread")
    assert helper == (
        "def aux(numbers, middle):\n"
        "    return math.sqrt(sum(((n - middle) ** 2 for n in numbers)) / len(numbers))"
    )
    assert main == (
        "import math\n\ndef spread(numbers):\n    middle = sum(numbers) / len(numbers)\n"
        "    return aux(numbers, middle)"
    )
    assert run(f"{helper}\n{main}")["spread"]([1, 3]) == 1.0


@pytest.mark.parametrize(
    ("source", "call", "value"),
    [
        ("def f(s):\n    return len(s)", "f('abc')", 3),
        ("def f(s):\n    if not s:\n        return True\n    return False", "f('')", True),
        ("def f(n):\n    return 1 if n < 2 else n * f(n - 1)", "f(5)", 120),
        ("def f(f_):\n    f = f_ + 1\n    return f * 2", "f(1)", 4),
        ("def f(a):\n    total = 0\n    for x in a:\n        total += x\n    return total", "f([1, 2])", 3),
        ("def f(a):\n    def g(x):\n        return x + k\n    k = 2\n    return [g(x) for x in a]", "f([1])", [3]),
        ("def f(a):\n    a.sort()\n    a.append(9)\n    return a", "f([2, 1])", [1, 2, 9]),
    ],
)  # fmt: skip
def test_taking_apart_keeps_the_meaning(source, call, value):
    helper, main = players.split_solution(source, "f")
    namespace = run(f"{helper}\n{main}")
    assert eval(call, namespace) == value
    assert scoring.find_uses(programs.functions(main)["f"], "aux") == ["used"]


def test_the_helper_is_a_part_that_is_needed():
    helper, main = players.split_solution(
        ONE_PIECE, "spread", lambda helper, main: "/" not in helper
    )
    assert helper.endswith("return sum(((n - middle) ** 2 for n in numbers))")
    assert "return math.sqrt(aux(numbers, middle) / len(numbers))" in main
    assert players.split_solution(ONE_PIECE, "spread", lambda *_: False) == players.split_solution(
        ONE_PIECE, "spread"
    )


def test_several_helpers_agree():
    main = players.join_helpers("def f(a):\n    return [aux(x) for x in a]", "f", ["aux", "aux_1"])
    helper = "def aux(x):\n    return x + 1"
    namespace = run(f"{helper}\n{players.rename_function(helper, 'aux_1')}\n{main}")
    assert namespace["f"]([1, 2]) == [2, 3]
    assert scoring.find_uses(programs.functions(main)["f"], "aux_1") == ["used"]


def test_no_solution_for_another_function():
    with pytest.raises(NoScriptedPolicyError, match="'g'"):
        players.split_solution("def f(a):\n    return a", "g")


HUMANEVAL = {
    "task_id": "HumanEval/0",
    "prompt": 'def twice(x):\n    return 2 * x\n\ndef f(x):\n    """Four times.\n\n    >>> f(1)\n    4\n    """\n',
    "entry_point": "f",
    "canonical_solution": "    return twice(twice(x))\n",
    "test": "def check(candidate):\n    assert candidate(2) == 8\n",
}
MBPP = {
    "task_id": 3,
    "prompt": "Write a function to double.",
    "code": "def half(x):\n    return x / 2\ndef double(x):\n    return half(x) * 4",
    "test_imports": ["import math"],
    "test_list": ["assert math.isclose(double(1), 2)", "assert double(2) == 4"],
}


def test_records_of_humaneval():
    task = humaneval.parse_record(HUMANEVAL)
    assert (task.name, task.entry_point) == ("HumanEval/0", "f")
    assert task.public == ("assert f(1) == 4",)
    assert task.prelude == "def twice(x):\n    return 2 * x"
    assert coop_humaneval.parse_record({**HUMANEVAL, "canonical_solution": None}).solution == ()


def test_records_of_mbpp_in_both_configurations():
    task = mbpp.parse_record(MBPP)
    assert (task.name, task.entry_point, task.prelude) == ("mbpp/3", "double", "import math")
    assert task.public == ("assert math.isclose(double(1), 2)",)
    full = {k: v for k, v in MBPP.items() if k not in ("prompt", "test_imports")}
    full |= {"text": MBPP["prompt"], "test_setup_code": "import math"}
    full |= {"challenge_test_list": ["assert double(0) == 0"]}
    task = mbpp.parse_record(full)
    assert task.prelude == "import math"
    assert task.hidden_tests.split("\n")[-1] == "assert double(0) == 0"


@pytest.mark.parametrize(
    ("read", "record", "change", "message"),
    [
        ("humaneval", HUMANEVAL, {"prompt": "def f(x"}, "'prompt' is no program"),
        ("humaneval", HUMANEVAL, {"entry_point": "g"}, "'prompt' does not define 'g'"),
        ("humaneval", HUMANEVAL, {"test": "pass"}, "'test' does not define check"),
        ("humaneval", HUMANEVAL, {"canonical_solution": None}, "'canonical_solution' is missing"),
        ("humaneval", HUMANEVAL, {"canonical_solution": "  )"}, "'canonical_solution' is no program"),
        ("mbpp", MBPP, {"code": "x ="}, "'code'"),
        ("mbpp", MBPP, {"test_list": []}, "'test_list' is empty"),
        ("mbpp", MBPP, {"test_list": ["assert f(1)"]}, "'test_list' does not call"),
        ("mbpp", MBPP, {"test_list": "assert double(1)"}, "'test_list' must be list"),
    ],
)  # fmt: skip
def test_malformed_records_name_the_field(read, record, change, message):
    with pytest.raises(BadField, match=message):
        importlib.import_module(f"llmzoo.envs.coding.functions.{read}").parse_record(
            {**record, **change}
        )


def test_a_malformed_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "tasks.jsonl"
    path.write_text(f"{json.dumps(HUMANEVAL)}\n{json.dumps({**HUMANEVAL, 'test': 3})}\n")
    with pytest.raises(ConfigError, match=r"tasks\.jsonl:2: field 'test' must be str, got int"):
        llmzoo.make("humaneval_v0", source=str(path))


def test_tests_without_a_verdict_are_left_out_and_counted(tmp_path, monkeypatch):
    """Tests that look into the program need its interpreter, where it could forge a pass."""
    looks = "import inspect\ndef check(candidate):\n    assert inspect.signature(candidate)"
    path = tmp_path / "tasks.jsonl"
    another = {**HUMANEVAL, "task_id": "HumanEval/1", "test": looks}
    path.write_text(f"{json.dumps(HUMANEVAL)}\n{json.dumps(another)}\n")

    def counts():
        env = llmzoo.make("humaneval_v0", source=str(path), split="all")
        env.reset(seed=0)
        info = env.infos[env.agent_selection]
        return info["tasks"], info.get("left_out", 0)

    assert counts() == (1, 1)
    path.write_text(f"{json.dumps(another)}\n{json.dumps(HUMANEVAL)}\n\n")
    with Sandbox(workers=1, min_level=1, allow_shared=True) as box:
        monkeypatch.setattr(judging, "default_sandbox", lambda: box)
        assert counts() == (2, 0)


def test_stub_and_examples_belong_together():
    statement = stub("f(a, b=2)", "Adds two numbers.", [("f(1)", "3"), ("f('x', 'y')", "'xy'")])
    assert statement == (
        "def f(a, b=2):\n    \"\"\"Adds two numbers.\n\n    >>> f(1)\n    3\n    >>> f('x', 'y')\n"
        '    \'xy\'\n    """\n'
    )
    assert example_asserts(statement, "f") == ("assert f(1) == 3", "assert f('x', 'y') == 'xy'")
    assert example_asserts(">>> f(1)\nsomething else\n>>> g(1)\n2\n>>> f(\n3", "f") == ()


@pytest.mark.parametrize("id", ["humaneval_v0", "coop_humaneval_v0", "mbpp_v0"])
def test_an_agreed_signature_is_read_by_both_and_a_free_one_by_nobody(id):
    for signature, agreed in ((None, False), ("free", False), ("agreed", True)):
        env = llmzoo.make(id, source="sample", signature=signature)
        env.reset(seed=0)
        assert [("You have agreed that aux(" in env.observe(a)) for a in env.agents] == [agreed] * 2
