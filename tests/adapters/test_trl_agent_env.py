"""One agent in TRL's own loop, policies in the others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
import trl_runs
from agent_envs import Ended
from float64 import assert_equal
from tiny_models import FakePolicy, model, tokenizer
from toy_envs import Adder, Matcher
from trl import chat_template_utils

from llmzoo.adapters import trl as adapter
from llmzoo.adapters.trl.agent_env import AgentEpisode
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.policies import load_model
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.registry import make
from llmzoo.training import fit


def fixed(text):
    return ScriptedPolicy(lambda request: text)


def env_of(env, one_agent, others="expert", **env_args):
    return adapter.environment_factory(env, agent=one_agent, others=others, env_args=env_args)()


def called(*texts):
    """TRL's messages of a model that has called ``answer`` with each text, all carried out."""
    messages = []
    for text in texts:
        call = {"type": "function", "function": {"name": "answer", "arguments": {"text": text}}}
        messages += [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "name": "answer", "content": "..."},
        ]
    return messages


def said(text):
    return {"role": "assistant", "content": text}


def reward(one_agent, messages):
    metrics = {}
    (paid,) = adapter.agent_return(
        completions=[messages], environments=[one_agent], log_metric=metrics.__setitem__
    )
    return paid, metrics


# the agent's episode


def test_others_play_until_it_is_the_agent_s_turn():
    one_agent = env_of(lambda: Adder(max_turns=2), "b_1", fixed("3"))
    assert one_agent.reset(seed=1, prompt=[]) == "b_1 0 3.0"
    assert one_agent.answer("1") == "b_1 1 3.0 1.0 3.0"
    assert one_agent.answer("2") == "The episode is over: success."
    # its own numbers, and a tenth of the sum
    assert reward(one_agent, called("1", "2")) == (
        pytest.approx(3.9),
        {"success": 1.0, "turns": 2.0},
    )


@pytest.mark.parametrize("one_agent", ["a_0", "b_1"])
def test_a_simultaneous_agent_is_paid_for_both_answers(one_agent):
    player = env_of(lambda: Matcher(max_turns=1), one_agent, fixed("4"))
    player.reset(seed=0)
    assert player.answer("2") == "The episode is over: no success."
    assert reward(player, called("2"))[0] == pytest.approx(2 + 8)


def test_the_seed_fixes_the_task_and_what_the_others_draw():
    others = FakePolicy(lambda request, i: str(request.noise % 10))
    one_agent = env_of(lambda: Adder(max_turns=3), "b_1", others)

    def played(seed):
        return [one_agent.reset(seed=seed), one_agent.answer("1"), one_agent.answer("1")]

    assert played(1) == played(1)
    assert len({str(played(seed)) for seed in range(5)}) > 1


def test_an_episode_is_paid_as_by_hand():
    one_agent = env_of("sudoku_v0", "planner_1", "expert", max_turns=2)
    one_agent.reset(seed=4)
    one_agent.answer("nonsense")
    one_agent.answer("1234")
    env = make("sudoku_v0", max_turns=2)
    env.reset(seed=4)
    paid = 0.0
    answers = iter(["nonsense", "1234"])
    for agent in env.agent_iter():
        _, reward_so_far, terminated, truncated, _ = env.last()
        if agent == "planner_1":
            paid += reward_so_far
        over = terminated or truncated
        if agent == "planner_1":
            env.step(None if over else next(answers))
        else:
            env.step(None if over else env.unwrapped.expert(agent))
    assert reward(one_agent, called("nonsense", "1234"))[0] == pytest.approx(paid)


def test_a_run_folder_plays_the_other_agent(tmp_path, small_model):
    run = tmp_path / "run"
    shown = {"env": "sudoku_v0", "env_args": {"max_turns": 1}, "model": small_model}
    small = {
        "steps": 1,
        "episodes_per_step": 1,
        "eval_tasks": 1,
        "max_new_tokens": 4,
        "trackers": (),
    }
    fit(learner="magrpo", out=run, quiet=True, **shown, **small)
    one_agent = env_of("sudoku_v0", "planner_1", str(run), max_turns=1)
    assert one_agent.reset(seed=0) == one_agent.reset(seed=0)
    other = one_agent.play.others["proposer_0"]
    assert (list(one_agent.play.others), other.tokens_sampled > 0) == (["proposer_0"], True)
    assert other.sampling.max_new_tokens == 4  # as in its run


