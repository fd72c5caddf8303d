"""Several agents of one model in TRL's trainer: groups of single decisions."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch
import trl_runs
from agent_envs import Ended
from float64 import assert_equal
from peft import LoraConfig
from tiny_models import FakePolicy, model, tokenizer
from toy_envs import Adder, Matcher

from llmzoo.adapters import trl as adapter
from llmzoo.adapters.trl.rollouts import DecisionRow, rows_from_prompts, sample_branches
from llmzoo.adapters.trl.table import TrlSetup
from llmzoo.errors import ConfigError, MissingExtraError, UnknownNameError
from llmzoo.policies import load_model
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.registry import make


def by_chance(request, _):
    """A number from 0 to 9 that hangs on the request's chance."""
    return str(request.noise % 10)


def table(env, agents=None, others="expert"):
    return TrlSetup(env, agents=agents, others=others, env_args=None)


def texts(branched):
    return [d.completion.text for d in branched.episode.decisions]


# what is played


def test_a_group_is_k_answers_to_one_observation_of_one_agent():
    rows = [DecisionRow(seed=5, decision=d) for d in range(4)]
    branches = sample_branches(table(lambda: Adder(max_turns=2)), FakePolicy(by_chance), rows, 4)
    groups = [branches[i : i + 4] for i in range(0, 16, 4)]
    assert [(g[0].point.agent, g[0].point.turn) for g in groups] == [
        ("a_0", 0),
        ("b_1", 0),
        ("a_0", 1),
        ("b_1", 1),
    ]
    for number, group in enumerate(groups):
        assert len({b.decision[1].observation for b in group}) == 1
        assert all(len(b.episode.decisions) == 4 - number for b in group)  # played to the end
        assert len({b.decision[1].completion.text for b in group}) > 1  # each draws its own
    # all groups of a seed branch off one line of play: each observation begins with the one before
    seen = [g[0].decision[1].observation.split()[2:] for g in groups]
    assert [len(numbers) for numbers in seen] == [0, 1, 2, 3]
    assert all(seen[i + 1][: len(seen[i])] == seen[i] for i in range(3))


def test_the_return_is_what_the_agent_is_paid_from_its_answer_on():
    rows = [DecisionRow(seed=1, decision=0), DecisionRow(seed=1, decision=1)]
    for branched in sample_branches(table(Adder), FakePolicy(by_chance), rows, 3):
        index, decision = branched.decision
        numbers = [float(n) for n in decision.observation.split()[2:]] + list(
            map(float, texts(branched))
        )
        own = numbers[0] if branched.point.agent == "a_0" else numbers[1]
        # its own number, and a tenth of the sum of both
        assert branched.episode.returns()[index] == pytest.approx(own + sum(numbers) / 10)


def test_what_was_paid_before_the_answer_is_no_part_of_its_return():
    branches = sample_branches(
        table(lambda: Adder(max_turns=2)), FakePolicy(lambda r, i: "2"), [DecisionRow(0, 2)], 1
    )
    index, _ = branches[0].decision
    assert branches[0].point.turn == 1
    # the second answer's 2 and a tenth of 8; the first answer's 2 came before
    assert branches[0].episode.returns()[index] == pytest.approx(2.8)


def test_simultaneous_agents_branch_before_either_has_answered():
    rows = [DecisionRow(seed=0, decision=0), DecisionRow(seed=0, decision=1)]
    branches = sample_branches(table(lambda: Matcher(max_turns=2)), FakePolicy(by_chance), rows, 5)
    assert [b.point.agent for b in branches] == ["a_0"] * 5 + ["b_1"] * 5
    for b in branches:
        index, decision = b.decision
        first, second, third, fourth = map(float, texts(b))  # a, b, a, b
        own = first + third if decision.agent == "a_0" else second + fourth
        assert b.episode.returns()[index] == pytest.approx(first * second + third * fourth + own)
    assert (
        len({texts(b)[0] for b in branches[5:]}) > 1
    )  # the other agent answers again in each copy


def test_a_number_beyond_the_end_is_counted_round():
    rows = [DecisionRow(seed=0, decision=d) for d in (0, 1, 2, 5)]
    branches = sample_branches(table(Adder), FakePolicy(by_chance), rows, 1)
    assert [b.point.agent for b in branches] == ["a_0", "b_1", "a_0", "b_1"]


def test_other_agents_are_played_by_the_others_and_make_no_groups():
    fixed = ScriptedPolicy(lambda request: "7")
    rows = [DecisionRow(seed=0, decision=0), DecisionRow(seed=0, decision=1)]
    branches = sample_branches(table(Adder, ["b_1"], fixed), FakePolicy(by_chance), rows, 2)
    assert [b.point.agent for b in branches] == ["b_1"] * 4
    assert all(b.decision[1].observation == "b_1 0 7.0" for b in branches)


