"""Our environments as CoMLRL's trainers take them; and, where it is installed, in its trainers."""

from __future__ import annotations

import itertools
import random
import runpy
import sys

import pytest
from pages import ROOT
from tiny_models import model, tokenizer
from toy_envs import Adder, Matcher, Parities

from llmzoo import registry
from llmzoo.adapters.comlrl import bridge
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.errors import ConfigError
from llmzoo.rollout.stepping import step_joint_action


class Diary(TextEnv):
    """Simultaneous: the pay hangs on all that was said so far; it ends early at "stop"."""

    metadata = {**TextEnv.metadata, "name": "diary_v0"}

    def __init__(self, max_turns=3):
        super().__init__(["a_0", "b_1"], simultaneous=True, max_turns=max_turns)

    def reset_task(self, rng, task):
        return (str(rng.randrange(1000)),)

    def observation(self, state, agent):
        return f"{agent}: {'/'.join(state)}"

    def apply(self, state, actions):
        state = (*state, "+".join(actions.values()))
        pay = sum(map(ord, "".join(state))) % 97 / 97
        done = "stop" in actions.values()
        return state, Outcome(team=pay, local={"a_0": {"own": 0.5}}, done=done)


def replayed(seed, history, env=None):
    """What the agents share for the last of these joint answers, and what they read after it."""
    env = env or Diary()
    env.reset(seed=seed)
    shared = 0.0
    for joint in history:
        over = any(env.terminations.values()) or any(env.truncations.values())
        paid = {} if over or not env.agents else step_joint_action(env, joint)
        shared = sum(paid.values()) / 2
    return shared, [env.observe(agent) for agent in env.possible_agents]


class Trainer:
    """The order in which CoMLRL 1.4.3's trainers call the three functions, and nothing else.

    Every reward and prompt is compared with that of the whole history played from its beginning.
    """

    def __init__(self, bridge, turns, width, *, cross=False, passthrough=False):
        self.bridge, self.turns, self.width = bridge, turns, width
        self.cross, self.passthrough = cross, passthrough
        self.rng = random.Random(0)
        self.judged = 0

    def generate(self, item, external):
        """Prompts as the formatters give them; answers by chance."""
        if external is None:
            return [format(item) for format in self.bridge.formatters]
        if self.passthrough:
            return external
        return [
            format({**item, "prompt": text}, external_prompts=text)
            for format, text in zip(self.bridge.formatters, external, strict=True)
        ]

    def judge(self, item, history, lists):
        rewards = []
        joints = itertools.product(*lists) if self.cross else zip(*lists, strict=True)
        for joint in list(joints):
            (reward,) = self.bridge.reward_func(*([text] for text in joint), batch_items=[item])
            assert reward == pytest.approx(replayed(item["seed"], [*history, joint])[0])
            rewards.append((joint, reward))
            self.judged += 1
        return rewards

    def go_on(self, item, history):
        answers = [list(own) for own in zip(*history, strict=True)]
        return self.bridge.external_transition(
            prompt=item["prompt"],
            agent_completions=list(history[-1]),
            num_agents=2,
            prompt_history_per_agent=[[], []],
            response_history_per_agent=answers,
        )

    def tree(self, item, history=(), external=None):
        prompts = self.generate(item, external)
        assert list(prompts) == replayed(item["seed"], history)[1]
        lists = [[self.rng.choice("xyz") for _ in range(self.width)] for _ in prompts]
        if self.rng.random() < 0.2:
            lists[0][0] = "stop"
        joints = [joint for joint, _ in self.judge(item, history, lists)]
        if len(history) + 1 < self.turns:
            for joint in joints:
                after = [*history, joint]
                self.tree(item, after, self.go_on(item, after))

    def evaluate(self, item):
        """A single line; at every turn the first formatter is asked once more, as at the root."""
        history, external = [], None
        for _ in range(self.turns):
            assert list(self.generate(item, external)) == replayed(item["seed"], history)[1]
            joint = (self.rng.choice("uvw"), self.rng.choice("uvw"))
            self.bridge.formatters[0](item)
            self.judge(item, history, [[joint[0]], [joint[1]]])
            history.append(joint)
            external = self.go_on(item, history) if len(history) < self.turns else None


