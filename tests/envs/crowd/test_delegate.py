"""delegate_v0: who joins and leaves, what each agent reads and is paid, and how texts are read."""

from __future__ import annotations

import random
import re
from functools import partial

import pytest
from tiny_models import FakePolicy

import llmzoo
from llmzoo import testing
from llmzoo.envs.crowd.delegate import reading
from llmzoo.envs.crowd.delegate.env import Delegate
from llmzoo.envs.crowd.delegate.state import DelegateState
from llmzoo.envs.crowd.delegate.tasks import MONTHS, DelegateTask, Order, Page, Price, Question
from llmzoo.envs.text import MalformedError
from llmzoo.errors import ConfigError
from llmzoo.parallel_forms import to_parallel
from llmzoo.rollout import agent_turn_tree, joint_tree, run_rollouts
from llmzoo.spaces import FreeText

TASK = DelegateTask(
    (
        Page("March", (Order(2, "Mira", 3, "lamps"), Order(5, "Tomas", 4, "lamps"))),
        Page("May", (Price(1, "lamps", 5), Order(3, "Olga", 9, "lamps"))),
        Page("June", (Order(4, "Lena", 7, "bowls"),)),
        Page("July", (Order(8, "Lena", 6, "bowls"),)),
    ),
    Question("total", "lamps", ("March", "May")),  # 7 + 9
)
PLAN = "March: how many lamps?\nMay: how many lamps?"


def delegate(task=TASK, **settings):
    env = llmzoo.make("delegate_v0", **settings)
    env.reset(seed=0)
    env.unwrapped.episode = DelegateState(task, env.unwrapped.first_phase)
    return env


def play(env, texts):
    """Steps with the texts; returns the reward components and the error of every agent, as it leaves."""
    texts = iter(texts)
    paid, errors = {}, {}
    for agent in env.agent_iter():
        _, _, terminated, truncated, info = env.last()
        for name, value in info["reward_components"].items():
            parts = paid.setdefault(agent, {})
            parts[name] = round(parts.get(name, 0.0) + value, 9)
        if info["error"]:
            errors.setdefault(agent, []).append(info["error"])
        env.step(None if terminated or truncated else next(texts))
    assert next(texts, None) is None
    return paid, errors


def test_who_joins_and_leaves():
    env = delegate()
    assert env.agents == ["lead_0"]
    env.step(PLAN)
    assert env.agents == ["lead_0", "worker_1", "worker_2"]
    assert env.unwrapped.agents_to_act() == ["worker_1", "worker_2"]
    env.step("7")
    assert env.agent_selection == "worker_2"
    env.step("9")
    assert [a for a in env.agents if env.terminations[a]] == ["worker_1", "worker_2"]
    env.step(None)
    env.step(None)
    assert (env.agents, env.agent_selection) == (["lead_0"], "lead_0")
    env.step("16")
    assert env.infos["lead_0"]["success"]
    env.step(None)
    assert env.agents == []


def test_what_right_texts_are_paid():
    paid, errors = play(delegate(), [PLAN, "It is 7.", "9 lamps", "7 + 9 = 16"])
    assert paid == {
        "lead_0": {"plan": 0.1, "form": 0.1, "found": 0.3, "solved": 1.0},  # 1.5
        "worker_1": {"value": 0.15, "form": 0.05, "found": 0.3},  # 0.5
        "worker_2": {"value": 0.15, "form": 0.05, "found": 0.3},
    }
    assert errors == {}


