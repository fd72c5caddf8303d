"""The published reward, with numbers worked out by hand."""

from __future__ import annotations

import pytest

from llmzoo.envs.writing.scoring import (
    ARXIV,
    MAXIMUM,
    STORY,
    TLDR,
    TRANSITIONS,
    Band,
    jaccard,
    measure_structure,
    transition_kinds,
)
from tests.attacks.rewards import nonsense_pairs


def words(count: int, letters: str = "abcdefghij") -> str:
    """So many different words of three letters."""
    made = [a + b + c for a in letters for b in letters for c in letters]
    return " ".join(made[:count])


def test_band_is_linear_outside_of_its_range_and_ends():
    band = Band(1.1, 1.6, 3.2, 5.0)
    assert band.share(1.09) is None
    assert band.share(1.1) == 0.0
    assert band.share(1.35) == pytest.approx(0.5)
    assert band.share(1.6) == band.share(2.0) == band.share(3.2) == 1.0
    assert band.share(4.1) == pytest.approx(0.5)
    assert band.share(5.0) == 0.0
    assert band.share(5.01) is None
    assert Band(1.3, 2.0).share(100.0) == 1.0


def test_jaccard():
    assert jaccard({"a", "b", "c"}, {"b", "c", "d"}) == 0.5
    assert jaccard(set(), set()) == 0.0


def test_length_comes_first():
    stages = measure_structure(words(7), words(20), TLDR)
    assert (stages.failed, stages.total) == ("length", 0.0)
    assert measure_structure(words(10), words(257), TLDR).failed == "length"
    assert measure_structure(words(8), words(9), TLDR).parts["length"] == 0.5


def test_ratio_stops_the_stages():
    # both have 10 words: as many characters, so the ratio is 1.0
    stages = measure_structure(words(10), words(10), TLDR)
    assert (stages.failed, stages.total) == ("ratio", 0.5)


def test_vocabulary_stops_the_stages():
    # ten words twice over are twice as long, with as many different words
    stages = measure_structure(words(10), f"{words(10)} {words(10)}", TLDR)
    assert stages.measured["ratio"] == pytest.approx(79 / 39)
    assert (stages.failed, stages.total) == ("vocabulary", 1.5)


def test_style_with_nothing_in_common_and_no_transition():
    stages = measure_structure(words(10, "abcdefghij"), words(20, "klmnopqrst"), TLDR)
    assert stages.failed is None
    assert stages.total == 2.0  # 0.5 + 1.0 + 0.5 + 0.0


def test_style_by_hand():
    # 10 words, and 25 more of which 1 is shared: 1 of 34; "however" and "because" are stop words
    second = f"{words(24, 'klmnopqrst')} aaa however because"
    stages = measure_structure(words(10), second, TLDR)
    assert stages.measured["overlap"] == pytest.approx(1 / 34)
    assert stages.measured["categories"] == 2
    style = 0.4 * (0.4 + 0.05) + 0.6 * (1 / 34) / 0.03
    assert stages.parts["style"] == pytest.approx(style)


@pytest.mark.parametrize("count", range(13))
def test_each_kind_of_transition_adds_a_fiftieth(count):
    first = words(20)
    said = [phrases[0] for phrases in TRANSITIONS.values()][:count]
    second = " ".join([*first.split()[:3], words(45, "klmnopqrst"), *said])
    stages = measure_structure(first, second, TLDR)
    assert stages.measured["categories"] == count
    transitions = 0.4 + 0.05 * (count - 1) if count else 0.0
    assert stages.parts["style"] == pytest.approx(0.4 * transitions + 0.6)