# where TRL stops without a word


def test_a_message_without_a_call_is_the_answer_to_the_open_turn():
    one_agent = env_of(lambda: Adder(max_turns=1), "a_0", fixed("1"))
    one_agent.reset(seed=0)
    paid, metrics = reward(one_agent, [said("5")])
    assert (paid, metrics) == (pytest.approx(5.6), {"success": 1.0, "turns": 1.0})


def test_thoughts_of_such_a_message_are_no_part_of_the_answer():
    for text, paid in [("<think>bad</think>\ngood", 1.0), ("<think>good", -0.5)]:
        one_agent = env_of(lambda: Strict(1), "a_0")
        one_agent.reset(seed=0)
        assert reward(one_agent, [said(text)])[0] == pytest.approx(paid)


def test_calls_that_trl_did_not_carry_out_any_more_are_answers():
    one_agent = env_of(lambda: Adder(max_turns=2), "a_0", fixed("0"))
    one_agent.reset(seed=0)
    one_agent.answer("1")
    assert reward(one_agent, [*called("1"), called("2")[0]])[0] == pytest.approx(3.3)


def test_a_call_whose_result_trl_took_back_does_not_count_twice():
    """It drops a result that would be too long, though the call was carried out."""
    one_agent = env_of(lambda: Strict(2), "a_0")
    one_agent.reset(seed=0)
    one_agent.answer("good")
    paid, metrics = reward(one_agent, called("good")[:1])
    assert (paid, metrics["turns"]) == (pytest.approx(1 - 0.5), 1.0)  # and silent in the second


class Strict(TextEnv):
    """One agent: 1 for "good", -0.5 for anything else; it ends after so many good answers."""

    def __init__(self, good):
        super().__init__(["a_0"], max_turns=2000)
        self.good = good

    def reset_task(self, rng, task):
        return 0

    def observation(self, state, agent):
        return f"{state} good"

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        state += text == "good" or self.good < 3
        paid = 1.0 if text == "good" else -0.5
        return state, Outcome(local={agent: {"own": paid}}, done=state == self.good)


def test_an_episode_without_an_end_is_named():
    one_agent = env_of(lambda: Strict(3), "a_0")
    one_agent.reset(seed=0)
    with pytest.raises(ConfigError, match="after 1000 empty answers of a_0"):
        reward(one_agent, [said("")])


def test_a_silent_agent_forfeits_as_the_documentation_says():
    one_agent = env_of("llmzoo.adapters.classic:tic_tac_toe", "player_2", "noisy_expert")
    one_agent.reset(seed=0)
    # twice 0.1 for a wrong answer, and 1 for forfeiting
    assert reward(one_agent, [said("I give up.")])[0] == pytest.approx(-1.2)


def test_calls_that_cannot_be_carried_out_are_no_answers():
    one_agent = env_of(lambda: Strict(1), "a_0")
    one_agent.reset(seed=0)
    wrong = [
        {"function": {"name": "reply", "arguments": {"text": "good"}}},
        {"function": {"name": "answer", "arguments": {"words": "good"}}},
        {"function": {"name": "answer", "arguments": "good"}},
    ]
    paid, metrics = reward(one_agent, [{"role": "assistant", "content": "", "tool_calls": wrong}])
    assert (paid, metrics["turns"]) == (-0.5, 0.0)


@pytest.mark.parametrize("value", [7, ["a", 1], {"b": None}, "é"])
def test_a_value_that_is_no_text_is_read_as_written(value):
    heard = []

    class Listening(Strict):
        def apply(self, state, actions):
            heard.extend(actions.values())
            return super().apply(state, actions)

    one_agent = env_of(lambda: Listening(1), "a_0")
    one_agent.reset(seed=0)
    one_agent.answer(value)
    assert heard == [value if isinstance(value, str) else json.dumps(value)]