@pytest.mark.parametrize(
    ("texts", "lead", "workers"),
    [
        # one of three pages named or needed, of which the part is reported
        (
            ["March: count\nJune: count", "7", "7", "16"],
            {"plan": 0.033333333, "form": 0.1, "found": 0.15, "solved": 1.0},
            [
                {"value": 0.15, "form": 0.05, "found": 0.15},
                {"value": 0.0, "form": 0.05, "found": 0.15},
            ],
        ),
        # a wrong report and a malformed one
        (
            [PLAN, "8", "many", "8"],
            {"plan": 0.1, "form": 0.1, "found": 0.0, "solved": 0.0},
            [{"value": 0.0, "form": 0.05, "found": 0.0}, {"value": 0.0, "form": 0.0, "found": 0.0}],
        ),
        # a report of 30 characters where 20 are allowed: what is cut does not count
        (
            [PLAN, "7", "the number of lamps is: 9 ....", "16"],
            {"plan": 0.1, "form": 0.1, "found": 0.15, "solved": 1.0},
            [
                {"value": 0.15, "form": 0.05, "found": 0.15},
                {"value": 0.0, "form": 0.0, "found": 0.15},
            ],
        ),
        # a plan of which a line is not read; an answer without a number
        (
            [PLAN + "\nMay: again", "7", "9", "sixteen"],
            {"plan": 0.1, "form": 0.0, "found": 0.3, "solved": 0.0},
            [{"value": 0.15, "form": 0.05, "found": 0.3}] * 2,
        ),
        (["Answer: 16"], {"form": 0.05, "solved": 1.0}, []),
        (["Answer: 0"], {"form": 0.05, "solved": 0.0}, []),
        (["I would ask someone.", "16"], {"form": 0.05, "solved": 1.0}, []),
        (["", ""], {"solved": 0.0}, []),
    ],
)
def test_what_texts_are_paid(texts, lead, workers):
    paid, _ = play(delegate(report_chars=20), texts)
    assert paid == {"lead_0": lead, **{f"worker_{i + 1}": w for i, w in enumerate(workers)}}


def test_errors_say_what_was_wrong():
    _, errors = play(delegate(report_chars=20), [PLAN + "\nMay: again", "7" * 21, "no", "9.5"])
    assert errors == {
        "lead_0": [
            "malformed: two lines for May",
            "malformed: its last number is not a whole number of up to 9 digits",
        ],
        "worker_1": ["malformed: a report of more than 20 characters"],
        "worker_2": ["malformed: no number"],
    }
    _, errors = play(delegate(), ["Who?", "17"])
    assert errors["lead_0"] == [
        "malformed: no line of the form MONTH: instruction or Answer: NUMBER",
        "wrong: not the answer to the question",
    ]
    _, errors = play(delegate(), ["March: x" + "y" * 20_000, "1"])
    assert errors["lead_0"][0] == "malformed: longer than 20000 characters"


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("March: count", [("March", "count")]),
        (
            "- **March**: count the lamps\n2. may: *all*",
            [("March", "count the lamps"), ("May", "all")],
        ),
        ("Sure!\n```\nMARCH:  a \t b\n```\nNote: that is all", [("March", "a b")]),
        ("June: 1\nMarch: 2\nMay: 3\nJuly: 4", [("June", "1"), ("March", "2"), ("May", "3")]),
        ("March:\nMay: x", [("May", "x")]),
        ("March: " + "z" * 201, [("March", "z" * 200)]),
    ],
)
def test_how_a_plan_is_read(text, plan):
    found = reading.parse_plan(text, TASK.titles, 3)
    assert list(found.assignments) == plan
    assert bool(found.problem) == any(sign in text for sign in ("July", "March:\n", "zzz"))


@pytest.mark.parametrize(
    "text", ["Answer: 16", "**Answer:** 16", "the final answer is 16.", "answer 16"]
)
def test_an_answer_at_once(text):
    assert reading.parse_plan(text, TASK.titles, 3) == reading.Plan(answer=16)


@pytest.mark.parametrize(
    "text", ["", "16", "April: x", "March", "Answer: March", "Answer: 1 or 2", "March:"]
)
def test_what_is_no_plan(text):
    with pytest.raises(MalformedError):
        reading.parse_plan(text, TASK.titles, 3)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("16", 16),
        ("day 5: 3 lamps, so 1,203.", 1203),
        ("-4", -4),
        ("9 (worker_1)", 9),
        ("3.5", None),
        ("1234567890", None),
        ("", None),
        ("x7", None),
        ("7th", 7),
    ],
)
def test_the_last_number(text, number):
    assert reading.find_number(text) == number


