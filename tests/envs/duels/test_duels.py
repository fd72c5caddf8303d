"""The duels as environments: illegal answers, hidden cards in prompts, experts, transcripts."""

from __future__ import annotations

import random

import golden
import pytest
from quick_cases import slow_but

import llmzoo
from llmzoo.envs.duels import exact
from llmzoo.envs.duels.kuhn_poker import KuhnState

IDS = list(llmzoo.list_envs("duels"))


def played(id, first, second, seed=0, **kwargs):
    """The environment after an episode, and what each player was paid."""
    env = llmzoo.make(id, **kwargs)
    env.reset(seed=seed)
    paid = dict.fromkeys(env.possible_agents, 0.0)
    players = dict(zip(env.possible_agents, (first, second), strict=True))
    for agent in env.agent_iter():
        _, reward, over, _, _ = env.last()
        paid[agent] += reward
        env.step(None if over else players[agent](env.unwrapped, agent))
    return env, list(paid.values())


def expert(env, agent):
    return env.expert(agent)


def at_random(env, agent):
    names = env.choices(env.episode, agent).names
    return random.Random(f"{env.board()}{env.episode.seed}").choice(names)


@pytest.mark.parametrize("id", [id for id in IDS if id != "negotiation_v0"])
def test_the_random_player_makes_every_legal_move_and_no_other(id):
    env = llmzoo.make(id)
    env.reset(seed=3)
    agent = env.agent_selection
    names = env.unwrapped.choices(env.unwrapped.episode, agent).names
    policy = llmzoo.policies.load("random")
    requests = [
        llmzoo.policies.PolicyRequest(agent=agent, observation="", env=env, seed=seed)
        for seed in range(300)
    ]
    answers = {answer.text for (answer,) in policy.respond(requests, 1)}
    assert answers == {f"Move: {name}" for name in names}


def test_an_illegal_answer_is_told_and_the_second_one_forfeits():
    env = llmzoo.make("kuhn_poker_v0")
    env.reset(seed=0)
    env.step("call")  # nothing to call
    assert env.agent_selection == "player_0"
    assert env.infos["player_0"]["reward_components"] == {"illegal": -0.1}
    assert "Your answer was refused" in env.observe("player_0")
    assert "Tries left: 1" in env.observe("player_0")
    env.step("I raise you a horse")
    assert env.terminations == {"player_0": True, "player_1": True}
    assert env.rewards == {"player_0": -2.1, "player_1": 0}
    assert env.infos["player_1"]["won"] is False


def test_an_illegal_answer_is_forgotten_after_a_legal_one():
    env = llmzoo.make("leduc_poker_v0")
    env.reset(seed=0)
    for text in ("fold", "call", "fold", "call", "fold"):  # nothing to fold to yet
        env.step(text)
    assert not any(env.terminations.values())


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_prompts_do_not_show_the_other_card(prompt):
    env = llmzoo.make("kuhn_poker_v0", prompt=prompt).unwrapped
    for own in "JQK":
        others = [c for c in "JQK" if c != own]
        first = {env.with_state(KuhnState(own + c)).observe("player_0") for c in others}
        second = {env.with_state(KuhnState(c + own, ("bet",))).observe("player_1") for c in others}
        assert len(first) == len(second) == 1


@pytest.mark.parametrize("prompt", ["full", "terse"])
@pytest.mark.parametrize(
    "id", ["kuhn_poker_v0", "leduc_poker_v0", "liars_dice_v0", "tiny_hanabi_v0"]
)
def test_a_prompt_is_that_of_its_information_state(id, prompt):
    """Neither more, which would be a leak, nor less."""
    env = llmzoo.make(id, prompt=prompt).unwrapped
    seen: dict[str, tuple[int, str]] = {}
    waiting = [exact.build_tree(env.rules)]
    states: dict[tuple[int, str], str] = {}
    done = set()
    while waiting:
        node = waiting.pop()
        if id_of(node) in done:
            continue
        done.add(id_of(node))
        waiting += node.children
        if node.player is not None:
            text = env.with_state(node.state).observe(f"player_{node.player}")
            key = (node.player, node.information)
            assert states.setdefault(key, text) == text
            assert seen.setdefault(text, key) == key


def id_of(node):
    return repr(node.state)


