"""``llmzoo train`` with stages."""

import json

import pytest
import yaml

from llmzoo.cli import main
from llmzoo.training import loop

STAGES = [
    {"learner": "sft", "steps": 2},
    {"learner": "magrpo", "steps": 2, "learner_args": {"group_size": 2}},
]


@pytest.fixture
def write(model_folder, tmp_path):
    """Writes a configuration file with stages and returns its path."""

    def written(stages=STAGES, **settings):
        content = {
            "env": "sudoku_v0",
            "env_args": {"max_turns": 1},
            "model": model_folder,
            "max_new_tokens": 8,
            "episodes_per_step": 2,
            "eval_tasks": 2,
            "out": str(tmp_path / "out"),
            "stages": stages,
            **settings,
        }
        path = tmp_path / "stages.yaml"
        path.write_text(yaml.safe_dump(content))
        return path

    return written


@pytest.mark.slow
def test_each_stage_starts_where_the_one_before_ended(llmzoo, write, tmp_path):
    said = llmzoo("train", "--config", write(), "--quiet", "--json")
    assert said.code == 0, said.err
    first, second = json.loads(said.out)
    out = tmp_path / "out"
    assert (first["run"], second["run"]) == (str(out / "1-sft"), str(out / "2-magrpo"))
    assert second["before"]["greedy"] == first["after"]["greedy"]
    for stage in ("1-sft", "2-magrpo"):
        assert (out / stage / "curve.png").exists()

    # a second call repeats nothing
    kept = (out / "2-magrpo" / "after.json").stat().st_mtime_ns
    said = llmzoo("train", "--config", write(), "--quiet")
    assert said.code == 0, said.err
    assert "after 2 of magrpo" in said.out
    assert (out / "2-magrpo" / "after.json").stat().st_mtime_ns == kept

    # and says so where it would have to
    for argv, name in (("--seed 4", "seed"), ("--temperature 0.5", "temperature")):
        said = llmzoo("train", "--config", write(), *argv.split())
        assert said.code == 2
        assert f"1-sft has already finished with different settings ({name})" in said.err

    # the folder is none of a run, its stages' folders are
    argv = ["--env", "sudoku_v0", "--env.max_turns", 1, "--tasks", 2, "--json"]
    said = llmzoo("eval", *argv, "--policy", out)
    assert said.code == 2
    assert f"give one of {out / '1-sft'}, {out / '2-magrpo'}" in said.err
    result = json.loads(llmzoo("eval", *argv, "--policy", out / "2-magrpo").out)
    assert result["success"] == second["after"]["success"]
    assert result["mean_return"] == second["after"]["mean_return"]


@pytest.mark.slow
def test_the_same_command_goes_on_after_an_interruption(llmzoo, write, tmp_path, monkeypatch):
    whole = write(out=str(tmp_path / "whole"))
    assert llmzoo("train", "--config", whole, "--quiet").code == 0
    iterate = loop._iterate
    done = []

    def interrupted(*args):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(args)
        return iterate(*args)

    argv = ["train", "--config", str(write(checkpoint_every=1)), "--quiet"]
    with monkeypatch.context() as patched:
        patched.setattr(loop, "_iterate", interrupted)
        assert main(argv) == 130  # after the first of the second stage's two iterations
    assert not (tmp_path / "out" / "2-magrpo" / "after.json").exists()
    assert llmzoo(*argv).code == 0
    last = "2-magrpo/checkpoints/step_000002/policy/model.safetensors"
    assert (tmp_path / "out" / last).read_bytes() == (tmp_path / "whole" / last).read_bytes()


@pytest.mark.slow
def test_adapters_go_on_as_adapters(llmzoo, write, tmp_path):
    said = llmzoo("train", "--config", write(policies="lora", lora_args={"r": 2}), "--quiet")
    assert said.code == 0, said.err
    for stage in ("1-sft", "2-magrpo"):
        (step,) = (tmp_path / "out" / stage / "checkpoints").iterdir()
        assert (step / "planner_1" / "adapter_model.safetensors").exists()


FROZEN = {"policies": "separate", "agent_args": {"planner_1": {"frozen": True}}}


@pytest.mark.parametrize(
    ("change", "settings", "reason"),
    [
        ({"learnr": "grpo"}, {}, "unknown setting of stage 2 'learnr'. Did you mean 'learner'?"),
        ({"learner": "magrop"}, {}, "unknown learner 'magrop'"),
        ({"steps": "many"}, {}, "setting of stage 2 'steps' must be a whole number, got 'many'"),
        (
            {"steps": 0},
            {},
            "stage 2: steps must be at least 1, got 0",
        ),
        ({"learner_args": {"group_siz": 2}}, {}, "Did you mean 'group_size'?"),
        ({"learner_args": {"group_size": "big"}}, {}, "'group_size' must be a whole number"),
        ({"agent_args": {"planer_1": {"frozen": True}}}, {}, "unknown agent 'planer_1'"),
        (
            {"agent_args": {"planner_1": {"top_k": "a"}}},
            {},
            "stage 2: agent 'planner_1': top_k must",
        ),
        ({"trackers": ["tensorbord"]}, {}, "Did you mean 'tensorboard'?"),
        ({"model": "tiny"}, {}, "stage 2 starts from the model of stage 1"),
        ({"env": "sokoban_v0"}, {}, "sets env, which all stages share"),
        ({"eval_split": "none"}, {}, "eval_split=none: split must be one of"),
        ({}, FROZEN, "stage 1 trains proposer_0 and leaves no model for 'planner_1'"),
        ({"learner": "grpo"}, {"policies": "separate"}, "leaves no model for 'planner_0'"),
        (
            {"policies": "shared"},
            {"policies": "separate"},
            "as separate models, but policies='shared' needs one model",
        ),
        (
            {"policies": "lora"},
            {"policies": "separate"},
            "as separate models, but policies='lora' needs one model",
        ),
        ({"policies": "planner_1", "others": "exprt"}, {}, "Did you mean 'expert'?"),
        ({}, {"learner": "grpo"}, "--learner has no effect with stages"),
        ({}, {"resume": "somewhere"}, "repeat the same command"),
        ({}, {"stages": []}, "at least one mapping"),
        ({}, {"stages": [{"steps": 1}]}, "stage 1 has no learner"),
        ({}, {"stages": ["sft", "magrpo"]}, "--stages must be a list of mappings"),
    ],
)
def test_a_later_stage_is_checked_before_the_first(
    llmzoo, write, tmp_path, change, settings, reason
):
    path = write(**{"stages": [STAGES[0], {**STAGES[1], **change}], **settings})
    said = llmzoo("train", "--config", path)
    assert said.code == 2
    assert reason in said.err
    assert said.err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_agents_may_part_and_an_agent_may_keep_a_player_of_its_own(llmzoo, write, model_folder):
    own = {"planner_1": {"policy": model_folder, "frozen": True}}
    settings = {"policies": "separate", "agent_args": own}
    stages = [{**STAGES[0], "steps": 1}, {**STAGES[1], "steps": 1}]
    said = llmzoo("train", "--config", write(stages, **settings), "--quiet")
    assert said.code == 0, said.err
