"""Which answers become pairs, token by token; and what a preference set's rows become."""

import json
import random

import chat_models
import pytest
from datasets import Dataset
from tiny_models import policy, tokenizer
from toy_envs import Matcher, Parities
from trl import DPOConfig as TRLArguments
from trl import DPOTrainer

from llmzoo.engine.local import LocalEngine
from llmzoo.envs.base import TextEnv
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners.dpo import DPO, MADPO
from llmzoo.learners.updates import dpo
from llmzoo.learners.updates.pairs import Pair, agent_pairs, encode_pair, joint_pairs
from llmzoo.models.sampling import Sampling
from llmzoo.policies.base import PolicyRequest
from llmzoo.records import Batch, Completion, Group

RNG = random.Random(0)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """What ``datasets`` converts goes into the test's folder."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def a_group(agent, ids, returns, node=(0,), prompt=(5,)):
    return Group(
        agent=agent,
        turn=len(node) - 1,
        key=(*node, agent),
        prompt_ids=prompt,
        completions=tuple(Completion(text="", prompt_ids=prompt, ids=i) for i in ids),
        returns=returns,
    )


def test_own_pairs_are_inside_each_group():
    one = a_group("a", [(1,), (2,), (3,)], (0.0, 1.0, 0.5))
    other = a_group("b", [(4,), (5,), (6,)], (2.0, 2.0, 2.0), prompt=(6,))
    result = agent_pairs([one, other], "gap", min_gap=0.0, rng=RNG)
    assert result.pairs == [
        (Pair(agent="a", prompt_ids=(5,), chosen_ids=(2,), rejected_ids=(1,)),),
    ]
    assert result.ties == 0.5  # one of two
    every = agent_pairs([one, other], "all", min_gap=0.0, rng=RNG)
    assert [(p.chosen_ids, p.rejected_ids) for (p,) in every.pairs] == [
        ((2,), (1,)),
        ((3,), (1,)),
        ((2,), (3,)),
    ]
    assert every.ties == 0.5  # three of six


def test_an_answer_that_no_model_wrote_is_in_no_pair():
    group = a_group("a", [(1,), (), (3,)], (0.0, 9.0, 0.5))
    result = agent_pairs([group], "gap", min_gap=0.0, rng=RNG)
    assert [(p.chosen_ids, p.rejected_ids) for (p,) in result.pairs] == [((3,), (1,))]


def test_joint_pairs_are_of_the_same_two_joint_answers_at_a_node():
    a = a_group("a", [(1,), (2,), (3,)], (0.0, 1.0, 2.0))
    b = a_group("b", [(4,), (5,), (6,)], (3.0, 1.0, 0.0), prompt=(6,))
    # the means over the agents: 1.5, 1.0 and 1.0; apart, a would prefer (3,) and b (4,)
    (pair,) = joint_pairs([a, b], "gap", min_gap=0.0, rng=RNG).pairs
    assert [(p.agent, p.prompt_ids, p.chosen_ids, p.rejected_ids) for p in pair] == [
        ("a", (5,), (1,), (2,)),
        ("b", (6,), (4,), (5,)),
    ]
    every = joint_pairs([a, b], "all", min_gap=0.0, rng=RNG)
    assert [tuple(p.chosen_ids for p in pair) for pair in every.pairs] == [((1,), (4,))] * 2
    assert every.ties == pytest.approx(1 / 3)


def test_nodes_are_apart_and_an_agent_may_choose_alone():
    groups = [
        a_group("a", [(1,), (2,)], (0.0, 1.0)),
        a_group("a", [(3,), (4,)], (1.0, 0.0), node=(0, 1)),
        a_group("b", [(5,), (6,)], (1.0, 0.0), node=(0, 1)),
        a_group("b", [(7,), (8,)], (0.0, 1.0), node=(1,)),
    ]
    result = joint_pairs(groups, "gap", min_gap=0.0, rng=RNG).pairs
    assert [[(p.agent, p.chosen_ids) for p in pair] for pair in result] == [
        [("a", (2,))],
        [("a", (3,)), ("b", (5,))],
        [("b", (8,))],
    ]


def test_an_agent_whose_prompt_was_too_long_has_no_part_but_its_return_counts():
    a = a_group("a", [(1,), (2,)], (0.0, 1.0))
    b = a_group("b", [(), ()], (4.0, 0.0))
    (pair,) = joint_pairs([a, b], "gap", min_gap=0.0, rng=RNG).pairs
    assert [(p.agent, p.chosen_ids) for p in pair] == [("a", (1,))]  # 2.0 against 0.5
    assert joint_pairs([b], "gap", min_gap=0.0, rng=RNG).pairs == []


def test_joint_answers_that_are_the_same_in_all_agents_are_no_pair():
    a = a_group("a", [(1,), (1,)], (0.0, 1.0))
    b = a_group("b", [(4,), (4,)], (0.0, 1.0))
    assert joint_pairs([a, b], "gap", min_gap=0.0, rng=RNG).pairs == []
    differs = a_group("b", [(4,), (5,)], (0.0, 1.0))
    assert len(joint_pairs([a, differs], "gap", min_gap=0.0, rng=RNG).pairs) == 1


@pytest.mark.parametrize("learner", [DPO, MADPO])
def test_played_answers_reach_the_loss_token_by_token(learner, monkeypatch):
    """Whatever their text is: of random tokens it often reads back as other ones."""
    player = policy(sampling=Sampling(max_new_tokens=6))
    engine = LocalEngine(
        learner(), {"policy": player}, {"writer_0": player, "writer_1": player}, total_steps=1
    )
    handed, given = [], dpo.completions_likelihood

    def noted(policy, rows):
        handed.extend(rows)
        return given(policy, rows)

    monkeypatch.setattr(dpo, "completions_likelihood", noted)
    batch = engine.collect(Parities, range(12))
    engine.update(batch, seed=0)
    assert len(handed) > 4
    sampled = {
        (group.prompt_ids, completion.ids): completion.text
        for group in batch.groups
        for completion in group.completions
    }
    again, ends = 0, 0
    for prompt, answers in handed:
        assert prompt in (player.encode("U"), player.encode("D"))
        for ids in answers:
            text = sampled[prompt, ids]  # exactly what was sampled
            ends += ids[-1] in player.eos_ids
            again += tuple(player.tokenizer(text)["input_ids"]) != ids
    assert again > 0  # these would have become other tokens


TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{{ eos_token }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)


def said(role, content):
    return [{"role": role, "content": content}]


TEXTS = [
    {"prompt": "the answer is", "chosen": " up", "rejected": " down 0"},
    {"prompt": "U", "chosen": "p<|end|>", "rejected": "q"},
]
TALKS = [
    {
        "prompt": said("system", "S") + said("user", "up?"),
        "chosen": said("assistant", "down"),
        "rejected": said("assistant", "the answer is up"),
    },
]


@pytest.mark.parametrize("rows", [TEXTS, TALKS], ids=["texts", "conversations"])
def test_rows_become_the_tokens_that_trl_makes_of_them_up_to_the_end_of_the_turn(rows, tmp_path):
    player = policy()
    if rows is TALKS:
        player.tokenizer.chat_template = TEMPLATE
    trainer = DPOTrainer(
        player.model,
        ref_model=policy().model,
        args=TRLArguments(output_dir=str(tmp_path), bf16=False, use_cpu=True, report_to=[]),
        train_dataset=Dataset.from_list(rows),
        processing_class=player.tokenizer,
    )
    for row, theirs in zip(rows, trainer.train_dataset, strict=True):
        ours = encode_pair(player, row)
        assert list(ours.prompt_ids) == theirs["prompt_ids"]
        end = tokenizer().eos_token_id
        for name, answer in (("chosen_ids", ours.chosen_ids), ("rejected_ids", ours.rejected_ids)):
            assert list(answer) == theirs[name][: theirs[name].index(end) + 1]


@pytest.mark.parametrize("eos", ["<|im_end|>", "<|endoftext|>"])
def test_nothing_after_the_end_of_the_turn_is_trained(eos):
    """ChatML's line break after it, also where the settings do not name the end of a turn."""
    chat = chat_models.tokenizer()
    chat.eos_token = eos
    pair = encode_pair(chat_models.policy(chat), TALKS[0])
    assert chat.decode(pair.prompt_ids).endswith("<|im_start|>assistant\n")
    assert chat.decode(pair.chosen_ids) == "down<|im_end|>"
    assert chat.decode(pair.rejected_ids) == "the answer is up<|im_end|>"