def test_an_agent_without_a_decision_is_named():
    with pytest.raises(ConfigError, match="seed 3 has no decision of b_1"):
        sample_branches(
            table(Ended, ["b_1"], ScriptedPolicy(lambda r: "")),
            FakePolicy(by_chance),
            [DecisionRow(3, 0)],
            2,
        )


# the rows


def test_rows_name_the_seed_and_the_decision():
    rows = adapter.dataset([4, 9], decisions=2)
    assert [(row["seed"], row["decision"]) for row in rows] == [(4, 0), (4, 1), (9, 0), (9, 1)]
    assert rows[3]["prompt"] == [{"role": "user", "content": "", "seed": 9, "decision": 1}]
    assert adapter.dataset([4], instructions="AgentEpisode.")[0] == {
        "prompt": [{"role": "user", "content": "AgentEpisode."}],
        "seed": 4,
    }


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"seeds": []}, "at least one seed"),
        ({"seeds": [1], "decisions": 0}, "at least 1, got 0"),
        ({"seeds": [1], "decisions": 2, "instructions": "x"}, "leave out instructions"),
    ],
)
def test_rows_that_mean_nothing(options, says):
    with pytest.raises(ConfigError, match=says):
        adapter.dataset(**options)


def test_mistakes_are_named():
    with pytest.raises(UnknownNameError, match="planner_1"):
        adapter.rollout_func("sudoku_v0", agents=["planner_2"])
    with pytest.raises(ConfigError, match="nobody plays planner_1"):
        adapter.rollout_func("sudoku_v0", agents=["proposer_0"], others={})
    with pytest.raises(ConfigError, match="at least one agent"):
        adapter.rollout_func("sudoku_v0", agents=[])
    with pytest.raises(ConfigError, match="env_args are for an id"):
        adapter.rollout_func(Adder, env_args={"max_turns": 2})


def test_what_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[train\]"):
        adapter.dataset([1])


def test_the_adapter_loads_neither_torch_nor_trl():
    heavy = "{'torch', 'trl', 'transformers', 'datasets', 'peft'}"
    code = f"import sys, llmzoo.adapters.trl; assert not {heavy} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


# in TRL's trainer


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two steps of sudoku: two agents, up to two rounds, all four decisions."""
    policy = load_model("tiny")
    rollouts = adapter.rollout_func("sudoku_v0", env_args={"prompt": "terse", "max_turns": 2})
    made = []

    def watched(prompts, trainer):
        made.append(rollouts(prompts, trainer))
        return made[-1]

    seen = trl_runs.train(
        policy.model,
        policy.tokenizer,
        tmp_path_factory.mktemp("rollouts"),
        adapter.dataset(range(2), decisions=4),
        steps=2,
        max_completion_length=24,
        rollout_func=watched,
        reward_funcs=adapter.decision_return,
    )
    return seen, made


@pytest.mark.slow
def test_two_steps_move_the_weights(run):
    seen, made = run
    assert len(made) == 2
    assert seen.moved() > 1e-4
    assert seen.trainer.model.training


@pytest.mark.slow
def test_the_rewards_that_trl_logs_are_those_of_the_environment(run):
    seen, made = run
    for step, samples in enumerate(made):
        mean = sum(samples["decision_return"]) / 8
        assert seen.logged("rewards/decision_return/mean")[step] == pytest.approx(mean, abs=1e-5)
        assert seen.logged("success")[step] == pytest.approx(sum(samples["success"]) / 8)
    assert len({r for samples in made for r in samples["decision_return"]}) > 3


@pytest.mark.slow
def test_an_answer_replayed_by_hand_is_paid_the_same(tmp_path):
    env_args = {"max_turns": 1, "prompt": "terse"}
    rollouts = adapter.rollout_func("sudoku_v0", agents=["planner_1"], env_args=env_args)
    policy = load_model("tiny")
    made = []
    trl_runs.train(
        policy.model,
        policy.tokenizer,
        tmp_path,
        adapter.dataset(range(2), decisions=1),
        steps=1,
        max_completion_length=24,
        rollout_func=lambda prompts, trainer: made.append(rollouts(prompts, trainer)) or made[-1],
        reward_funcs=adapter.decision_return,
    )
    paid = []
    for i, observation in enumerate(made[0]["observation"]):
        env = make("sudoku_v0", **env_args)
        seed = next(s for s in range(2) if after_the_expert(env, s) == observation)
        assert after_the_expert(env, seed) == observation
        ids = made[0]["completion_ids"][i]
        env.step(policy.tokenizer.decode(ids, skip_special_tokens=True))
        paid.append(env.rewards["planner_1"])
    assert made[0]["decision_return"] == pytest.approx(paid)
    assert len(set(paid)) > 2


def after_the_expert(env, seed):
    """What the planner reads after the expert's proposal."""
    env.reset(seed=seed)
    env.step(env.unwrapped.expert("proposer_0"))
    return env.observe("planner_1")


