"""What a program can do to its judge by what it answers: the caller's own time and memory."""

from __future__ import annotations

from llmzoo.sandbox.attacks.attack import Harm
from llmzoo.sandbox.attacks.oracles import detect_overrun, detect_trainer_memory_growth

ONLY = "only the sandbox compares outside, so only it can be tried"

ATTACKS = (
    Harm(
        name="colliding-keys",
        about="answers a dict whose keys all have the same hash",
        program="""
def answer():
    return {n * (2**61 - 1): n for n in range(1, 20000)}
""",
        harm=(detect_overrun,),
        mode="calls",
        note=ONLY,
    ),
    Harm(
        name="deep-nesting",
        about="answers a list in a list, 100,000 times",
        program="""
def answer():
    value = []
    for _ in range(100000):
        value = [value]
    return value
""",
        mode="calls",
        note=ONLY,
    ),
    Harm(
        name="list-of-itself",
        about="answers a list that holds itself twice",
        program="""
def answer():
    value = []
    value += [value, value]
    return value
""",
        harm=(detect_overrun, detect_trainer_memory_growth),
        mode="calls",
        note=ONLY,
    ),
    Harm(
        name="doubling-lists",
        about="answers a list that is small here and grows by 2 to the 40 when written out",
        program="""
def answer():
    value = [1]
    for _ in range(40):
        value = [value, value]
    return value
""",
        harm=(detect_overrun, detect_trainer_memory_growth),
        mode="calls",
        note=ONLY,
    ),
    Harm(
        name="long-number",
        about="answers a number of ten million digits",
        program="""
def answer():
    return 1 << 33_000_000
""",
        harm=(detect_overrun, detect_trainer_memory_growth),
        mode="calls",
        note=ONLY,
    ),
    Harm(
        name="printed-powers",
        about="prints numbers that are short to write and long to compute with",
        program='print("1e999999999 9" + "9" * 100000)',
        harm=(detect_overrun, detect_trainer_memory_growth),
        mode="stdio",
        note=ONLY,
    ),
    Harm(
        name="printed-garbage",
        about="prints bytes that are no text, and words without end",
        program="""
import os
os.write(1, bytes(range(256)) * 100 + b" 1" * 10**6)
""",
        harm=(detect_overrun, detect_trainer_memory_growth),
        mode="stdio",
        note=ONLY,
    ),
)
