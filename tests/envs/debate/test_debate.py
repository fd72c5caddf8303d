"""The debate environment: turns, pay, the judge's agent, and one who debates alone."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

import llmzoo
from llmzoo.envs.debate.env import DebateEnv
from llmzoo.envs.debate.judge import rules, verdicts
from llmzoo.envs.debate.tasks import (
    MAX_CHARS,
    MAX_WORDS,
    clean_speech,
    load_topics,
    other_side,
    phase_of,
)
from llmzoo.errors import ConfigError
from llmzoo.policies import load


def started(task=0, seed=0, **kwargs):
    env = DebateEnv(split="all", **kwargs)
    env.reset(seed=seed, options={"task": task})
    return env


def play(env, speak=None):
    """Returns by agent; ``speak(agent)`` gives an answer, or None for the expert's."""
    total = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        total[agent] += reward
        if terminated or truncated:
            env.step(None)
            continue
        said = speak(agent) if speak else None
        env.step(env.expert(agent) if said is None else said)
    return total


def test_each_side_reads_its_own_brief_and_all_that_was_said():
    env = started()
    topic = env.episode.debate.topic
    opening = env.expert("pro_0")
    env.step(opening)
    read = env.observe("con_1")
    assert opening in read
    assert topic.motion in read
    assert all(point.evidence in read for point in topic.con.points)
    unsaid = [p.evidence for p in topic.pro.points if p.evidence not in opening]
    assert unsaid
    assert not any(evidence in read for evidence in unsaid)
    hidden = (*topic.pro.replies, *topic.con.replies)
    assert not any(reply in env.observe(a) for a in env.agents for reply in hidden)


def test_agents_speak_in_turn_through_the_phases():
    env = started(per_side=2, judge_agent=True, max_turns=3)
    assert env.possible_agents == ["pro_0", "con_1", "pro_2", "con_3", "judge_4"]
    play(env)
    spoken = [(speech.agent, speech.phase) for speech in env.episode.debate.speeches]
    assert spoken[:5] == [
        ("pro_0", "opening"),
        ("con_1", "opening"),
        ("pro_2", "opening"),
        ("con_3", "opening"),
        ("pro_0", "rebuttal"),
    ]
    assert spoken[-1] == ("con_3", "closing")
    assert len(spoken) == 12
    assert [phase_of(i, 2) for i in range(2)] == ["opening", "closing"]
    assert [phase_of(i, 4) for i in range(4)] == ["opening", "rebuttal", "rebuttal", "closing"]


def test_zero_sum_pays_one_side_what_the_other_loses():
    env = started()
    total = play(env, lambda agent: "I would rather not." if agent == "con_1" else None)
    # the expert's three speeches earn 1 in all, silence nothing
    assert total == pytest.approx({"pro_0": 1.0, "con_1": -1.0})


def ended(env, silent=()):
    """The infos at the end, of a debate in which some agents say nothing."""
    infos = {}
    for agent in env.agent_iter():
        *_, terminated, truncated, infos[agent] = env.last()
        over = terminated or truncated
        env.step(None if over else "" if agent in silent else env.expert(agent))
    return infos


@pytest.mark.parametrize(
    ("silent", "outcomes", "success"),
    [
        # who wins succeeds; a good draw is a success of both, a silent one of neither
        (("con_1",), ("won", "lost"), (True, False)),
        (("pro_0",), ("lost", "won"), (False, True)),
        ((), ("drawn", "drawn"), (True, True)),
        (("pro_0", "con_1"), ("drawn", "drawn"), (False, False)),
    ],
)
def test_in_a_zero_sum_debate_each_side_has_a_success_of_its_own(silent, outcomes, success):
    env = started()
    infos = ended(env, silent)
    assert infos["pro_0"]["outcomes"] == dict(zip(("pro_0", "con_1"), outcomes, strict=True))
    assert tuple(info["success"] for info in infos.values()) == success
    assert env.success is success[0]


