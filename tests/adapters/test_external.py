"""Tasks of other collections, played by ids such as ``reasoning_gym:chain_sum``."""

from __future__ import annotations

import json
import random
import re
import sys
import warnings
from functools import partial
from importlib.metadata import version

import numpy as np
import pytest
from pages import ROOT
from toy_engines import Pile, PileGame

import llmzoo
from llmzoo import registry, testing
from llmzoo.adapters import external
from llmzoo.adapters.external import reasoning_gym_scores as scores
from llmzoo.adapters.external.global_random import GlobalRandomState
from llmzoo.adapters.external.replayed import MAX_CHARS, ReplayError
from llmzoo.adapters.external.textarena_games import min_players, refusal_reason
from llmzoo.cli import main
from llmzoo.envs.base import FastOrderEnforcingWrapper
from llmzoo.errors import ConfigError, MissingExtraError, NoScriptedPolicyError, UnknownNameError
from llmzoo.rollout import fork

MARKER = "llmzoo_marker"
DISTRIBUTIONS = {
    "reasoning_gym": "reasoning-gym",
    "textarena": "textarena",
    "openspiel": "open-spiel",
    "gem": "gem-llm",
}
SAMPLES = [
    "reasoning_gym:chain_sum",
    "reasoning_gym:knights_knaves",
    "textarena:KuhnPoker-v0-short",
    "textarena:TicTacToe-v0",
    "textarena:Mastermind-v0",
    "openspiel:leduc_poker",
    "openspiel:goofspiel(num_cards=3)",
    "openspiel:tic_tac_toe",
    "gem:game:Mastermind-v0-easy",
]
every_sample = pytest.mark.parametrize("id", SAMPLES)
every_collection = pytest.mark.parametrize("name", registry.EXTERNAL_COLLECTIONS)
# the tasks of verifiers are packages: test_external_verifiers.py writes some
every_list = pytest.mark.parametrize("name", DISTRIBUTIONS)


def need(collection):
    """Skip the test where the package of a collection is absent."""
    if not external.is_installed(collection):
        pytest.skip(f"the extra {collection!r} is not installed")


def maker(id, **options):
    need(id.partition(":")[0])
    return partial(llmzoo.make, id, **options)


def noisy_expert(env, agent):
    """A sloppy player's answer, the same whenever the agent reads the same."""
    try:
        return env.unwrapped.noisy_expert(agent, random.Random(env.observe(agent)))
    except NoScriptedPolicyError:
        return "an answer"


# ids


def test_an_id_of_another_collection_is_no_path():
    assert registry.is_external("textarena:TicTacToe-v0")
    assert not registry.is_import_path("textarena:TicTacToe-v0")
    assert registry.is_import_path("my_package:textarena")
    assert not registry.is_external("sudoku_v0")
    assert not registry.is_external("textarena")


@every_collection
def test_an_absent_package_is_named_with_its_extra(name, monkeypatch):
    module = pytest.importorskip(registry.EXTERNAL_COLLECTIONS[name])
    monkeypatch.setattr(module, "PACKAGE", "no_such_package_of_anyone")
    assert not external.is_installed(name)
    with pytest.raises(MissingExtraError, match=rf"pip install 'llmzoo-marl\[{module.EXTRA}\]'"):
        llmzoo.make(f"{name}:anything")


@every_list
def test_an_unknown_name_brings_the_nearest(name):
    need(name)
    known = next(
        n for n, task in external.load_collection(name).tasks().items() if not task.refused
    )
    with pytest.raises(UnknownNameError, match=f"Did you mean '{re.escape(known)}'"):
        llmzoo.make(f"{name}:{known}x")


@every_collection
def test_a_refused_task_says_why(name):
    need(name)
    refused = {n: t.refused for n, t in external.load_collection(name).tasks().items() if t.refused}
    assert refused
    for task, why in refused.items():
        with pytest.raises(ConfigError, match=re.escape(f"{name}:{task} is refused: {why}")):
            llmzoo.make(f"{name}:{task}")


def test_an_unknown_argument_brings_the_nearest():
    make = maker("openspiel:tic_tac_toe")
    with pytest.raises(UnknownNameError, match="Did you mean 'tries'"):
        make(trie=1)
    with pytest.raises(ConfigError, match="tries is at least 1"):
        make(tries=0)


