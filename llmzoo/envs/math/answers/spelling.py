"""Shapes as clean texts again, for questions that the exact layer leaves open."""

from __future__ import annotations

from llmzoo.envs.math.answers.cleaning import NEW_ROW
from llmzoo.envs.math.answers.shapes import Many, Matrix, Relation, Shape, Time, Value, Words


def spelled(shape: Shape) -> str:
    """A clean text for a shape, without its unit."""
    match shape:
        case Value(text, percent, _):
            return text + ("%" if percent else "")
        case Words(text):
            return text
        case Relation(sides, operators):
            parts = [sides[0]]
            for operator, side in zip(operators, sides[1:], strict=True):
                parts += [operator, side]
            return " ".join(parts)
        case Time(hour, minute, second, half):
            return f"{hour}:{minute:02}:{second:02}{half}"
        case Matrix(rows):
            body = NEW_ROW.join(" & ".join(row) for row in rows)
            return rf"\begin{{pmatrix}} {body} \end{{pmatrix}}"
        case Many(kind, items):
            inner = [spelled(item) for item in items]
            if kind == "union":
                return " ∪ ".join(inner)
            if kind == "ratio":
                return " : ".join(inner)
            if kind == "set":
                return r"\{" + ", ".join(inner) + r"\}"
            return ", ".join(inner) if kind == "list" else kind[0] + ", ".join(inner) + kind[1]
