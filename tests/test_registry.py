from __future__ import annotations

import pkgutil
import subprocess
import sys
from types import SimpleNamespace

import pettingzoo
import pytest
from pettingzoo.env_registry import registration

import llmzoo
from llmzoo import registry
from llmzoo.envs.base import Outcome, TextEnv, make_env_fns
from llmzoo.errors import ConfigError, LlmzooError, MissingExtraError, UnknownNameError
from llmzoo.learners import CONFIGS, LEARNERS, learner_class, learner_config


class Echo(TextEnv):
    """A third party's environment."""

    def __init__(self, word="hello"):
        super().__init__(["speaker_0"])
        self.word = word

    def reset_task(self, rng, task):
        return self.word

    def observation(self, state, agent):
        return f"Say {state}."

    def apply(self, state, actions):
        (text,) = actions.values()
        return state, Outcome(team=float(text == state), done=True, success=text == state)


class Speak(Echo):
    """The same, as llmzoo wants to make it by its path."""

    def __init__(self, word="hello", split="train"):
        super().__init__(word)


NUMBER = 3


def nothing(split="train"):
    """Makes no environment."""


@pytest.fixture(autouse=True)
def _own_registries(monkeypatch):
    """What a test registers is gone after it."""
    monkeypatch.setattr(registry, "_specs", dict(registry._specs))
    monkeypatch.setattr(registry, "_entry_points_loaded", True)
    kept = [(r, dict(r)) for r in (registration.aec_registry, registration.parallel_registry)]
    yield
    for now, before in kept:
        now.clear()
        now.update(before)


def test_unknown_id_names_the_nearest():
    with pytest.raises(UnknownNameError) as error:
        llmzoo.make("sudoko_v0")
    assert str(error.value) == (
        "unknown environment 'sudoko_v0'. Did you mean 'sudoku_v0'? "
        f"Known: {', '.join(sorted(registry._specs))}"
    )
    assert isinstance(error.value, KeyError)
    assert isinstance(error.value, LlmzooError)


def test_unknown_id_with_nothing_near_it():
    with pytest.raises(UnknownNameError, match=r"unknown environment 'zzz'\. Known: "):
        llmzoo.spec("zzz")


@pytest.mark.parametrize(
    "id",
    ["echo", "echo_v", "echo_vx", "_v0", "echo_v-1", "", "echo-v0", "a b_v0", "a/b_v0", "a_v²"],
)
def test_bad_ids(id):
    with pytest.raises(ValueError, match="an environment id ends in _vN"):
        llmzoo.register(id, Echo)
    assert id not in registry._specs


def test_taken_id():
    with pytest.raises(ValueError, match="'sudoku_v0' is already registered: llmzoo"):
        llmzoo.register("sudoku_v0", Echo)


@pytest.mark.parametrize("entry_point", [Echo, f"{__name__}:Echo"], ids=["callable", "string"])
def test_third_party_environment(entry_point):
    llmzoo.register("echo_v3", entry_point, summary="Says it.", kwargs={"word": "moin"})
    assert llmzoo.list_envs("other") == {"echo_v3": "Says it."}
    env = llmzoo.make("echo_v3")
    env.reset(seed=0)
    assert env.observe("speaker_0") == "Say moin."
    env.step("moin")
    assert env.last()[1] == 1.0
    other = llmzoo.make("echo_v3", word="hi")
    other.reset(seed=0)
    assert other.observe("speaker_0") == "Say hi."
    observations, _ = llmzoo.parallel("echo_v3").reset(seed=0)
    assert observations == {"speaker_0": "Say moin."}
    assert pettingzoo.make("aec", "llmzoo/echo-v3").metadata["name"] == "text_env_v0"
    assert pettingzoo.make("parallel", "llmzoo/echo-v3").possible_agents == ["speaker_0"]


def test_entry_points_of_other_packages(monkeypatch):
    point = SimpleNamespace(
        name="echo_v0", value=f"{__name__}:Echo", dist=SimpleNamespace(name="echo-package")
    )
    taken = SimpleNamespace(name="sudoku_v0", value="elsewhere:env", dist=None, module="elsewhere")

    def entry_points(*, group):
        assert group == "llmzoo.envs"
        return [point, taken]

    monkeypatch.setattr(registry, "entry_points", entry_points)
    monkeypatch.setattr(registry, "_entry_points_loaded", False)
    assert llmzoo.make("echo_v0").possible_agents == ["speaker_0"]
    assert llmzoo.list_envs("third-party") == {"echo_v0": "from echo-package"}
    assert llmzoo.spec("sudoku_v0").entry_point == "llmzoo.envs.games.sudoku:env"


def test_a_bad_entry_point_of_another_package_harms_nobody_else(monkeypatch):
    bad = SimpleNamespace(name="no-version", value="elsewhere:env", dist=None, module="elsewhere")
    good = SimpleNamespace(name="echo_v0", value=f"{__name__}:Echo", dist=None, module=__name__)
    monkeypatch.setattr(registry, "entry_points", lambda *, group: [bad, good])
    monkeypatch.setattr(registry, "_entry_points_loaded", False)
    with pytest.warns(UserWarning, match="entry point 'no-version'.*ends in _vN"):
        assert llmzoo.make("echo_v0").possible_agents == ["speaker_0"]


