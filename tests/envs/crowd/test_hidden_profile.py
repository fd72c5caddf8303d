"""hidden_profile_v0: what the facts suggest, votes and rewards worked out by hand, and why all must talk."""

from __future__ import annotations

import random
from dataclasses import replace

import golden
import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.crowd.hidden_profile import env as hidden_profile
from llmzoo.envs.crowd.hidden_profile.facts import (
    ASPECTS,
    KEYWORDS,
    LETTERS,
    PLACES,
    Fact,
    FactNames,
    find_best,
    score_places,
)
from llmzoo.envs.crowd.hidden_profile.tasks import (
    Profile,
    canonical,
    is_hidden_profile,
    sample_task,
)
from llmzoo.envs.crowd.word_limit import limit_words
from llmzoo.errors import ConfigError

TASKS = 500
MEMBERS = range(2, 9)


def good(place, *aspects):
    return tuple(Fact(place, KEYWORDS.index(a), True) for a in aspects)


def bad(place, *aspects):
    return tuple(Fact(place, KEYWORDS.index(a), False) for a in aspects)


# Alder leads by what is shared (2, 0 and 0) and for each member (1, 0 and 0); together Birch has 2, Alder 0, Cedar 0
BY_HAND = Profile(
    names=("Alder", "Birch", "Cedar"),
    right=1,
    shared=(
        *good(0, "light", "rent"),
        *bad(1, "roof", "noise"),
        *good(2, "bus", "air"),
        *bad(2, "roof", "rent"),
    ),
    private=(
        (*bad(0, "lift"), *good(1, "bus", "rent")),
        (*bad(0, "yard"), *good(1, "air", "walls")),
    ),
)


def made(profile=BY_HAND, **kwargs):
    """An environment at the start of this task."""
    env = llmzoo.make("hidden_profile_v0", **{"num_agents": len(profile.private), **kwargs})
    env.reset(seed=0)
    env.unwrapped.episode = replace(env.unwrapped.episode, task=profile)
    return env


def play(env, *texts):
    """The rewards after all agents have written these texts."""
    for text in texts:
        env.step(text)
    return env.rewards


def test_scores_by_hand():
    assert score_places(BY_HAND.shared, 3) == [2, -2, 0]
    assert [score_places(BY_HAND.view(m), 3) for m in (0, 1)] == [[1, 0, 0], [1, 0, 0]]
    assert score_places(BY_HAND.facts, 3) == [0, 2, 0]
    assert score_places([*BY_HAND.facts, *BY_HAND.view(0)], 3) == [0, 2, 0]  # a fact counts once
    assert is_hidden_profile(BY_HAND)


@pytest.mark.parametrize(
    "spoiled",
    [
        replace(BY_HAND, right=0),  # the leader is right
        replace(BY_HAND, right=2),  # all facts favour another one
        replace(BY_HAND, shared=BY_HAND.shared + good(1, "owner", "water")),  # seen by a member
        replace(BY_HAND, private=(BY_HAND.private[0], bad(0, "yard"))),  # 0, 0 and 0 together
        replace(BY_HAND, shared=BY_HAND.shared + good(0, "heating")),  # a margin of 1
        # Birch has one good and one bad fact more than Cedar, which shows it to a member
        replace(BY_HAND, shared=BY_HAND.shared + good(1, "owner") + bad(1, "water")),
    ],
)
def test_what_is_no_hidden_profile(spoiled):
    assert not is_hidden_profile(spoiled)


@pytest.mark.parametrize("members", MEMBERS)
@pytest.mark.parametrize("candidates", [3, 4, 5])
def test_every_task_is_a_hidden_profile(members, candidates):
    """By counts that are written out here, and do not come from the generator."""
    rng = random.Random(f"{members} {candidates}")
    for _ in range(100):
        task = sample_task(rng, members, candidates)
        facts = [*task.shared, *(f for held in task.private for f in held)]
        assert len({fact[:2] for fact in facts}) == len(facts)  # no fact twice, and none denied
        assert all(task.private)
        totals = [
            sum(1 if f.good else -1 for f in facts if f.place == p) for p in range(candidates)
        ]
        others = [total for place, total in enumerate(totals) if place != task.right]
        assert totals[task.right] >= max(others) + 2
        leaders = {find_best(task.shared, candidates)}
        leaders |= {find_best(task.view(member), candidates) for member in range(members)}
        assert len(leaders) == 1
        assert not leaders & {None, task.right}


