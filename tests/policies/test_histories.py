"""Conversations: the tokens of earlier answers are those that were sampled, and are read once."""

from __future__ import annotations

import warnings
from itertools import pairwise

import chat_models
import pytest
import tiny_models
import torch
from float64 import LIMIT, assert_equal

import llmzoo
from llmzoo.learners.configs.surrogate import SurrogateConfig
from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.learners.updates.microbatches import count_tokens, make_microbatches
from llmzoo.learners.updates.policy_gradient import surrogate_loss
from llmzoo.models.packing import PackedGroups
from llmzoo.models.sampling import Sampling
from llmzoo.policies import histories
from llmzoo.records import Group
from llmzoo.rollout import play_episodes
from llmzoo.spaces import Conversation

TURNS = 6
FORGETFUL = chat_models.CHATML.replace("m in messages", "m in messages if m.role != 'assistant'")
TASKS = {"train": [f"task {n}" for n in range(8)], "test": ["the test"]}


def talk(task, client, changed=str):
    messages = [{"role": "user", "content": f"{task['prompt']}: the answer is up or down"}]
    for turn in range(TURNS):
        reply = client.chat.completions.create(model="talker", messages=messages)
        said = changed(reply.choices[0].message.content)
        messages.append({"role": "assistant", "content": said})
        messages.append({"role": "user", "content": f"{turn}?"})
    return 1.0


def talks(policy, program=talk, count=4):
    """Episodes of six turns, as the tokens that were read and sampled."""
    env = lambda: llmzoo.from_program(program, agents=["talker"], tasks=TASKS)  # noqa: E731
    played = play_episodes(env, policy, seeds=range(count))
    return [[d.completion for d in episode.decisions] for episode in played]


def plain(**options):
    options.setdefault("sampling", Sampling(max_new_tokens=8))
    return tiny_models.policy(**options)


def chatting(template=chat_models.CHATML, **options):
    options.setdefault("sampling", Sampling(max_new_tokens=8))
    return chat_models.policy(chat_models.tokenizer(template), **options)


def goes_on(turns):
    """Whether each prompt begins with the prompt before it and its answer."""
    return [
        later.prompt_ids[: len(turn.prompt_ids + turn.ids)] == turn.prompt_ids + turn.ids
        for turn, later in pairwise(turns)
    ]


def groups(turns):
    return [
        Group(
            agent="talker",
            turn=number,
            key=(number,),
            prompt_ids=turn.prompt_ids,
            completions=(turn,),
            returns=(0.5,),
        )
        for number, turn in enumerate(turns)
    ]


def trimming():
    return chatting(chat_models.NO_SYSTEM)