@pytest.mark.parametrize("passthrough", [False, True])
@pytest.mark.parametrize("cross", [False, True])
def test_every_reward_is_that_of_its_branch(cross, passthrough):
    """Trees and evaluations of few tasks in turn, the same task twice in a row too."""
    bridged = bridge(Diary)
    trainer = Trainer(bridged, 3, 2, cross=cross, passthrough=passthrough)
    rows = bridged.dataset([5, 6])
    for row in (rows[0], rows[0], rows[1], rows[0]):
        trainer.evaluate(row)
        trainer.tree(row)
        trainer.tree(row)
    assert trainer.judged >= 4 * (3 + 2 * (2 + 4 + 8))


def test_the_dataset_and_the_first_prompts():
    bridged = bridge(Diary)
    rows = bridged.dataset([3, 4])
    assert [row["seed"] for row in rows] == [3, 4]
    assert rows[0]["prompt"] == replayed(3, [])[1][0] != rows[1]["prompt"]
    assert [format(rows[1]) for format in bridged.formatters] == replayed(4, [])[1]


def test_several_answers_in_one_call():
    """As CoMLRL's actor-critic trainers call: one list an agent, one task for all."""
    bridged = bridge(Diary)
    (row,) = bridged.dataset([1])
    rewards = bridged.reward_func(["x", "y"], ["z", "z"], batch_items=[row])
    expected = [replayed(1, [joint])[0] for joint in (("x", "z"), ("y", "z"))]
    assert rewards == pytest.approx(expected)


def test_what_agents_share_can_be_chosen():
    bridged = bridge(Matcher, shared=lambda paid: paid["a_0"])
    rewards = bridged.reward_func(["2"], ["3"], batch_items=[{"seed": 0}])
    assert rewards == [2 * 3 + 2]
    assert bridge(Matcher).reward_func(["2"], ["3"], batch_items=[{"seed": 0}]) == [6 + 2.5]


def test_thoughts_are_no_part_of_an_answer():
    bridged = bridge(Matcher)
    row = {"seed": 0}
    assert bridged.reward_func(["<think>9</think>\n2"], ["8</think>3"], batch_items=[row]) == [8.5]
    bridged = bridge(Diary)
    (row,) = bridged.dataset([1])
    rewards = bridged.reward_func(["<think>x"], ["z"], batch_items=[row])
    assert rewards == pytest.approx([replayed(1, [("", "z")])[0]])


def test_nothing_is_paid_after_the_end():
    bridged = bridge(Diary)
    (row,) = bridged.dataset([1])
    bridged.reward_func(["stop"], ["x"], batch_items=[row])
    prompts = bridged.external_transition(
        prompt=row["prompt"],
        agent_completions=["stop", "x"],
        num_agents=2,
        prompt_history_per_agent=[[], []],
        response_history_per_agent=[["stop"], ["x"]],
    )
    assert prompts == replayed(1, [("stop", "x")])[1]
    assert bridged.reward_func(["more"], ["x"], batch_items=[row]) == [0.0]


def test_what_does_not_fit():
    with pytest.raises(ConfigError, match="a_0, b_1 take turns"):
        bridge(Adder)
    bridged = bridge(Matcher)
    with pytest.raises(ConfigError, match="lists of 1, 2"):
        bridged.reward_func(["1"], ["1", "2"], batch_items=[{"seed": 0}])
    with pytest.raises(ConfigError, match="before any answer"):
        bridge(Matcher).external_transition("", [], 2, [], [])


SIMULTANEOUS = ["coop_functions_v0", "math_v0", "tldr_v0", "contests_v0", "classeval_v0"]


@pytest.mark.parametrize("env_id", SIMULTANEOUS)
def test_environments_of_the_suite(env_id):
    """The expert's joint answer earns by the bridge what it earns in the environment."""
    kwargs = registry.spec(env_id).offline
    env = registry.make(env_id, **kwargs)
    env.reset(seed=3)
    joint = [env.unwrapped.expert(agent) for agent in env.agents]
    expected = sum(step_joint_action(env, joint).values()) / 2
    bridged = bridge(env_id, **kwargs)
    (row,) = bridged.dataset([3])
    assert bridged.formatters[0](row) == row["prompt"]
    rewards = bridged.reward_func([joint[0], "?"], [joint[1], "?"], batch_items=[row])
    assert rewards[0] == pytest.approx(expected)
    assert rewards[1] < rewards[0]


# in CoMLRL's own trainers