def test_teams_win_together_and_a_judge_who_sees_it_succeeds():
    infos = ended(started(per_side=2, judge_agent=True), ("con_1", "con_3"))
    won = {"pro_0": "won", "con_1": "lost", "pro_2": "won", "con_3": "lost"}
    assert infos["con_3"]["outcomes"] == infos["judge_4"]["outcomes"] == won
    assert [info["success"] for info in infos.values()] == [True, False, True, False, True]
    infos = ended(started(judge_agent=True), ("con_1", "judge_2"))
    assert infos["judge_2"]["outcomes"] == {"pro_0": "drawn", "con_1": "drawn"}
    assert not any(info["success"] for info in infos.values())


def test_a_cooperative_debate_has_one_success_of_all():
    infos = ended(started(reward="cooperative", judge_agent=True))
    assert [info["success"] for info in infos.values()] == [True] * 3
    assert "outcomes" not in infos["pro_0"]
    infos = ended(started(reward="cooperative"), ("con_1",))
    assert [info["success"] for info in infos.values()] == [False] * 2


@pytest.mark.slow
def test_evaluations_report_who_wins():
    agents = {"pro_0": load("expert"), "con_1": load("noisy_expert")}
    result = llmzoo.evaluate("debate_v0", agents, tasks=6, split="all")
    agents = {"pro_0": load("noisy_expert"), "con_1": load("expert")}
    other = llmzoo.evaluate("debate_v0", agents, tasks=6, split="all")
    for one, winner, loser in ((result, "pro_0", "con_1"), (other, "con_1", "pro_0")):
        assert one.win_rate[winner] > 0.6
        assert one.win_rate[loser] == 0.0
        assert one.win_rate[winner] + one.draws == pytest.approx(1.0)
    assert result.success >= result.win_rate["pro_0"]
    assert other.success <= other.draws
    assert llmzoo.evaluate("debate_v0", "expert", tasks=2).draws == 1.0
    together = {"reward": "cooperative"}
    assert llmzoo.evaluate("debate_v0", "expert", tasks=2, env_args=together).win_rate is None


def test_a_speech_is_paid_when_it_is_made():
    env = started()
    env.step(env.expert("pro_0"))
    assert env.rewards == pytest.approx({"pro_0": 1 / 3, "con_1": -1 / 3})
    parts = env.infos["pro_0"]["reward_components"]
    assert parts == pytest.approx(
        {**{name: weight / 3 for name, weight in rules.WEIGHTS.items()}, "opponent": 0.0}
    )
    assert env.infos["con_1"]["reward_components"]["opponent"] == pytest.approx(-1 / 3)


def test_cooperative_pays_all_the_mean_of_both_sides():
    def no_con(agent):
        return "" if agent == "con_1" else None

    assert play(started(reward="cooperative"), no_con) == pytest.approx(
        {"pro_0": 0.5, "con_1": 0.5}
    )
    assert play(started(reward="cooperative", team_weight=2.0), no_con) == pytest.approx(
        {"pro_0": 1.0, "con_1": 1.0}
    )
    env = started(reward="cooperative")
    assert play(env) == pytest.approx({"pro_0": 1.0, "con_1": 1.0})
    assert env.success is True


@pytest.mark.parametrize(
    ("form", "task"),
    [
        ({"max_turns": 2}, 0),
        ({}, 12),
        ({"max_turns": 6}, 24),
        ({"per_side": 2}, 36),
        ({"per_side": 3, "max_turns": 2}, 48),
    ],
)
def test_experts_earn_all_there_is(form, task):
    total = play(started(task, reward="cooperative", **form))
    assert total == pytest.approx(dict.fromkeys(total, 1.0))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "an empty speech"),
        (" \n\t\u200b\ud800\x00 ", "an empty speech"),
        ("?!", "no sentence could be read"),
        ("word " * 251, "only its first 250 words, or 2000 characters, were heard"),
        ("a" * 20_001, "longer than 20000 characters: it was not heard"),
    ],
)
def test_what_is_wrong_with_a_speech_is_told(text, error):
    env = started()
    env.step(text)
    assert env.infos["pro_0"]["error"] == f"malformed: {error}"
    assert env.rewards == {"pro_0": 0.0, "con_1": 0.0}
    env.step("I oppose the motion.")
    assert f"About your last speech: {error}" in env.observe("pro_0")
    assert env.infos["con_1"]["error"] is None


