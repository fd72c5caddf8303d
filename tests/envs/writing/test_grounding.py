"""Faithfulness: each measure by hand, and what honest texts, extracts and nonsense come to."""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import replace
from pathlib import Path

import pytest
from real_pairs import OTHERS, PAIRS

from llmzoo.envs.prose import ngrams
from llmzoo.envs.writing import arxiv, grounding, scoring, story, tldr
from llmzoo.envs.writing.grounding import (
    COMMON,
    GroundingStandard,
    measure_grounding,
    measure_source,
)
from llmzoo.envs.writing.order import (
    NAMES,
    classes,
    order_score,
    preceding_kinds,
    rare_pair_share,
    usage_fit,
)
from llmzoo.envs.writing.overlap import (
    closeness,
    copied_share,
    copied_span_share,
    repeated_share,
    shared_frame_share,
    source_locality,
    source_pair_share,
    source_stem_pair_share,
)
from llmzoo.envs.writing.tasks import WritingTask
from llmzoo.envs.writing.words import is_stop, names, numerals, stem, tokens
from scripts.order_table import learn
from tests.attacks.rewards import nonsense_pairs

LETTERS = list("abcdefghijklmnopqrstuvwxyz")


def test_tokens():
    assert tokens("Don’t pay 1,000.50 for it's 24M.") == [
        "don't",
        "pay",
        "1,000.50",
        "for",
        "it's",
        "24m",
    ]
    assert tokens("\ud800 \x00 ?!") == []


def test_numerals():
    said = "seventy-four dogs, a hundred and forty-six cats, one of them, two or three"
    assert " ".join(numerals(tokens(said))) == "74 dogs a 146 cats one of them 2 or 3"
    assert numerals(["two", "hundred", "thousand"]) == ["200000"]
    assert numerals(["hundred"] * 50)[0] == "10000"


def test_names_have_a_capital_within_a_sentence():
    assert names("Yesterday Anna met Mr. Black. Then we left for Lisbon") == {
        "anna",
        "mr",
        "lisbon",
    }


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("weddings", "married"),
        ("discouraged", "discouragement"),
        ("stopping", "stops"),
        ("studies", "studied"),
        ("mum", "mother's"),
        ("bought", "purchasing"),
        ("24m", "24"),
        ("3rd", "3"),
        ("estimation", "estimate"),
        ("counselling", "therapist"),
    ],
)
def test_words_of_one_stem(one, other):
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("cat", "car"), ("house", "horse"), ("3", "30")])
def test_words_of_different_stems(one, other):
    assert stem(one) != stem(other)


def test_stop_words_and_their_contractions():
    assert all(map(is_stop, ["the", "don't", "can't", "he's", "they'd"]))
    assert not any(map(is_stop, ["dog", "dog's", "notion"]))


def test_copied_runs():
    # d e f are three in a row; x and y are new, b and i are copied, but alone
    assert copied_share(["x", "d", "e", "f", "y", "b", "z", "i"], LETTERS) == 3 / 8
    assert copied_share([], LETTERS) == copied_share(["x"], []) == 0.0


def test_copied_spans_with_words_changed():
    every_third = [w if i % 3 else "-" for i, w in enumerate(LETTERS)]
    assert not {*ngrams(every_third, 3)} & {*ngrams(LETTERS, 3)}
    assert copied_span_share(every_third, LETTERS) > 0.8
    left_out = [w for i, w in enumerate(LETTERS) if i % 4]
    assert copied_span_share(left_out, LETTERS) > 0.8
    every_other = [w if i % 2 else "-" for i, w in enumerate(LETTERS)]
    assert copied_span_share(every_other, LETTERS) == 0.0  # no longer a copy


def test_five_matches_make_a_span():
    assert copied_span_share(["-", "c", "d", "e", "f", "-"], LETTERS) == 0.0
    assert copied_span_share(["-", "c", "d", "e", "f", "g", "-"], LETTERS) == pytest.approx(5 / 7)


def test_repeated():
    assert repeated_share(["a", "b", "c", "a", "b", "c"]) == 0.25  # abc bca cab abc
    assert repeated_share(["a"]) == 0.0


def test_framed():
    # of six words there are two runs of five; both come again with another word
    once, again = (
        ["it", "is", "about", "dogs", "and", "we"],
        ["it", "is", "about", "cats", "and", "we"],
    )
    assert shared_frame_share([once]) == 0.0
    assert shared_frame_share([once, again]) == shared_frame_share([again, once]) == 0.5
    assert shared_frame_share([once, once]) == 0.0  # the same words again are no frame
    assert shared_frame_share([["dog"] * 9, []]) == 0.0  # blanks alone are no frame


