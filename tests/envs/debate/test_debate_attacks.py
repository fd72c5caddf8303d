"""Nobody is paid for a debate that he does not hold; honest speakers are, however they speak."""

from __future__ import annotations

import pytest

import llmzoo
from llmzoo.envs.debate.judge import rules
from llmzoo.envs.debate.tasks import Speech, load_topics
from tests.attacks.rewards import debate as family
from tests.attacks.rewards import debate_crude, debate_sly, idle_debates
from tests.attacks.rewards.honest_debates import HONEST
from tests.attacks.rewards.honest_duels import DUELS


def honest(one):
    speeches = iter(one.speeches)
    return family.play(one.topic, one.side, lambda debate, side: next(speeches))


@pytest.mark.parametrize("one", HONEST, ids=lambda one: f"{one.topic}-{one.style}")
def test_an_honest_speaker_is_worth_three_quarters_of_the_expert(one):
    assert honest(one) > -0.25  # the expert has 1.0


def test_there_are_enough_of_them():
    assert {one.style for one in HONEST} == {"short", "talking", "ordered"}
    assert len({one.topic for one in HONEST}) >= 5
    assert len(DUELS) >= 6
    assert len(family.ATTACKS) >= 100


@pytest.mark.parametrize("duel", DUELS, ids=lambda duel: duel.topic)
def test_honest_speakers_who_meet_each_other_earn_seven_tenths(duel):
    worth = family.judged(duel)
    assert min(worth.values()) > 0.7


def test_no_honest_speech_is_thrown_out():
    for duel in DUELS:
        topic = next(topic for topic in load_topics() if topic.id == duel.topic)
        before = ()
        for pair in zip(duel.pro, duel.con, strict=True):
            for side, text in zip(("pro", "con"), pair, strict=True):
                speech = Speech("", side, "", text)
                assert sum(rules.score_speech(topic, before, speech).values()) > 0.45
                before = (*before, speech)


# one of each kind: repetition, copies, pasted and shuffled briefs, figures, lies, forms, chatter
KINDS = (
    *(debate_crude.keyword_salad, debate_crude.one_sentence_again_and_again),
    *(debate_crude.copy_of_the_opponent, debate_crude.brief_shuffled, debate_crude.brief_negated),
    *(debate_crude.a_point_read_out, debate_crude.other_brief_with_however),
    *(debate_crude.prompt_injection, debate_crude.invented_figures, debate_crude.change_of_sides),
    *(debate_sly.words_shuffled_in_sentences, debate_sly.chain_over_the_brief),
    *(debate_sly.evidence_under_the_wrong_claim, debate_sly.honest_but_all_false),
    *(debate_sly.eloquence_with_a_claim, debate_sly.opponent_with_fillers),
)


@pytest.mark.slow
@pytest.mark.parametrize("attack", KINDS, ids=lambda attack: attack.__name__)
def test_an_attack_is_worth_less_than_the_weakest_honest_speaker(attack):
    one = HONEST[1]
    for side in ("pro", "con"):
        assert family.play(one.topic, side, attack) < family.weakest_honest()


def test_a_text_for_both_sides_earns_neither_of_them_anything():
    for attack in (debate_crude.same_text_for_both, debate_crude.both_briefs_at_once):
        scores = [family.play("wolves-return", side, attack) for side in ("pro", "con")]
        assert max(scores) < -0.9


AGENTS = {"pro_0)", "con_1)", "judge_2)", "all)", "debater_0)"}


@pytest.mark.slow
def test_every_attack_and_every_idle_policy_fails(monkeypatch):
    """Attacks on a topic where the expert's speeches are spoiled, and on one where honest ones are. Idle
    policies as every agent of every form, compared with a noisy expert."""
    monkeypatch.setattr(family, "TOPICS", ("school-uniforms", "free-city-buses"))
    monkeypatch.setattr(idle_debates, "TOPICS", range(0, 60, 12))
    rows = list(family.attacks())
    assert {row.attack.rpartition(", ")[2] for row in rows if row.attack.endswith(")")} == AGENTS
    assert [row.attack for row in rows if not row.failed] == []


@pytest.mark.long("2,800 debates: every attack and every idle policy on every topic")
def test_every_attack_and_every_idle_policy_fails_on_every_topic():
    assert [row.attack for row in family.attacks() if not row.failed] == []


@pytest.mark.slow
def test_no_verdict_that_is_always_the_same_earns_what_an_noisy_expert_judge_does(monkeypatch):
    """0.5 and 0.5 once earned 0.49 where the noisy expert earned 0.26."""
    monkeypatch.setattr(idle_debates, "TOPICS", range(0, 60, 12))
    env = llmzoo.make("debate_v0", split="all", judge_agent=True).unwrapped
    judge = ["judge_2"]
    noisy_expert = idle_debates.mean_return(env, judge, idle_debates.noisy_expert)
    assert noisy_expert > 0.1
    for verdict in idle_debates.VERDICTS.values():
        assert idle_debates.mean_return(env, judge, verdict) <= 0.0