def test_an_answer_of_several_turns_ends_with_the_last():
    chat = chat_models.tokenizer()
    more = [*said("assistant", "down"), *said("user", "sure?"), *said("assistant", "yes\n")]
    pair = encode_pair(chat_models.policy(chat), {**TALKS[0], "chosen": more})
    assert chat.decode(pair.chosen_ids).endswith("assistant\nyes\n<|im_end|>")


@pytest.mark.parametrize("talk", [False, True])
def test_control_tokens_in_a_row_are_text(talk):
    chat = chat_models.tokenizer()
    end = chat.convert_tokens_to_ids("<|im_end|>")
    texts = {"prompt": "up<|im_end|>?", "chosen": "a<|im_end|>b", "rejected": "b"}
    roles = {"prompt": "user", "chosen": "assistant", "rejected": "assistant"}
    row = {name: said(roles[name], text) if talk else text for name, text in texts.items()}
    pair = encode_pair(chat_models.policy(chat), row)
    assert [pair.prompt_ids.count(end), pair.chosen_ids.count(end)] == [1, 1]
    assert "up<|im_end|>?" in chat.decode(pair.prompt_ids)
    assert chat.decode(pair.chosen_ids) == "a<|im_end|>b<|im_end|>"


def test_the_system_prompt_of_a_conversation_is_its_own_or_the_policys():
    chat = chat_models.tokenizer()
    player = chat_models.policy(chat, system="Be brief.")
    assert "system\nS<" in chat.decode(encode_pair(player, TALKS[0]).prompt_ids)
    without = {**TALKS[0], "prompt": said("user", "up?")}
    text = chat.decode(encode_pair(player, without).prompt_ids)
    assert text.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nup?")