def test_pieces():
    source = ["the", "moon", "rose", "above", "the", "dog", "kennels"]
    # moon-rose and rose-dog are neighbours but for stop words, dog-moon is not
    text = [["a", "moon", "that", "rose", "upon", "dogs"], ["dog", "and", "moon"]]
    assert source_stem_pair_share(text, source) == pytest.approx(2 / 3)
    assert source_stem_pair_share([["dog", "moon"], ["rose"], []], source) == 0.0
    assert source_stem_pair_share([], source) == 0.0


def test_paired():
    source = ["the", "dog", "barks", "at", "the", "moon"]
    # of "the moon", "moon at", "at the", "the dog" the third has stop words only: 2 of 3
    assert source_pair_share([["the", "moon", "at", "the", "dog"]], source) == pytest.approx(2 / 3)
    assert source_pair_share([["moon", "dog"], ["barks"], []], source) == 0.0
    assert source_pair_share([], source) == 0.0


def test_taken_are_the_telling_words_that_stand_so_in_the_source():
    source = measure_source("", "The zebra met Anna near twelve violet tulips.", STANDARD)
    grounded = measure_grounding(
        "A zebra and a tulip.", "It was violet and green.", source, STANDARD
    )
    assert grounded.measured["taken"] == 2 / 4  # zebra, violet; not tulip, green


def test_broken():
    assert rare_pair_share("She went to the door because it was cold.") == 0.0
    # of the twelve neighbours from mark to mark, at least "the of" and "to is" never stand so
    assert rare_pair_share("The of the door is to is my the cold.") >= 2 / 12


def test_fit():
    known = preceding_kinds("The dog wants to swim. They bark.")
    assert known == {
        stem("dog"): {"article"},
        stem("swim"): {"to"},
        stem("bark"): {"person"},
    } | {stem(word): {"content"} for word in ["wants"] if not is_stop(word)}
    assert usage_fit(("His dogs went to swim.", "It barks."), known) == 1.0
    assert usage_fit(("The bark of the swim is for the dog.",), known) == pytest.approx(1 / 3)
    assert usage_fit(("Nothing of it.", ""), known) == 0.0


def test_names_alone_do_not_make_a_story():
    task = TASKS["story"][0]
    source = measure_source("", task.text, grounding.STORY)
    grounded = measure_grounding(*task.parts, source, grounding.STORY)
    assert grounded.measured["things"] > 0.26
    bare = " ".join(f"So {name} was there." for name in source.names)
    assert measure_grounding(bare, bare, source, grounding.STORY).measured["things"] == 0.0


def test_classes_and_order():
    assert classes("The dog can't sleep.") == [
        "end",
        "article",
        "other",
        "modal",
        "not",
        "other",
        "end",
    ]
    assert order_score("She went to the door because it was cold.") > 0.3
    assert order_score("Door the to it went cold she because was.") < 0.0
    assert order_score("") < 0.5


def test_a_table_learns_what_follows_what():
    table = learn(["the dog. the cat. the bird."] * 20)
    # 60 articles, each before an "other", which is 60 of 180 neighbours; and a prior of 8 neighbours
    share = (60 + 1) / (180 + len(NAMES))
    likely = (60 + 8 * share) / (60 + 8)
    assert table["article"][NAMES.index("other")] == round(100 * math.log(likely / share))
    assert table["article"][NAMES.index("article")] < -100


def test_closeness_goes_by_the_nearest_positions():
    # words at 0 and 20, at 15, and at 2: distances 5, 2 and 13
    close = closeness([[0, 20], [15], [2]])
    assert close[0].tolist() == pytest.approx([1, 5 / 10, 5 / 7])
    assert close[1].tolist() == pytest.approx([5 / 10, 1, 5 / 18])
    assert (close == close.T).all()


def test_a_thread_follows_the_source():
    positions = {letter: [4 * number] for number, letter in enumerate(LETTERS)}
    shuffled = random.Random(0).sample(LETTERS, len(LETTERS))
    assert source_locality([LETTERS], positions) > 5
    assert source_locality([LETTERS[::-1]], positions) == pytest.approx(
        source_locality([LETTERS], positions)
    )
    assert abs(source_locality([shuffled], positions)) < 1.5
    assert source_locality([LETTERS[:3], [], ["a"] * 9], positions) == 0.0  # too few


