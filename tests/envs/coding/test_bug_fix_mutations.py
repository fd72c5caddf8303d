"""Every operator, on a few lines each; and the shipped programs and mutants."""

from __future__ import annotations

import ast
import contextlib
from collections import Counter

import pytest

from llmzoo.envs.coding import judging, mutations
from llmzoo.envs.coding.bug_fix import tasks
from llmzoo.envs.coding.mutations import OPERATORS
from llmzoo.envs.tasks import assign_split
from scripts.samples import survey


def variants(operator: str, body: str, parameters: str = "a, b") -> list[str]:
    """What an operator makes of the one or two statements of a function, as text."""
    source = ast.unparse(ast.parse(f"def f({parameters}):\n    {body}\n    return a"))
    made = []
    for name in mutations.changes(source):
        if name.startswith(f"{operator}:"):
            lines = mutations.mutate(source, [name]).splitlines()[1:]
            made.append("; ".join(line.strip() for line in lines).removesuffix("; return a"))
    return made


def test_statements_outside_of_functions_and_methods_change_too():
    source = "n = int(input())\nif n < 3:\n    print(n)\n\nclass A:\n\n    def f(self, x):\n        return x + n"
    made = []
    for name in mutations.changes(source):
        with contextlib.suppress(ValueError):  # a block would be empty
            made.append(mutations.mutate(source, [name]))
    assert source.replace("n < 3", "n <= 3") in made
    assert source.replace("x + n", "x - n") in made
    assert source.replace("x + n", "self + n") in made
    assert source.replace("n = int(input())\n", "") in made


@pytest.mark.parametrize(
    ("operator", "body", "expected"),
    [
        ("comparison_flip", "a = a < b", ["a = a > b"]),
        ("comparison_flip", "a = a in b", ["a = a not in b"]),
        ("comparison_flip", "a = 0 <= a == b", ["a = 0 >= a == b", "a = 0 <= a != b"]),
        ("boundary", "a = a < b", ["a = a <= b"]),
        ("boundary", "a = a >= b", ["a = a > b"]),
        ("boundary", "a = a == b", []),
        ("arithmetic_swap", "a = a + b", ["a = a - b"]),
        ("arithmetic_swap", "a = a // b", ["a = a % b"]),
        ("arithmetic_swap", "a = a - b * 2", ["a = a + b * 2", "a = a - (b + 2)"]),
        ("update_swap", "a += b", ["a -= b", "a = b"]),
        ("boolean_swap", "a = a and b", ["a = a or b"]),
        ("condition_dropped", "a = a and b", ["a = a", "a = b"]),
        ("negated_condition", "a = 1 if b else 2", ["a = 1 if not b else 2"]),
        ("negated_condition", "a = 1 if not b else 2", ["a = 1 if b else 2"]),
        ("wrong_constant", "a = b * 3", ["a = b * 4", "a = b * 2"]),
        ("wrong_constant", "a = True", []),
        ("swapped_arguments", "a = b(a, 1)", ["a = b(1, a)"]),
        ("swapped_arguments", "a = a - b", ["a = b - a"]),
        ("dropped_statement", "a = b", ["return a"]),
        ("dropped_statement", "b.sort()", ["return a"]),
        ("dropped_case", "if b: return 1", ["return a"]),
        ("dropped_case", "if b: a = 1", []),
        ("wrong_variable", "a = b + 1", ["a = a + 1", "a = b + 1; return b"]),
        ("slice_bound", "a = b[1:]", ["a = b[2:]", "a = b[:]"]),
        ("slice_bound", "a = b[:a]", ["a = b[:a + 1]", "a = b[:]"]),
        ("wrong_index", "a = b[0]", ["a = b[-1]"]),
        ("wrong_index", "a = b[-1]", ["a = b[0]"]),
        ("wrong_index", "a = b[a - 1]", ["a = b[a]", "a = b[a - 2]"]),
        (
            "range_bound",
            "a = range(b)",
            ["a = range(b + 1)", "a = range(b - 1)", "a = range(1, b)"],
        ),
        (
            "range_bound",
            "a = range(0, b)",
            ["a = range(1, b)", "a = range(0, b + 1)", "a = range(0, b - 1)"],
        ),
        ("break_continue", "while a: break", ["while a:; continue"]),
        ("break_continue", "while a: continue", ["while a:; break"]),
        ("wrong_start", "a = 0", ["a = 1"]),
        ("wrong_start", "a = False", ["a = True"]),
        ("wrong_start", "a = ''", ["a = ' '"]),
        ("min_max_swap", "a = min(a, b)", ["a = max(a, b)"]),
        ("min_max_swap", "a = any(b)", ["a = all(b)"]),
        ("negated_sign", "a = -b", ["a = b"]),
    ],
)
def test_operator(operator, body, expected):
    assert variants(operator, body) == expected


def test_dropped_return():
    assert variants("dropped_return", "a = 1") == ["a = 1; return"]


def test_there_are_enough_operators():
    assert len(OPERATORS) == 20


def test_names_count_in_the_order_of_the_source():
    names = list(mutations.changes("def f(a):\n    a += 1\n    return a + 2"))
    assert [name for name in names if name.startswith("wrong_constant")] == [
        f"wrong_constant:{number}" for number in range(4)
    ]


