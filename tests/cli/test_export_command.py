"""``llmzoo export``"""

import json

import huggingface_hub
import pytest


@pytest.fixture(scope="module")
def run(tmp_path_factory, model_folder):
    from llmzoo.training import fit

    folder = tmp_path_factory.mktemp("run") / "pair"
    fit(
        env="sudoku_v0",
        env_args={"max_turns": 1},
        learner="magrpo",
        model=model_folder,
        steps=1,
        episodes_per_step=1,
        max_new_tokens=8,
        eval_tasks=2,
        trackers=(),
        out=folder,
        quiet=True,
    )
    return folder


@pytest.fixture
def hub(monkeypatch):
    """The calls that would go to the hub."""
    calls = []

    class Stub:
        def create_repo(self, repo_id, **options):
            calls.append(("create_repo", repo_id, options["private"]))
            return f"https://huggingface.co/{repo_id}"

        def upload_folder(self, *, repo_id, folder_path, commit_message):
            calls.append(("upload_folder", repo_id, folder_path))

    monkeypatch.setattr(huggingface_hub, "HfApi", Stub)
    return calls


def test_export_says_where_everything_is(llmzoo, run, tmp_path, hub):
    said = llmzoo("export", run, "--out", tmp_path / "out")
    assert (said.code, said.out.splitlines()) == (
        0,
        [f"policy: {tmp_path / 'out'}", f"model card: {tmp_path / 'out' / 'README.md'}"],
    )
    assert (tmp_path / "out" / "model.safetensors").exists()
    assert hub == []  # nothing is pushed without being asked


def test_json_is_the_contract(llmzoo, run, tmp_path, hub):
    out = tmp_path / "out"
    said = llmzoo("export", "--run", run, "--out", out, "--step", 1, "--push", "me/x", "--json")
    assert json.loads(said.out) == {
        "folder": str(out),
        "step": 1,
        "policies": {"policy": str(out)},
        "base": None,
        "pushed": "https://huggingface.co/me/x",
    }
    assert hub == [("create_repo", "me/x", True), ("upload_folder", "me/x", str(out))]


def test_what_was_exported_can_be_measured(llmzoo, run, tmp_path):
    llmzoo("export", run, "--out", tmp_path / "out")
    options = "--env sudoku_v0 --env.max_turns 1 --tasks 2 --seed 0 --max_new_tokens 8 --json"
    of_run, of_export = (
        json.loads(llmzoo("eval", "--policy", policy, *options.split()).out)
        for policy in (run, tmp_path / "out")
    )
    assert of_export["mean_return"] == of_run["mean_return"]


def test_mistakes_are_named(llmzoo, run, tmp_path):
    for argv, says in (
        (("--out", tmp_path / "a"), "run"),
        ((run,), "out"),
        ((tmp_path, "--out", tmp_path / "a"), "not a run folder"),
        ((run, "--out", tmp_path / "a", "--step", 9), "no checkpoint of iteration 9"),
    ):
        said = llmzoo("export", *argv)
        assert said.code == 2
        assert says in said.err
