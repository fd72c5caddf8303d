"""The conformance kit finds what is wrong: each check meets an environment that breaks its promise."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import gymnasium
import numpy as np
import pytest
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from llmzoo import testing
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.testing import ConformanceError


class Sums(TextEnv):
    """Two agents add numbers; right in every way."""

    def __init__(self, split="train"):
        super().__init__(["adder_0", "checker_1"], max_turns=2)
        self.split = split

    def reset_task(self, rng, task):
        number = rng.randrange(100) if task is None else 2 * task + (self.split == "test")
        return (number,)

    def task_info(self):
        return {"task_id": str(self.episode[0]), "tasks": None}

    def observation(self, state, agent):
        return f"{agent}: what is {state[0]} + 1?"

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        right = text == str(state[0] + 1)
        local = {agent: {"length": -0.01 * len(text[:9]), "right": float(right)}}
        return state, Outcome(team=float(right), local=local, done=right, success=right)

    def expert(self, agent):
        return str(self.episode[0] + 1)


def test_a_good_environment_passes_everything():
    def make(**kwargs):
        return OrderEnforcingWrapper(Sums(**kwargs))

    testing.check_env(make)
    testing.check_text_spaces(make)
    testing.check_seeds(make)
    testing.check_rewards(make)
    testing.check_hostile_text(make, testing.hostile_texts(100))
    testing.check_observations_do_not_grow(make)
    testing.check_fork(make)
    testing.check_fork(make, fork=lambda env: env.unwrapped.fork())
    testing.check_expert(make, range(5))
    testing.check_splits(make, 5)


def fails(check, env_class, message, **kwargs):
    with pytest.raises(ConformanceError, match=message):
        check(env_class, **kwargs)


def test_unavoidable_warnings_are_those_that_come(monkeypatch):
    monkeypatch.setattr(testing, "UNAVOIDABLE_WARNINGS", frozenset())
    with pytest.raises(ConformanceError) as error:
        testing.check_env(Sums)
    monkeypatch.undo()
    assert str(error.value) == (
        f"warnings that can be avoided: {sorted(testing.UNAVOIDABLE_WARNINGS)}"
    )


def test_an_avoidable_warning_fails():
    class Bob(Sums):
        def __init__(self):
            TextEnv.__init__(self, ["Bob"])
            self.split = "train"

    fails(testing.check_env, Bob, "We recommend agents to be named in the format")


def test_a_plain_string_as_observation_is_named_with_the_remedy():
    class Plain(Sums):
        def observe(self, agent):
            return self.observation(self.episode, agent)

    fails(testing.check_env, Plain, r"Return llmzoo.spaces.Observation\(text\) and use")


def test_the_parallel_form_is_checked():
    with pytest.raises(AssertionError, match="not possible"):
        testing.check_env(Sums, parallel_fn=_broken_parallel)


def _broken_parallel():
    raise AssertionError("not possible")


@pytest.mark.parametrize(
    ("space", "message"),
    [
        (gymnasium.spaces.Discrete(4), "is not a gymnasium.spaces.Text"),
        (gymnasium.spaces.Text(100), "does not contain ''"),
        (gymnasium.spaces.Text(100, min_length=0), r"does not contain 'two\\nlines'"),
    ],
)
def test_spaces_that_are_not_free_text(space, message):
    class Narrow(Sums):
        def action_space(self, agent):
            return space

    fails(testing.check_text_spaces, Narrow, message)


def test_an_observation_outside_its_space():
    class Bytes(Sums):
        def observe(self, agent):
            return b"what?"

    fails(testing.check_text_spaces, Bytes, "adder_0 observes bytes")


def test_an_episode_that_reads_global_random_state():
    class Reads(Sums):
        def reset_task(self, rng, task):
            before = random.getstate()
            number = random.randrange(1000)
            random.setstate(before)
            return (number,)

    fails(testing.check_seeds, Reads, "seed 0 gives two different episodes")


@pytest.mark.parametrize(
    ("name", "draw"),
    [("random", random.random), ("numpy", np.random.rand)],
    ids=["random", "numpy"],
)
def test_an_episode_that_changes_global_random_state(name, draw):
    class Changes(Sums):
        def apply(self, state, actions):
            draw()
            return super().apply(state, actions)

    fails(testing.check_seeds, Changes, f"the global random state of {name} was changed")


def test_an_episode_that_depends_on_the_last():
    class Remembers(Sums):
        past = 0

        def reset_task(self, rng, task):
            self.past += 1
            return (self.past,)

    fails(testing.check_seeds, Remembers, "seed 1 gives two different episodes")


def test_check_seeds_leaves_the_global_state_as_it_was():
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = random.random(), np.random.rand()  # noqa: NPY002
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    testing.check_seeds(Sums)
    assert (random.random(), np.random.rand()) == expected  # noqa: NPY002


def test_parts_that_do_not_sum_to_the_reward():
    class Bonus(Sums):
        def _pay(self, outcome):
            super()._pay(outcome)
            self.rewards["adder_0"] += 0.5

    fails(testing.check_rewards, Bonus, "adder_0 is paid 0.*, but its parts sum to")


def test_an_end_without_success():
    class Silent(Sums):
        def final_info(self, agent):
            return {}

    fails(testing.check_rewards, Silent, "no bool success for adder_0")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda: 1 / 0, r"adder_0 answered 'x' \(1 characters\): ZeroDivisionError"),
        (lambda: _burn(0.06), r"adder_0 answered 'x' \(1 characters\): took 0\.\d\d s"),
        (lambda: float("nan"), r"'x' \(1 characters\): .*nan"),
    ],
    ids=["raises", "stalls", "nan"],
)
def test_hostile_text_that_does_harm(answer, message):
    class Fragile(Sums):
        def apply(self, state, actions):
            return state, Outcome(team=answer())

    fails(testing.check_hostile_text, Fragile, message, texts=["x"], max_step_s=0.05)


def _burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return 0.0


def test_a_single_slow_step_is_taken_again():
    taken = []

    class SlowOnce(Sums):
        def apply(self, state, actions):
            taken.extend(actions)
            _burn(0.06 if len(taken) == 1 else 0.0)
            return super().apply(state, actions)

    testing.check_hostile_text(SlowOnce, ["x"], max_step_s=0.05)
    assert taken.count(taken[0]) == 2


def test_hostile_text_meets_every_agent():
    class OnlyTheSecond(Sums):
        def apply(self, state, actions):
            assert "adder_0" in actions, "not me"
            return super().apply(state, actions)

    fails(testing.check_hostile_text, OnlyTheSecond, "checker_1 answered .*not me", texts=["x"])


def test_observations_that_grow():
    class Diary(Sums):
        pages = ""

        def reset_task(self, rng, task):
            self.pages += "dear diary, "
            return super().reset_task(rng, task)

        def observation(self, state, agent):
            return self.pages + super().observation(state, agent)

    fails(testing.check_observations_do_not_grow, Diary, "lengths in episode 2")


def test_forks_that_share_state():
    class Shares(Sums):
        def reset_task(self, rng, task):
            return [1]

        def apply(self, state, actions):
            state[0] += 1
            return state, Outcome()

    # two forks of one list see each other's steps
    fails(testing.check_fork, Shares, "two forks with the same answers differ")
    fails(testing.check_fork, Sums, "two forks|changed its original", fork=lambda env: env)
    fails(testing.check_fork, Sums, "a fork differs from its original", fork=_another)


def _another(env):
    other = Sums()
    other.reset(seed=99)
    return other


def test_a_fork_that_changes_its_original():
    class Leaks(Sums):
        def reset_task(self, rng, task):
            self.elsewhere = [""]
            return [1]

        def observation(self, state, agent):
            return self.elsewhere[0]

        def fork(self):
            twin = super().fork()
            twin.fork_of = self
            return twin

        def apply(self, state, actions):
            if "fork_of" in vars(self):
                self.fork_of.episode = [2]
                self.fork_of.rewards["adder_0"] = 9.0
            return state, Outcome()

    fails(testing.check_fork, Leaks, "stepping a fork changed its original")


def test_an_expert_who_errs():
    class Wrong(Sums):
        def apply(self, state, actions):
            return state, Outcome(done=True, success=False)

    fails(testing.check_expert, Wrong, "the expert fails task 3", tasks=[3])


def test_an_expert_who_earns_less_than_the_best():
    message = r"task 0: returns {'adder_0': 1.99.*} instead of 2.0"
    fails(testing.check_expert, Sums, message, tasks=[0], best=2.0)


def test_splits_that_overlap_or_repeat():
    class Overlap(Sums):
        def reset_task(self, rng, task):
            return (task or 0,)

    class Repeat(Sums):
        def reset_task(self, rng, task):
            return (0,)

    fails(testing.check_splits, Overlap, "4 tasks are in both train and test", tasks=4)
    fails(testing.check_splits, Repeat, "split 'train' holds a task twice", tasks=4)


def test_hostile_texts_are_as_promised():
    texts = list(testing.hostile_texts(1_000, seed=3))
    assert len(texts) == 1_000
    assert texts == list(testing.hostile_texts(1_000, seed=3))
    assert texts != list(testing.hostile_texts(1_000, seed=4))
    everything = "".join(texts)
    everything.encode("utf-8")  # no surrogates
    assert max(everything) > "\U00010000"
    assert set(map(chr, range(32))) <= set(everything)
    assert "" in texts
    assert max(map(len, texts)) == 1_000_000
    assert sum("[" * 10_000 in text for text in texts) >= 5
    assert sum(digit * 10_000 in everything for digit in "0123456789") == 10
    assert "__import__('os').system(" in everything
    assert '"reward": NaN' in everything


def test_importing_the_kit_needs_neither_pytest_nor_torch():
    code = (
        "import sys; sys.modules['pytest'] = None; import llmzoo.testing; "
        "from llmzoo.testing import check_env; import llmzoo; "
        "check_env(lambda: llmzoo.make('sudoku_v0'), cycles=2); print('torch' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "False\n"


class Declared(Sums):
    """Pays the second agent's team reward to both, and says so."""

    metadata = {**TextEnv.metadata, "delayed_reward_agents": ("adder_0",), "team_and_local": False}

    def apply(self, state, actions):
        return state, Outcome(team=0.5) if "checker_1" in actions else Outcome()

    def noisy_expert(self, agent, rng):
        return str(rng.randrange(100))


