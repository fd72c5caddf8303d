"""What an answer is paid until its agent decides again, and where nothing has to be played for it."""

import itertools
import random

import pytest
from tiny_models import FakePolicy
from toy_envs import Adder

import llmzoo
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.forking import fork
from llmzoo.policies import scripted
from llmzoo.policies.base import PolicyRequest
from llmzoo.rollout import agent_turn_tree, run_rollouts
from llmzoo.rollout.scheduler import SampleRequest
from llmzoo.rollout.stepping import StepRequest, is_over


class Relay(TextEnv):
    """In turns: a_0, b_1, c_2 write numbers; c_2's pays each agent the product of the three so far."""

    metadata = {**TextEnv.metadata, "name": "relay_v0"}

    def __init__(self, max_turns=2, **kwargs):
        super().__init__(["a_0", "b_1", "c_2"], max_turns=max_turns, **kwargs)

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return f"{agent} {self.turn} {' '.join(map(str, state))}"

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        state = (*state, float(text))
        if agent != "c_2":
            return state, Outcome(local={agent: {"own": 0.5}})
        a, b, c = state[-3:]
        return state, Outcome(team=a * b * c)


def play(env, policy, **options):
    env.reset(seed=0)
    agents = env.possible_agents
    options = {"trained": agents, "group_size": 2, **options}
    return run_rollouts([agent_turn_tree(env, 5, **options)], dict.fromkeys(agents, policy))[0]


def first_groups(batch):
    return {group.agent: group.returns for group in reversed(batch.groups)}


def ones_and_twos():
    return FakePolicy(lambda request, i: str(i + 1))


def test_an_answer_is_judged_by_what_others_earn_it_until_its_agent_decides_again():
    batch = play(Relay(), ones_and_twos())
    # others' continuations write 1; the best answers, 2, are carried out
    assert first_groups(batch) == {
        "a_0": (0.5 + 1.0, 0.5 + 2.0),  # a * 1 * 1
        "b_1": (0.5 + 2.0, 0.5 + 4.0),  # 2 * b * 1
        "c_2": (4.0, 8.0),  # 2 * 2 * c, and nobody else's step pays before its next turn
    }
    (ending,) = batch.endings
    assert ending.totals["c_2"] == 16.0  # 8 a round: continuations are not carried out
    assert ending.decisions == 6


def test_the_team_weight_applies_to_what_falls_later():
    assert first_groups(play(Relay(1), ones_and_twos(), team_weight=3.0)) == {
        "a_0": (0.5 + 3.0, 0.5 + 6.0),
        "b_1": (0.5 + 6.0, 0.5 + 12.0),
        "c_2": (12.0, 24.0),
    }


def test_several_continuations_are_averaged():
    of_b = itertools.cycle(["3", "1"])
    policy = FakePolicy(lambda request, i: next(of_b) if request.agent == "b_1" else str(i + 1))
    batch = play(Adder(1), policy, trained=["a_0"], continuations=2)
    # a is paid its own number, then (a + b) / 10 with b = 3 and with b = 1
    assert batch.groups[0].returns == pytest.approx((1 + 0.3, 2 + 0.4))


def test_continuations_are_asked_for_only_where_someone_else_may_pay():
    policy = ones_and_twos()
    play(Relay(1), policy)
    # a: 2 answers, their 2 + 2 continuations by b and c; b: 2 and 2; c: 2
    assert sum(requests * k for requests, k, _ in policy.calls) == (2 + 4) + (2 + 2) + 2

    policy = ones_and_twos()
    env = Relay(1)
    env.metadata["delayed_reward_agents"] = ("b_1",)
    batch = play(env, policy)
    assert first_groups(batch)["a_0"] == (0.5, 0.5)
    assert sum(requests * k for requests, k, _ in policy.calls) == 2 + (2 + 2) + 2


def test_an_agent_judged_at_once_is_played_on_only_if_asked():
    env = Relay(1)
    env.metadata["immediate_credit_agents"] = ("a_0", "b_1")
    assert first_groups(play(env, ones_and_twos()))["a_0"] == (0.5, 0.5)
    assert first_groups(play(env, ones_and_twos(), continuations=1))["a_0"] == (1.5, 2.5)


