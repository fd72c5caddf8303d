"""Pools of opponents: who plays where, what is learned from, and runs that go on exactly."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from safetensors.torch import load_file
from tiny_models import model, policy, tokenizer

import llmzoo
from llmzoo.engine.opponents import MatchRecord, OpponentRouter, Opponents
from llmzoo.engine.opponents_config import OpponentArgs, opponent_args
from llmzoo.errors import ConfigError, LlmzooError
from llmzoo.models.sampling import Sampling
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, EpisodeOutcome
from llmzoo.runs import checkpoints
from llmzoo.training import fit

AGENTS = ("player_0", "player_1")


def pool(tmp_path, draw="uniform", sides=(("player_0",), ("player_1",)), **args):
    learner = policy()
    policies = dict.fromkeys(agent for side in sides for agent in side)
    policies = dict.fromkeys(policies, learner)
    return Opponents(draw, OpponentArgs(**args), {"policy": learner}, policies, sides, tmp_path)


def ending(seed, **totals):
    return EpisodeOutcome(seed=seed, success=True, totals=totals, decisions=2)


@pytest.mark.parametrize(
    ("draw", "args", "match"),
    [
        ("nobody", {}, "must be one of self, latest"),
        ("self", {"every": 2}, "have no effect"),
        ("uniform", {"evry": 2}, "every"),
        ("uniform", {"every": 0}, "at least 1"),
        ("uniform", {"every": "two"}, "whole number"),
        ("uniform", {"size": 2.5}, "whole number"),
        ("uniform", {"size": 0}, "at least 1"),
        ("uniform", {"per_iteration": True}, "whole number"),
        ("uniform", {"scripted": 3}, "list"),
        ("uniform", {"share": 0}, "above 0"),
        ("uniform", {"share": "half"}, "above 0"),
        ("uniform", {"gate": "often"}, "win rate"),
        ("uniform", {"gate": 2}, "win rate"),
        ("uniform", {"scripted": ["expart"]}, "expert"),
        ("uniform", {"scripted": "expert"}, "list"),
        ("fictitious", {"size": 3}, "leave out size"),
    ],
)
def test_settings_are_checked(draw, args, match):
    with pytest.raises(LlmzooError, match=match):
        opponent_args(draw, args)


def test_settings_that_exclude_each_other(tmp_path):
    for given in ({"engine": "ray"}, {"max_off_policy_steps": 1}, {"parallel": "fsdp"}):
        with pytest.raises(ConfigError, match="opponents need"):
            llmzoo.fit(env="kuhn_poker_v0", opponents="latest", out=tmp_path / "run", **given)
    for sides in ([("player_0",), ("player_1",)], [AGENTS, ("player_2",)]):
        learner = policy()
        learning = dict.fromkeys(sides[0], learner)
        with pytest.raises(ConfigError, match="agents that learn on two sides"):
            Opponents("latest", OpponentArgs(), {"p": learner}, learning, sides, tmp_path)


def test_a_win_rate_begins_at_one_half():
    assert MatchRecord().win_rate == 0.5
    assert MatchRecord(games=8, won=6.5).win_rate == pytest.approx(7.5 / 10)


def test_how_likely_each_member_is_drawn(tmp_path):
    """Three copies, of which the learner has beaten the middle one nine times in ten."""

    def weights(draw):
        members = pool(tmp_path, draw)
        members.records = {
            "000000": MatchRecord(8, 4.0),
            "000005": MatchRecord(8, 8.0),
            "000010": MatchRecord(8, 2.0),
        }
        return [members._sampling_weight(name) for name in members.records]

    assert weights("latest") == [0, 0, 1]
    assert weights("uniform") == weights("fictitious") == [1, 1, 1]
    assert weights("recency") == pytest.approx([0.49, 0.7, 1.0])
    # (1 - 0.5)^2, (1 - 0.9)^2, (1 - 0.3)^2
    assert weights("prioritized") == pytest.approx([0.25, 0.01, 0.49])


def test_one_agent_learns_in_an_episode_against_an_opponent(tmp_path):
    members = pool(tmp_path, share=0.75, scripted=("noisy_expert",))
    members.start_iteration(0, 7)
    drawn = Counter(members.matchup(seed) for seed in range(4_000))
    assert drawn[None] / 4_000 == pytest.approx(0.25, abs=0.03)
    against = Counter(place for place in drawn.elements() if place is not None)
    assert {side for side, _ in against} == {(agent,) for agent in AGENTS}
    assert {member for _, member in against} <= {"noisy_expert", "000000"}
    first = sum(count for (side, _), count in against.items() if side == ("player_0",))
    assert first / sum(against.values()) == pytest.approx(0.5, abs=0.04)
    for seed in range(50):
        place = members.matchup(seed)
        assert place == members.matchup(seed)
        assert members.trained_agents(seed, AGENTS) == (AGENTS if place is None else place[0])


def test_opponents_answer_without_tokens_and_the_learner_with_them(tmp_path):
    members = pool(tmp_path)
    members.start_iteration(0, 3)
    table = members.with_opponents(dict.fromkeys(AGENTS, members.policies["policy"]))["player_0"]
    assert isinstance(table, OpponentRouter)
    env = llmzoo.make("kuhn_poker_v0", prompt="terse")
    env.reset(seed=0)
    for seed in range(6):
        for agent in AGENTS:
            request = PolicyRequest(agent=agent, observation="up", env=env, seed=seed, noise=seed)
            (answers,) = table.respond([request], 2)
            own = members.matchup(seed)[0] == (agent,)
            assert all(answer.trainable is own for answer in answers)


def test_a_copy_stays_what_it_was(tmp_path):
    members = pool(tmp_path, every=1)
    learner = members.policies["policy"]
    members.start_iteration(0, 1)
    first = load_file(tmp_path / "000000" / "policy" / "model.safetensors")
    for weight in learner.parameters():
        weight.data += 1.0
    members.start_iteration(1, 1)
    name = next(n for n in first if n.endswith("embed_tokens.weight"))
    second = load_file(tmp_path / "000001" / "policy" / "model.safetensors")
    assert (second[name] - first[name]).mean() == pytest.approx(1.0, abs=1e-5)
    members._load_copies(["000000"])
    held = dict(members.member_policy("000000", "player_0").model.named_parameters())
    assert (held[name] == first[name]).all()


def test_games_are_counted_for_the_agent_that_learns(tmp_path):
    members = pool(tmp_path, scripted=("expert",), every=100)
    members.records.pop("000000", None)
    members.start_iteration(1, 5)  # no copy: only the scripted player
    seeds = range(6)
    agents = [members.matchup(seed)[0][0] for seed in seeds]
    totals = [2.0, -1.0, 0.0, 1.0, 1.0, -2.0]  # of the agent that learns
    endings = [
        ending(seed, **{agent: own, other(agent): -own})
        for seed, agent, own in zip(seeds, agents, totals, strict=True)
    ]
    told = members.record_results(Batch(endings=tuple(endings)))
    assert told == {"opponents": 1.0, "win_rate": pytest.approx(3.5 / 6)}
    assert members.records["expert"] == MatchRecord(games=6, won=3.5)


def other(agent):
    return AGENTS[1 - AGENTS.index(agent)]


# Sides of several agents

MAFIA, VILLAGE = ("mafia_0",), ("detective_1", "villager_2", "villager_3", "villager_4")


def test_all_agents_of_one_side_learn_and_the_opponent_plays_the_other(tmp_path):
    members = pool(tmp_path, sides=(MAFIA, VILLAGE), scripted=("expert",), size=0)
    members.start_iteration(0, 7)
    env = llmzoo.make("mafia_v0", num_agents=5)
    env.reset(seed=0)
    routers = members.with_opponents(dict.fromkeys([*MAFIA, *VILLAGE], members.policies["policy"]))
    seen = set()
    for seed in range(8):
        side, member = members.matchup(seed)
        assert (side in (MAFIA, VILLAGE), member) == (True, "expert")
        assert members.trained_agents(seed, (*MAFIA, *VILLAGE)) == side
        seen.add(side)
        for agent, router in routers.items():
            request = PolicyRequest(agent=agent, observation="up", env=env, seed=seed)
            learns = router.route(request) is members.policies["policy"]
            assert learns == (agent in side)
    assert seen == {MAFIA, VILLAGE}


def test_an_agent_that_does_not_learn_is_on_no_side(tmp_path):
    learner = policy()
    agents = dict.fromkeys(("mafia_0", "villager_2", "villager_4"), learner)
    sides = (MAFIA, VILLAGE)
    members = Opponents(
        "latest", OpponentArgs(), {"policy": learner}, agents, sides, tmp_path / "pool"
    )
    assert members.sides == [("mafia_0",), ("villager_2", "villager_4")]


def test_a_side_wins_by_its_outcome_also_with_agents_that_have_left(tmp_path):
    """In all games the village is paid less than the mafia, on average and at most. It wins the first two, and the
    third has no decision, so that both sides have lost."""
    members = pool(tmp_path, "prioritized", sides=(MAFIA, VILLAGE), scripted=("expert",), size=0)
    members.start_iteration(0, 7)
    by_side = {
        side: [s for s in range(40) if members.matchup(s)[0] == side] for side in (MAFIA, VILLAGE)
    }
    totals = {"mafia_0": -0.2} | dict.fromkeys(VILLAGE, -0.9)
    won = {"mafia_0": "lost"} | dict.fromkeys(VILLAGE, "won")
    undecided = dict.fromkeys(totals, "lost")

    def games(side):
        return tuple(
            EpisodeOutcome(seed=s, success=True, totals=totals, decisions=9, outcomes=outcomes)
            for s, outcomes in zip(by_side[side][:3], (won, won, undecided), strict=True)
        )

    told = members.record_results(Batch(endings=games(VILLAGE)))
    assert told == {"opponents": 1.0, "win_rate": pytest.approx(2.5 / 3)}
    told = members.record_results(Batch(endings=games(MAFIA)))
    assert told["win_rate"] == pytest.approx(0.5 / 3)
    assert members.records["expert"] == MatchRecord(games=6, won=3.0)


def test_the_choice_between_two_agents_is_the_same_as_ever(tmp_path):
    """Runs with pools of two agents can be repeated: the seed of the iteration is 7, those of the games 0 to 9."""
    members = pool(tmp_path)
    members.start_iteration(0, 7)
    for seed in range(10):
        rng = random.Random(f"opponents/7/{seed}")
        rng.random()  # whether it is self-play
        assert members.matchup(seed)[0] == (rng.choice(AGENTS),)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::llmzoo.errors.ZeroVarianceWarning")
@pytest.mark.parametrize("learner", ["magrpo", "at_grpo", "ippo"])
def test_a_run_learns_from_one_side_of_each_game(learner, tmp_path):
    agents = dict.fromkeys([*MAFIA, *VILLAGE], player())
    fit(
        learner,
        env="mafia_v0",
        env_args={"num_agents": 5, "prompt": "terse", "days": 1},
        out=tmp_path / "run",
        policies=agents,
        opponents="prioritized",
        opponents_args={"every": 1, "per_iteration": 1, "gate": 0.9},
        episodes_per_step=6,
        steps=2,
        eval_tasks=2,
        quiet=True,
        record_every=1,
        record_tasks=6,
    )
    rows = [
        json.loads(line) for line in (tmp_path / "run" / "played.jsonl").read_text().splitlines()
    ]
    learned = set()
    for rollout in rows:
        trained = {
            turn["agent"]
            for turn in rollout["turns"]
            if any(answer["advantage"] is not None for answer in turn["answers"])
        }
        assert trained <= set(MAFIA) or trained <= set(VILLAGE)
        learned |= trained
    assert "mafia_0" in learned
    assert len(learned & set(VILLAGE)) > 1
    newest = checkpoints.latest_checkpoint(tmp_path / "run" / "checkpoints")
    records = json.loads((newest / "opponents.json").read_text())
    # every game counts, and the win rate has not reached the gate for a second copy
    assert set(records) == {"000000"}
    assert records["000000"][0] == sum(len(rollout["endings"]) for rollout in rows)


def test_the_gate_lets_no_copy_in_before_the_last_one_is_beaten(tmp_path):
    members = pool(tmp_path, every=1, gate=0.6)
    members.start_iteration(0, 1)
    members.start_iteration(1, 1)
    assert members.copies == ["000000"]
    members.records["000000"] = MatchRecord(games=8, won=7.0)
    members.start_iteration(2, 1)
    assert members.copies == ["000000", "000002"]


def test_old_copies_leave_the_pool(tmp_path):
    members = pool(tmp_path, every=1, size=2, scripted=("random",))
    for step in range(5):
        members.start_iteration(step, step)
    assert list(members.records) == ["random", "000003", "000004"]


def test_scripted_players_can_play_alone(tmp_path):
    """Copies are still made, to be measured later, and none is in the pool."""
    members = pool(tmp_path, every=2, size=0, scripted=("random",))
    for step in range(5):
        members.start_iteration(step, step)
        assert members._sampled_members == ["random"] * members.args.per_iteration
    assert list(members.records) == ["random"]
    assert sorted(folder.name for folder in tmp_path.iterdir()) == ["000000", "000002", "000004"]


def player():
    made = model(initializer_range=0.1, max_position_embeddings=512)
    return TransformersPolicy(made, tokenizer(), sampling=Sampling(max_new_tokens=2))


SETTINGS = {
    "env": "tiny_hanabi_v0",
    "env_args": {"prompt": "terse"},
    "opponents": "prioritized",
    "opponents_args": {"every": 2, "per_iteration": 2, "scripted": ["noisy_expert"]},
    "episodes_per_step": 6,
    "eval_tasks": 2,
    "checkpoint_every": 3,
    "quiet": True,
}


@pytest.mark.slow
@pytest.mark.parametrize("learner", ["at_grpo", "ippo"])
def test_a_run_that_was_stopped_goes_on_exactly(learner, tmp_path):
    """Six iterations at once, and the same in two parts: weights, records and copies are equal."""

    def run(folder, steps, **options):
        agents = dict.fromkeys(AGENTS, player())
        fit(learner, out=folder, policies=agents, steps=steps, **SETTINGS, **options)

    run(tmp_path / "whole", 6)
    run(tmp_path / "parts", 3)
    run(tmp_path / "parts", 6, resume=True)
    ends = [
        checkpoints.latest_checkpoint(tmp_path / name / "checkpoints")
        for name in ("whole", "parts")
    ]
    told = [json.loads((end / "opponents.json").read_text()) for end in ends]
    assert told[0] == told[1]
    assert set(told[0]) == {"noisy_expert", "000000", "000002", "000004"}
    assert sum(games for games, _ in told[0].values()) >= 36
    for name in ("000000", "000002", "000004"):
        same(*(tmp_path / run / "opponents" / name for run in ("whole", "parts")))
    same(*ends)


def same(first, second):
    files = sorted(path.relative_to(first) for path in first.rglob("*.safetensors"))
    assert files
    for file in files:
        ours, theirs = load_file(first / file), load_file(second / file)
        assert all((ours[key] == theirs[key]).all() for key in ours)


@pytest.mark.slow
def test_copies_of_adapters_are_adapters(tmp_path):
    """Two agents with LoRA on one base: a copy is two small folders, and the base is there once."""
    adapters = player().with_adapters(list(AGENTS), r=2)
    fit(
        "at_grpo",
        out=tmp_path / "run",
        policies=adapters,
        steps=2,
        **{**SETTINGS, "opponents_args": {"every": 1, "per_iteration": 1}},
    )
    copy = tmp_path / "run" / "opponents" / "000001"
    assert sorted(path.name for path in copy.iterdir()) == list(AGENTS)
    assert (copy / "player_0" / "adapter_model.safetensors").exists()
    assert not list(copy.rglob("model.safetensors"))


def test_a_missing_copy_is_named(tmp_path):
    members = pool(tmp_path / "there")
    members.start_iteration(0, 1)
    members.save(tmp_path)
    elsewhere = pool(tmp_path / "elsewhere")
    with pytest.raises(LlmzooError, match="000000 is missing"):
        elsewhere.load(tmp_path)
