"""What is recorded of play: the learner's own advantages, and nothing in the run changes by it."""

from __future__ import annotations

import json
from pathlib import Path

import chat_models
import pytest
import torch
from safetensors.torch import load_file
from tiny_models import model, needed, policy, tokenizer
from toy_envs import Adder, Parities

from llmzoo.engine.base import Iteration
from llmzoo.engine.local import LocalEngine
from llmzoo.errors import ConfigError
from llmzoo.learners import learner_class
from llmzoo.learners.advantages import mean_baseline, normalize_by_std
from llmzoo.learners.groups import GroupUpdater
from llmzoo.learners.updates.credits import ScoredGroup, completion_advantages, merge_credits
from llmzoo.learners.updates.turns import agent_trajectories
from llmzoo.models.sampling import Sampling
from llmzoo.policies import noisy_expert
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Completion, Decision, Episode, EpisodeOutcome, Group
from llmzoo.rollout.stepping import RolloutClock
from llmzoo.runs import checkpoints
from llmzoo.training import FitConfig, fit, fit_stages
from llmzoo.training.recording import MAX_CHARACTERS, Recorder, rollout_rows, truncate_text


def answer(text: str, prompt: tuple[int, ...] = (), **more) -> Completion:
    return Completion(text=text, prompt_ids=prompt, ids=(1, 2), logprobs=(-1.0, -1.0), **more)


def group(agent, path, texts, returns, prompt="U", turn=0, **more) -> Group:
    ids = tuple(tokenizer()(prompt)["input_ids"])
    return Group(
        agent=agent,
        turn=turn,
        key=(7, *path, agent),
        prompt_ids=ids,
        completions=tuple(answer(text, ids) for text in texts),
        returns=returns,
        **more,
    )


def ending(seed=7, success=True, **totals) -> EpisodeOutcome:
    return EpisodeOutcome(seed=seed, success=success, totals=totals, decisions=2)


def test_a_row_of_a_tree():
    """Two lines of play from one node: of its two answers the second led to a node of its own."""
    child = group("a", (1,), ["x"], (0.5,), prompt="after", turn=1)
    infos = (
        {"error": "no number", "reward_components": {"format": -1}},
        {"error": None, "reward_components": {"format": 0.25, "team": 1}},
    )
    root = group("a", (), ["no", "3"], (-1.0, 1.25), prompt="how\nmany?", infos=infos)
    batch = Batch(
        groups=(child, root),  # a tree notes what follows first
        endings=(ending(success=False, a=-1.0, b=0.0), ending(a=2.0, b=1.0), ending(8, a=0, b=0)),
    )
    (row,) = rollout_rows(batch, [None, -1.5, 1.5], {"a": policy()}, tasks=1)
    rest = {"tokens": 2, "truncated": False, "sampled": "<|pad|>!"}  # of the ids 1 and 2
    nothing = {"error": None, "reward_components": {}, "reply": None}
    assert row == {
        "seed": 7,
        "success": 0.5,
        "returns": {"a": 0.5, "b": 0.5},
        "endings": [
            {"success": False, "totals": {"a": -1.0, "b": 0.0}, "decisions": 2},
            {"success": True, "totals": {"a": 2.0, "b": 1.0}, "decisions": 2},
        ],
        "turns": [
            {
                "agent": "a",
                "turn": 0,
                "path": [],
                "prompt": "how\nmany?",
                "answers": [
                    {
                        **{"text": "no", "return": -1.0, "advantage": -1.5, **rest},
                        **{
                            "error": "no number",
                            "reward_components": {"format": -1.0},
                            "reply": None,
                        },
                    },
                    {
                        **{"text": "3", "return": 1.25, "advantage": 1.5, **rest, "error": None},
                        **{"reward_components": {"format": 0.25, "team": 1.0}, "reply": "after"},
                    },
                ],
            },
            {
                "agent": "a",
                "turn": 1,
                "path": [1],
                "prompt": "after",
                "answers": [{"text": "x", "return": 0.5, "advantage": None, **rest, **nothing}],
            },
        ],
    }
    assert json.loads(json.dumps(row)) == row