def test_bad_settings_of_a_collection_are_told():
    with pytest.raises(ConfigError, match="reasoning_gym:chain_sum with config="):
        maker("reasoning_gym:chain_sum", config={"no_such": 1})()
    with pytest.raises(ConfigError, match="at least 2 players, got 1"):
        maker("textarena:TicTacToe-v0", num_agents=1)()
    with pytest.raises(ConfigError, match="TicTacToe-v0 with 5 players"):
        maker("textarena:TicTacToe-v0", num_agents=5)().reset(seed=0)


# every environment keeps the rules


@every_sample
def test_conformance(id):
    make = maker(id, **({} if id.startswith("reasoning_gym") else {"max_turns": 12}))
    testing.check_env(make, cycles=20)
    testing.check_text_spaces(make)
    for act in (None, noisy_expert):
        testing.check_seeds(make, seeds=range(2), act=act)
        testing.check_rewards(make, episodes=3, act=act)
        testing.check_credit(make, episodes=3, act=act)
        testing.check_observations_do_not_grow(make, episodes=3, act=act)
        testing.check_fork(make, act=act)
    testing.check_hostile_text(make, testing.hostile_texts(100), max_step_s=0.5)


def test_several_agents_answer_a_question():
    make = maker("reasoning_gym:chain_sum", num_agents=3)
    testing.check_env(make, cycles=20)
    testing.check_credit(make, act=noisy_expert)
    testing.check_fork(make, act=noisy_expert)
    testing.check_groups(make)
    testing.check_expert(make, range(5))
    testing.check_splits(partial(make), 40)
    env = make()
    env.reset(seed=0)
    env.step("<answer>one</answer>")
    assert "The answer of solver_0: one" in env.observe("reviewer_1")
    env.step(env.unwrapped.expert("reviewer_1"))
    assert "The others may be wrong" in env.observe("reviewer_2")
    env.step(env.unwrapped.expert("reviewer_2"))
    parts = {agent: info["reward_components"] for agent, info in env.infos.items()}
    assert parts == {
        "solver_0": {"own": 0.0, "score": 1.0},
        "reviewer_1": {"own": 1.0, "score": 1.0},
        "reviewer_2": {"score": 1.0},
    }


@pytest.mark.slow
@every_list
def test_every_task_plays_twice_alike_and_forks(name):
    """docs/external.py does this too, and in two processes."""
    need(name)
    played = [n for n, task in external.load_collection(name).tasks().items() if not task.refused]
    options = {} if name == "reasoning_gym" else {"max_turns": 6}
    for task in played:
        make = maker(f"{name}:{task}", **options)
        testing.check_seeds(make, seeds=[1], act=noisy_expert)
        testing.check_fork(make, seed=1, act=noisy_expert)


@every_list
def test_the_page_lists_the_tasks(name):
    """``python docs/external.py`` writes it, with the result of each check."""
    page = (ROOT / "docs" / "external.md").read_text()
    part = page.partition(f"<!-- begin {name} -->")[2].partition(f"<!-- end {name} -->")[0]
    rows = [re.findall(r"[^|]+", line) for line in part.splitlines() if line.startswith("| `")]
    ids = [row[0].strip(" `") for row in rows]
    played = [row for row in rows if len(row) == 5]
    assert played
    assert len(set(ids)) == len(ids)
    assert [row for row in played if [cell.strip() for cell in row[2:]] != ["yes"] * 3] == []
    need(name)
    said = re.search(r"tasks of \S+ (\S+) are played", part)
    if said is None or said[1] != version(DISTRIBUTIONS[name]):
        pytest.skip(f"the page is about another version of {name}")
    known = external.load_collection(name).tasks()
    assert ids == [
        *(f"{name}:{n}" for n in known if not known[n].refused),
        *(f"{name}:{n}" for n in known if known[n].refused),
    ]


def test_the_page_lists_at_least_150_tasks():
    page = (ROOT / "docs" / "external.md").read_text()
    assert sum(map(int, re.findall(r"^([0-9]+) tasks of", page, re.MULTILINE))) >= 150


# chance