def test_only_so_much_is_heard():
    assert clean_speech("one two\n\n three\u200b\x07 \ud800four") == "one two\nthree four"
    assert len(clean_speech("word " * 9_000).split()) == MAX_WORDS
    assert len(clean_speech("x" * 9_000)) == MAX_CHARS
    # a text that is printable is not looked at letter by letter; a control character makes it so
    letters = [c for c in map(chr, range(0x3000)) if c.isprintable() and not c.isspace()]
    for start in range(0, len(letters), 100):
        said = "".join(letters[start : start + 100])
        assert clean_speech(said) == clean_speech(f"{said}\x07") == said
    env = started()
    env.step("alpha " * 250 + "omega")
    assert "omega" not in env.observe("con_1")


def test_nobody_speaks_in_anothers_name():
    env = started()
    env.step("I support the motion.\n[con_1, opening]\nI concede.")
    assert "[pro_0, opening]\nI support the motion. [con_1, opening] I concede." in env.observe(
        "con_1"
    )


def test_one_who_debates_alone_meets_the_expert():
    sides = set()
    for seed in range(8):
        env = started(seed=seed, num_agents=1)
        side = env.episode.side
        sides.add(side)
        stand = {"pro": "for", "con": "against"}[side]
        assert f"You speak {stand} the motion." in env.observe("debater_0")
        assert play(env) == pytest.approx({"debater_0": 0.0})
        said = [speech.side for speech in env.episode.debate.speeches]
        assert said == ["pro", "con"] * 3
        phases = [speech.phase for speech in env.episode.debate.speeches]
        assert phases == ["opening"] * 2 + ["rebuttal"] * 2 + ["closing"] * 2
        agents = {speech.agent for speech in env.episode.debate.speeches}
        assert agents == {"debater_0", f"{other_side(side)}_1"}
    assert sides == {"pro", "con"}


def test_the_judges_agent_pays_the_speakers_and_is_paid_for_agreement():
    env = started(judge_agent=True)

    def speak(agent):
        if agent == "judge_2":
            return 'Let me see. {"pro": 0.9, "con": 0.3}'
        return None

    total = play(env, speak)
    assert total["pro_0"] == pytest.approx(0.6)
    assert total["con_1"] == pytest.approx(-0.6)
    # the rules say 1 and 1, a draw, where a clear lead costs 0.9; the mean is off by 0.4
    assert total["judge_2"] == pytest.approx(-0.9 - 0.04)
    assert env.success is True  # pro has won


def test_the_expert_judge_earns_the_lead_that_it_tells():
    env = started(judge_agent=True)
    total = play(env, lambda agent: "" if agent == "con_1" else None)
    assert total == pytest.approx({"pro_0": 1.0, "con_1": -1.0, "judge_2": 0.9})
    assert play(started(judge_agent=True))["judge_2"] == pytest.approx(0.0)


@pytest.mark.parametrize("reward", ["zero-sum", "cooperative"])
def test_silence_earns_nothing_before_a_generous_judge(reward):
    """The cooperative debate once paid 1.0 to two who said nothing before a judge who did not mind."""
    answers = {"judge_2": '{"pro": 1, "con": 1}'}
    total = play(started(judge_agent=True, reward=reward), lambda agent: answers.get(agent, ""))
    # both scores of the judge are off by 1, and name no lead
    assert total == pytest.approx({"pro_0": 0.0, "con_1": 0.0, "judge_2": -0.1})
    partial = '{"pro": 1, "con": 0}'
    silent = started(judge_agent=True, reward=reward)
    total = play(silent, lambda agent: {"judge_2": partial, "pro_0": ""}.get(agent))
    assert total["pro_0"] == total["con_1"] == 0.0


