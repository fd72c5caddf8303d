"""The weight of the team reward: it reaches what every agent is paid alike, under whatever names, and
is refused where it weighs nothing."""

import random

import pytest
from quick_cases import slow_but
from tiny_models import FakePolicy
from toy_envs import Adder, Matcher

import llmzoo
from llmzoo.errors import ConfigError
from llmzoo.learners import learner_class
from llmzoo.rollout import run_rollouts
from llmzoo.rollout.stepping import is_over, skip_dead

ATGRPO = learner_class("at_grpo")


def groups(env, policy, **options):
    learner = ATGRPO(ATGRPO.Config(group_size=2, select="random", **options))
    learner.check(env, env.possible_agents)
    env.reset(seed=1)
    line = learner.plan.rollout(env, 1, env.possible_agents)
    (batch,) = run_rollouts([line], dict.fromkeys(env.possible_agents, policy))
    return batch.groups


def unmarked(id, kwargs, seeds):
    """The names of parts that all agents are always paid alike, and not as the team's."""
    alike, apart = set(), set()
    env = llmzoo.make(id, **kwargs)
    game = env.unwrapped
    for seed in seeds:
        env.reset(seed=seed)
        rng = random.Random(seed)
        while not is_over(env):
            skip_dead(env)
            before = {a: dict(i["reward_components"]) for a, i in env.infos.items()}
            agent = env.agent_selection
            before[agent] = {}
            if env.metadata["is_parallelizable"] and agent == env.agents[-1]:
                before = {a: {} for a in env.agents}
            env.step(game.expert(agent) if rng.random() < 0.5 else game.noisy_expert(agent, rng))
            if not any(env.rewards.values()):
                continue
            paid = {
                a: {n: v - before[a].get(n, 0.0) for n, v in i["reward_components"].items()}
                for a, i in env.infos.items()
            }
            for name in {n for parts in paid.values() for n in parts}:
                amounts = {round(parts.get(name, 0.0), 9) for parts in paid.values()}
                if len(amounts) > 1:
                    apart.add(name)
                elif amounts != {0.0}:
                    alike.add(name)
    return alike - apart - set(env.metadata["team_components"])


QUICK = (
    "math_v0",
    "sudoku_v0",
    "tool_use_v0",
    "travel_v0",
)  # in `make test`: one of each kind of game
SEARCHING = ("connect_four_v0", "leduc_poker_v0", "liars_dice_v0")  # whose experts take seconds


@pytest.mark.parametrize("id", slow_but(QUICK, llmzoo.list_envs()))
def test_what_all_agents_are_paid_alike_is_marked_as_the_teams(id):
    spec = llmzoo.spec(id)
    slow = llmzoo.make(id, **spec.offline).metadata.get("slow_step") or id in SEARCHING
    assert unmarked(id, spec.offline, range(4 if slow else 40)) == set()


def test_cooperative_debate_is_marked_too():
    assert unmarked("debate_v0", {"reward": "cooperative"}, range(3)) == set()


@pytest.mark.parametrize(
    ("id", "kwargs"),
    [
        ("tool_use_v0", {}),
        ("bug_fix_v0", {}),
        ("coop_functions_v0", {}),
        ("classeval_v0", {"source": "sample"}),
        ("tldr_v0", {"source": "sample"}),
        ("debate_v0", {"reward": "cooperative"}),
        ("debate_v0", {"reward": "zero-sum"}),
        ("debate_v0", {"judge_agent": True, "reward": "cooperative"}),
    ],
)
def test_alpha_is_refused_where_no_agent_is_paid_both(id, kwargs):
    env = llmzoo.make(id, **kwargs)
    ATGRPO().check(env, env.possible_agents)
    with pytest.raises(ConfigError, match="leave it at 1"):
        ATGRPO(ATGRPO.Config(team_reward_weight=0.5)).check(env, env.possible_agents)


def test_alpha_is_refused_for_an_environment_that_does_not_say_what_it_pays():
    env = Matcher()
    del env.metadata["team_and_local"]
    with pytest.raises(ConfigError, match="team_and_local"):
        ATGRPO(ATGRPO.Config(team_reward_weight=0.5)).check(env, env.possible_agents)


def test_fit_refuses_it_before_anything_is_played(tmp_path):
    with pytest.raises(ConfigError, match="leave it at 1"):
        llmzoo.fit(
            "at_grpo", "tool_use_v0", out=tmp_path / "run", learner_args={"team_reward_weight": 2.0}
        )
    assert not (tmp_path / "run").exists()


def test_a_proposer_is_judged_by_alpha_times_what_the_planner_earns(tmp_path):
    """The proposer fills one or all of three blanks; the planner commits what it reads."""
    source = tmp_path / "puzzle"
    source.write_text('{"puzzle": "1234341221434..."}')
    env = llmzoo.make("sudoku_v0", source=str(source), split="all", max_turns=1)
    proposed = ["[4, 2, 3]", "[4, 2, 3] [4, 3, 2] [4, 4, 1]"]

    def write(request, i):
        if request.agent == "proposer_0":
            return proposed[i]
        # the planner commits as many fills as the proposer wrote
        return proposed[1 if ".321" in request.observation else 0]

    def of_proposer(**options):
        (first, *_) = groups(env, FakePolicy(write), **options)
        assert first.agent == "proposer_0"
        return first.returns

    # format 0.1, legal 0.1, and 0.8 x 1/3 or 1 of the open cells; the team earns 1/3 or 1
    own = 0.2 + 0.8 / 3, 1.0
    assert of_proposer() == pytest.approx(own)
    for alpha in (0.0, 0.5, 2.0):
        expected = own[0] + alpha / 3, own[1] + alpha
        assert of_proposer(team_reward_weight=alpha) == pytest.approx(expected)
    # with alpha 1 its own step judges it, unless continuations are asked for
    assert of_proposer(continuations=1) == pytest.approx((own[0] + 1 / 3, own[1] + 1))


def test_alpha_weighs_at_every_agent_what_falls_at_anothers_step():
    policy = FakePolicy(lambda request, i: str(i + 1))
    for alpha in (0.0, 1.0, 3.0):
        first, second = groups(Adder(1), policy, team_reward_weight=alpha)
        # a's own number, and alpha x (a + 1) / 10 once b has answered 1
        assert first.returns == pytest.approx((1 + 0.2 * alpha, 2 + 0.3 * alpha))
        shift = second.returns[1] - second.returns[0]
        assert shift == pytest.approx(1 + 0.1 * alpha)
