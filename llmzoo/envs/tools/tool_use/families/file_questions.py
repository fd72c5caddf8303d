"""Questions about a file that is there at the start: a list of bills, a table, a text."""

from __future__ import annotations

import random
from itertools import pairwise

from llmzoo.envs.tools.tool_use.questions import (
    ToolQuestion,
    calculator_call,
    format_number,
    numeric_answer,
    python_call,
    read_file_call,
)

_ROUNDING = 0.00501  # an answer to two decimals

_SPENT_ON = ("the ferry", "meals", "lodging", "maps", "repairs", "museums", "post", "lamp oil")
_TRIPS = ("spring", "summer", "autumn", "winter", "harbour", "island", "survey", "mountain")
_STATIONS = ("Ardley", "Bexmoor", "Coldwater", "Dunmere", "Eastling", "Farrow", "Gannet Rock")
_TABLES = {  # file: column
    "rain.csv": "rain_mm",
    "catch.csv": "herring_kg",
    "visitors.csv": "visitors",
    "harvest.csv": "apples_kg",
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WORDS = [
    "lantern", "harbour", "gull", "rope", "tide", "stone", "bridge", "winter", "candle", "river",
    "salt", "bell", "market", "kettle", "fog", "island", "orchard", "sail", "ladder", "copper",
    "window", "garden", "wool", "bread", "story", "letter", "path", "cliff", "moss", "honey",
    "drum", "shell",
]  # fmt: skip


def bills(rng: random.Random) -> ToolQuestion:
    """What was spent on one thing: ``read_file``, ``calculator``."""
    things = rng.sample(_SPENT_ON, 4)
    lines = [(rng.choice(things), rng.randrange(120, 9_000)) for _ in range(rng.randrange(8, 15))]
    lines += [(things[0], rng.randrange(120, 9_000)) for _ in range(3)]
    rng.shuffle(lines)
    path = f"bills/{rng.choice(_TRIPS)}_{rng.randrange(1, 30)}.txt"
    text = "".join(
        f"{n}. {thing}: {cents // 100}.{cents % 100:02} marens\n"
        for n, (thing, cents) in enumerate(lines, start=1)
    )
    wanted = [cents for thing, cents in lines if thing == things[0]]
    result = sum(wanted) / 100
    return ToolQuestion(
        text=(
            f"The file {path} lists what a trip cost. How many marens were spent on {things[0]} "
            "altogether? Answer with the number alone."
        ),
        target=numeric_answer(result, _ROUNDING),
        steps=(
            read_file_call(path, text),
            calculator_call(
                " + ".join(format_number(cents / 100) for cents in wanted), result, _ROUNDING
            ),
        ),
        family="bills",
        content=f"bills {things[0]} {sorted(lines)}",
        files=((path, text),),
    )


def table(rng: random.Random) -> ToolQuestion:
    """A sum, a mean or a difference over the rows of a station: ``read_file``, ``python``."""
    name, column = rng.choice([*_TABLES.items()])
    stations = rng.sample(_STATIONS, 3)
    rows = [
        (station, month, rng.randrange(20, 3_000))
        for month in _MONTHS[: rng.randrange(7, 13)]
        for station in stations
    ]
    rng.shuffle(rows)
    text = f"place,month,{column}\n" + "".join(f"{p},{m},{v}\n" for p, m, v in rows)
    path = f"tables/{rng.randrange(1850, 1930)}_{name}"
    first, second, _ = stations
    values = {station: [v for p, _, v in rows if p == station] for station in stations}
    kind = rng.choice(("sum", "mean", "difference"))
    if kind == "sum":
        asked = f"What do the values of {column} for {first} come to over all months?"
        result, code = float(sum(values[first])), f"sum(of[{first!r}])"
    elif kind == "mean":
        asked = f"What is the mean of {column} for {first}, rounded to two decimals?"
        result = sum(values[first]) / len(values[first])
        code = f"sum(of[{first!r}]) / len(of[{first!r}])"
    else:
        asked = (
            f"By how much does the sum of {column} for {first} exceed the one for {second}? The number "
            "may be negative."
        )
        result = float(sum(values[first]) - sum(values[second]))
        code = f"sum(of[{first!r}]) - sum(of[{second!r}])"
    tolerance = _ROUNDING if kind == "mean" else 0.0
    return ToolQuestion(
        text=f"The file {path} holds a table. {asked} Answer with the number alone.",
        target=numeric_answer(result, tolerance),
        steps=(
            read_file_call(path, text),
            python_call(f"{_group(text)}\n{code}", result, tolerance),
        ),
        family="table",
        content=f"table {kind} {first} {second} {sorted(rows)}",
        files=((path, text),),
    )


def words(rng: random.Random) -> ToolQuestion:
    """A count in a text: ``read_file``, ``python``."""
    vocabulary = rng.sample(_WORDS, rng.randrange(9, 16))
    words_drawn = [rng.choice(vocabulary) for _ in range(rng.randrange(60, 110))]
    text = (
        "\n".join(" ".join(words_drawn[n : n + 10]) for n in range(0, len(words_drawn), 10)) + "\n"
    )
    path = f"texts/{rng.choice(_WORDS)}_{rng.randrange(10, 100)}.txt"
    length, letter, word = rng.randrange(4, 7), rng.choice(words_drawn)[0], rng.choice(words_drawn)
    asked, code, result = rng.choice(
        (
            (
                "How many letters do its words have altogether?",
                "sum(map(len, words))",
                len("".join(words_drawn)),
            ),
            (
                f"How many of its words have exactly {length} letters, repetitions counted?",
                f"sum(len(word) == {length} for word in words)",
                sum(len(each) == length for each in words_drawn),
            ),
            (
                f"How many of its words begin with the letter {letter}, repetitions counted?",
                f"sum(word[0] == {letter!r} for word in words)",
                sum(each[0] == letter for each in words_drawn),
            ),
            (
                f"How often does the word {word} stand in it?",
                f"words.count({word!r})",
                words_drawn.count(word),
            ),
            (
                "How often is a word in it followed by the same word again, line ends aside?",
                "sum(a == b for a, b in zip(words, words[1:]))",
                sum(a == b for a, b in pairwise(words_drawn)),
            ),
        )
    )
    return ToolQuestion(
        text=f"Read the text in the file {path}. {asked} Answer with the number alone.",
        target=numeric_answer(result),
        steps=(
            read_file_call(path, text),
            python_call(f'words = """\n{text}""".split()\n{code}', result),
        ),
        family="words",
        content=f"words {asked} {sorted(words_drawn)}",
        files=((path, text),),
    )


def _group(text: str) -> str:
    """A program that reads a table into ``of``, the values by place."""
    return (
        f'table = """{text}"""\nof = {{}}\nfor row in table.splitlines()[1:]:\n'
        '    place, _, value = row.split(",")\n    of.setdefault(place, []).append(int(value))'
    )