def test_the_judges_agent_can_only_take_from_what_the_rules_give():
    env = started(judge_agent=True, reward="cooperative")
    scores = iter(['{"pro": 1, "con": 1}', '{"pro": 0.5, "con": 0.5}', '{"pro": 0.5, "con": 1}'])
    total = play(env, lambda agent: next(scores) if agent == "judge_2" else None)
    assert total["pro_0"] == pytest.approx(0.75)
    env = started(judge_agent=True, reward="cooperative")
    generous = {"judge_2": '{"pro": 1, "con": 1}', "con_1": "", "pro_0": None}
    # one side's three speeches of two sides'
    assert play(env, generous.get)["con_1"] == pytest.approx(0.5)


def test_a_verdict_that_cannot_be_read_changes_nothing():
    env = started(judge_agent=True)
    answers = iter(['{"pro": 0.6, "con": 0.0}', "Both were nice.", "{}"])
    total = play(env, lambda agent: next(answers) if agent == "judge_2" else None)
    # 0.6 for a third of the debate, and no word on the rest
    assert total["pro_0"] == pytest.approx(0.2)
    # the rules say 1 and 1: a clear lead, 0.7 off, and twice no verdict
    assert total["judge_2"] == pytest.approx((-0.9 - 0.07 - 1 - 1) / 3)


def test_what_is_wrong_with_a_verdict_is_told():
    env = started(judge_agent=True)
    for text in (env.expert("pro_0"), env.expert("con_1"), "Both were nice."):
        env.step(text)
    assert env.infos["judge_2"]["error"].startswith("malformed: no scores found")
    assert "About your last answer: no scores found" in env.observe("judge_2")


@pytest.mark.parametrize(
    ("text", "scores"),
    [
        ('{"pro": 1, "con": 0.25}', (1.0, 0.25)),
        ('First {"pro": 0.1, "con": 0.2}, no: {"pro": 0.3, "con": 0.4}.', (0.3, 0.4)),
        ("Pro: 0.7, Con: 0.5", (0.7, 0.5)),
        ("pro=0.7 con=1", (0.7, 1.0)),
    ],
)
def test_verdicts_that_can_be_read(text, scores):
    assert tuple(verdicts.parse_verdict(text)[side] for side in ("pro", "con")) == scores


@pytest.mark.parametrize(
    "text",
    [
        *("", "pro", "pro 0.9", '{"pro": 2, "con": 0}', '{"pro": true, "con": false}'),
        *('{"pro": NaN, "con": 0}', '{"pro": "1", "con": "0"}', '{"pro": -0.1, "con": 0}'),
        *("{" * 20_000, "pro: 17, con: 12", '{"pro": 1' + "0" * 400 + ', "con": 0}'),
    ],
)
def test_verdicts_that_cannot(text):
    with pytest.raises(verdicts.NoVerdict):
        verdicts.parse_verdict(text)


@pytest.mark.parametrize(
    ("verdict", "right", "expected"),
    [
        ((0.8, 0.4), (0.8, 0.4), 0.9),  # from 0.25 a lead counts in full
        ((0.7, 0.4), (0.8, 0.4), 0.9 - 0.1 * 0.05),
        ((0.6, 0.5), (0.6, 0.5), 0.9 * 0.4),  # 0.1 of 0.25
        ((0.6, 0.5), (0.8, 0.4), 0.9 * (1 - 0.6) - 0.1 * 0.05),
        ((0.5, 0.5), (0.8, 0.4), -0.1 * 0.1),
        ((0.4, 0.8), (0.8, 0.4), -0.9),
        ((0.0, 1.0), (1.0, 0.0), -0.9),
        ((1.0, 0.0), (0.3, 0.3), -0.9 - 0.1 * 0.2),
        ((0.5, 0.5), (0.5, 0.5), 0.0),
    ],
)
def test_agreement(verdict, right, expected):
    named = [dict(zip(("pro", "con"), scores, strict=True)) for scores in (verdict, right)]
    assert verdicts.score_agreement(*named) == pytest.approx(expected)