@pytest.mark.slow
def test_planners_and_speakers_are_judged_by_what_follows():
    """Both were flat in every group while the step alone was counted."""
    forms = (
        ("tool_use_v0", {"calls": 1, "tools": ["calculator", "search"]}, {"planner_0"}),
        ("debate_v0", {"judge_agent": True}, {"pro_0", "con_1"}),
    )
    for id, kwargs, flat_before in forms:
        differing = set()
        for seed in range(3):
            env = llmzoo.make(id, **kwargs)
            env.reset(seed=seed)
            agents = env.possible_agents
            rollout = agent_turn_tree(env, seed, group_size=4, trained=agents)
            (batch,) = run_rollouts([rollout], dict.fromkeys(agents, scripted.mixture(0.5)))
            differing |= {g.agent for g in batch.groups if len(set(g.returns)) > 1}
        assert differing >= flat_before, id


def retry_with(move):
    """Nonsense as the first of several answers, a move as the second; alone, and when refused, the move."""

    def answer(request, i):
        game = request.env.unwrapped
        return "nonsense" if i == 0 and not game.episode.misses and game.turn == 0 else move(game)

    return FakePolicy(answer)


def test_a_refused_answer_earns_what_its_retry_leads_to():
    """In Kuhn poker player_0 bets and player_1 folds, or answers nonsense first and then bets."""
    env = llmzoo.make("kuhn_poker_v0", tries=2, illegal_penalty=0.25)
    assert env.metadata["retries"]

    def move(game):
        return game.choices(game.episode, game.agent_selection).names[
            1 if game.agent_selection == "player_0" else 0
        ]

    batch = play(env, retry_with(move))
    first = next(g for g in batch.groups if g.agent == "player_0")
    refused, bet = first.returns
    assert bet == 1.0  # the pot of a fold
    assert refused == bet - 0.25
    assert {name: part.returns[0] for name, part in first.components.items()}["illegal"] == -0.25
    assert sum(part.returns[0] for part in first.components.values()) == refused


def test_with_one_try_a_refused_answer_ends_the_game():
    env = llmzoo.make("kuhn_poker_v0", tries=1, illegal_penalty=0.25, forfeit_penalty=2.0)
    assert not env.metadata["retries"]
    batch = play(
        env, retry_with(lambda game: game.choices(game.episode, game.agent_selection).names[0])
    )
    first = next(g for g in batch.groups if g.agent == "player_0")
    assert first.returns[0] == -2.25


def own_step_only(env, seed, *, group_size, select):
    """The tree of one deciding agent after the other as it was before there were continuations."""
    rng = random.Random(f"{seed}/select")
    groups = []
    while not is_over(env):
        agent = env.agent_selection
        request = PolicyRequest(agent=agent, observation=env.observe(agent), env=env, seed=seed)
        (answers,) = yield [SampleRequest(request, group_size)]
        forks = [fork(env) for _ in answers]
        paid = yield [StepRequest(f, (c.text,)) for f, c in zip(forks, answers, strict=True)]
        scores = [p[agent] for p in paid]
        pick = scores.index(max(scores)) if select == "greedy" else rng.randrange(group_size)
        groups.append((agent, tuple(answers), tuple(scores)))
        env = forks[pick]
    return groups


@pytest.mark.parametrize("select", ["greedy", "random"])
@pytest.mark.parametrize("num_agents", [1, 2])
@pytest.mark.parametrize("id", llmzoo.list_envs("games"))
def test_the_games_are_played_as_if_there_were_no_continuations(id, num_agents, select):
    """The same answers, drawn with the same noise, and the same returns, to the last bit."""

    def write(request, i):
        return request.env.unwrapped.noisy_expert(
            request.agent, random.Random(f"{request.noise}/{i}")
        )

    for seed in range(3):
        played = []
        for tree in (own_step_only, agent_turn_tree):
            env = llmzoo.make(id, num_agents=num_agents, max_turns=3)
            env.reset(seed=seed)
            agents = env.possible_agents
            options = {} if tree is own_step_only else {"trained": agents}
            rollout = tree(env, seed, group_size=4, select=select, **options)
            played += run_rollouts([rollout], dict.fromkeys(agents, FakePolicy(write)))
        expected, batch = played
        assert [(g.agent, g.completions, g.returns) for g in batch.groups] == expected