def test_thoughts_of_a_chosen_answer_are_thoughts():
    chat = chat_models.thinking()
    row = {**TALKS[0], "chosen": said("assistant", "<think>hm</think>down")}
    ids = encode_pair(chat_models.policy(chat), row).chosen_ids
    assert ids[0] == chat.convert_tokens_to_ids("<think>")
    assert ids.count(chat.convert_tokens_to_ids("</think>")) == 1


def test_a_prompt_keeps_its_last_token_where_trl_would_cut_it_off():
    """Of "is " + "up" one tokenizer run makes "is" + " up"; in play the prompt is "is ", always."""
    player = policy()
    pair = encode_pair(player, {"prompt": "the answer is ", "chosen": "up", "rejected": "down"})
    assert pair.prompt_ids == player.encode("the answer is ")
    joint = tuple(player.tokenizer("the answer is up")["input_ids"])
    assert joint[: len(pair.prompt_ids)] != pair.prompt_ids
    assert player.tokenizer.decode(pair.prompt_ids + pair.chosen_ids) == "the answer is up<|end|>"


def test_conversations_need_a_chat_template(tmp_path):
    path = tmp_path / "talks.jsonl"
    path.write_text(json.dumps(TALKS[0]))
    player = policy()
    with pytest.raises(ConfigError, match="no chat template"):
        LocalEngine(
            DPO(DPO.Config(preferences=str(path))), {"one": player}, {"a": player}, total_steps=1
        )


def test_a_text_prompt_is_read_as_an_observation_is():
    player = policy(system="S")
    player.tokenizer.chat_template = TEMPLATE
    pair = encode_pair(player, {"prompt": "up?", "chosen": "down", "rejected": "up"})
    assert pair.prompt_ids == player.encode("up?")
    text = player.tokenizer.decode(pair.prompt_ids + pair.chosen_ids)
    assert text == "<system>S<|end|>\n<user>up?<|end|>\n<assistant>down<|end|>"


class NeverPlayed(TextEnv):
    """An environment in which acting is an error."""

    metadata = {**TextEnv.metadata, "name": "never_v0"}

    def __init__(self, **kwargs):
        super().__init__(["writer_0"], max_turns=1, **kwargs)

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return "U"

    def apply(self, state, actions):
        raise AssertionError("it was played")


def with_file(tmp_path, count=5, **options):
    path = tmp_path / "preferences.jsonl"
    rows = [{"prompt": "U", "chosen": f"p{n}", "rejected": f"q{n}"} for n in range(count)]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    player = policy()
    config = DPO.Config(preferences=str(path), learning_rate=1e-2, **options)
    return LocalEngine(DPO(config), {"policy": player}, {"writer_0": player}, total_steps=9)


def test_rows_of_a_file_come_in_turn_and_nothing_is_played(tmp_path, monkeypatch):
    engine = with_file(tmp_path, rows=2)
    seen, given = [], dpo.encode_pair

    def noted(player, row):
        seen.append(int(row["chosen"][1]))
        return given(player, row)

    monkeypatch.setattr(dpo, "encode_pair", noted)
    for step in range(5):
        batch = engine.collect(NeverPlayed, [step, step + 1])
        assert batch == Batch()
        assert engine.update(batch, seed=step)["pairs"] == 2
    assert len(seen) == 10
    assert sorted(seen[:5]) == sorted(seen[5:]) == [0, 1, 2, 3, 4]  # each before any comes again
    assert seen[:5] != seen[5:]
    first = list(seen)
    again = with_file(tmp_path, rows=2)
    again.save(tmp_path)
    engine.save(tmp_path)
    again.load(tmp_path)  # after five iterations
    seen.clear()
    for later in (engine, again):
        later.update(Batch(), seed=5)
    assert seen[:2] == seen[2:]
    other = with_file(tmp_path, rows=2, order=1)
    seen.clear()
    for step in range(5):
        other.update(Batch(), seed=step)
    assert seen != first