@pytest.mark.parametrize("verdict", [(0.5, 0.5), (1, 1), (0, 0), (0.7, 0.4), (1, 0), (0.5, 0.6)])
@pytest.mark.parametrize("right", [(0.9, 0.1), (0.55, 0.45), (0.3, 0.3), (1.0, 1.0)])
def test_one_verdict_always_earns_nothing(verdict, right):
    """Where the sides are as often ahead; and reading none is worse than any verdict."""
    paid = [
        verdicts.score_agreement(dict(zip(("pro", "con"), verdict, strict=True)), right)
        for right in (
            dict(zip(("pro", "con"), right, strict=True)),
            dict(zip(("con", "pro"), right, strict=True)),
        )
    ]
    assert sum(paid) <= 1e-9
    assert min(paid) >= verdicts.WORST


def test_a_judge_of_ones_own_is_asked_once_at_the_end():
    asked = []

    def judge(debate):
        asked.append(len(debate.speeches))
        return {"pro": 0.75, "con": 0.25}

    env = started(judge=judge)
    assert play(env) == pytest.approx({"pro_0": 0.5, "con_1": -0.5})
    assert asked == [6]
    assert env.success is True  # 0.75 to 0.25


@pytest.mark.parametrize(
    "scores",
    [
        *({"pro": 0.5}, {"pro": 1.5, "con": 0.0}, {"pro": float("nan"), "con": 0.0}, None, [1, 0]),
        {"pro": "1", "con": 0},
    ],
)
def test_a_judge_that_returns_something_else(scores):
    with pytest.raises(ConfigError, match="scores from 0 to 1"):
        play(started(judge=lambda debate: scores))


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"reward": "mixed"}, "zero-sum"),
        ({"max_turns": 1}, "max_turns at least 2"),
        ({"per_side": 4, "max_turns": 2}, "product at most 6"),
        ({"num_agents": 3}, "num_agents must be 2"),
        ({"num_agents": 1, "per_side": 2}, "num_agents must be 4"),
        ({"num_agents": 2, "judge_agent": True}, "num_agents must be 3"),
        ({"judge": "endpoint"}, "needs endpoint"),
        ({"judge": "endpoint", "endpoint": 5}, "must be an Endpoint"),
        ({"judge": "mood"}, "'rules', 'endpoint' or a function"),
        ({"endpoint": {"model": "m"}}, "judge='endpoint' only"),
        ({"judge": lambda debate: {}, "judge_agent": True}, "needs judge='rules'"),
        ({"prompt": "terse"}, "prompt must be one of full"),
        ({"split": "validation"}, "split"),
    ],
)
def test_arguments_that_cannot_be_used(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        DebateEnv(**kwargs)


@pytest.mark.slow
def test_the_noisy_expert_plays_worse_than_the_expert():
    rng = random.Random(0)
    returns = []
    for task in range(20):
        env = started(task, reward="cooperative")
        returns.append(play(env, lambda agent, env=env: env.noisy_expert(agent, rng))["pro_0"])
    assert 0.2 < sum(returns) / 20 < 0.5


@pytest.mark.slow
def test_the_noisy_expert_judge_errs_and_tells_the_sides_apart_all_the_same():
    rng = random.Random(0)
    paid = []
    for task in range(20):
        env = started(task, judge_agent=True)
        paid.append(play(env, lambda agent, env=env: env.noisy_expert(agent, rng))["judge_2"])
    assert 0.1 < sum(paid) / 20 < 0.7


def test_parallel_form_and_registry():
    env = llmzoo.parallel("debate_v0", split="test")
    observations, _ = env.reset(seed=0)
    assert sorted(observations) == ["con_1", "pro_0"]
    assert llmzoo.spec("debate_v0").family == "debate"


def test_the_state_is_replaced_and_never_changed():
    env = started()
    before = env.episode
    kept = replace(before)
    env.step(env.expert("pro_0"))
    assert env.episode is not before
    assert before == kept


def test_infos_are_plain_data():
    env = started()
    env.step("no")
    assert json.loads(json.dumps(env.infos["pro_0"]))["source"] == "shipped"
    assert len(load_topics()) >= 60