class ParitiesTwice(Parities):
    """Two turns of :class:`Parities`, with new letters for the second."""

    metadata = {**TextEnv.metadata, "name": "parities_twice_v0"}

    def __init__(self):
        super().__init__()
        self.max_turns = 2

    def apply(self, state, actions):
        _, outcome = super().apply(state, actions)
        turned = {agent: "UD"["DU".index(asked)] for agent, asked in state.items()}
        return turned, outcome._replace(done=False)


LEARNING_RATE = 1e-2


def trained(trainer_class, config_class, *, given=None, **settings):
    """Three steps; returns the trainer, its rewards, and how far each agent's weights moved.

    ``given``: further arguments of the trainer; ``settings``: of its configuration.
    """
    bridged = bridge(ParitiesTwice)
    rewards = []

    def reward_func(*completions, batch_items):
        judged = bridged.reward_func(*completions, batch_items=batch_items)
        rewards.extend(judged)
        return judged

    models = [model(initializer_range=0.1) for _ in bridged.agents]
    before = [[p.detach().clone() for p in m.parameters()] for m in models]
    trainer = trainer_class(
        tokenizer=[tokenizer(), tokenizer()],
        reward_func=reward_func,
        formatters=bridged.formatters,
        external_transition=bridged.external_transition,
        train_dataset=bridged.dataset([1, 2, 3]),
        eval_dataset=bridged.dataset([4]),
        args=config_class(
            num_train_epochs=1,
            num_turns=2,
            max_new_tokens=3,  # the last token of an answer is not in CoMLRL's loss
            early_termination_threshold=None,
            rollout_buffer_size=1,
            eval_interval=1,
            eval_num_samples=1,
            temperature=1.0,
            top_p=1.0,
            top_k=None,
            **settings,
        ),
        agents=models,
        **(given or {}),
    )
    trainer.train()
    moved = [
        max(
            (new.detach() - old).abs().max().item()
            for new, old in zip(m.parameters(), olds, strict=True)
        )
        for m, olds in zip(models, before, strict=True)
    ]
    return trainer, rewards, moved


@pytest.mark.slow
@pytest.mark.parametrize("joint_mode", ["aligned", "cross"])
def test_its_magrpo_trains_on_an_environment_of_ours(joint_mode, monkeypatch):
    trainers = pytest.importorskip("comlrl.trainers", reason="comlrl is not installed")
    monkeypatch.setenv("WANDB_MODE", "disabled")
    trainer, rewards, moved = trained(
        trainers.MAGRPOTrainer,
        trainers.MAGRPOConfig,
        given={"num_agents": 2},
        num_generations=4,
        joint_mode=joint_mode,
        agent_learning_rate=LEARNING_RATE,
    )
    answers = 4 if joint_mode == "aligned" else 16
    assert trainer.env_step == 3 * (answers + answers * answers)
    assert len(rewards) == trainer.env_step + 3 * 2  # and an evaluation of two turns a step
    assert {0.0, 1.0} == set(rewards)
    # weight decay alone moves them by a hundredth of the learning rate, at most
    assert min(moved) > LEARNING_RATE / 2


@pytest.mark.slow
def test_its_actor_critic_trains_on_an_environment_of_ours(monkeypatch):
    """IAC calls formatters with ``external_prompts=None`` at the first turn."""
    trainers = pytest.importorskip("comlrl.trainers", reason="comlrl is not installed")
    monkeypatch.setenv("WANDB_MODE", "disabled")
    _, rewards, moved = trained(
        trainers.IACTrainer,
        trainers.IACConfig,
        given={"critics": [model(), model()]},
        num_generations=1,
        agent_learning_rate=LEARNING_RATE,
    )
    assert len(rewards) == 3 * 2 + 3 * 2  # two turns of each task, and of as many evaluations
    assert set(rewards) <= {0.0, 1.0}
    assert min(moved) > LEARNING_RATE / 2


@pytest.mark.slow
def test_the_example(capsys, monkeypatch):
    pytest.importorskip("comlrl.trainers", reason="comlrl is not installed")
    monkeypatch.setenv("WANDB_MODE", "disabled")
    monkeypatch.setattr(sys, "argv", ["comlrl_trainer.py"])
    runpy.run_path(str(ROOT / "examples/adapters/comlrl_trainer.py"), run_name="__main__")
    assert "joint answers were paid" in capsys.readouterr().out