def test_a_parent_comes_before_its_children_and_agents_in_their_order():
    paths = [("a", (0, 1)), ("b", (0, 1)), ("a", (0,)), ("b", (0,)), ("a", (1,)), ("a", ())]
    groups = tuple(group(agent, path, ["x"], (0.0,)) for agent, path in paths)
    batch = Batch(groups=groups, endings=(ending(a=0.0),))
    (row,) = rollout_rows(batch, [None] * 6, dict.fromkeys("ab", policy()), tasks=4)
    assert [(turn["agent"], turn["path"]) for turn in row["turns"]] == [
        *[("a", []), ("a", [0]), ("b", [0]), ("a", [0, 1]), ("b", [0, 1]), ("a", [1])]
    ]
    # what follows a joint answer is no single agent's doing
    replies = [turn["answers"][0]["reply"] for turn in row["turns"]]
    assert replies == ["U", None, None, None, None, None]


def test_special_tokens_are_recorded_so_that_a_chat_template_can_be_checked():
    tok = chat_models.thinking()
    agent = chat_models.saying(tok, "<think>\n2 + 2</think>4")
    request = PolicyRequest(agent="a", observation="2 + 2?", env=None, seed=0)
    ((completion,),) = agent.respond([request])
    decided = Decision(agent="a", turn=0, observation="2 + 2?", completion=completion, reward=1.0)
    episode = Episode(
        env_id="x",
        seed=7,
        decisions=(decided,),
        terminated=True,
        truncated=False,
        success=True,
        totals={"a": 1.0},
    )
    (row,) = rollout_rows(Batch(episodes=(episode,)), [None], {"a": agent}, tasks=1)
    (turn,) = row["turns"]
    assert turn["prompt"] == "<|im_start|>user\n2 + 2?<|im_end|>\n<|im_start|>assistant\n"
    assert turn["answers"][0]["text"] == "4"
    assert turn["answers"][0]["sampled"] == "<think>\n2 + 2</think>4<|im_end|>"


def test_a_row_of_an_episode():
    """a acts, then b, whom nobody has sampled, then a again; each reads what came of it."""

    def decision(agent, turn, observation, completion, reward):
        return Decision(
            agent=agent,
            turn=turn,
            observation=observation,
            completion=completion,
            reward=reward,
            info={"reward_components": {"own": reward}},
        )

    ids = tuple(tokenizer()("read by a")["input_ids"])
    episode = Episode(
        env_id="",
        seed=3,
        decisions=(
            decision("a", 0, "read by a", answer("one", ids), 1.0),
            decision("b", 0, "read by b", Completion(text="scripted"), 0.5),
            decision("a", 1, "read again", answer("two", ids, truncated=True), 2.0),
        ),
        terminated=True,
        truncated=False,
        success=True,
        totals={"a": 3.0, "b": 0.5},
        final={"a": "a's end", "b": "b's end"},
    )
    batch = Batch(episodes=(episode, episode))
    row, again = rollout_rows(
        batch, [0.5, None, -0.5] * 2, {"a": policy(), "b": noisy_expert()}, tasks=4
    )
    assert again == row
    assert (row["seed"], row["success"], row["returns"]) == (3, 1.0, {"a": 3.0, "b": 0.5})
    assert row["endings"] == [{"success": True, "totals": {"a": 3.0, "b": 0.5}, "decisions": 3}]
    shown = [(t["agent"], t["turn"], t["path"], t["prompt"]) for t in row["turns"]]
    assert shown == [
        ("a", 0, [0], "read by a"),
        ("b", 0, [0], "read by b"),
        ("a", 1, [1], "read by a"),  # the ids are what the model read
    ]
    answers = [turn["answers"] for turn in row["turns"]]
    assert [len(a) for a in answers] == [1, 1, 1]
    names = ("text", "return", "advantage", "tokens", "truncated", "reward_components", "reply")
    assert [tuple(a[name] for name in names) for (a,) in answers] == [
        ("one", 3.0, 0.5, 2, False, {"own": 1.0}, "read again"),
        ("scripted", 0.5, None, 0, False, {"own": 0.5}, "b's end"),
        ("two", 2.0, -0.5, 2, True, {"own": 2.0}, "a's end"),
    ]


def test_long_texts_are_cut_and_say_so():
    assert truncate_text("x" * MAX_CHARACTERS) == "x" * MAX_CHARACTERS
    text = truncate_text("x" * MAX_CHARACTERS + "y" * 1234)
    assert text == "x" * MAX_CHARACTERS + "\n[1,234 more characters were not recorded]"


