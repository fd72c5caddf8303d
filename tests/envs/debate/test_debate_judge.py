"""The rule-based judge, part by part."""

from __future__ import annotations

import time

import pytest

from llmzoo.envs.debate import players
from llmzoo.envs.debate.judge import rules
from llmzoo.envs.debate.judge.denials import (
    denies,
    find_denials,
    is_negation_of,
    negated_verb_share,
)
from llmzoo.envs.debate.judge.evidence import find_invented_figures, score_evidence, score_replies
from llmzoo.envs.debate.judge.stance import (
    asserted_clauses,
    count_concessions,
    measure_leaning,
    score_stance,
    stated_side,
)
from llmzoo.envs.debate.judge.style import (
    is_well_shaped,
    score_novelty,
    score_prose,
    score_structure,
)
from llmzoo.envs.debate.judge.words import (
    claimed_figures,
    figures,
    normalize,
    sentences,
    stem,
    words,
)
from llmzoo.envs.debate.tasks import Brief, BriefPoint, Debate, Speech, Topic
from llmzoo.envs.prose import linear_ramp
from llmzoo.testing import hostile_texts

TOPIC = Topic(
    id="ferries",
    motion="The island should build a bridge.",
    pro=Brief(
        "The island should build a bridge, because storms cut it off too often.",
        (
            BriefPoint(
                "Storms stop the boats and strand patients.",
                "In the brief's winter, 23 ambulances waited at the quay, and one of them for 19 hours.",
            ),
            BriefPoint(
                "Young families stay where commuting is easy.",
                "A neighbouring island in the file gained 140 pupils in the decade after its causeway.",
            ),
        ),
        (
            "Seals and terns survived the causeway nearby, so careful pillars need not harm a colony.",
            "Debt is repaid by tolls, and storms cost the council money every single winter.",
        ),
    ),
    con=Brief(
        "The island should keep its ferries, because concrete would ruin the sound.",
        (
            BriefPoint(
                "Pillars would drive the seals from their colony.",
                "Wardens in our file counted 312 pups on the sandbank where the drilling would be done.",
            ),
            BriefPoint(
                "The debt would burden the council for generations.",
                "According to the brief's accountant, interest alone would swallow 44 cents of each rate.",
            ),
        ),
        (
            "Storms are rare, and a helicopter reaches patients while any bridge would be closed by wind.",
            "Commuting families need houses first, and the debt would leave no money to build any.",
        ),
    ),
)
STORM = (
    "I support the motion. Last winter 23 ambulances had to wait at the quay because storms had stopped "
    "the boats. Patients were stranded there, one of them for most of a day. Therefore we cannot go on "
    "as we are, whatever the weather may do this year."
)


def said(text):
    return sentences(text)


def test_words_figures_and_stems():
    assert words("it cost 1,250.50 in 'real' terms, didn't it?") == (
        *("it", "cost", "1250.50", "in", "real", "terms", "didn't", "it"),
    )
    assert figures(words("twenty-three of 40, and eleven of two")) == {"23", "40", "11", "2"}
    assert claimed_figures(words("two reasons, 3 points, 45 cases, seventy percent")) == {
        "45",
        "70",
    }
    assert stem("uniforms") == stem("uniformity")
    assert stem("saving") == stem("saves") == stem("saved")
    assert normalize("caf\u00e9\u200b \u2019tis") == "cafe 'tis"
    assert [linear_ramp(value, 0.2, 0.6) for value in (0.1, 0.4, 0.9)] == pytest.approx([0, 0.5, 1])
    assert linear_ramp(0.5, 0.9, 0.5) == 1.0


def test_sentences_and_clauses():
    first, second = said("The rate was 3.5 last year. Was it?")
    assert first.text == "The rate was 3.5 last year."
    assert second.words == ("was", "it")
    (sentence,) = said(
        "Although boats are cheap, storms stop them, but my opponent says they do not."
    )
    assert [clause.text for clause in asserted_clauses(sentence)] == ["storms stop them"]
    (sentence,) = said("The other side says so because the boats are cheap; they are slow.")
    assert [clause.text for clause in asserted_clauses(sentence)] == ["they are slow."]
    (sentence,) = said("The other side is not right: boats are slow.")
    assert [clause.text for clause in asserted_clauses(sentence)] == [
        ": boats are slow.".lstrip(": ")
    ]


@pytest.mark.parametrize(
    ("text", "shaped"),
    [
        ("Storms stop the boats in winter.", True),
        ("The on-call doctor could not cross.", True),
        ("storms stop the boats in winter.", False),  # no capital
        ("Storms stop the boats in winter", False),  # no end
        ("Storms the of boats winter and the.", False),  # no English order
        ("In winter 23 45 boats were stopped.", False),
        ("Storms.", False),
        ("Boat storm quay patient winter council pillar seal colony debt money toll.", False),
    ],
)
def test_shape_of_a_sentence(text, shaped):
    assert is_well_shaped(said(text)[0]) is shaped