TWO = "def f(a, b):\n    a = a + 1\n    b = b - 2\n    return a < b"


def test_two_mutations():
    assert mutations.mutate(TWO, ["arithmetic_swap:0", "boundary:0"]) == (
        "def f(a, b):\n    a = a - 1\n    b = b - 2\n    return a <= b"
    )


def test_two_statements_are_dropped_whatever_the_order():
    for names in (
        ["dropped_statement:0", "dropped_statement:1"],
        ["dropped_statement:1", "dropped_statement:0"],
    ):
        assert mutations.mutate(TWO, names) == "def f(a, b):\n    return a < b"


def test_one_mutation_inside_another_is_refused():
    with pytest.raises(ValueError, match="the same place"):
        mutations.mutate(TWO, ["arithmetic_swap:0", "dropped_statement:0"])


def test_no_block_is_left_empty():
    source = "def f(a):\n    while a:\n        a = 0\n    return a"
    with pytest.raises(ValueError, match="empty"):
        mutations.mutate(source, ["dropped_statement:0"])


def test_location_of_a_changed_line():
    broken = mutations.mutate(TWO, ["arithmetic_swap:1"])
    assert mutations.locations(TWO, broken) == {("f", 3)}


def test_location_of_a_missing_line_is_before_and_after_the_gap():
    broken = mutations.mutate(TWO, ["dropped_statement:1"])
    assert mutations.locations(TWO, broken) == {("f", 2), ("f", 3)}


def test_locations_of_two_mistakes():
    broken = mutations.mutate(TWO, ["arithmetic_swap:0", "boundary:0"])
    assert mutations.locations(TWO, broken) == {("f", 2), ("f", 4)}


# The shipped programs


def test_shipped_programs():
    programs = tasks.load_programs()
    assert len(programs) == 54
    for name, program in programs.items():
        functions = [n for n in ast.parse(program.source).body if isinstance(n, ast.FunctionDef)]
        assert functions[-1].name == name
        assert 8 <= len(program.source.splitlines()) <= 40, name
        public, hidden = program.calls()
        assert len(public) >= 4, name
        assert len(hidden) >= 6, name
        shown = [repr(args) for _, args, _ in [*public, *hidden]]
        assert len(set(shown)) == len(shown), f"{name} has a test twice"


def test_the_example_in_a_docstring_is_a_public_test():
    """A second source for the expected values: written by hand, not by the program."""
    for name, program in tasks.load_programs().items():
        function = ast.parse(program.source).body[-1]
        assert isinstance(function, ast.FunctionDef)
        example = (ast.get_docstring(function) or "").partition(">>> ")[2].splitlines()
        call = ast.parse(example[0], mode="eval").body
        assert isinstance(call, ast.Call)
        if any(isinstance(node, ast.BinOp) for node in ast.walk(call)):
            continue  # [10, 3, 4] + [0] * 16
        args = [ast.literal_eval(arg) for arg in call.args]
        public, _ = program.calls()
        assert (list(public[0][1]), public[0][2]) == (args, ast.literal_eval(example[1])), name


def test_arguments_are_made_anew():
    program = tasks.load_programs()["merge_sorted"]
    program.calls()[0][0][1][0].append(99)
    assert program.calls()[0][0][1][0] == [1, 4]


def test_both_splits_have_programs():
    counts = Counter(assign_split(tasks.canonical(task)) for task in tasks.load_tasks(None))
    assert counts["test"] > 200
    assert counts["train"] > 1_000


# The shipped mutants


@pytest.mark.slow
def test_shipped_mutants_are_different_programs_that_compile():
    shipped = tasks.load_tasks(None)
    assert len(shipped) > 1_600
    texts = {task.program.source for task in shipped}
    for task in shipped:
        compile(task.broken_source, "<broken>", "exec")
        assert task.locations, task.mutants
        texts.add(task.broken_source)
    assert len(texts) == len(shipped) + 54


def test_every_operator_is_in_use():
    used = Counter(name.partition(":")[0] for task in tasks.load_tasks(1) for name in task.mutants)
    assert set(used) == set(OPERATORS)
    assert min(used.values()) >= 5


def test_single_and_double():
    single, double = tasks.load_tasks(1), tasks.load_tasks(2)
    assert {len(task.mutants) for task in double} == {2}
    assert len(single) + len(double) == len(tasks.load_tasks(None))
    assert len(double) > 400


def test_correct_programs_pass():
    for program in tasks.load_programs().values():
        public, hidden = program.calls()
        verdict = judging.check_calls(program.source, [*public, *hidden])
        assert verdict.ok, (program.name, verdict)


@pytest.mark.parametrize("step", [29, pytest.param(1, marks=pytest.mark.slow)])
def test_every_mutant_fails_a_public_and_a_hidden_test(step):
    for task in tasks.load_tasks(None)[::step]:
        assert survey.breaks(task.program, task.broken_source), (task.program.name, task.mutants)


def test_the_list_is_what_the_survey_finds():
    """For one program; all of them take minutes, since some mutants never end."""
    program = tasks.load_programs()["merge_intervals"]
    listed = [
        list(t.mutants) for t in tasks.load_tasks(None) if t.program.name == "merge_intervals"
    ]
    assert survey.mutants(program) == listed