@pytest.mark.parametrize("seed", range(5))
def test_experts_draw_at_tic_tac_toe_and_never_lose(seed):
    assert played("tic_tac_toe_v0", expert, expert, seed)[1] == [0, 0]
    assert played("tic_tac_toe_v0", expert, at_random, seed)[1][0] >= 0
    assert played("tic_tac_toe_v0", at_random, expert, seed)[1][1] >= 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_expert_of_connect_four_beats_random_play(seed):
    assert played("connect_four_v0", expert, at_random, seed)[1] == [1, -1]
    assert played("connect_four_v0", at_random, expert, seed)[1] == [-1, 1]


def test_the_expert_of_connect_four_takes_a_win_and_stops_one():
    env = llmzoo.make("connect_four_v0").unwrapped
    assert env.with_state(("XXX", "OO", "O", "", "", "", "")).expert("player_0") == "Move: 1"
    assert env.with_state(("XXX", "OO", "", "", "", "", "")).expert("player_1") == "Move: 1"


def test_kuhns_expert_is_an_equilibrium():
    """Its moves over many deals have the probabilities of the equilibrium with alpha 1/3."""
    env = llmzoo.make("kuhn_poker_v0").unwrapped
    bets = [env.with_state(KuhnState("JQ"), seed).expert("player_0") for seed in range(3000)]
    assert bets.count("Move: bet") / 3000 == pytest.approx(1 / 3, abs=0.03)
    calls = [
        env.with_state(KuhnState("KQ", ("bet",)), seed).expert("player_1") for seed in range(3000)
    ]
    assert calls.count("Move: call") / 3000 == pytest.approx(1 / 3, abs=0.03)


def test_chance_is_that_of_the_seed_and_deals_are_even():
    env = llmzoo.make("kuhn_poker_v0").unwrapped
    deals = []
    for seed in range(600):
        env.reset(seed=seed)
        deals.append(env.episode.position.cards)
    assert {deal: deals.count(deal) for deal in set(deals)}.keys() == {
        a + b for a in "JQK" for b in "JQK" if a != b
    }
    assert min(deals.count(deal) for deal in set(deals)) > 70
    env.reset(seed=5)
    assert env.episode.position.cards == deals[5]


def test_hanabis_convention_is_paid_to_both():
    for seed in range(8):
        env, paid = played("tiny_hanabi_v0", expert, expert, seed)
        assert paid == [1, 1]
        assert env.unwrapped.success


@pytest.mark.parametrize(
    ("text", "read"),
    [("bet", "bet"), ("I think I should check.\nMove: bet", "bet"), ("Move: check or bet", None)],
)
def test_answers_have_one_reading(text, read):
    env = llmzoo.make("kuhn_poker_v0").unwrapped
    env.reset(seed=0)
    env.step(text)
    assert env.episode.position.moves == (() if read is None else (read,))


EPISODES = {
    "kuhn_poker": {"an illegal answer": ({}, ["raise"]), "terse": ({"prompt": "terse"}, ["?"])},
    "leduc_poker": {"raises": ({}, ["raise", "raise"]), "terse": ({"prompt": "terse"}, [])},
    "liars_dice": {
        "a bid that is too low": ({}, ["1x3", "1x1"]),
        "terse": ({"prompt": "terse"}, []),
    },
    "tic_tac_toe": {"a taken cell": ({}, ["5", "5"]), "terse": ({"prompt": "terse"}, ["5"])},
    "connect_four": {"a start": ({}, ["4", "9"]), "terse": ({"prompt": "terse"}, ["4", "?", "?"])},
    "tiny_hanabi": {"one errs": ({}, ["b"]), "terse": ({"prompt": "terse"}, [])},
}


@pytest.mark.parametrize(
    "name", slow_but(["kuhn_poker", "tic_tac_toe", "connect_four", "tiny_hanabi"], EPISODES)
)
def test_transcripts(name):
    """Rewritten with ``LLMZOO_WRITE_TRANSCRIPTS=1 pytest tests/envs/duels``."""
    said = []
    for title, (kwargs, answers) in EPISODES[name].items():
        env = llmzoo.make(f"{name}_v0", split="test", **kwargs)
        env.reset(options={"task": 0})
        said += [f"##### {name}, {title}\n{golden.played(env, answers)}\n"]
    golden.check(name, "\n".join(said))