def test_missing_extra_says_what_to_install():
    llmzoo.register("far_v0", "no_such_package.far:env", extra="far")
    with pytest.raises(MissingExtraError) as error:
        llmzoo.make("far_v0")
    assert str(error.value) == (
        "environment 'far_v0' needs the extra 'far' (no module named 'no_such_package'): "
        "pip install 'llmzoo-marl[far]'"
    )
    assert isinstance(error.value, ImportError)


def test_missing_module_without_an_extra_is_left_as_it_is():
    llmzoo.register("broken_v0", "no_such_package.far:env")
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        llmzoo.make("broken_v0")


def test_an_environment_by_its_path():
    path = f"{__name__}:Speak"
    env = llmzoo.make(path, word="moin", split="test")
    env.reset(seed=0)
    assert env.observe("speaker_0") == "Say moin."
    assert llmzoo.spec(path).family == "third-party"
    assert llmzoo.parallel(path).possible_agents == ["speaker_0"]
    assert path not in registry._specs  # a path is no registration
    assert path not in llmzoo.list_envs()


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no_such_package.far:env", "no module named 'no_such_package'"),
        ("llmzoo.no_such_module:env", "no module named 'llmzoo.no_such_module'"),
        (f"{__name__}:Speek", "Did you mean 'Speak'"),
        (f"{__name__}:Speak.word", "as for an import, such as package.module:name"),
        (f"{__name__}:", "as for an import"),
        (":Speak", "as for an import"),
        ("../envs/mine.py:Speak", "such as mine:Speak"),
        (f"{__name__}:NUMBER", "not a function or class"),
        (f"{__name__}:Echo", "unexpected keyword argument 'split'"),
        ("textwrap:dedent", "missing a required argument: 'text'"),
        (f"{__name__}:nothing", "gave NoneType, not an environment of PettingZoo"),
    ],
)
def test_a_path_to_no_environment(path, reason):
    with pytest.raises(LlmzooError, match=reason):
        llmzoo.make(path)


def test_a_learner_by_its_path():
    assert learner_class("llmzoo.learners.magrpo:MAGRPO") is learner_class("magrpo")
    for path, reason in (
        ("no_such_package:Mine", "learner 'no_such_package:Mine': no module named"),
        ("llmzoo.learners.magrpo:MAGRP", "Did you mean 'MAGRPO'"),
        (f"{__name__}:Echo", "not a learner: it does not define Config and plan"),
        (f"{__name__}:nothing", "not a learner: it does not define Config and plan"),
    ):
        with pytest.raises(LlmzooError, match=reason):
            learner_class(path)


@pytest.mark.parametrize("name", LEARNERS)
def test_options_read_without_torch_are_those_of_the_learner(name):
    assert learner_config(name) is learner_class(name).Config
    assert CONFIGS.keys() == LEARNERS.keys()


def test_list_envs_is_sorted_and_every_line_is_filled():
    listed = llmzoo.list_envs()
    assert list(listed) == sorted(listed)
    assert all(listed.values())
    assert list(llmzoo.list_envs("games")) == ["plan_path_v0", "sokoban_v0", "sudoku_v0"]


def test_import_is_fast_and_light():
    """CPU seconds of the whole process, the interpreter's start included; the lesser of two."""
    code = (
        "import sys, time, llmzoo\nprint(time.process_time())\n"
        "llmzoo.make('sudoku_v0').reset(seed=0)\n"
        "heavy = {'torch', 'transformers', 'datasets', 'trl', 'peft', 'grpc', 'google'}\n"
        "print(heavy & {name.partition('.')[0] for name in sys.modules})"
    )
    command = [sys.executable, "-c", code]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(2)]
    seconds, loaded = zip(*(run.stdout.splitlines() for run in runs), strict=True)
    assert min(map(float, seconds)) < 0.5
    assert set(loaded) == {"set()"}


def test_functions_of_the_package_are_not_hidden_by_modules_of_the_same_name():
    """Python makes an imported submodule an attribute of its package."""
    functions = [name for name in llmzoo.__all__ if callable(getattr(llmzoo, name))]
    modules = {module.name for module in pkgutil.iter_modules(llmzoo.__path__)}
    assert "make" in functions
    assert modules.isdisjoint(functions)


def test_tab_completion_shows_the_names_that_are_loaded_at_first_use():
    names = dir(llmzoo)
    assert {"fit", "evaluate", "collect", "scripted_expert", "make", "__version__"} <= set(names)
    assert set(llmzoo.__all__) <= set(names)
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("id", "args", "said"),
    [
        ("sudoku_v0", {"max_turns": "2"}, "'max_turns' must be a whole number, got '2'"),
        ("math_v0", {"max_turns": [1]}, r"'max_turns' must be a whole number, got \[1\]"),
    ],
)
def test_an_argument_of_another_type_is_named(id, args, said):
    for make in (llmzoo.make, llmzoo.parallel):
        with pytest.raises(ConfigError, match=f"argument of {id} {said}"):
            make(id, **args)


def test_a_fault_inside_an_environment_is_no_fault_of_its_arguments():
    env, _ = make_env_fns(Broken)
    with pytest.raises(TypeError, match="unsupported operand"):
        env(size=3)


class Broken(TextEnv):
    def __init__(self, size: int = 2, split: str = "train"):
        size + "x"