def test_chance_stands_in_for_the_global_generators():
    def drawn(chance):
        with chance.swap_in():
            return random.random(), np.random.rand()  # noqa: NPY002

    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    one, other = GlobalRandomState(5), GlobalRandomState(5)
    first = drawn(one)
    assert drawn(one) != first == drawn(other)
    with pytest.raises(ZeroDivisionError), one.swap_in():
        random.seed(1 // 0)
    with one.swap_in():
        random.seed(9)
    assert (random.getstate(), repr(np.random.get_state())) == before  # noqa: NPY002


# games that are played again


def pile(**options):
    return FastOrderEnforcingWrapper(PileGame(**options))


@pytest.mark.slow
def test_a_game_that_is_played_again_keeps_the_rules():
    testing.check_env(pile, cycles=20)
    testing.check_hostile_text(pile, testing.hostile_texts(100))
    for act in (None, noisy_expert):
        testing.check_seeds(pile, act=act)
        testing.check_fork(pile, act=act)
        testing.check_rewards(pile, act=act)
        testing.check_credit(pile, act=act)
    testing.check_groups(pile)


def test_the_first_copy_that_is_stepped_goes_on_and_the_others_play_again():
    env = pile()
    env.reset(seed=3)
    env.step("1")
    copies = [fork(env) for _ in range(3)]
    before = Pile.made
    for copied in copies:
        copied.step("2")
    assert Pile.made - before == 2
    assert len({copied.observe("player_0") for copied in copies}) == 1


def test_a_game_that_differs_when_it_is_played_again_is_told(monkeypatch):
    env = pile()
    env.reset(seed=3)
    env.step("1")
    copied = fork(env)
    env.step("1")
    monkeypatch.setattr(Pile, "drift", 1)
    with pytest.raises(ReplayError, match="toy:pile showed something else"):
        copied.step("1")


def test_an_answer_on_which_a_game_raises_is_a_forfeit():
    env = pile()
    env.reset(seed=0)
    agent = env.agent_selection
    env.step("boom")
    assert env.rewards[agent] == -1.0
    assert env.infos[agent]["reward_components"] == {"forfeit": -1.0}
    assert env.infos[agent]["error"] == "malformed: the game raised ZeroDivisionError"
    assert all(env.terminations.values())
    assert not any(info["success"] or info["won"] for info in env.infos.values())


def test_a_long_answer_is_not_given_to_the_game():
    env = pile()
    env.reset(seed=0)
    agent = env.agent_selection
    env.step("1" * (MAX_CHARS + 1))
    assert env.infos[agent]["error"] == "malformed: longer than 2000 characters"
    assert env.agent_selection == agent  # the game was given "", which it refuses


def test_the_splits_of_a_game_are_even_and_odd_seeds():
    seeds = {}
    for split in ("train", "test"):
        env = pile(split=split)
        env.reset(options={"task": 7})
        seeds[split] = env.unwrapped.episode.seed
    assert seeds == {"train": 14, "test": 15}


# scores of Reasoning Gym


class Scorer:
    """A generator that scores every answer alike, or raises."""

    def __init__(self, value):
        self.value = value

    def score_answer(self, answer, item):
        item["metadata"] = "changed"
        if isinstance(self.value, Exception):
            raise self.value
        return self.value


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("I think it is 4.\n<answer> 5 </answer> or so", "5"),
        ("<answer>1</answer><answer>2</answer>", "2"),
        ("  7 ", "7"),
        ("<answer>7", "<answer>7"),
        ("</answer>7<answer>", "</answer>7<answer>"),
    ],
)
def test_which_part_of_a_text_is_the_answer(text, answer):
    assert scores.extract_answer(text) == answer


@pytest.mark.parametrize(
    ("value", "text", "score", "error"),
    [
        (0.25, "x", 0.25, ""),
        (7.0, "x", 1.0, ""),
        (-3.0, "x", 0.0, ""),
        (float("nan"), "x", 0.0, "malformed: the answer has no finite score"),
        (RecursionError(), "x", 0.0, "malformed: the scorer raised RecursionError"),
        (1.0, " ", 0.0, "malformed: there is no answer"),
        (1.0, "x" * 5_001, 0.0, "malformed: an answer longer than 5000 characters"),
    ],
)
def test_a_score_is_from_0_to_1_and_never_raises(value, text, score, error):
    item = {"metadata": "kept"}
    found = scores.score_answer("chain_sum", Scorer(value), item, text)
    assert (found.score, found.error) == (score, error)
    assert item == {"metadata": "kept"}


