"""Twelve kinds of transitions, each with words and phrases that signal it.

The categories are those of the published reward (CoMLRL / MAGRPO, arXiv 2508.04652); the lists are
this project's. They are matched as whole words: "so" is not found in "some", nor "if" in "life".
"""

from __future__ import annotations

from llmzoo.envs.writing.words import tokens

CATEGORIES: dict[str, tuple[str, ...]] = {
    "addition": (
        *("also", "moreover", "furthermore", "additionally", "besides", "in addition"),
        *("as well as", "along with", "on top of that", "not only", "what is more"),
    ),
    "example": (
        *("for example", "for instance", "such as", "including", "namely", "in particular"),
        *("particularly", "especially", "specifically", "notably", "to illustrate"),
    ),
    "explanation": (
        *("that is", "in other words", "in fact", "actually", "essentially", "basically"),
        *("meaning that", "more precisely", "in essence", "put simply", "to clarify"),
    ),
    "cause": (
        *("because", "therefore", "thus", "hence", "so", "consequently", "as a result"),
        *("due to", "owing to", "thanks to", "for this reason", "accordingly", "thereby"),
    ),
    "contrast": (
        *("however", "but", "yet", "whereas", "instead", "in contrast", "by contrast"),
        *("on the other hand", "conversely", "rather", "on the contrary", "otherwise", "unlike"),
    ),
    "sequence": (
        *("first", "second", "third", "next", "then", "finally", "lastly", "to begin with"),
        *("after that", "afterwards", "afterward", "firstly", "secondly", "in turn"),
    ),
    "emphasis": (
        *("indeed", "certainly", "clearly", "of course", "above all", "most importantly"),
        *("undoubtedly", "obviously", "definitely", "significantly", "surely", "importantly"),
    ),
    "summary": (
        *("overall", "in short", "in summary", "in conclusion", "to sum up", "all in all"),
        *("ultimately", "in the end", "altogether", "in brief", "on the whole", "taken together"),
    ),
    "comparison": (
        *("similarly", "likewise", "in the same way", "just as", "compared with", "compared to"),
        *("in comparison", "equally", "just like", "much like", "by analogy", "relative to"),
    ),
    "concession": (
        *("although", "though", "even though", "despite", "in spite of", "nevertheless"),
        *("nonetheless", "even so", "still", "admittedly", "regardless", "while"),
    ),
    "condition": (
        *("if", "unless", "whether", "provided that", "as long as", "in case", "given that"),
        *("assuming that", "supposing", "even if", "only if", "or else"),
    ),
    "time": (
        *("when", "after", "before", "until", "since", "during", "meanwhile", "later"),
        *("eventually", "recently", "currently", "previously", "once", "at the same time", "soon"),
    ),
}


def categories(text: str) -> frozenset[str]:
    """The categories of which ``text`` holds a word or phrase."""
    line = f" {' '.join(tokens(text))} "
    return frozenset(
        name
        for name, phrases in CATEGORIES.items()
        if any(f" {phrase} " in line for phrase in phrases)
    )