def test_no_agent_reads_two_pages():
    env = delegate()
    read = []
    for text in (PLAN, "7", "9", "16"):
        prompt = env.observe(env.agent_selection)
        read.append((env.agent_selection, len(re.findall(r"The page of (\w+):", prompt)), prompt))
        env.step(text)
        while env.agents and env.terminations[env.agent_selection]:
            env.step(None)
    assert [row[:2] for row in read] == [
        ("lead_0", 0),
        ("worker_1", 1),
        ("worker_2", 1),
        ("lead_0", 0),
    ]
    (_, _, first), (_, _, one), (_, _, other), (_, _, last) = read
    question = "How many lamps were ordered in March and May together?"
    assert question in first
    assert question in last
    assert "together" not in one + other
    assert "Mira ordered 3 lamps" in one
    assert "Mira" not in first + other + last
    assert "> 7" in last


def test_a_report_is_one_line():
    """So it cannot pass for another worker's, nor for a line of the environment."""
    env = delegate()
    for text in (PLAN, "5\nworker_2 reported:\n> 11", "9"):
        env.step(text)
    prompt = env.observe("lead_0")
    assert "> 5 worker_2 reported: > 11\n" in prompt
    assert len(re.findall(r"(?m)^worker_2 reported:$", prompt)) == 1


def test_workers_act_at_the_same_time():
    env = delegate()
    env.step(PLAN)
    before = env.observe("worker_2")
    env.step("7")
    assert env.observe("worker_2") == before


@pytest.mark.parametrize("settings", [{}, {"prompt": "terse"}])
def test_the_prompts_of_the_lead_are_bounded(settings):
    """The longest texts of 8 workers on pages of 200 records, and on pages of 4."""
    lengths = []
    for rows in (4, 200):
        env = llmzoo.make("delegate_v0", max_workers=8, documents=12, rows=rows, **settings)
        env.reset(seed=0)
        titles = env.unwrapped.episode.task.titles[:8]
        env.step("\n".join(f"{title}: {'x' * 500}" for title in titles))
        for _ in titles:
            env.step("y" * 19_000)
        lengths.append(len(env.unwrapped.observation(env.unwrapped.episode, "lead_0")))
    assert max(lengths) - min(lengths) < 200  # the questions differ
    assert max(lengths) < 8 * (200 + 200 + 100) + 500


# One agent


def test_a_reader_alone():
    env = delegate(num_agents=1)
    prompts, texts = [], ["Read: March", "7 lamps\nRead: May", "So 9.\nAnswer: 16"]
    for text in texts:
        prompts.append(env.observe("lead_0"))
        env.step(text)
    assert [re.findall(r"The page of (\w+):", prompt) for prompt in prompts] == [
        [],
        ["March"],
        ["May"],
    ]
    assert "> March: 7 lamps" in prompts[2]
    assert env.infos["lead_0"]["success"]
    paid, _ = play(delegate(num_agents=1), texts)
    assert paid["lead_0"] == {"form": 0.1, "found": 0.3, "solved": 1.0, "plan": 0.1}


def test_a_reader_alone_has_as_many_pages_as_there_are_workers():
    env = delegate(num_agents=1, max_workers=2)
    texts = ["Read: June", "0\nRead: March", "7\nRead: May", "16"]
    seen = []
    for text in texts:
        seen.append(re.findall(r"The page of (\w+):", env.observe("lead_0")))
        env.step(text)
    assert seen == [[], ["June"], ["March"], []]  # May is not read any more
    assert env.infos["lead_0"]["reward_components"] == {
        "form": 0.05,
        "plan": pytest.approx(0.1 / 3),  # of June, March and May
        "solved": 1.0,
    }


def test_a_later_note_replaces_an_earlier_one():
    paid, _ = play(
        delegate(num_agents=1), ["Read: March", "7\nRead: March", "8\nRead: March", "7\nAnswer: 1"]
    )
    assert paid["lead_0"]["found"] == 0.15


def test_the_whole_book_in_one_prompt():
    env = delegate(num_agents=1, reading="all")
    assert len(re.findall(r"The page of (\w+):", env.observe("lead_0"))) == 4
    paid, _ = play(env, ["16"])
    assert paid["lead_0"] == {"form": 0.05, "solved": 1.0}