@pytest.mark.parametrize(
    ("name", "item", "answer", "score"),
    [
        ("countdown", {"target": 21, "numbers": [3, 4, 3]}, "3*(4+3)", 1.0),
        ("countdown", {"target": 21, "numbers": [3, 4, 3]}, "7*3", 0.05),  # other numbers
        ("countdown", {"target": 20, "numbers": [3, 4, 3]}, "3*(4+3)", 0.05),
        ("countdown", {"target": 0.5, "numbers": [1, 2]}, "1/2", 1.0),
        ("countdown", {"target": 8, "numbers": [2, 3]}, "2**3", 0.01),
        ("countdown", {"target": 8, "numbers": [2, 3]}, "__import__('os')", 0.01),
        ("puzzle24", {"numbers": [4, 6, 1, 1]}, "4*6*1*1", 1.0),
        ("puzzle24", {"numbers": [4, 6, 1, 1]}, "4*6", 0.01),
        ("n_queens", {"valid_answers": ["Q _", "_ Q"]}, "_ Q", 1.0),
        ("n_queens", {"valid_answers": ["Q _", "_ Q"]}, "[['_', 'Q']]", 0.0),
    ],
)
def test_scorers_that_replace_those_that_evaluate(name, item, answer, score):
    found = scores.score_answer(name, Scorer(0.5), {"answer": "", "metadata": item}, answer)
    assert found.score == score


@pytest.mark.parametrize("name", ["binary_matrix", "spiral_matrix", "string_insertion"])
def test_only_the_generators_own_form_counts_where_the_others_are_evaluated(name):
    item = {"answer": "1 2\n3 4", "metadata": {}}
    assert scores.score_answer(name, Scorer(0.5), item, "1 2\n3 4").score == 1.0
    assert scores.score_answer(name, Scorer(0.5), item, "[[1, 2], [3, 4]]").score == 0.0


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("coin_flip", "1e999999999"),
        ("rubiks_cube", "R999999999"),
        ("rubiks_cube", "R " * 501),
        ("rush_hour", "F+999999999"),
        ("propositional_logic", "¬" * 81),
    ],
)
def test_answers_that_would_take_very_long_are_not_scored(name, answer):
    found = scores.score_answer(name, Scorer(1.0), {}, answer)
    assert found.score == 0.0
    assert found.error.startswith("malformed: ")


@pytest.mark.slow
def test_no_scorer_evaluates_an_answer():
    """Python tells audit hooks what it compiles; none of it may be a model's text."""
    need("reasoning_gym")
    compiled = []
    watching = [True]

    def hook(event, args):
        if watching[0] and event == "compile" and MARKER in str(args[0]):
            compiled.append(str(args[0]))

    sys.addaudithook(hook)  # it cannot be taken away, only switched off
    module = external.load_collection("reasoning_gym")
    texts = [MARKER, f"{MARKER} + 1", f"[{MARKER}]", f"[['{MARKER}']]", f"{MARKER}(1)"]
    texts += [f'{{"{MARKER}": 1}}', f"__import__('{MARKER}')", f"1 + 1  # {MARKER}"]
    evaluated = set()
    known = module.tasks()
    try:
        for name in known.keys() - {"composite"}:
            env = module.Task(name)
            env.reset(seed=0)
            for text in texts:
                if known[name].refused:
                    with warnings.catch_warnings(), GlobalRandomState(0).swap_in():
                        warnings.simplefilter("ignore")  # Python's, about such texts as code
                        env.dataset.score_answer(text, dict(env.episode.task.item))
                else:
                    scores.score_answer(name, env.dataset, env.episode.task.item, text)
            if compiled:
                evaluated.add(name)
                compiled.clear()
    finally:
        watching[0] = False
    said = {name for name, why in scores.REFUSED_GENERATORS.items() if "evaluates" in why}
    assert evaluated == said


def test_the_expert_earns_the_score_of_every_generator_that_gives_answers():
    for name in (
        "chain_sum",
        "countdown",
        "puzzle24",
        "n_queens",
        "binary_matrix",
        "string_insertion",
    ):
        testing.check_expert(maker(f"reasoning_gym:{name}"), range(3), best=1.0)