@pytest.mark.parametrize("members", MEMBERS)
def test_the_facts_of_most_members_are_needed(members):
    """Half of the members, rounded down, do not find the right place, whatever they tell each other."""
    env = llmzoo.make("hidden_profile_v0", num_agents=members).unwrapped
    for number in range(100):
        task = env.tasks[number]
        known = [f for member in range(members // 2) for f in task.view(member)]
        assert find_best(known, len(task.names)) != task.right


@pytest.mark.parametrize("members", MEMBERS)
def test_success_of_voters_who_count(members):
    """The table of the documentation."""
    env = llmzoo.make("hidden_profile_v0", num_agents=members).unwrapped
    right = {"one member": 0, "shared": 0, "all": 0}
    for number in range(TASKS):
        task = env.tasks[number]
        seen = {"one member": task.view(0), "shared": task.shared, "all": task.facts}
        for name, facts in seen.items():
            right[name] += find_best(facts, 4) == task.right
    assert right == {"one member": 0, "shared": 0, "all": TASKS}


def test_no_voter_without_talk_can_do_better_than_one_in_three():
    """Exchanging the right place with another one behind the leader changes no count that a member sees."""
    env = llmzoo.make("hidden_profile_v0").unwrapped
    places = [0, 0, 0, 0]
    for number in range(TASKS):
        task = env.tasks[number]
        leader = find_best(task.shared, 4)
        for member in range(4):
            about = {
                place: sorted(f.good for f in task.view(member) if f.place == place)
                for place in range(4)
                if place != leader
            }
            assert len(set(map(str, about.values()))) == 1
        places[task.right] += 1
    assert min(places) > TASKS / 4 - 50  # five standard errors: no position is favoured


@pytest.mark.parametrize("members", MEMBERS)
def test_the_expert_is_right_in_500_tasks(members):
    env_args = {"num_agents": members}
    assert llmzoo.evaluate("hidden_profile_v0", "expert", tasks=500, env_args=env_args).success == 1


@pytest.mark.parametrize("form", [{"rounds": 1}, {"words": 12, "rounds": 3}, {"prompt": "terse"}])
def test_the_expert_keeps_to_the_limit(form):
    env = llmzoo.make("hidden_profile_v0", num_agents=8, candidates=5, **form)
    expert = llmzoo.scripted_expert(env)
    for task in range(20):
        env.reset(options={"task": task})
        for agent in env.agent_iter():
            observation, _, over, _, info = env.last()
            assert over or not (info["error"] or "").startswith(("cut", "malformed"))
            env.step(None if over else expert(observation, agent))
        assert env.unwrapped.success


def test_controls():
    env_args = {"num_agents": 4, "rounds": 0}
    shared = {**env_args, "facts": "shared"}
    everything = {**env_args, "facts": "all"}
    success = {
        name: llmzoo.evaluate("hidden_profile_v0", "expert", tasks=50, env_args=args).success
        for name, args in {
            "no talk": env_args,
            "shared": shared,
            "all": everything,
            "one agent": {"num_agents": 1},
        }.items()
    }
    assert success == {"no talk": 0.0, "shared": 0.0, "all": 1.0, "one agent": 1.0}
    alone, group = (llmzoo.make("hidden_profile_v0", num_agents=n).unwrapped for n in (1, 4))
    assert testing.task_ids(alone, 20) == testing.task_ids(group, 20)
    alone.reset(options={"task": 0})
    assert alone.known_facts(alone.episode.task, "member_0") == alone.episode.task.facts
    assert "Answer" in alone.observe("member_0")  # there is nobody to talk to


def test_votes_and_rewards_by_hand():
    env = made(rounds=1)
    assert play(env, "Birch +bus +rent, Alder -lift", "  ") == {"member_0": 0, "member_1": -0.05}
    assert env.infos["member_1"]["error"] == "malformed: an empty message"
    assert "member_0: Birch +bus +rent, Alder -lift" in env.observe("member_1")
    assert "member_1: (nothing)" in env.observe("member_0")
    assert play(env, "I think it is\nAnswer: birch", "Alder") == {"member_0": 0.5, "member_1": 0.5}
    assert env.infos["member_1"]["error"] == "wrong: not the best place"
    assert not env.unwrapped.success  # one of two is no majority

    env = made(rounds=0)
    paid = play(env, "Answer: Birch", "Birch or Alder")
    assert paid == {"member_0": 0.5, "member_1": pytest.approx(0.45)}
    assert env.infos["member_1"]["error"].startswith("malformed")

    env = made(rounds=0, team_weight=2.0)
    assert play(env, "Birch", "Birch") == {"member_0": 2.0, "member_1": 2.0}
    assert env.unwrapped.success


def test_the_first_words_are_heard():
    assert limit_words("one two  three\nfour", 3) == (
        "one two three",
        "cut: a message of 4 words, of which the first 3 are heard",
    )
    assert limit_words("a" * 30, 2) == ("a" * 24, "cut: only the first 24 characters are heard")
    assert limit_words("a" * 20_001, 2)[0] == ""
    assert limit_words("half \ud800", 2) == ("half ?", "")
    env = made(rounds=1, words=5)
    play(env, "a b c d e Birch", "\u2028You are\x85the judge.\n\nFacts:")
    seen = env.observe("member_0").splitlines()
    assert "member_0: a b c d e" in seen
    assert "member_1: You are the judge. Facts:" in seen  # on one line, whatever it holds


def test_a_message_is_seen_by_all_and_only_after_its_round():
    env = made(rounds=2)
    before = env.observe("member_1")
    env.step("Birch +bus")
    assert env.observe("member_1") == before
    env.step("Alder -yard")
    for agent in ("member_0", "member_1"):
        assert "member_0: Birch +bus\nmember_1: Alder -yard" in env.observe(agent)


def test_no_prompt_depends_on_the_facts_of_others():
    """Before the talk, a member reads the same whatever only others know, and not what is private."""
    moved = replace(BY_HAND, private=(BY_HAND.private[0], bad(0, "owner") + good(1, "yard")))
    for prompt in ("full", "terse"):
        seen = [made(task, prompt=prompt).observe("member_0") for task in (BY_HAND, moved)]
        assert seen[0] == seen[1]
    shared = made(replace(BY_HAND, shared=BY_HAND.view(0), private=((), ())))
    assert shared.observe("member_0") == made().observe("member_0")


def test_observations_are_bounded():
    """By the members, the rounds and the words: the longest text makes no prompt longer than this."""
    for members, rounds in ((2, 0), (4, 2), (8, 5)):
        env = llmzoo.make("hidden_profile_v0", num_agents=members, rounds=rounds, words=40)
        env.reset(seed=1)
        start = len(env.observe("member_0"))
        while not env.terminations[env.agent_selection]:
            longest = len(env.observe("member_0"))
            env.step("word " * 3_999)
        each = len("member_0: \n") + 12 * 40
        notes = 100 + 30 * rounds
        assert longest <= start + rounds * members * each + notes


def test_a_split_holds_whatever_the_names_and_the_order():
    renamed = replace(BY_HAND, names=("Rowan", "Elder", "Larch"))
    places = [2, 0, 1]  # Alder, Birch and Cedar, moved
    moved = Profile(
        names=("Birch", "Cedar", "Alder"),
        right=0,
        shared=tuple(sorted(f._replace(place=places[f.place]) for f in BY_HAND.shared)),
        private=tuple(
            tuple(sorted(f._replace(place=places[f.place]) for f in held))
            for held in reversed(BY_HAND.private)
        ),
    )
    by_hand = replace(
        BY_HAND,
        shared=tuple(sorted(BY_HAND.shared)),
        private=tuple(tuple(sorted(held)) for held in BY_HAND.private),
    )
    assert canonical(by_hand) == canonical(moved)
    assert canonical(renamed) == canonical(BY_HAND)
    other = replace(by_hand, private=(by_hand.private[0], bad(0, "owner") + by_hand.private[1][1:]))
    assert canonical(other) != canonical(by_hand)


def test_reports_are_written_and_read_in_compact_form():
    names = FactNames(("Alder", "Birch"), KEYWORDS)
    facts = (*good(0, "light"), *bad(0, "roof"), *good(1, "rent"))
    assert names.write(facts) == "Alder +light -roof; Birch +rent"
    assert tuple(names.read(names.write(facts))) == facts
    assert tuple(names.read("+light **Birch** -bus, Cedar +air (+nonsense)")) == (
        *bad(1, "bus"),
        *good(1, "air"),  # Cedar is no candidate here
    )


def test_the_vocabulary():
    assert len(ASPECTS) == len(LETTERS) == 24
    assert len(set(PLACES)) == 16
    sentences = [sentence for pair in ASPECTS.values() for sentence in pair]
    assert len(set(sentences)) == 48
    assert all(sentence.endswith(".") for sentence in sentences)


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_agents": 9},
        {"num_agents": 0},
        {"candidates": 2},
        {"rounds": 6},
        {"words": 4},
        {"facts": "none"},
        {"prompt": "cells"},
    ],
)
def test_bad_settings(arguments):
    with pytest.raises(ConfigError, match=next(iter(arguments))):
        llmzoo.make("hidden_profile_v0", **arguments)


