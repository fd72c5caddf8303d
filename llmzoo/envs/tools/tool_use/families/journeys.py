"""Questions of several stages: from an article to the next, from a note to two articles, or from an
article into a file."""

from __future__ import annotations

import random

from llmzoo.envs.symmetry_keys import sorted_key
from llmzoo.envs.tools.tool_use.families import world
from llmzoo.envs.tools.tool_use.questions import (
    ExpectedAnswer,
    ToolQuestion,
    calculator_call,
    format_number,
    numeric_answer,
    read_file_call,
    search_call,
    write_file_call,
)

_ROUNDING = 0.00501  # an answer to two decimals

# (kind, fact that names another article): the other article, in words
_LINKS = {
    ("museum", "town"): "the town in which {x} is found",
    ("festival", "town"): "the town in which {x} is held",
    ("company", "town"): "the town in which {x} has its seat",
    ("lighthouse", "town"): "the town near which {x} stands",
    ("river", "mouth"): "the town at the mouth of {x}",
    ("person", "birthplace"): "the town in which {x} was born",
    ("bridge", "from"): "the town from which {x} leads to {to}",
    ("ferry", "from"): "the town from which {x} runs to {to}",
    ("town", "island"): "the island on which {x} lies",
    ("species", "island"): "the island on which {x} lives",
    ("island", "capital"): "the capital of {x}",
}
_COUNTED = {"town": ("population",), "island": ("population", "area_km2")}
_FOLDERS = ("results", "out", "reports", "notes", "archive")
_PAPERS = ("letter.txt", "note.txt", "todo.txt", "request.txt", "memo.txt")


def trail(rng: random.Random) -> ToolQuestion:
    """A number of what another article names, grown by some percent: ``search`` twice,
    ``calculator``."""
    start, link = world.sample_fact(rng, _LINKS)
    end = world.find_article(str(start.facts[link]))
    fact = rng.choice(_COUNTED[end.kind])
    percent = rng.randrange(2, 60)
    grows = rng.random() < 0.5
    measure = world.numeric_fact(end, fact)
    factor = 100 + percent if grows else 100 - percent
    result = measure * factor / 100
    where = _LINKS[start.kind, link].format(x=world.title(start), to=start.facts.get("to", ""))
    return ToolQuestion(
        text=(
            f"Take {world.describe_fact(end, fact, of=where)}. What would it be if it "
            f"{'grew' if grows else 'shrank'} by {percent} percent? Answer with the number, rounded to "
            "two decimals."
        ),
        target=numeric_answer(result, _ROUNDING),
        steps=(
            search_call(start, link),
            search_call(end, fact),
            calculator_call(f"{measure} * {factor} / 100", result, _ROUNDING),
        ),
        family="trail",
        content=f"trail {start.title} {link} {fact} {factor}",
    )


def report(rng: random.Random) -> ToolQuestion:
    """A result that goes into a file: ``search``, ``calculator``, ``write_file``."""
    article, fact = world.sample_fact(rng, world.MEASURES)
    times, more = rng.randrange(3, 90), rng.randrange(11, 1000)
    measure = world.numeric_fact(article, fact)
    result = measure * times + more
    path = f"{rng.choice(_FOLDERS)}/{article.kind}_{rng.randrange(10, 100)}.txt"
    return ToolQuestion(
        text=(
            f"Multiply {world.describe_fact(article, fact)} by {times}, add {more}, and write the result, "
            f"nothing but the number, into the file {path}. Then answer with the word done."
        ),
        target=ExpectedAnswer((format_number(result),), 0.0, path),
        steps=(
            search_call(article, fact),
            calculator_call(f"{measure} * {times} + {more}", result),
            write_file_call(path, format_number(result)),
        ),
        family="report",
        content=f"report {article.title} {fact} {times} {more}",
    )


def errand(rng: random.Random) -> ToolQuestion:
    """A note in a file asks for two facts: ``read_file``, ``search`` twice, ``calculator``."""
    first_kind, first_fact = rng.choice([*world.MEASURES])
    second_kind, second_fact = rng.choice([*world.MEASURES])
    first = world.sample_articles(rng, first_kind)[0]
    second = world.sample_articles(rng, second_kind)[0]
    while second is first:
        second = world.sample_articles(rng, second_kind)[0]
    sign, verb = rng.choice((("+", "Add up"), ("-", "Subtract"), ("*", "Multiply")))
    a, b = world.numeric_fact(first, first_fact), world.numeric_fact(second, second_fact)
    result = {"+": a + b, "-": a - b, "*": a * b}[sign]
    facts = [world.describe_fact(first, first_fact), world.describe_fact(second, second_fact)]
    asked = f"{facts[1]} from {facts[0]}" if sign == "-" else f"{facts[0]} and {facts[1]}"
    path = f"{rng.choice(_FOLDERS)}/{rng.choice(_PAPERS)}"
    note = (
        f"{rng.choice(_GREETINGS)}\n\n{verb} {asked}.\n{rng.choice(_PARTINGS)}\n"
        f"{rng.choice(('P.', 'Mina', 'the clerk', 'Aunt Rosalind', 'Jory'))}\n"
    )
    return ToolQuestion(
        text=(
            f"The file {path} says what is to be worked out. Do it, and answer with the number alone."
        ),
        target=numeric_answer(result),
        steps=(
            read_file_call(path, note),
            search_call(first, first_fact),
            search_call(second, second_fact),
            calculator_call(f"{a} {sign} {b}", result),
        ),
        family="errand",
        content=f"errand {sign} {sorted_key((first.title, first_fact), (second.title, second_fact))}",
        files=((path, note),),
    )


_GREETINGS = (
    "Good morning,",
    "Dear friend,",
    "Before you leave today:",
    "A small thing for the almanac:",
    "The editor wants one more number.",
)
_PARTINGS = (
    "Nothing else, and no hurry.",
    "I have to send it off tonight.",
    "One number will do.",
    "Thank you in advance!",
    "It goes into the table on page nine.",
)