def test_prose_asks_for_length_letters_and_order():
    assert score_prose(said(STORM)) == 1.0
    assert score_prose(said("I support the motion.")) == 0.0
    assert score_prose(said(STORM.replace("a", "\u0430"))) == 0.0
    assert score_prose(said(" ".join(reversed(STORM.split())))) == 0.0
    assert score_prose(()) == 0.0
    # 25 words: 10 of the 25 between none and enough
    assert score_prose(said(" ".join(STORM.split()[:24]) + " boats.")) == pytest.approx(0.4)


def test_structure_counts_sentences_and_kinds_of_markers():
    assert score_structure(said(STORM)) == 1.0
    assert score_structure(said("Storms stop the boats.")) == pytest.approx(0.5 / 3)
    assert score_structure(said("First, storms stop the boats.")) == pytest.approx(0.5 / 3 + 0.25)


def test_stance_is_what_is_asserted():
    assert score_stance(TOPIC, "pro", said(STORM)) == 1.0
    assert score_stance(TOPIC, "con", said(STORM)) == 0.0
    silent = STORM.replace("I support the motion. ", "")
    assert score_stance(TOPIC, "pro", said(silent)) == pytest.approx(0.75)
    both = (
        "Storms strand patients at the quay. Pillars drive seals from the colony and the sandbank."
    )
    share, used = measure_leaning(TOPIC, "pro", said(both))
    assert share < 0.5
    assert used == 4
    reported = "Storms strand patients at the quay. My opponent says pillars drive seals away."
    assert measure_leaning(TOPIC, "pro", said(reported))[0] == 1.0
    turned = "Storms do not stop the boats and strand no single patient."
    assert (
        measure_leaning(TOPIC, "pro", said("It is not true that storms stop the boats."))[0] == 0.0
    )
    assert denies(turned) is False  # two denials: the rule counts them, it does not parse


@pytest.mark.parametrize(
    ("text", "pro"),
    [
        ("I support the motion.", 1.0),
        ("We are against the motion.", -1.0),
        ("I do not support the motion.", -1.0),
        ("The motion should stand.", 1.0),
        ("The motion should not stand.", -1.0),
        ("My opponent asks you to reject the motion.", 0.0),
        ("Boats are slow.", 0.0),
    ],
)
def test_which_side_a_speaker_says_it_is_on(text, pro):
    assert stated_side("pro", said(text)) == pro
    assert stated_side("con", said(text)) == -pro


def test_giving_up():
    assert count_concessions(said("My opponent is right.")) == 1
    assert (
        count_concessions(said("My opponent is right about the seals, but wrong about the boats."))
        == 0
    )
    assert count_concessions(said("I was wrong. We concede the debate.")) == 2


def test_evidence_needs_its_figure_its_words_and_its_claim():
    assert score_evidence(TOPIC, "pro", said(STORM), ()) == 1.0
    assert score_evidence(TOPIC, "con", said(STORM), ()) == 0.0
    assert score_evidence(TOPIC, "pro", said(STORM.replace("23", "32")), ()) == 0.0
    assert score_evidence(TOPIC, "pro", said("The figure is 23, and that says it all."), ()) == 0.0
    far = "Last winter 23 ambulances had to wait at the quay."  # three words of it, no claim
    assert score_evidence(TOPIC, "pro", said(far), ()) == pytest.approx(0.6)
    assert score_evidence(TOPIC, "pro", said(STORM), (said(STORM),)) == 0.5
    denied = "It is not true that 23 ambulances waited at the quay last winter in storms."
    assert score_evidence(TOPIC, "pro", said(denied), ()) == 0.0


def test_invented_figures():
    assert (
        find_invented_figures(TOPIC, said("We know of 23 and 312 and 9 cases."), ()) == frozenset()
    )
    assert find_invented_figures(TOPIC, said("In 87 percent of 400 cases."), ()) == {"87", "400"}
    assert find_invented_figures(TOPIC, said("You said 87."), ("It was 87.",)) == frozenset()
    assert find_invented_figures(TOPIC, said("Eighty-seven percent agree."), ()) == {"87"}
    assert find_invented_figures(TOPIC, said("Twelve islanders agree."), ()) == frozenset()


def test_replies_name_and_answer():
    last = said("I oppose the motion. Pillars would drive the seals from their colony, sadly.")
    named = "My opponent says pillars would drive the seals away. But storms strand patients every winter."
    assert score_replies(TOPIC, "pro", said(named), last) == 0.7
    assert score_replies(TOPIC, "pro", said(STORM), last) == 0.0
    quoted_only = "My opponent says pillars would drive the seals away. I disagree."
    assert score_replies(TOPIC, "pro", said(quoted_only), last) == 0.0
    assert score_replies(TOPIC, "pro", said(STORM), ()) is None
    assert score_replies(TOPIC, "pro", said(STORM), said("blorp?")) is None