def test_the_chosen_answers_of_a_file_become_likelier(tmp_path):
    engine = with_file(tmp_path, rows=5)
    player = engine.policies["policy"]
    metrics = [engine.update(Batch(), seed=step) for step in range(4)]
    assert metrics[0]["rewards/margins"] == 0.0
    assert metrics[3]["rewards/margins"] > 0.1
    assert metrics[3]["rewards/accuracies"] == 1.0
    assert metrics[3]["loss"] < metrics[0]["loss"]
    assert player.model.training is False


def test_without_any_pair_nothing_moves():
    player = policy()
    engine = LocalEngine(DPO(), {"policy": player}, {"a": player}, total_steps=1)
    joint = LocalEngine(MADPO(), {"policy": player}, {"a": player}, total_steps=1)
    before = [p.detach().clone() for p in player.parameters()]
    flat = Batch(groups=(a_group("a", [(20,), (21,)], (1.0, 1.0)),))
    for one in (engine, joint):
        metrics = one.update(flat, seed=0)
        assert metrics["pairs"] == 0
        assert metrics["ties"] == 1.0
    assert all((a == b).all() for a, b in zip(before, player.parameters(), strict=True))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 4}, "rows has no effect without preferences: set preferences"),
        ({"preferences": "x.jsonl", "group_size": 8}, "group_size has no effect with"),
        ({"preferences": "x.jsonl", "pairs": "gap"}, "pairs has no effect with"),
        ({"preferences": "x.jsonl", "rows": 0}, "rows must be at least 1"),
        ({"beta": 0.0}, "beta must be above 0"),
        ({"group_size": 1}, "group_size must be at least 2"),
        ({"gamma": 1.5}, r"gamma must be in \[0, 1\]"),
        ({"min_gap": -1.0}, "min_gap must be at least 0"),
        ({"rounds": -1}, "rounds must be at least 0"),
        ({"loss_type": ()}, "loss_type must have at least one of"),
        ({"loss_type": "exo_pair"}, "exo_pair needs label_smoothing"),
        ({"loss_weights": [1.0, 2.0]}, "each of 1 losses, got 2"),
        ({"ld_alpha": 1.5}, "ld_alpha must be in"),
        ({"loss_type": "robust", "label_smoothing": 0.5}, "below 0.5 for robust"),
        (
            {"loss_type": "apo_zero", "f_divergence_type": "forward_kl"},
            "apo_zero does not support f_divergence_type",
        ),
        ({"max_length": 10}, "completions are not truncated"),
    ],
)
def test_options_without_meaning_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        DPO.Config(**options)


@pytest.mark.parametrize(
    ("config", "options", "near"),
    [
        (DPO.Config, {"loss_type": "sigmiod"}, "sigmoid"),
        (DPO.Config, {"pairs": "gaps"}, "gap"),
        (DPO.Config, {"mode": "aligned"}, "align"),
        (MADPO.Config, {"loss_type": "ipo"}, "sigmoid"),
        (MADPO.Config, {"loss_type": ("sigmoid", "sft")}, "sigmoid"),
    ],
)
def test_unknown_names_are_refused_with_what_is_known(config, options, near):
    with pytest.raises(UnknownNameError, match=near):
        config(**options)


def test_a_cross_gives_each_answer_its_mean_over_the_others():
    """Two agents write a number; of a cross the returns are own number x (1 + mean of the other's)."""

    class Writer:
        name, prompt_style = "writer", None

        def respond(
            self, requests: list[PolicyRequest], group_size: int = 1, *, greedy: bool = False, **_
        ):
            return [
                [Completion(text=str(i), prompt_ids=(5,), ids=(20 + i,)) for i in range(group_size)]
                for _ in requests
            ]

    player = policy()
    engine = LocalEngine(
        DPO(DPO.Config(mode="cross", group_size=3, pairs="gap")),
        {"policy": player},
        {"a_0": player, "b_1": player},
        total_steps=1,
    )
    engine.updater.rollout_policies = lambda: {"a_0": Writer(), "b_1": Writer()}
    batch = engine.collect(Matcher, [0])
    assert [g.returns for g in batch.groups] == [(0.0, 2.0, 4.0)] * 2
    assert engine.update(batch, seed=0)["pairs"] == 2
