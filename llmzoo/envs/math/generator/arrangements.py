"""Counting what stands in order: ranks, letters, rows."""

from __future__ import annotations

import random
from collections import Counter
from math import factorial, perm

from llmzoo.envs.keys import unordered
from llmzoo.envs.math.generator.problem import Problem, asked

_WORDS = (
    *("banana", "pepper", "letter", "balloon", "cocoon", "settee", "coffee", "rabbit", "kitten"),
    *("summer", "winner", "tomato", "potato", "papaya", "bazaar", "lesson", "tunnel", "puppet"),
    *("cabbage", "success", "address", "pattern", "cottage", "collect", "bubble", "mammal"),
    *("office", "little", "parrot", "carrot", "sorrel", "needle", "beetle", "yellow", "pillow"),
    *("ribbon", "cotton", "button", "muffin", "puzzle", "hammer", "copper", "bottle", "teapot"),
    *("giraffe", "gorilla", "llama", "alpaca", "panda", "zebra", "otter", "ferret", "raccoon"),
)


def ranking(rng: random.Random) -> Problem:
    n, k = rng.randint(4, 20), rng.randint(2, 4)
    places = {2: "first and second", 3: "first, second and third", 4: "first to fourth"}[k]
    questions = (
        f"{n} runners race, and no two arrive together. In how many ways can the {places} "
        "places be taken?",
        f"How many ordered lists of {k} different names can be made from {n} names?",
    )
    program = f"from math import perm\nprint(perm({n}, {k}))"
    return asked(rng, questions, perm(n, k), program, f"order {k} of {n}")


def anagrams(rng: random.Random) -> Problem:
    """Arrangements of some letters of a word, whose letters are first cut to a handful."""
    word = rng.choice(_WORDS)
    start = rng.randint(0, max(0, len(word) - 5))
    letters = word[start : start + rng.randint(4, 7)]
    count = factorial(len(letters))
    for times in Counter(letters).values():
        count //= factorial(times)
    questions = (
        f'In how many different orders can the letters of "{letters}" be written?',
        f'How many different strings use exactly the letters of "{letters}", each as often as it '
        "stands there?",
    )
    program = (
        f'from itertools import permutations\nprint(len(set(permutations("{letters}"))))'
        if len(letters) < 7
        else (
            "from math import factorial\n"
            f'word = "{letters}"\n'
            "count = factorial(len(word))\n"
            "for letter in set(word):\n"
            "    count //= factorial(word.count(letter))\n"
            "print(count)"
        )
    )
    repeats = unordered(*Counter(letters).values())  # which letters they are does not matter
    return asked(
        rng, questions, count, program, f"orders of letters {letters}", f"orders {repeats}"
    )


def different_neighbours(rng: random.Random) -> Problem:
    letters, length = rng.randint(3, 9), rng.randint(3, 8)
    questions = (
        f"Each of {length} tiles in a row is painted in one of {letters} colours so that tiles next to "
        "each other differ. In how many ways can this be done?",
        f"How many strings of length {length} over an alphabet of {letters} letters have no two equal "
        "letters side by side?",
    )
    return asked(
        rng,
        questions,
        letters * (letters - 1) ** (length - 1),
        f"ways = {letters}\nfor _ in range({length} - 1):\n    ways *= {letters} - 1\nprint(ways)",
        f"strings length {length} letters {letters} neighbours differ",
    )