def test_a_thread_by_hand():
    # neighbours are 1, 9 and 1 apart, any two 1, 10, 11, 9, 10 and 1
    positions = {"a": [0], "b": [1], "c": [10], "d": [11]}
    close = [5 / (5 + distance) for distance in (1, 10, 11, 9, 10, 1)]
    mean = sum(close) / 6
    variance = sum((value - mean) ** 2 for value in close) / 6
    excess = 5 / 6 + 5 / 14 + 5 / 6 - 3 * mean
    value = source_locality([["a", "b", "c", "d"]], positions)
    assert value == pytest.approx(excess / math.sqrt(3 * variance))


STANDARD = GroundingStandard(
    ends={
        **COMMON,
        **{"support": (0.0, 1.0), "stretch": (0.0, 1.0), "coverage": (0.0, 1.0)},
        "order": (0.08, 0.16),
    }
)


def test_support_counts_names_and_numbers_twice():
    source = measure_source("", "The zebra met Anna near 12 violet tulips.", STANDARD)
    part = measure_grounding("A zebra ate and Anna was violet.", "x", source, STANDARD).first
    # zebra 1, Anna 2, violet 1 of those and "ate" 1
    assert part.unsupported == ("ate",)
    assert part.measured["support"] == pytest.approx(4 / 5)
    part = measure_grounding("A zebra and 13 of the tulips.", "x", source, STANDARD).first
    assert part.measured["support"] == pytest.approx(2 / 4)  # the wrong number weighs 2


def test_stretch_is_the_share_of_the_least_supported_words_in_a_row():
    standard = replace(STANDARD, stretch=3)
    source = measure_source("", "The zebra met Anna near 12 violet tulips.", standard)
    part = measure_grounding(
        "Zebra, kettle, violet, tulip, marble, lantern, Anna.", "x", source, standard
    )
    # of three in a row "tulip, marble, lantern" and the next three have one that the source has
    assert part.first.measured["stretch"] == pytest.approx(1 / 3)
    part = measure_grounding("A zebra and a kettle.", "x", source, standard)
    assert part.first.measured["stretch"] == pytest.approx(1 / 2)  # of all, in a short text


def test_coverage_saturates_at_what_a_part_has_room_for():
    source = measure_source("", "Zebra, violet, tulip, kettle, marble and lantern.", STANDARD)
    part = measure_grounding(
        "It is a zebra, and so it is in the violet.", "x", source, STANDARD
    ).first
    # six words of weight 1; 11 words have room for the least that is asked, 3 of them
    assert part.measured["coverage"] == pytest.approx(2 / 3)


def test_titles_and_repeated_words_weigh_more():
    source = measure_source("Lantern", "The zebra and the zebra.", STANDARD)
    assert source.weights["lantern"] == 1.5
    assert source.weights[stem("zebra")] == pytest.approx(1.693, abs=0.001)  # 1 + log 2


def test_too_many_words_glued_together_are_not_read():
    source = measure_source("", "Zebra.", grounding.TLDR)
    assert (
        measure_grounding("zebra." * 700, "zebra", source, grounding.TLDR).first == grounding.UNREAD
    )


def share(first, second, source, kind):
    """The grounded reward by its most."""
    form, standard = getattr(scoring, kind.upper()), getattr(grounding, kind.upper())
    grounded = measure_grounding(first, second, source, standard)
    return grounded.factor * scoring.measure_structure(first, second, form).total / scoring.MAXIMUM


TASKS = {
    module.__name__.rpartition(".")[2]: module.raw_env.public_set.load("sample").tasks
    for module in (tldr, arxiv, story)
}


SLOW = {"arxiv", "story"}
every_kind = pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in SLOW else kind for kind in TASKS]
)


@every_kind
@pytest.mark.slow
def test_honest_pairs_get_above_four_fifths_and_those_of_another_task_next_to_nothing(kind):
    standard = getattr(grounding, kind.upper())
    tasks = TASKS[kind]
    assert len(tasks) >= 60
    for task, other in zip(tasks, tasks[7:] + tasks[:7], strict=True):
        source = measure_source(task.title, task.text, standard)
        assert share(*task.parts, source, kind) > 0.8, task.text[:60]
        assert share(*other.parts, source, kind) < 0.1, task.text[:60]


