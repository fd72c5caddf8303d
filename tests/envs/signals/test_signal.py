"""signal_v0: what the agents see, what an answer is worth, and what a listener can do without a message."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, permutations

import pytest

import llmzoo
from llmzoo.envs.signals import code
from llmzoo.envs.signals.chain import ChainState
from llmzoo.envs.signals.signal import (
    SignalTask,
    canonical,
    describe_object,
    parse_object,
    sample_task,
)
from llmzoo.errors import ConfigError

GAME = SignalTask(seen=((0, 0), (0, 1), (2, 3)), offered=((2, 3), (0, 1), (0, 0)), target=(0, 1))


def game(**arguments):
    """The environment at the start of GAME: red circle, red square (the target), green star."""
    env = llmzoo.make("signal_v0", **arguments)
    env.reset(seed=0)
    env.unwrapped.episode = ChainState(GAME)
    return env


@pytest.mark.parametrize(
    ("answer", "parts", "error"),
    [
        ("red square", {"right": 0.5, "solved": 0.5, "form": 0.1}, None),
        ("It is the RED square.", {"right": 0.5, "solved": 0.5, "form": 0.1}, None),
        ("red circle", {"right": 0.25, "solved": 0.0, "form": 0.1}, "wrong: not the target"),
        ("green star", {"right": 0.0, "solved": 0.0, "form": 0.1}, "wrong: not the target"),
        ("blue square", {"right": 0.25, "solved": 0.0, "form": 0.1}, "wrong: not one of the objects"),
        ("red", {}, "malformed: it names no values of shape, and not one"),
        ("red circle or square", {}, "malformed: it names 2 values of shape, and not one"),
        ("pink square", {}, "malformed: it names no values of colour, and not one"),
        ("", {}, "malformed: it names no values of colour, and not one"),
    ],
)  # fmt: skip
def test_what_an_answer_is_worth(answer, parts, error):
    env = game()
    env.step("AB")
    env.step(answer)
    assert env.infos["listener_1"]["reward_components"] == pytest.approx(parts)
    assert env.infos["listener_1"]["error"] == error
    team = {name: value for name, value in parts.items() if name != "form"}
    assert env.infos["speaker_0"]["reward_components"] == pytest.approx({"form": 0.1, **team})
    assert env.infos["speaker_0"]["success"] == (error is None)


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("", "malformed: an empty message"),
        ("ABC", "malformed: a message of 3 characters, not of 1 to 2"),
        ("ab", "malformed: a message of other characters than A, B, C, D"),
        ("AE", "malformed: a message of other characters than A, B, C, D"),
    ],
)
def test_a_message_that_cannot_be_read_is_not_delivered(answer, error):
    env = game()
    env.step(answer)
    assert env.infos["speaker_0"]["error"] == error
    assert env.infos["speaker_0"]["reward_components"] == {}
    assert "The message: (not delivered)." in env.observe("listener_1")


def test_spaces_and_commas_of_a_message_do_not_matter():
    env = game()
    env.step(" B, A\n")
    assert "The message: BA." in env.observe("listener_1")


def test_terse_prompts_hold_digits():
    env = game(prompt="terse")
    assert env.observe("speaker_0") == "signal speaker\n11 12 34\ntarget 12\nanswer\n"
    env.step("21")
    assert env.observe("listener_1") == "signal listener\n34 12 11\nmessage 21\nanswer\n"
    env.step("1 2")
    assert env.infos["listener_1"]["success"]


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"prompt": "terse"},
        {"num_agents": 1},
        {"vocab_size": 2, "max_len": 4},
        {"attributes": 5, "values": 8, "candidates": 20},
        {"attributes": 1, "values": 8, "vocab_size": 3, "max_len": 2},
    ],
    ids=str,
)
def test_the_experts_solve_every_task(form):
    env = llmzoo.make("signal_v0", **form)
    for seed in range(200):
        env.reset(seed=seed)
        while env.agents and not env.terminations[env.agent_selection]:
            env.step(env.unwrapped.expert(env.agent_selection))
        assert env.infos[env.agent_selection]["success"]


def test_the_expert_listener_hears_nothing_but_the_message():
    """Whatever the target is, the same prompt has the same answer."""
    env = llmzoo.make("signal_v0")
    for seed in range(200):
        env.reset(seed=seed)
        env.step(random.Random(seed).choice(["A", "AB", "DD", "CA", "?", ""]))
        state = env.unwrapped.episode
        answers = set()
        for target in state.task.seen:
            task = SignalTask(state.task.seen, state.task.offered, target)
            env.unwrapped.episode = ChainState(task, state.messages)
            answers.add((env.observe("listener_1"), env.unwrapped.expert("listener_1")))
        assert len(answers) == 1


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_without_the_message_no_listener_beats_chance(prompt):
    """Exact: of all games of three out of four objects, each prompt of the listener goes with every
    target equally often, so that the best answer to each is right in 1 of 3."""
    env = llmzoo.make("signal_v0", attributes=2, values=2, candidates=3, prompt=prompt, split="all")
    env.reset(seed=0)
    targets: dict[str, Counter] = defaultdict(Counter)
    objects = [code.number_to_digits(number, 2, 2) for number in range(4)]
    for seen in combinations(objects, 3):
        for offered in permutations(seen):
            for target in seen:
                env.unwrapped.episode = ChainState(SignalTask(seen, offered, target), (None,))
                targets[env.observe("listener_1")][target] += 1
    games = sum(counts.total() for counts in targets.values())
    best = sum(max(counts.values()) for counts in targets.values())
    assert games == 4 * 6 * 3
    assert Fraction(best, games) == Fraction(1, 3)


class Picks(random.Random):
    """Draws as its seed says, but chooses the n-th of everything."""

    def pick(self, number):
        self.number = number
        return self

    def choice(self, seq):
        return seq[self.number]


def test_the_draw_chooses_every_target_alike():
    """The target is chosen last and nothing else depends on it; all targets of a game are in one split."""
    for seed in range(50):
        games = [sample_task(Picks(seed).pick(number), 2, 4, 4) for number in range(4)]
        assert len({(game.seen, game.offered) for game in games}) == 1
        assert len({canonical(game) for game in games}) == 1
        assert {game.target for game in games} == set(games[0].offered) == set(games[0].seen)


def test_no_order_tells_the_target():
    """In 4,000 games the target stands at each place of each list a quarter of the time (4 sigma: 110)."""
    rng = random.Random(0)
    places = Counter()
    for _ in range(4000):
        task = sample_task(rng, 2, 4, 4)
        places["seen", task.seen.index(task.target)] += 1
        places["offered", task.offered.index(task.target)] += 1
    assert len(places) == 8
    assert all(abs(count - 1000) < 110 for count in places.values())


def test_the_listeners_prompt_does_not_change_with_the_target_and_the_speakers_does():
    env = game()
    env.step("AB")
    said = {agent: set() for agent in env.possible_agents}
    for target in GAME.seen:
        task = SignalTask(GAME.seen, GAME.offered, target)
        env.unwrapped.episode = ChainState(task, ("AB",))
        for agent in said:
            said[agent].add(str(env.observe(agent)))
    assert len(said["listener_1"]) == 1
    assert len(said["speaker_0"]) == 3


def test_a_set_of_candidates_is_in_one_split():
    train, test = (llmzoo.make("signal_v0", split=s).unwrapped.tasks for s in ("train", "test"))
    sets = [{canonical(tasks[i]) for i in range(300)} for tasks in (train, test)]
    assert [len(each) for each in sets] == [300, 300]
    assert not sets[0] & sets[1]


def test_words_read_back():
    every = [code.number_to_digits(number, 8, 5) for number in range(0, 8**5, 7)]
    assert all(parse_object(describe_object(values), 5, 8) == values for values in every)


@pytest.mark.parametrize(
    ("vocab_size", "max_len", "length", "base"), [(4, 2, 2, 4), (2, 4, 2, 4), (3, 4, 2, 8), (9, 5, 5, 8)]
)  # fmt: skip
def test_every_list_of_values_has_a_message_of_its_own(vocab_size, max_len, length, base):
    alphabet = code.make_alphabet(vocab_size, max_len, length, base, "full")
    every = [
        code.number_to_digits(number, base, length) for number in range(min(base**length, 2000))
    ]
    messages = [alphabet.encode(values, base) for values in every]
    assert len(set(messages)) == len(every)
    assert all(alphabet.read(message) == message for message in messages)
    assert [alphabet.decode(message, length, base) for message in messages] == every


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"attributes": 6}, "attributes must be 1 to 5, got 6"),
        ({"values": True}, "values must be 2 to 8, got True"),
        ({"candidates": 16}, "candidates must be fewer than the 16 objects"),
        ({"vocab_size": 2}, "2 letters in messages of 2 name at most 4 things, and there are 16"),
        ({"max_len": 1}, "4 letters in messages of 1 name at most 4 things"),
        ({"num_agents": 3}, "num_agents must be one of 1, 2; got 3"),
        ({"prompt": "short"}, "prompt must be one of full, terse; got 'short'"),
    ],
)
def test_bad_arguments(arguments, error):
    with pytest.raises(ConfigError, match=error):
        llmzoo.make("signal_v0", **arguments)