def test_advantages_are_found_by_the_answer():
    """A group that lost an answer, one that was left out, and one with an advantage a token."""
    one, two = group("a", (0,), "xyz", (1.0, 2.0, 3.0)), group("a", (1,), "x", (1.0,))
    three = group("b", (0,), "xy", (1.0, 2.0))
    batch = Batch(groups=(one, two, three))
    used = [
        # of two tokens each; the third column is beyond the end of both
        ScoredGroup(three, torch.tensor([[1.0, 2.0, 9.0], [3.0, 5.0, 9.0]])),
        ScoredGroup(one.select([0, 2]), torch.tensor([-1.0, 1.0])),
    ]
    assert completion_advantages(batch, used) == [-1.0, None, 1.0, None, 1.5, 4.0]
    parts = [Batch(groups=(three,)), Batch(groups=(one, two))]
    result = [(parts[0], [1.5, None]), (parts[1], [-1.0, None, 1.0, None])]
    assert merge_credits(batch, result) == [-1.0, None, 1.0, None, 1.5, None]


def an_engine(name: str, **options) -> LocalEngine:
    player = policy(sampling=Sampling(max_new_tokens=3))
    agents = {"writer_0": player, "writer_1": player}
    cls = learner_class(name)
    learner = cls(cls.Config(learning_rate=1e-3, **options))
    return LocalEngine(learner, {"policy": player}, agents, total_steps=5)


@pytest.mark.parametrize(
    "options",
    [
        {"normalize": True},
        {"rewards": ("scale 2",)},
        {"normalize": True, "zero_variance_groups": "drop", "mask_truncated": True, "replay": 1},
    ],
)
def test_groups_are_credited_as_the_rule_says(options):
    engine = an_engine("at_grpo", **options)
    differing = 0
    for step in range(2):  # in the second, answers of the first are learned from again
        batch = engine.collect(Parities, [step * 8 + seed for seed in range(8)])
        engine.update(batch, seed=step)
        credits = iter(engine.updater.credits(batch))
        for result in batch.groups:
            returns = torch.tensor(result.returns)
            expected = mean_baseline(returns) * (2 if "rewards" in options else 1)
            if "normalize" in options:
                expected = normalize_by_std(expected, returns)
            differs = len(set(result.returns)) > 1
            differing += differs
            for completion, value in zip(result.completions, expected.tolist(), strict=True):
                left_out = "zero_variance_groups" in options and (
                    not differs or completion.truncated
                )
                assert next(credits) == (None if left_out else value)
        assert next(credits, "end") == "end"
    assert 0 < differing < 32


@pytest.mark.parametrize(("name", "options"), [("iac", {}), ("mappo", {"whiten": True})])
def test_episodes_are_credited_as_the_critic_judged_them(name, options):
    engine = an_engine(name, **options)
    batch = engine.collect(Parities, list(range(8)))
    (critic,) = engine.updater.critics.values()
    judged = engine.updater.score_turns(
        critic, agent_trajectories(batch.episodes, list(engine.agent_policies))
    )
    by_answer = {id(j.group.completions[0]): j.advantages.item() for j in judged}
    engine.update(batch, seed=0)
    credits = engine.updater.credits(batch)
    assert len(credits) == 16
    before = [by_answer[id(completion)] for completion in batch.completions]
    if name == "iac":
        assert credits == before
    else:
        assert sum(credits) == pytest.approx(0, abs=1e-4)
        assert sum(c * c for c in credits) / 16 == pytest.approx(1, abs=1e-3)
        order = sorted(range(16), key=lambda i: before[i])
        assert [credits[i] for i in order] == sorted(credits)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("model")
    TransformersPolicy(model(max_position_embeddings=1024), tokenizer()).save(path)
    return str(path)


class Partly(Parities):
    """Paid for each agent that is right, so that there is something to credit."""

    def apply(self, state, actions):
        alone = [Parities.apply(self, state, {a: text})[1] for a, text in actions.items()]
        _, together = super().apply(state, actions)
        return state, together._replace(team=sum(outcome.team for outcome in alone))


def run(folder: str, out: Path, learner: str = "at_grpo", **settings) -> Path:
    given = {
        **{
            "steps": 2,
            "episodes_per_step": 3,
            "eval_tasks": 2,
            "max_new_tokens": 3,
            "trackers": (),
        },
        **settings,
    }
    env = given.pop("env", "test_recording:Partly")
    given.setdefault("learner_args", dict(needed(learner)))
    fit(learner, env, out=out, model=folder, quiet=True, **given)
    return out