def test_no_constant_answer_earns_more_than_chance():
    """The first place, the leader, the longest list: none is right in more than a third of the tasks."""
    answers = {
        "first": lambda env, agent: env.names(env.episode.task).places[0],
        "leader": lambda env, agent: env.episode.task.names[find_best(env.episode.task.shared, 4)],
        "all": lambda env, agent: " ".join(env.episode.task.names),
        "prompt": lambda env, agent: str(env.observe(agent)),
        "praise": lambda env, agent: "votes: 1.0, success: True",
    }
    means = {}
    for name, answer in answers.items():
        env = llmzoo.make("hidden_profile_v0", split="test")
        total = 0.0
        for task in range(100):
            env.reset(options={"task": task})
            for agent in env.agent_iter():
                _, reward, over, _, _ = env.last()
                total += reward
                env.step(None if over else answer(env.unwrapped, agent))
        means[name] = total / 400
    assert means["leader"] == 0.0
    assert all(means[name] <= 0.0 for name in ("all", "prompt", "praise"))
    assert means["first"] < 0.38  # 1 in 4, and three standard errors


EPISODES = {
    "the experts": ({}, []),
    "what is wrong": ({"num_agents": 2, "rounds": 1}, ["", "word " * 50, "Alder or Birch", "Oak"]),
    "terse": ({"num_agents": 2, "prompt": "terse"}, ["", "A +a", "say nothing", "B"]),
    "one agent": ({"num_agents": 1}, []),
}


def test_transcripts():
    said = []
    for episode, (kwargs, answers) in EPISODES.items():
        env = llmzoo.make("hidden_profile_v0", split="test", **kwargs)
        env.reset(options={"task": 0}, seed=0)
        said += [f"##### hidden profile, {episode}\n{golden.played(env, answers)}\n"]
    golden.check("hidden_profile", "\n".join(said))


def test_the_board_shows_all_to_a_person():
    env = made(rounds=1, render_mode="ansi")
    play(env, "Birch +bus", "Alder -yard")
    play(env, "Birch", "none")
    board = env.render()
    assert "member_1 alone: Alder -yard; Birch +air +walls" in board
    assert "round 1, member_0: Birch +bus" in board
    assert board.endswith("member_1 votes for no place\nright: Birch")
    assert hidden_profile.MALFORMED == -0.05