def test_wrong_texts_get_the_documented_penalty():
    game = "llmzoo.adapters.classic:tic_tac_toe"
    (branched,) = sample_branches(
        table(game), FakePolicy(lambda r, i: "no move"), [DecisionRow(0, 0)], 1
    )
    # twice 0.1 for a wrong answer, and 1 for forfeiting
    assert branched.episode.returns()[branched.decision[0]] == pytest.approx(-1.2)


def test_a_prompt_that_does_not_fit_is_masked(tmp_path):
    rollouts = adapter.rollout_func("sudoku_v0", agents=["planner_1"], env_args={"max_turns": 1})
    with pytest.warns(UserWarning, match="exceeds the available context"):
        seen = trl_runs.train(
            model(max_position_embeddings=64),
            tokenizer(),
            tmp_path,
            adapter.dataset(range(2), decisions=1),
            steps=1,
            max_completion_length=6,
            rollout_func=rollouts,
            reward_funcs=adapter.decision_return,
        )
    assert seen.batches[0]["tool_mask"].tolist() == [[0]] * 8
    assert seen.moved() == 0


@pytest.mark.slow
def test_an_adapter_is_trained_alone(tmp_path):
    """And what was sampled has the likelihood that TRL finds, under the trainer's temperature."""
    rollouts = adapter.rollout_func("sudoku_v0", env_args={"prompt": "terse", "max_turns": 1})
    policy = load_model("tiny")
    seen = trl_runs.train(
        policy.model,
        policy.tokenizer,
        tmp_path,
        adapter.dataset(range(2), decisions=2),
        steps=1,
        max_completion_length=24,
        settings={"temperature": 0.7},
        rollout_func=rollouts,
        reward_funcs=adapter.decision_return,
        peft_config=LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM"),
    )
    moved = {n: w for n, w in seen.trainer.model.named_parameters() if "lora_B" in n}
    assert any(bool(weight.any()) for weight in moved.values())
    mask = seen.batches[0]["completion_mask"].bool()
    sampled = seen.batches[0]["sampling_per_token_logps"]
    assert_equal(sampled[mask], seen.theirs[0][mask])


@pytest.mark.parametrize(
    ("settings", "rows", "says"),
    [
        ({"min_p": 0.1}, {"decisions": 1}, "leave out min_p"),
        ({"repetition_penalty": 1.1}, {"decisions": 1}, "leave out repetition_penalty"),
        ({"chat_template_kwargs": {"a": 1}}, {"decisions": 1}, "no chat template"),
        ({}, {}, "names no seed and decision"),
    ],
)
def test_what_the_rollout_does_not_know_is_refused(settings, rows, says, tmp_path):
    with pytest.raises(ConfigError, match=says):
        trl_runs.train(
            model(),
            tokenizer(),
            tmp_path,
            adapter.dataset(range(2), **rows),
            steps=1,
            max_completion_length=6,
            settings=settings,
            rollout_func=adapter.rollout_func("sudoku_v0"),
            reward_funcs=adapter.decision_return,
        )


def test_a_divided_group_is_refused():
    (row,) = adapter.dataset([1], decisions=1)["prompt"]
    (other,) = adapter.dataset([2], decisions=1)["prompt"]
    assert rows_from_prompts([row, row, other, other], 2) == [DecisionRow(1, 0), DecisionRow(2, 0)]
    for prompts in ([row, other], [row, row, other]):
        with pytest.raises(ConfigError, match="whole groups of 2"):
            rows_from_prompts(prompts, 2)


@pytest.mark.slow
def test_a_group_shares_task_agent_and_prompt(run):
    _, made = run
    for samples in made:
        for start in (0, 4):
            for name in ("prompt_ids", "agent", "turn", "observation"):
                assert samples[name][start : start + 4] == [samples[name][start]] * 4, name


@pytest.mark.slow
def test_log_probabilities_and_masks_are_those_of_the_model(run):
    seen, made = run
    for batch, ours, theirs, samples in zip(
        seen.batches, seen.ours, seen.theirs, made, strict=True
    ):
        mask = batch["completion_mask"].bool()
        assert torch.equal(batch["tool_mask"][mask], torch.ones_like(batch["tool_mask"][mask]))
        assert_equal(theirs[mask], ours[mask])
        sampled = batch["sampling_per_token_logps"]
        assert_equal(sampled[mask], ours[mask])
        assert mask.sum(1).tolist() == [len(ids) for ids in samples["completion_ids"]]