# TextArena and OpenSpiel


def test_what_is_known_of_textarenas_games():
    assert (min_players("Sudoku"), min_players("Chess"), min_players("Taboo")) == (1, 2, 4)
    assert "nltk" in refusal_reason("Wordle-v0", "Wordle")
    assert refusal_reason("TicTacToe-v0", "TicTacToe") == ""
    assert bool(refusal_reason("Chess-v0", "Chess")) == (sys.version_info < (3, 12))


def test_a_game_of_textarena_with_moves_by_hand():
    env = maker("textarena:TicTacToe-v0")()
    env.reset(seed=0)
    for move in ("[0]", "[3]", "[1]", "[4]", "[2]"):  # player_0 has the upper row
        env.step(move)
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert [env.infos[a]["won"] for a in env.agents] == [True, False]
    assert env.infos["player_1"]["success"] is True


def test_a_game_of_openspiel_with_moves_by_hand():
    env = maker("openspiel:tic_tac_toe")()
    env.reset(seed=0)
    assert "Legal moves: x(0,0), x(0,1)" in env.observe("player_0")
    env.step("no move")
    assert env.rewards["player_0"] == -0.1
    assert "refused: it names no move. Tries left: 1" in env.observe("player_0")
    for move in ("x(0,0)", "o(1,0)", "Move: x(0,1)", "o(1,1)", "x(0,2)"):
        env.step(move)
    assert env.rewards == {"player_0": 1.0, "player_1": -1.0}
    assert env.infos["player_0"]["won"] is True


def test_two_wrong_answers_are_a_forfeit():
    env = maker("openspiel:tic_tac_toe")()
    env.reset(seed=0)
    env.step("")
    env.step("x(9,9)")
    assert env.rewards == {"player_0": -1.1, "player_1": 0.0}
    assert all(env.terminations.values())
    assert env.infos["player_0"]["success"] is False


def test_players_who_choose_together_do_not_see_each_others_choice():
    env = maker("openspiel:matrix_pd")()
    env.reset(seed=0)
    assert env.unwrapped.agents_to_act() == ["player_0", "player_1"]
    before = env.observe("player_1")
    env.step(noisy_expert(env, "player_0"))
    assert env.unwrapped.agents_to_act() == ["player_1"]
    assert env.observe("player_1") == before


def test_parameters_of_a_game_stand_in_brackets():
    env = maker("openspiel:leduc_poker(players=3)")()
    assert env.possible_agents == ["player_0", "player_1", "player_2"]
    with pytest.raises(ConfigError, match="openspiel:leduc_poker"):
        maker("openspiel:leduc_poker(no_such=3)")()


# the command line


@every_sample
def test_the_commands_take_such_an_id(id, capsys):
    need(id.partition(":")[0])
    main(["eval", "--env", id, "--policy", "noisy_expert", "--tasks", "2", "--quiet", "--json"])
    assert json.loads(capsys.readouterr().out)["env"] == id


def test_list_shows_a_collection_when_it_is_asked_for(capsys):
    need("openspiel")
    main(["info", "--family", "openspiel", "--json"])
    ids = [row["id"] for row in json.loads(capsys.readouterr().out)]
    assert "openspiel:leduc_poker" in ids
    assert "openspiel:crossword" not in ids  # it is refused
    main(["info", "--json"])
    assert not [r for r in json.loads(capsys.readouterr().out) if ":" in r["id"]]


@pytest.mark.slow
@pytest.mark.parametrize("id", [SAMPLES[0], SAMPLES[2], SAMPLES[5], SAMPLES[8]])
def test_a_run_trains_on_it(id, tmp_path):
    need(id.partition(":")[0])
    turns = [] if id.startswith("reasoning_gym") else ["--env.max_turns", "4"]
    small = ["--steps", "2", "--episodes_per_step", "2", "--eval_tasks", "2", "--quiet"]
    out = tmp_path / "run"
    main(["train", "--env", id, *turns, *small, "--model", "tiny", "--out", str(out)])
    lines = (out / "metrics.jsonl").read_text().splitlines()
    assert any(json.loads(line).get("step") == 2 for line in lines)