@pytest.mark.parametrize("make", [plain, chatting, trimming])
def test_a_prompt_begins_with_the_tokens_of_the_turn_before(make):
    """Random weights sample tokens that no tokenizer would choose for their text."""
    policy = make()
    played = talks(policy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [goes_on(turns) for turns in played] == [[True] * (TURNS - 1)] * 4
    assert policy.histories.broken == 0
    last = played[0][-1].prompt_ids
    # what they say is what the program said
    assert make().encode(_said(policy, played[0])) != last
    assert policy.tokenizer.decode(last).count("?") >= TURNS - 1


def _said(policy, turns):
    """The last prompt's conversation, for a policy that has sampled none of it."""
    messages = [{"role": "user", "content": "task 0: the answer is up or down"}]
    for number, turn in enumerate(turns[:-1]):
        messages.append({"role": "assistant", "content": turn.text})
        messages.append({"role": "user", "content": f"{number}?"})
    return Conversation("", tuple(messages))


def test_the_end_of_a_turn_stands_once():
    policy = chatting(sampling=Sampling(max_new_tokens=3))
    end = policy.tokenizer.eos_token_id
    conversation = Conversation("", ({"role": "user", "content": "up?"},))
    prompt = policy.encode(conversation, "talker")
    messages = (
        {"role": "user", "content": "up?"},
        {"role": "assistant", "content": "down"},
        {"role": "user", "content": "left?"},
    )
    sampled = tuple(policy.tokenizer.encode(c)[0] for c in "down")  # as no tokenizer would
    for ids in ((*sampled, end), sampled):
        policy.histories.remember("talker", conversation, "down", prompt, ids)
        after = policy.encode(Conversation("", messages), "talker")
        assert after[: len(prompt) + 4] == prompt + sampled
        assert policy.tokenizer.decode(after[len(prompt) :]) == (
            "down<|im_end|>\n<|im_start|>user\nleft?<|im_end|>\n<|im_start|>assistant\n"
        )
    # another agent's answers are texts to this one
    assert policy.encode(Conversation("", messages), "other") != after


def changed(text):
    return f"{text} (thanks)"


@pytest.mark.parametrize(
    ("program", "template", "why"),
    [
        (lambda task, client: talk(task, client, changed), chat_models.CHATML, "not what was"),
        (talk, FORGETFUL, "not repeated by the chat template"),
    ],
)
def test_a_break_is_counted_and_said(program, template, why):
    """An answer that the program changes, or that the template leaves out."""
    policy = chatting(template, sampling=Sampling(max_new_tokens=24, temperature=2.0), seed=1)
    with pytest.warns(UserWarning, match=why):
        played = talks(policy, program)
    breaks = sum(not same for turns in played for same in goes_on(turns))
    assert 0 < breaks <= policy.histories.broken
    assert all(turn.ids for turns in played for turn in turns)


def test_examples_and_other_agents_are_no_break():
    def program(task, client):
        messages = [
            {"role": "user", "content": "2+2"},
            {"role": "assistant", "content": "4"},
            {"role": "user", "content": task["prompt"]},
        ]
        client.chat.completions.create(model="talker", messages=messages)
        return 1.0

    policy = plain()
    talks(policy, program)
    assert policy.histories.broken == 0


def test_only_the_last_answers_are_remembered():
    """Also where one prompt is asked again and again, as tasks are in a long run."""
    kept = histories.Histories(3)
    first = Conversation("", ({"role": "user", "content": "up?"},))
    other = Conversation("", ({"role": "user", "content": "left?"},))
    for number, conversation in enumerate([other, first, first, first, first]):
        kept.remember("talker", conversation, str(number), (1, 2), (number,))
        kept.remember("talker", conversation, str(number), (1, 2), (number, 9))

    def sampled(conversation, said):
        answered = {"role": "assistant", "content": said}
        return kept.sampled_completions("talker", (*conversation.messages, answered))

    assert sampled(first, "4") == {1: ((1, 2), (4, 9))}
    assert sampled(first, "2") == {1: ((1, 2), (2, 9))}
    assert (sampled(other, "0"), kept.broken) == ({}, 0)  # forgotten, which is no break
    with pytest.warns(UserWarning, match="not what was sampled: '1'"):
        assert sampled(first, "1") == {}


@pytest.mark.slow
@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("make", [plain, chatting])
def test_a_conversation_is_one_row_with_the_loss_of_its_turns(make):
    """Six turns in one pass, with several trained spans, against a pass for each turn."""
    policy = make()
    policy.model.double()
    credited = [
        ScoredGroup(group, torch.tensor([0.3 + number]))
        for turns in talks(policy)
        for number, group in enumerate(groups(turns))
    ]
    rows, tokens = len(credited), sum(len(c.group.completions[0].ids) for c in credited)

    def loss(part):
        value, _ = surrogate_loss(policy, part, SurrogateConfig(), rows=rows, tokens=tokens)
        value.backward()
        return value.detach()

    gradients = []
    values = []
    for cut in (make_microbatches(policy, credited, 10_000), [[c] for c in credited]):
        policy.model.zero_grad()
        values.append(sum(loss(part) for part in cut))
        gradients.append(torch.cat([p.grad.flatten() for p in policy.parameters()]))
    assert_equal(*values)
    assert (gradients[0] - gradients[1]).norm() <= LIMIT * gradients[1].norm()


def test_six_turns_are_read_with_a_third_of_the_tokens():
    policy = plain()
    played = talks(policy)
    credited = [ScoredGroup(g, torch.ones(1)) for turns in played for g in groups(turns)]
    (part,) = make_microbatches(policy, credited, 100_000)
    row = PackedGroups(
        [c.group.prompt_ids for c in part],
        [[x.ids for x in c.group.completions] for c in part],
        torch.device("cpu"),
    )
    apart = sum(count_tokens(c.group) for c in credited)
    assert 3 * len(row.ids) <= apart
    # worked out: the last prompt and the last answer but one token, less what conversations share
    whole = [len(turns[-1].prompt_ids) + len(turns[-1].ids) - 1 for turns in played]
    assert len(row.ids) <= sum(whole)
    assert len(row.ids) >= sum(whole) - 3 * len(played[0][0].prompt_ids)


def test_a_part_holds_whole_conversations_while_they_fit():
    policy = plain()
    credited = [ScoredGroup(g, torch.ones(1)) for turns in talks(policy) for g in groups(turns)]
    shuffled = credited[::-1]
    longest = max(count_tokens(c.group) for c in credited)
    for part in make_microbatches(policy, shuffled, longest):
        of_one = [c.group.turn for c in part]
        assert of_one == sorted(of_one)  # a conversation in its order, never two of them
    assert len(make_microbatches(policy, shuffled, longest)) <= len(credited) // 3