def rows(run: Path) -> list[dict]:
    return [json.loads(line) for line in (run / "played.jsonl").read_text().splitlines()]


def weights(run: Path) -> dict[str, torch.Tensor]:
    newest = checkpoints.latest_checkpoint(run / "checkpoints")
    return {
        f"{path.parent.name}:{name}": weight
        for path in sorted(newest.rglob("*.safetensors"))
        for name, weight in load_file(path).items()
    }


@pytest.mark.parametrize(
    ("learner", "settings"),
    [
        ("at_grpo", {"max_off_policy_steps": 1, "cohorts": 2, "policies": "separate"}),
        pytest.param(
            "ippo", {"max_off_policy_steps": 1, "policies": "lora"}, marks=pytest.mark.slow
        ),
        # the others have nothing that these lack but their credit
        *(
            pytest.param(name, {}, marks=pytest.mark.slow)
            for name in ("dpo", "madpo", "magrpo", "mappo", "maremax", "opd", "sft")
        ),
    ],
)
def test_recording_changes_nothing(learner, settings, folder, tmp_path):
    with_rows = run(folder, tmp_path / "with", learner, record_every=1, record_tasks=2, **settings)
    without = run(folder, tmp_path / "without", learner, record_every=0, **settings)
    ours, theirs = weights(with_rows), weights(without)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert not (without / "played.jsonl").exists()
    result = rows(with_rows)
    assert [row["step"] for row in result] == [1, 1, 2, 2]
    answers = [a for row in result for turn in row["turns"] for a in turn["answers"]]
    advantages = [a["advantage"] for a in answers]
    if learner in ("sft", "dpo", "madpo"):
        assert set(advantages) == {None}
    else:
        assert all(isinstance(value, float) for value in advantages)
        assert any(advantages)
    prompts = {turn["prompt"] for row in result for turn in row["turns"]}
    assert prompts <= {"U", "D"}
    if learner == "sft":
        assert {a["text"] for a in answers} == {"p", "q"}


def iteration() -> Iteration:
    root = group("a", (), ["x", "y"], (1.0, 0.0))
    batch = Batch(groups=(root,), endings=(ending(a=0.5),))
    return Iteration(
        batch=batch,
        clock=RolloutClock(),
        tokens=0,
        rollout_seconds=0.0,
        update_metrics={},
        credits=[0.5, -0.5],
        update_seconds=0.0,
    )


def record(out: Path, steps: range, *, every: int, last: int, ended: bool = False) -> list[int]:
    """Record iterations of which ``last`` is the run's last; gives those that the file then has."""
    first, agents = steps.start - 1, {"a": policy()}
    with Recorder(out, every=every, tasks=4, completed_steps=first, ended=ended) as recorder:
        for step in steps:
            recorder.record_iteration(step, iteration(), agents, last=step == last)
        recorder.flush()
    return [row["step"] for row in rows(out)] if (out / "played.jsonl").exists() else []


def test_the_first_the_last_and_every_nth_are_recorded(tmp_path):
    assert record(tmp_path, range(1, 12), every=4, last=11) == [1, 4, 8, 11]


def test_nothing_is_recorded_and_nothing_is_lost(tmp_path):
    assert record(tmp_path, range(1, 6), every=0, last=5) == []
    assert record(tmp_path, range(1, 6), every=2, last=9) == [1, 2, 4]
    assert record(tmp_path, range(6, 10), every=0, last=9) == [1, 2, 4]


def test_a_resumed_run_has_the_rows_of_an_undisturbed_one(tmp_path):
    whole, resumed = tmp_path / "whole", tmp_path / "resumed"
    for out in (whole, resumed):
        out.mkdir()
    assert record(whole, range(1, 10), every=2, last=9) == [1, 2, 4, 6, 8, 9]
    # it ended with iteration 5, and was then told to go on until 9
    assert record(resumed, range(1, 6), every=2, last=5) == [1, 2, 4, 5]
    assert record(resumed, range(6, 9), every=2, last=9) == [1, 2, 4, 6, 8]
    # killed in the middle of a row; the newest checkpoint is of iteration 6
    text = (resumed / "played.jsonl").read_text()
    (resumed / "played.jsonl").write_text(text[: len(text) - 100])
    record(resumed, range(7, 10), every=2, last=9)
    assert (resumed / "played.jsonl").read_bytes() == (whole / "played.jsonl").read_bytes()
    # nothing is left to do: the last row stays
    assert record(resumed, range(10, 10), every=2, last=9, ended=True) == [1, 2, 4, 6, 8, 9]


