"""Scripted writers: an expert who knows the reference, and a noisy expert who makes mistakes."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterable

from llmzoo.envs.coding import programs
from llmzoo.envs.coding.class_eval.tasks import ClassTask, find_class
from llmzoo.sandbox import syntax


def expert(task: ClassTask, methods: Iterable[str]) -> str:
    """The class with the reference implementations of ``methods`` only."""
    return _format_answer(task, _copy_methods(task, methods))


def noisy_expert(task: ClassTask, methods: Iterable[str], rng: random.Random) -> str:
    """The expert's answer with one slip or none: a method left out, left empty or misnamed, a number off
    by one, another agent's method written too, or a missing colon."""
    nodes = _copy_methods(task, methods)
    slip = rng.choice(("none", "missing", "empty", "name", "number", "overlap", "colon"))
    chosen = rng.choice(nodes)
    if slip == "missing" and len(nodes) > 1:
        nodes.remove(chosen)
    elif slip == "empty":
        chosen.body = [ast.Pass()]
    elif slip == "name":
        chosen.name += "s"
    elif slip == "number":
        numbers = [
            n for n in ast.walk(chosen) if isinstance(n, ast.Constant) and type(n.value) is int
        ]
        if numbers:
            number = rng.choice(numbers)
            assert isinstance(number.value, int)
            number.value += rng.choice((-1, 1))
    elif slip == "overlap":
        others = [name for name in task.methods if name not in [n.name for n in nodes]]
        nodes += _copy_methods(task, others[:1])
    answer = _format_answer(task, nodes)
    return answer.replace("):", ")", 1) if slip == "colon" else answer


def _copy_methods(task: ClassTask, methods: Iterable[str]) -> list[programs.Function]:
    wanted = set(methods)
    known = copy.deepcopy(find_class(task.reference, task.class_name))
    return [n for n in known.body if isinstance(n, programs.Function) and n.name in wanted]


def _format_answer(task: ClassTask, nodes: list[programs.Function]) -> str:
    helpers = [
        node
        for node in syntax.parse(task.reference).body
        if not (isinstance(node, ast.ClassDef) and node.name == task.class_name)
    ]
    whole = ast.ClassDef(task.class_name, [], [], list(nodes), [])
    program = ast.unparse(ast.fix_missing_locations(ast.Module([*helpers, whole], [])))
    return f"```python\n{program}\n```"