def with_metadata(cls=Declared, **changes):
    def make():
        env = cls()
        env.metadata = {**env.metadata, **changes}
        return env

    return make


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (with_metadata(delayed_reward_agents=()), "'adder_0'.* paid at the step of checker_1"),
        (with_metadata(Sums, team_and_local=False), "paid team and local components"),
        (with_metadata(Sums, team_components=("length",)), "team part 'length' was paid as"),
    ],
)
def test_wrong_words_about_rewards_are_found(wrong, message):
    def right(env, agent):
        return env.unwrapped.expert(agent)

    def check(env_fn):
        for act in (None, right):
            testing.check_credit(env_fn, act=act)

    check(Declared)
    check(Sums)
    with pytest.raises(ConformanceError, match=message):
        check(wrong)


def test_agents_whose_groups_are_flat_are_found():
    def lengths(actions):
        return {agent: {"length": float(len(text))} for agent, text in actions.items()}

    class OneIsPaid(Declared):
        def apply(self, state, actions):
            return state, Outcome(local=lengths(actions) if "adder_0" in actions else {})

    with pytest.raises(ConformanceError, match=r"agent_turn_tree: .*\['checker_1'\] all earn"):
        testing.check_groups(OneIsPaid)

    class BothArePaid(Declared):
        def apply(self, state, actions):
            return state, Outcome(local=lengths(actions))

    testing.check_groups(BothArePaid)