def test_novelty_against_oneself_the_others_and_the_brief():
    def new(text, own=(), others=(), side="pro"):
        return score_novelty(
            TOPIC, side, said(text), [said(t) for t in own], [said(t) for t in others]
        )

    assert new(STORM) == 1.0
    assert new(STORM, own=[STORM]) == 0.0
    assert new(STORM, others=[STORM]) == 0.0
    assert new(f"{STORM} {STORM} {STORM}") == 0.0
    assert new(" ".join(TOPIC.pro.lines)) == 0.0
    assert new(" ".join(reversed(" ".join(TOPIC.pro.lines).split()))) == 0.0


def test_consistency_with_earlier_words():
    claim = said("Storms often stop the small boats in winter.")
    denial = said("Storms do not often stop the small boats in winter.")
    assert rules.score_consistency(claim, ()) == 1.0
    assert rules.score_consistency(denial, (claim,)) == pytest.approx(0.3)
    assert rules.score_consistency((*claim, *denial), ()) == pytest.approx(0.09)


def test_a_speech_is_its_gate_times_its_parts():
    speech = Speech("pro_0", "pro", "opening", STORM)
    parts, gate = rules.judge_speech(TOPIC, (), speech)
    assert (gate, set(parts.values())) == (1.0, {1.0})
    assert sum(rules.score_speech(TOPIC, (), speech).values()) == pytest.approx(1.0)
    more = Speech("pro_0", "pro", "opening", f"{STORM} In fact 777 people have said so.")
    assert rules.judge_speech(TOPIC, (), more)[1] == pytest.approx(0.6)
    assert sum(rules.WEIGHTS.values()) == pytest.approx(1.0)


def test_a_debate_counts_what_was_not_said_as_nothing():
    debate = Debate(TOPIC, 3, (Speech("pro_0", "pro", "opening", STORM),))
    scores = rules.score(debate)
    assert sum(scores["pro"].values()) == pytest.approx(1 / 3)
    assert sum(scores["con"].values()) == 0.0


def test_the_judge_survives_anything(no_collector):
    for text in (*hostile_texts(200, seed=3), "my opponent " * 200, "but " * 500, "not, " * 500):
        speech = Speech("pro_0", "pro", "opening", text[:2_000])
        before = (Speech("con_1", "con", "opening", text[:2_000]),)
        started = time.process_time()
        score = sum(rules.score_speech(TOPIC, before, speech).values())
        assert 0.0 <= score <= 0.5, text[:60]
        assert time.process_time() - started < 1


def test_the_expert_answers_whatever_was_said():
    for text in hostile_texts(60, seed=4):
        debate = Debate(TOPIC, 3, (Speech("pro_0", "pro", "opening", text[:2_000]),))
        assert players.expert(debate, "con")


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("storms do not stop the boats.", "storms stop the boats.", True),
        ("storms stop the boats.", "storms do not stop the boats.", True),
        ("storms never stop the boats.", "no storm ever stops the boats.", True),  # storm: its head
        ("it is not true that storms stop the boats.", "storms stop the boats.", True),
        ("that storms stop the boats is a myth.", "storms stop the boats.", True),
        ("storms stop the boats, not only in winter.", "storms stop the boats.", False),
        ("storms stopped no more than 40 boats.", "storms stop the boats.", False),
        ("the pilot would not leave, so storms stop the boats.", "storms stop the boats.", False),
        ("nobody doubts that storms stop the boats.", "storms stop the boats.", False),
    ],
)
def test_one_text_denies_another(text, given, expected):
    assert is_negation_of(text, given) is expected


def test_a_negation_governs_what_follows_up_to_the_comma():
    denial = find_denials("the tolls will not repay the debt, and the storms go on.")
    assert denial.heads == {stem("repay")}
    assert denial.scope == {stem("repay"), stem("debt")}


def test_who_denies_every_verb_says_nothing():
    assert negated_verb_share("it is not so. it was never so. it can't be. it has not been.") == 1.0
    assert negated_verb_share("it is not so.") == 0.25  # of four at least
    nots = STORM.replace(" had ", " had not ").replace("we cannot", "we could not")
    nots = nots.replace("were stranded", "were not stranded")
    speech = Speech("pro_0", "pro", "opening", nots)
    assert rules.judge_speech(TOPIC, (), speech)[1] == 0.0


def test_figures_may_be_reckoned_from_those_of_one_sentence():
    # 23 ambulances, one of them for 19 hours; 44 cents of each rate
    (sums,) = said("In the end 42 things happened, and 56 cents of the rate would be left.")
    assert find_invented_figures(TOPIC, (sums,), ()) == frozenset()
    (across,) = said("Together that is 163 of them.")  # 23 and 140 stand apart
    assert find_invented_figures(TOPIC, (across,), ()) == {"163"}


def test_headings_and_stars_do_not_count():
    assert [s.text for s in said("## Opening\n**First.** *We* go on.")] == [
        "Opening",
        "First.",
        "We go on.",
    ]


def test_a_speech_without_evidence_keeps_three_fifths():
    text = STORM.replace("23 ambulances had to wait", "ambulances had to wait")
    speech = Speech("pro_0", "pro", "opening", text)
    parts, gate = rules.judge_speech(TOPIC, (), speech)
    assert parts["evidence"] == 0.0
    assert gate == pytest.approx(0.6)