def test_what_is_recorded_may_change_when_a_run_goes_on(folder, tmp_path):
    out = run(folder, tmp_path / "run", record_every=1, record_tasks=1)
    assert [row["step"] for row in rows(out)] == [1, 2]
    run(folder, out, record_every=3, record_tasks=2, steps=4, resume=True)
    assert [row["step"] for row in rows(out)] == [1, 3, 3, 4, 4]
    assert json.loads((out / "config.json").read_text())["record_every"] == 3


def test_stages_have_rows_of_their_own(folder, tmp_path):
    stages = [{"learner": "sft", "model": folder}, {"learner": "at_grpo"}]
    settings = {
        "steps": 1,
        "episodes_per_step": 2,
        "eval_tasks": 2,
        "max_new_tokens": 3,
        "trackers": (),
    }
    fit_stages(stages, "test_recording:Partly", out=tmp_path, quiet=True, **settings)
    for name in ("1-sft", "2-at_grpo"):
        assert [row["step"] for row in rows(tmp_path / name)] == [1, 1]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"record_every": -1}, "record_every must be at least 0, got -1"),
        ({"record_tasks": 0}, "record_tasks must be at least 1, got 0"),
    ],
)
def test_refusals(settings, reason):
    with pytest.raises(ConfigError, match=reason):
        FitConfig(**settings)


class Lengths(Adder):
    """The adder for those who write anything: the number is the text's length."""

    def __init__(self, split="train", **kwargs):
        super().__init__(**kwargs)

    def apply(self, state, actions):
        return super().apply(state, {agent: str(len(text)) for agent, text in actions.items()})


def test_what_follows_an_answer_in_a_deeper_tree(folder, tmp_path):
    """Each of two agents acts twice, in turn: four prompts in a row, and what follows is known."""
    settings = {"env_args": {"max_turns": 2}, "episodes_per_step": 1, "steps": 1, "record_tasks": 1}
    out = run(folder, tmp_path / "run", "magrpo", env="test_recording:Lengths", **settings)
    (row,) = rows(out)
    agents = [(turn["agent"], turn["turn"], len(turn["path"])) for turn in row["turns"]]
    assert agents == [("a_0", 0, 0), ("b_1", 0, 1), ("a_0", 1, 2), ("b_1", 1, 3)]
    for turn, following in zip(row["turns"], row["turns"][1:], strict=False):
        replies = [a["reply"] for a in turn["answers"]]
        came = following["path"][-1]
        assert replies[came] == following["prompt"]
        assert [r for i, r in enumerate(replies) if i != came] == [None] * 3


# boards, which only records need


@pytest.mark.parametrize(
    ("settings", "drawn"),
    [
        ({"record_every": 3}, [True, False, True, True]),  # the first, the third and the last
        ({"record_every": 0}, [False] * 4),
        ({"record_every": 3, "token_budget": 10**9}, [True] * 4),  # any may be the last
        ({"record_every": 3, "max_off_policy_steps": 1}, [True, False, True, True]),
    ],
)
def test_boards_are_drawn_in_iterations_that_may_be_recorded(
    settings, drawn, tmp_path, monkeypatch
):
    batches = []
    update = GroupUpdater.update
    monkeypatch.setattr(
        GroupUpdater,
        "update",
        lambda self, batch, *, seed: (batches.append(batch), update(self, batch, seed=seed))[1],
    )
    fit(
        "magrpo",
        "sudoku_v0",
        env_args={"max_turns": 1, "prompt": "terse"},
        learner_args={"group_size": 2, "importance_cap": 2.0},
        policies=dict.fromkeys(["proposer_0", "planner_1"], policy()),
        out=tmp_path / "run",
        steps=4,
        episodes_per_step=1,
        eval_tasks=2,
        control_tasks=0,
        trackers=(),
        quiet=True,
        **settings,
    )
    infos = [[info for group in batch.groups for info in group.infos] for batch in batches]
    assert [["board" in info for info in each] for each in infos] == [
        [keeps] * len(each) for keeps, each in zip(drawn, infos, strict=True)
    ]
    assert all(infos)
    played = tmp_path / "run" / "played.jsonl"
    for line in played.read_text().splitlines() if settings["record_every"] else []:
        row = json.loads(line)
        assert all("board" in answer for turn in row["turns"] for answer in turn["answers"])