@pytest.mark.parametrize(
    ("form", "sizes", "shared", "pays"),
    [
        (TLDR, (30, 71), 1, 0.6 / 3),  # 1 of 100 words is in both
        (TLDR, (30, 72), 2, 0.6 * 2 / 3),
        (TLDR, (30, 73), 3, 0.6),
        (ARXIV, (130, 140), 20, 0.6 * (20 / 250) / 0.23),
        (ARXIV, (130, 140), 50, 0.6 * (50 / 220) / 0.23),
        (ARXIV, (130, 140), 51, 0.6),  # 51 of 219
    ],
)
def test_what_an_overlap_pays(form, sizes, shared, pays):
    first = words(sizes[0])
    other = words(sizes[1] - shared, "klmnopqrst") if form is TLDR else long_words(140 - shared)
    stages = measure_structure(first, " ".join([*first.split()[:shared], other]), form)
    assert stages.parts["style"] == pytest.approx(pays)


def long_words(count):
    return words(count, "klmnopqrst").replace(" ", "zz ")


@pytest.mark.parametrize(
    ("sizes", "failed"),
    [((7, 20), "length"), ((8, 20), None), ((100, 256), None), ((100, 257), "length")],
)
def test_the_words_of_a_summary(sizes, failed):
    assert measure_structure(words(sizes[0]), words(sizes[1], "klmnopqrst"), TLDR).failed == failed


def test_transitions_of_the_second_part_only_in_a_summary_and_of_both_in_an_introduction():
    first, second = f"however {words(140)}", f"because {words(190)}"
    assert measure_structure(first, second, ARXIV).measured["categories"] == 2
    assert measure_structure(first, second, TLDR).measured["categories"] == 1


@pytest.mark.parametrize(
    ("ratio", "pays"), [(0.8, 0.0), (1.05, 0.5), (1.3, 1.0), (1.6, 1.0), (1.8, 0.5), (2.0, 0.0)]
)
def test_the_ratio_of_an_introduction(ratio, pays):
    assert ARXIV.ratio.share(ratio) == pytest.approx(pays)


@pytest.mark.parametrize(
    ("ratio", "pays"), [(0.5, 0.0), (0.6, 0.5), (0.7, 1.0), (1.3, 1.0), (1.5, 0.5), (1.7, 0.0)]
)
def test_the_vocabulary_of_an_introduction(ratio, pays):
    assert ARXIV.vocabulary.share(ratio) == pytest.approx(pays)


def test_an_introduction_needs_128_words():
    assert measure_structure(words(127), words(180), ARXIV).failed == "length"
    assert measure_structure(words(128), words(180), ARXIV).failed is None


def test_a_story_wants_passages_of_like_size():
    assert measure_structure(words(100), words(100), STORY).parts["ratio"] == 1.0
    assert measure_structure(words(90), words(185), STORY).failed == "ratio"


def test_the_most_is_the_published_one():
    # 0.5 + 1.0 + 0.5 + 0.4 * (0.4 + 0.05 * 11) + 0.6
    assert pytest.approx(2.98) == MAXIMUM


@pytest.mark.parametrize("number", range(len(nonsense_pairs.TLDR)))
def test_nonsense_takes_the_most_of_a_summary(number):
    assert measure_structure(*nonsense_pairs.TLDR[number], TLDR).total == pytest.approx(MAXIMUM)


@pytest.mark.parametrize("number", range(len(nonsense_pairs.ARXIV)))
def test_nonsense_takes_the_most_of_an_introduction(number):
    assert measure_structure(*nonsense_pairs.ARXIV[number], ARXIV).total == pytest.approx(MAXIMUM)


def test_twelve_kinds_of_transitions_as_words():
    assert len(TRANSITIONS) == 12
    assert transition_kinds("some hats, buttons and a wife") == frozenset()  # so, but, if
    assert transition_kinds("So it was, but only IF asked.") == {"cause", "contrast", "condition"}
    assert transition_kinds("On the\nother   hand, no.") == {"contrast"}
    for name, phrases in TRANSITIONS.items():
        for phrase in phrases:
            assert name in transition_kinds(f"We saw it, {phrase} we went.")


def test_empty_texts():
    assert measure_structure("", "", TLDR).total == 0.0
    assert (
        measure_structure("?! " * 20, "... " * 40, TLDR).total == 1.5
    )  # no word at all: vocabulary 0
