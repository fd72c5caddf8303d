r"""Whether two answers of mathematics are the same.

A check has two layers. The first reads an answer: numbers, units, tuples, sets, intervals,
inequalities, equations, matrices and lists of several answers. Numbers are compared exactly or in
a hundred digits, expressions by their values at several points. What it cannot read, such as ``\sum``,
math-verify decides in a confined process of its own, unless the right answer is a number. Neither
layer evaluates a text as Python.

What counts as the same, beyond equality:

- ``x = 5``, ``f(x) = 5`` and ``5``; a chain of equations is its last side, and what stands before
  ``\approx`` is exact; but ``2x + z = 1`` is not ``1``.
- ``28\%``, ``28`` and ``0.28``, where one of the two has the percent sign.
- ``5 cm``, ``5`` and ``50 mm``, but not ``5 m``. Other words after a number are ignored.
- ``1,234``, ``1 234`` and ``1234``, which is one number and no list, but ``1, 234`` are two, and so
  are ``(1,234)`` in brackets. ``2,74`` is ``2.74`` where that is asked for.
- A decimal of six places or more and the number that it cuts or rounds, which is no decimal.
- ``1, 2``, ``2 and 1``, ``\{1, 2\}`` and ``x = 1 or x = 2``. Tuples keep their order, and
  intervals their brackets; ``(1, \infty)`` is ``x > 1``.
- ``m + n = 5`` and ``5``, but not ``2x = 5``; ``2 + 3 = 5`` where all of its sides are equal.
- ``x \in [0, 1]`` and ``[0, 1]``, but not ``y \in [0, 1]``.
- ``3:30 PM``, ``15:30`` and ``3:30``. Two digits after a colon are minutes, as of ``1:20``, others
  a ratio, as of ``1:2``, which is ``2:4`` and ``1/2``.
- ``5 million`` and ``5000000``. Words that change a number or take it back,
  as of ``5 sixths`` or ``5 or more``, are not ignored.
- The last answer of a longer text: its last box (with those that it enumerates), else its last
  formula, unless "answer is" follows it, else all that stands after "answer is" or the last "is";
  where a number is asked for, also the first number after "answer is", or the last number, if it is
  alone: no part of an expression, not one of several, not after "not" or "at least".
- ``[[1, 2], [3, 4]]`` and the matrix; a choice ``C) 12``, ``C`` and ``12``.

One answer has one reading. Several values are never one, though all of them are equal, and what says
nothing, as ``\{\}`` and ``,``, is no answer.

Different: ``\log 2`` and ``\ln 2``, ``8 \pmod{10}`` and ``8``, "no solution" and ``\emptyset``,
``\sqrt{x^2}`` and ``x``.

A choice is asked for by its letter. A list that a program prints, ``[2, 3]``, is ``2, 3``.

Answers of more than 1,000 characters are never right; numbers of more than a thousand digits and
towers of powers only where they are spelled alike.

Arithmetic may be left to do: ``37 + 48`` and ``170/2`` are ``85``, and ``2^{10}`` is ``1024``. What
``\sum``, ``\prod``, ``\int``, ``\lim``, ``\max``, ``\min``, ``\gcd``, ``\lcm`` or ``\det`` leaves to
the checker is no answer, unless the right one holds that operator too. So it is on the public sets;
the answers of generated tasks must be worked out and are read by :mod:`llmzoo.envs.math.exact`,
which takes no expression.
"""

from __future__ import annotations

from llmzoo.envs.math.answers.asking import require
from llmzoo.envs.math.answers.boxes import boxed
from llmzoo.envs.math.answers.checking import same

__all__ = ["boxed", "require", "same"]