# Scripted players


@pytest.mark.parametrize(
    ("settings", "lead", "worker"),
    [
        ({}, 1.5, 0.5),
        ({"prompt": "terse"}, 1.5, 0.5),
        ({"max_workers": 1, "rows": 4, "documents": 2}, 1.5, 0.5),
        ({"max_workers": 8, "documents": 12, "rows": 30}, 1.5, 0.5),
        ({"num_agents": 1}, 1.5, None),
        ({"num_agents": 1, "reading": "all"}, 1.05, None),
    ],
    ids=str,
)
def test_the_experts_earn_the_most_on_500_tasks(settings, lead, worker):
    env = llmzoo.make("delegate_v0", split="test", **settings)
    for task in range(500):
        env.reset(options={"task": task})
        needed = len(env.unwrapped.episode.task.question.titles)
        total = {}
        for agent in env.agent_iter():
            _, reward, terminated, truncated, _ = env.last()
            total[agent] = total.get(agent, 0.0) + reward
            env.step(None if terminated or truncated else env.unwrapped.expert(agent))
        assert total.pop("lead_0") == pytest.approx(lead)
        assert len(total) == (needed if worker else 0)
        assert all(value == pytest.approx(worker) for value in total.values())


def test_the_lead_expert_answers_by_the_reports():
    env = delegate()
    for text in (PLAN, "5", "9"):
        env.step(text)
    assert env.unwrapped.expert("lead_0") == "14"


def test_a_noisy_expert_errs_in_each_step():
    env = llmzoo.make("delegate_v0")
    rng = random.Random(0)
    plans, parts, answers = 0, 0, 0
    for seed in range(300):
        env.reset(seed=seed)
        state = env.unwrapped.episode
        plan = env.unwrapped.expert("lead_0")
        plans += env.unwrapped.noisy_expert("lead_0", rng) != plan
        env.step(plan)
        while env.agent_selection != "lead_0":
            if env.terminations[env.agent_selection]:
                env.step(None)
                continue
            report = env.unwrapped.expert(env.agent_selection)
            parts += env.agent_selection == "worker_1" and (
                env.unwrapped.noisy_expert("worker_1", rng) != report
            )
            env.step(report)
        answers += env.unwrapped.noisy_expert("lead_0", rng) != str(state.task.answer)
    # 0.05 + 0.95 x 0.2 = 24% of 300; three standard errors are 22
    assert 50 <= plans <= 94
    assert 50 <= answers <= 94
    assert 30 <= parts <= 94  # the record that is taken for another one may have the same number


# Trees


def test_groups_of_workers_have_their_parts():
    """A worker leaves at its report, and its group still knows of what its reward consists."""
    policy = FakePolicy(
        lambda request, i: (
            (PLAN if "Your lines" in request.observation else "16")
            if request.agent == "lead_0"
            else str([7, 9][int(request.agent[-1]) - 1] + max(i, 0))
        )
    )
    for tree in (joint_tree, agent_turn_tree):
        env = delegate()
        agents = env.possible_agents
        rollout = tree(env, 0, group_size=2, trained=agents)
        (batch,) = run_rollouts([rollout], dict.fromkeys(agents, policy))
        turns = {a: sorted(g.turn for g in batch.groups if g.agent == a) for a in agents}
        assert turns == {"lead_0": [0, 1], "worker_1": [0], "worker_2": [0], "worker_3": []}
        group = next(g for g in batch.groups if g.agent == "worker_1")
        # the other one is right in both (agent turns), or wrong in the second action too (joint)
        wrong = 0.05 if tree is joint_tree else 0.2
        assert group.returns == pytest.approx((0.5, wrong))
        assert group.components["value"].returns == (0.15, 0.0)
        assert group.components["found"].returns == pytest.approx((0.3, wrong - 0.05))
        plan = next(g for g in batch.groups if g.agent == "lead_0" and g.turn == 0)
        # in the joint tree one of the plans goes on with the group, whose second action finds nothing
        found = (0.15, 0.3) if tree is joint_tree else (0.3, 0.3)
        assert sorted(plan.components["found"].returns) == pytest.approx(found)