def test_what_a_step_raises_is_raised_though_trl_swallows_it():
    one_agent = env_of(lambda: Adder(max_turns=1), "a_0", fixed("1"))
    one_agent.reset(seed=0)
    with pytest.raises(ValueError, match="could not convert"):
        one_agent.answer("no number")  # a bug of this environment
    with pytest.raises(ValueError, match="could not convert"):
        reward(one_agent, [*called("no number"), said("1")])
    one_agent.reset(seed=0)
    assert reward(one_agent, [said("1")])[0] == pytest.approx(1.2)


def test_mistakes_are_named():
    with pytest.raises(UnknownNameError, match="planner_1"):
        adapter.environment_factory("sudoku_v0", agent="planner_2")
    with pytest.raises(ConfigError, match="no seed"):
        env_of(Adder, "a_0", fixed("1")).reset(prompt=[])
    with pytest.raises(ConfigError, match="seed 0 has no turn of b_1"):
        AgentEpisode(Ended(), "b_1", {"a_0": fixed("")}).start(0)


# in TRL's trainer


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two steps of sudoku: the planner beside a noisy expert, up to two rounds."""
    policy = load_model("tiny")
    env_args = {"prompt": "terse", "max_turns": 2}
    played = []

    def watched(**given):
        returns = adapter.agent_return(**given)
        plays = [one_agent.play for one_agent in given["environments"]]
        played.append([(p.seed, tuple(p.answers), p.episode_return, p.success) for p in plays])
        return returns

    watched.__name__ = "agent_return"
    seen = trl_runs.train(
        policy.model,
        adapter.with_plain_chat(policy.tokenizer),
        tmp_path_factory.mktemp("one_agent"),
        adapter.dataset(range(4)),
        steps=2,
        max_completion_length=256,
        settings={"max_tool_calling_iterations": 1},
        environment_factory=adapter.environment_factory(
            "sudoku_v0", agent="planner_1", others="noisy_expert", env_args=env_args
        ),
        reward_funcs=watched,
    )
    return seen, played


@pytest.mark.slow
def test_two_steps_move_the_weights(run):
    seen, played = run
    assert [len(step) for step in played] == [8, 8]
    assert seen.moved() > 1e-4


@pytest.mark.slow
def test_a_group_shares_its_task_and_prompt(run):
    seen, played = run
    for step, batch in zip(played, seen.batches, strict=True):
        for start in (0, 4):
            rows = batch["inputs"][start : start + 4]
            assert [seed for seed, *_ in step[start : start + 4]] == [rows[0]["seed"]] * 4
            assert torch.equal(
                batch["prompt_ids"][start : start + 4], batch["prompt_ids"][start].expand(4, -1)
            )


@pytest.mark.slow
def test_rewards_are_those_of_the_environment_played_again(run):
    seen, played = run
    for number, step in enumerate(played):
        for seed, answers, paid, success in step:
            again = env_of("sudoku_v0", "planner_1", "noisy_expert", prompt="terse", max_turns=2)
            again.reset(seed=seed)
            for text in answers:
                again.answer(text)
            assert (again.play.episode_return, again.play.success) == (pytest.approx(paid), success)
        mean = sum(paid for _, _, paid, _ in step) / 8
        assert seen.logged("rewards/agent_return/mean")[number] == pytest.approx(mean, abs=1e-5)
        rate = sum(success for *_, success in step) / 8
        assert seen.logged("success")[number] == pytest.approx(rate)
    assert len({paid for step in played for _, _, paid, _ in step}) > 3


@pytest.mark.slow
def test_the_mask_leaves_out_what_the_agent_was_told(run):
    seen, played = run
    tokenizer_ = seen.trainer.processing_class
    several = 0
    for step, batch in zip(played, seen.batches, strict=True):
        for row, (seed, answers, _, _) in enumerate(step):
            again = env_of("sudoku_v0", "planner_1", "noisy_expert", prompt="terse", max_turns=2)
            told = [again.reset(seed=seed), *(again.answer(text) for text in answers)]
            prompt = batch["prompt_ids"][row][batch["prompt_mask"][row].bool()]
            assert tokenizer_.decode(prompt) == told[0]
            kept = batch["completion_mask"][row].bool()
            ids, own = batch["completion_ids"][row][kept], batch["tool_mask"][row][kept].bool()
            ended = int(own.sum()) < len(own)
            several += ended
            assert tokenizer_.decode(ids[~own]) == (told[1] if ended else "")
            written = tokenizer_.decode(ids[own]).split(tokenizer_.eos_token)
            assert list(answers) == [text for text in written if text][: len(answers)]
    assert several > 0


@pytest.mark.slow
def test_log_probabilities_are_those_of_the_model(run):
    seen, _ = run
    for batch, ours, theirs in zip(seen.batches, seen.ours, seen.theirs, strict=True):
        mask = batch["completion_mask"].bool()
        assert_equal(theirs[mask], ours[mask])


def test_plain_chat_is_a_copy():
    before = tokenizer()
    chat = adapter.with_plain_chat(before)
    assert before.chat_template is None
    assert chat.apply_chat_template([{"role": "user", "content": "a b"}], tokenize=False) == "a b"


@pytest.mark.slow
def test_a_model_with_random_weights_writes_rubbish_that_is_paid_for(tmp_path):
    seen = trl_runs.train(
        model(max_position_embeddings=2048),
        adapter.with_plain_chat(tokenizer()),
        tmp_path,
        adapter.dataset(range(2)),
        steps=1,
        max_completion_length=6,
        settings={"max_tool_calling_iterations": 0},
        environment_factory=adapter.environment_factory(
            "llmzoo.adapters.classic:tic_tac_toe", agent="player_1", others="noisy_expert"
        ),
        reward_funcs=adapter.agent_return,
    )
    # it writes no legal move, and then is silent: twice 0.1, and 1 for forfeiting
    assert seen.logged("rewards/agent_return/mean") == [pytest.approx(-1.2)]


@pytest.mark.slow
def test_a_chat_model_calls_the_tool(tmp_path, monkeypatch):
    """TRL's own template for Qwen3, and a model whose words are given here."""
    template = Path(chat_template_utils.__file__).parent / "chat_templates" / "qwen3.jinja"
    chat = tokenizer()
    chat.chat_template = template.read_text()
    call = '<tool_call>\n{"name": "answer", "arguments": {"text": "%s"}}\n</tool_call>'
    # of the four samples: two turns by calls; one that breaks off; no call at all; a broken call
    scripts = [
        [call % "2", call % "3", "Done."],
        [call % "2", "I think 3 is right."],
        ["4"],
        ["<tool_call>\n{4</tool_call>"],
    ]
    turns = [0] * 4

    def written(self, prompt_ids, *args, **kwargs):
        waiting = [i for i in range(4) if turns[i] < len(scripts[i])]
        assert len(waiting) == len(prompt_ids)
        texts = [scripts[i][turns[i]] for i in waiting]
        for i in waiting:
            turns[i] += 1
        return [[*chat(text)["input_ids"], chat.eos_token_id] for text in texts], None

    monkeypatch.setattr(trl_runs.GRPOTrainer, "_generate_single_turn", written)
    seen = trl_runs.train(
        model(max_position_embeddings=8192),
        chat,
        tmp_path,
        adapter.dataset([1], instructions="Write a number.\n"),
        steps=1,
        max_completion_length=2000,
        settings={"per_device_train_batch_size": 4},
        environment_factory=adapter.environment_factory(
            Lenient, agent="a_0", others=ScriptedPolicy(lambda request: "1")
        ),
        reward_funcs=adapter.agent_return,
    )
    (batch,) = seen.batches
    prompt = chat.decode(batch["prompt_ids"][0][batch["prompt_mask"][0].bool()])
    assert "Write a number.\na_0 0 " in prompt
    assert '"name": "answer"' in prompt  # the tool's description
    told = [chat.decode(batch["completion_ids"][i][(batch["tool_mask"][i] == 0)]) for i in range(4)]
    assert "a_0 1 2.0 1.0" in told[0]
    assert "The episode is over: success." in told[0]
    assert told[2:] == ["", ""]
    # 2 + 3 and a tenth of 7; 2 + nothing that can be read; 4 and a silent turn; twice nothing
    assert seen.logged("reward") == [pytest.approx((5.7 + 2.4 + 4.6 + 0.2) / 4, abs=1e-5)]


class Lenient(Adder):
    """Reads what is no number as 0."""

    def __init__(self):
        super().__init__(max_turns=2)

    def apply(self, state, actions):
        read = {agent: text if text.isdigit() else "0" for agent, text in actions.items()}
        return super().apply(state, read)