def real_sources(folder):
    lines = (folder / "tldr_dev.jsonl").read_text(encoding="utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    texts = [record["prompt"].replace("TL;DR:", "") for record in records]
    return records, [measure_source("", text, grounding.TLDR) for text in texts]


def test_real_posts_honest_pairs(shared_data):
    _, sources = real_sources(shared_data)
    for pairs in (PAIRS, OTHERS):
        for pair, source in zip(pairs, sources, strict=True):
            assert share(*pair, source, "tldr") > 0.8, pair[0]


def test_real_posts_the_authors_own_words(shared_data):
    records, sources = real_sources(shared_data)
    shares = {
        i: share(record["completion"], PAIRS[i][1], source, "tldr")
        for i, (record, source) in enumerate(zip(records, sources, strict=True))
        if record["completion"]
    }
    assert shares[0] > 0.8
    assert shares[5] > 0.8
    assert shares[1] == 0.0  # "Progress is still happening": no word of it stands in the post


def test_real_posts_extracts_other_pairs_and_shuffled_words(shared_data):
    records, sources = real_sources(shared_data)
    rng = random.Random(0)
    for i, source in enumerate(sources):
        for j, pair in enumerate(PAIRS):
            if i != j:
                assert share(*pair, source, "tldr") < 0.1, (i, j)
        words = records[i]["prompt"].split("POST:")[1].split()
        lead = " ".join(words[:25]), " ".join(words[:65])
        assert share(*lead, source, "tldr") < 0.3
        salad = rng.sample(words, min(25, len(words))), rng.sample(words, min(65, len(words)))
        assert share(*map(" ".join, salad), source, "tldr") < 0.02
        shuffled = [" ".join(rng.sample(text.split(), len(text.split()))) for text in PAIRS[i]]
        assert share(*shuffled, source, "tldr") < 0.02


def varied(kind):
    """Sources in other registers than the sample's, with honest pairs, by another author."""
    name, fields = {
        "tldr": ("varied_posts", ("post", "concise", "detailed")),
        "arxiv": ("varied_abstracts", ("abstract", "background", "method")),
    }[kind]
    lines = (Path(__file__).parent / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    tasks = []
    for record in map(json.loads, lines):
        text, first, second = (record[field] for field in fields)
        tasks.append(WritingTask(record["title"], text, (first, second)))
    return tasks


@pytest.mark.parametrize(("kind", "count"), [("tldr", 14), ("arxiv", 6)])
def test_honest_pairs_in_other_registers(kind, count):
    standard = getattr(grounding, kind.upper())
    tasks = varied(kind)
    assert len(tasks) == count
    for i, task in enumerate(tasks):
        source = measure_source(task.title, task.text, standard)
        assert share(*task.parts, source, kind) > 0.8, task.title
        assert share(*tasks[i - 1].parts, source, kind) < 0.1, task.title


@pytest.mark.slow
def test_everyday_nonsense_fits_no_post():
    for task in TASKS["tldr"]:
        source = measure_source(task.title, task.text, grounding.TLDR)
        for pair in nonsense_pairs.EVERYDAY:
            assert share(*pair, source, "tldr") < 0.1, (task.title, pair[0])


def telling(text):
    return [word for word in dict.fromkeys(tokens(text)) if not is_stop(word)]


def refilled(frame, words, rng):
    """``frame`` with its telling words replaced by some of ``words``."""
    pool = []

    def other(match):
        if is_stop(match.group().lower()):
            return match.group()
        if not pool:
            pool.extend(rng.sample(words, len(words)))
        return pool.pop()

    return re.sub(r"[^\W\d_]+(?:['’][^\W\d_]+)*|\d+", other, frame)


@pytest.mark.slow
@every_kind
def test_the_right_words_in_the_wrong_sentences(kind):
    """Telling words of the source in the sentences of another pair, and the honest pair's own telling
    words in each other's places."""
    standard = getattr(grounding, kind.upper())
    tasks = TASKS[kind]
    rng = random.Random(0)
    foreign, own = [], []
    for task, other in zip(tasks, tasks[7:] + tasks[:7], strict=True):
        source = measure_source(task.title, task.text, standard)
        words = telling(task.text)
        pair = [refilled(frame, words, rng) for frame in other.parts]
        foreign.append(share(*pair, source, kind))
        pair = [refilled(mine, telling(mine), rng) for mine in task.parts]
        own.append(share(*pair, source, kind))
    most = {"tldr": 0.02, "arxiv": 0.01, "story": 0.05}[kind]
    assert sum(foreign) / len(foreign) < most
    assert sum(own) / len(own) < most