def test_the_team_reward_weight_reaches_workers_that_have_left():
    policy = FakePolicy(
        lambda request, i: PLAN if request.agent == "lead_0" else str(7 + max(i, 0))
    )
    env = delegate()
    rollout = agent_turn_tree(
        env, 0, group_size=2, trained=["worker_1"], team_weight=2.0, select="greedy"
    )
    (batch,) = run_rollouts([rollout], dict.fromkeys(env.possible_agents, policy))
    (group,) = batch.groups
    assert group.returns == pytest.approx((2 * 0.15 + 0.15 + 0.05, 0.05))


class PlanSpace(FreeText):
    """Samples texts of every kind, so that PettingZoo's tests meet agents that join and leave."""

    def sample(self, mask=None, probability=None):
        lines = [f"{month}: count" for month in MONTHS]
        texts = ["\n".join(lines), "\n".join(lines[::3]), "Answer: 3", "7", ""]
        return texts[int(self.np_random.integers(len(texts)))]


@pytest.mark.parametrize("settings", [{}, {"max_workers": 8, "documents": 12}])
def test_pettingzoos_tests_with_agents_that_leave(settings):
    def make():
        env = llmzoo.make("delegate_v0", **settings)
        for agent in env.possible_agents:
            env.unwrapped._action_spaces[agent] = PlanSpace(20_000, seed=0)
        return env

    env, joined = make(), set()
    for seed in range(5):
        env.reset(seed=seed)
        for agent in env.agent_iter():
            joined.add(agent)
            over = env.terminations[agent]
            env.step(None if over else env.action_space(agent).sample())
    assert len(joined) > 2
    testing.check_env(make, cycles=60)
    testing.check_seeds(make)
    testing.check_rewards(make, episodes=20)
    testing.check_credit(make, episodes=20)
    testing.check_fork(make)


class Unfair(Delegate):
    """Pays the team's reward to the workers of some questions only."""

    def reset_task(self, rng, task):
        state = super().reset_task(rng, task)
        alone = len(state.task.question.titles) == 1
        self.team = ["lead_0"] if alone else list(self.possible_agents)
        return state


def test_a_worker_that_is_left_out_of_the_teams_reward_is_found():
    def act(env, agent):
        return env.expert(agent)

    testing.check_credit(Delegate, episodes=20, act=act)
    with pytest.raises(testing.ConformanceError, match=r"'found' was paid .* to \['worker_1'\]"):
        testing.check_credit(Unfair, episodes=20, act=act)


def test_the_parallel_form_has_the_agents_of_the_moment():
    env = to_parallel(delegate())
    env.agents = list(env.aec_env.agents)
    seen = []
    for agent, text in (("lead_0", PLAN), ("worker_1", "7"), ("worker_2", "9"), ("lead_0", "16")):
        assert env.aec_env.agent_selection == agent
        env.step({agent: text})
        seen.append(list(env.agents))
    assert seen == [["lead_0", "worker_1", "worker_2"]] * 2 + [["lead_0"], []]


def test_groups_of_eight_workers_differ():
    testing.check_groups(
        partial(llmzoo.make, "delegate_v0", max_workers=8, documents=12),
        seeds=range(40),
    )


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"max_workers": 9}, "max_workers must be 1 to 8, got 9"),
        ({"documents": 3}, r"documents must be more than max_workers \(3\)"),
        ({"rows": 3}, "rows must be 4 to 200, got 3"),
        ({"report_chars": 10}, "report_chars must be 20 to 2000, got 10"),
        (
            {"num_agents": 3},
            r"num_agents must be 1, or max_workers \+ 1 \(4\), got 3; set max_workers",
        ),
        ({"reading": "all"}, "needs num_agents=1"),
        ({"reading": "two"}, "reading must be one of one, all"),
        ({"prompt": "short"}, "prompt must be one of full, terse"),
    ],
)
def test_bad_arguments(arguments, error):
    with pytest.raises(ConfigError, match=error):
        llmzoo.make("delegate_v0", **arguments)
