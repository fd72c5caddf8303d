"""Exports load without llmzoo, and compute what the trained policies compute."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import chat_models
import pytest
import torch
from huggingface_hub import ModelCard
from huggingface_hub.errors import LocalTokenNotFoundError
from toy_envs import Parity

from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.export import export_run, push_to_hub
from llmzoo.export.description import _without_secrets
from llmzoo.policies import load_model, run_models
from llmzoo.policies.settings import Chat
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.training import fit

# for a process in which llmzoo cannot be imported: runs blocks of cards, each in its folder
ALONE = """
import json, os, sys
sys.modules["llmzoo"] = None
import torch
found = {}
for number, (folder, code, text, ids) in enumerate(json.load(open("blocks.json"))):
    os.chdir(folder)
    names = {}
    exec(code, names)
    with torch.no_grad():
        found[f"{number}.logits"] = names["model"](input_ids=torch.tensor([ids])).logits[0, -1]
    found[f"{number}.ids"] = torch.tensor(names["tokenizer"](text)["input_ids"])
torch.save(found, sys.argv[1])
"""
TEXT = "sudoku 4\n1.3.\n proposer"


@pytest.fixture(scope="module")
def runs(tmp_path_factory, small_model):
    """A run of shared agents, and one of adapters, of two iterations each."""
    folder = tmp_path_factory.mktemp("runs")
    for name, settings in {
        "shared": {"eval_every": 1},
        "lora": {"policies": "lora", "lora_args": {"r": 2}},
    }.items():
        fit(
            env="sudoku_v0",
            env_args={"max_turns": 1},
            learner="sft",  # whatever the model writes, its weights move
            learner_args={"learning_rate": 0.01},
            model=small_model,
            steps=2,
            episodes_per_step=2,
            checkpoint_every=1,
            max_new_tokens=8,
            eval_tasks=4,
            seed=5,
            trackers=(),
            out=folder / name,
            quiet=True,
            **settings,
        )
    return folder


@pytest.fixture(scope="module")
def small_model(tmp_path_factory):
    from tiny_models import model, tokenizer

    folder = tmp_path_factory.mktemp("small")
    made = model(max_position_embeddings=1024, llmzoo_prompt="terse")
    TransformersPolicy(made, tokenizer()).save(folder)
    return str(folder)


def blocks(card: str) -> list[str]:
    """The Python blocks of a card."""
    return [part.split("```")[0] for part in card.split("```python\n")[1:]]


def logits_of(policy, ids):
    with torch.no_grad(), policy.ready():
        return policy.model(input_ids=torch.tensor([ids])).logits[0, -1]


def apart(outcome, wanted):
    return (outcome - wanted).abs().max().item()


def close(outcome, wanted):
    """The same weights, in float32: it rounds logits of about 10 by 1e-6 a layer or so."""
    assert apart(outcome, wanted) < 1e-3


@pytest.mark.slow
def test_exports_compute_without_llmzoo_what_was_trained(runs, tmp_path, small_model):
    """The cards' own code, run where llmzoo cannot be imported."""
    shared = export_run(runs / "shared", tmp_path / "shared")
    lora = export_run(runs / "lora", tmp_path / "lora", base=small_model)
    assert (shared.policies, shared.base, shared.step) == (
        {"policy": tmp_path / "shared"},
        None,
        2,
    )
    assert lora.policies == {n: tmp_path / "lora" / n for n in ("planner_1", "proposer_0")}
    assert lora.base == tmp_path / "lora" / "base"
    trained = [
        load_model(str(run_models.newest_checkpoint(runs / run) / name))
        for run, name in (("shared", "policy"), ("lora", "planner_1"), ("lora", "proposer_0"))
    ]
    ids = list(trained[0].encode(TEXT))
    codes = [
        (str(done.folder), code, TEXT, ids)
        for done in (shared, lora)
        for code in blocks((done.folder / "README.md").read_text())
    ]
    assert len(codes) == 3
    (tmp_path / "blocks.json").write_text(json.dumps(codes))
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(tmp_path / "found.pt")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcome = torch.load(tmp_path / "found.pt", weights_only=True)
    for number, policy in enumerate(trained):
        assert outcome[f"{number}.ids"].tolist() == ids
        close(outcome[f"{number}.logits"], logits_of(policy, ids))
    base = logits_of(load_model(small_model), ids)
    computed = [base, *(outcome[f"{number}.logits"] for number in range(3))]
    assert all(apart(a, b) > 0.1 for a, b in combinations(computed, 2))  # all were trained


@pytest.mark.slow
def test_adapters_name_no_place_and_load_beside_their_base(runs, tmp_path, small_model):
    done = export_run(runs / "lora", tmp_path / "out", base=small_model)
    for folder in done.policies.values():
        config = (folder / "adapter_config.json").read_text()
        assert json.loads(config)["base_model_name_or_path"] is None
        assert small_model not in config
    again = load_model(str(done.policies["planner_1"]), base=str(done.base))
    trained = load_model(str(run_models.newest_checkpoint(runs / "lora") / "planner_1"))
    ids = list(trained.encode(TEXT))
    close(logits_of(again, ids), logits_of(trained, ids))


def test_the_card_says_what_was_measured(runs, tmp_path):
    out = tmp_path / "sudoku-pair"
    export_run(runs / "shared", out)
    card = ModelCard.load(out / "README.md")
    after = json.loads((runs / "shared" / "after.json").read_text())
    (result,) = card.data.eval_results
    assert result.metric_value == pytest.approx(after["success"])
    assert (result.dataset_name, result.dataset_split) == ("sudoku_v0", "test")
    assert card.data.library_name == "transformers"
    assert set(card.data.tags) == {"llmzoo", "reinforcement-learning", "multi-agent", "sft"}
    low, high = after["success_ci95"]
    assert f"| after | {after['success']:.1%} [{low:.1%}, {high:.1%}] |" in card.text
    for said in (
        "environment `sudoku_v0`",
        "learner `sft`",
        "one policy for all agents",
        "| seed of the run | 5 |",
        "iteration 2 of the run `shared`",
        "the environment's `terse` form",
        '`{"max_turns": 1}`',
        "temperature 1.0, top_p 1.0, top_k 0 (0 is all), at most 8 tokens",
        '"learning_rate": 0.01',
    ):
        assert said in card.text, said


def test_the_card_of_a_chat_model_prompts_as_the_run_did(tmp_path):
    model = tmp_path / "model"
    chat_models.policy(chat_models.thinking()).save(model)
    said = {"system": 'Say "up": `` null.', "chat_template_args": {"enable_thinking": False}}
    sizes = {
        "steps": 1,
        "episodes_per_step": 1,
        "eval_tasks": 1,
        "max_new_tokens": 4,
        "trackers": (),
    }
    fit("magrpo", Parity, model=str(model), out=tmp_path / "run", quiet=True, **said, **sizes)
    export_run(tmp_path / "run", tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert '- System prompt: ``` "Say \\"up\\": `` null." ```.' in card
    assert '- Given to the template: `{"enable_thinking": false}`.' in card
    (code,) = blocks(card)
    names = {}
    before = code[: code.index("answer = ")].replace(
        'where = "."', f"where = {str(tmp_path / 'out')!r}"
    )
    exec(before, names)
    wanted = load_model(str(model), chat=Chat(**said)).encode("...")
    assert names["inputs"]["input_ids"][0].tolist() == list(wanted)


def test_no_place_of_this_machine_stands_in_a_card(runs, tmp_path, small_model):
    for name in ("shared", "lora"):
        base = small_model if name == "lora" else None
        done = export_run(runs / name, tmp_path / name, base=base)
        for path in done.folder.rglob("*.[jm][sd]*"):
            assert small_model not in path.read_text(), path
            assert str(runs) not in path.read_text(), path
        text = (done.folder / "README.md").read_text()
        assert f"| started from | the folder `{Path(small_model).name}` |" in text
        assert "base_model" not in text.split("---")[1]  # it is on no hub


def test_a_pattern_of_agents_is_no_pattern_of_policies(runs, tmp_path, small_model):
    """``p*l*`` is planner_1, which plays another model. The proposer's policy is called "policy"."""
    run = Path(shutil.copytree(runs / "shared", tmp_path / "run"))
    config = json.loads((run / "config.json").read_text())
    changed = {**config, "agent_args": {"p*l*": {"policy": "smollm2"}}}
    (run / "config.json").write_text(json.dumps(changed))
    done = export_run(run, tmp_path / "out")
    text = (done.folder / "README.md").read_text().split("## Settings of the run")[0]
    assert f"the folder `{Path(small_model).name}`" in text
    assert "smollm2" not in text.lower()


def test_an_earlier_checkpoint_has_its_own_measurement(runs, tmp_path, small_model):
    done = export_run(runs / "shared", tmp_path / "one", step=1)
    rows = map(json.loads, (runs / "shared" / "metrics.jsonl").read_text().splitlines())
    (row,) = [row for row in rows if row["kind"] == "eval" and row["step"] == 1]
    low, high = row["success_ci95"]
    text = (done.folder / "README.md").read_text()
    assert f"| after | {row['success']:.1%} [{low:.1%}, {high:.1%}] |" in text
    assert "iteration 1 of" in text
    unmeasured = export_run(runs / "lora", tmp_path / "two", step=1, base=small_model)
    text = (unmeasured.folder / "README.md").read_text()
    assert "This checkpoint itself has not been measured." in text
    assert "| after |" not in text


def test_a_hub_base_stays_where_it_is(runs, tmp_path):
    """Its id goes into the card, and it is not copied."""
    run = tmp_path / "run"
    checkpoint = run / "checkpoints" / "step_000002"
    source = runs / "lora"
    for path in source.rglob("*"):
        target = run / path.relative_to(source)
        if path.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(path.read_bytes())
    for name in ("proposer_0", "planner_1"):
        path = checkpoint / name / "adapter_config.json"
        config = json.loads(path.read_text())
        path.write_text(json.dumps({**config, "base_model_name_or_path": "some/model-7B"}))
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, "model": "some/model-7B"}))
    done = export_run(run, tmp_path / "out")
    assert done.base is None
    assert not (done.folder / "base").exists()
    saved = json.loads((done.policies["planner_1"] / "adapter_config.json").read_text())
    assert saved["base_model_name_or_path"] == "some/model-7B"
    card = ModelCard.load(done.folder / "README.md")
    assert (card.data.base_model, card.data.library_name) == ("some/model-7B", "peft")
    assert 'AutoModelForCausalLM.from_pretrained("some/model-7B")' in card.text


def test_a_base_that_is_gone_is_named(runs, tmp_path):
    run = tmp_path / "run"
    checkpoint = run / "checkpoints" / "step_000001"
    (checkpoint / "policy").mkdir(parents=True)
    gone = {"base_model_name_or_path": str(tmp_path / "gone")}
    (checkpoint / "policy" / "adapter_config.json").write_text(json.dumps(gone))
    with pytest.raises(CheckpointError, match="is not a hub id"):
        export_run(run, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_mistakes_are_named(runs, tmp_path):
    with pytest.raises(CheckpointError, match="not a run folder"):
        export_run(tmp_path, tmp_path / "out")
    with pytest.raises(CheckpointError, match="no checkpoint of iteration 7; it has 1, 2"):
        export_run(runs / "shared", tmp_path / "out", step=7)
    (tmp_path / "both" / "1-sft").mkdir(parents=True)
    (tmp_path / "both" / "1-sft" / "config.json").write_text("{}")
    with pytest.raises(CheckpointError, match=r"name one of its stages, .*1-sft"):
        export_run(tmp_path / "both", tmp_path / "out")
    (tmp_path / "there").mkdir()
    with pytest.raises(ConfigError, match="exists already"):
        export_run(runs / "shared", tmp_path / "there")


def test_what_is_called_a_secret_is_left_out():
    settings = {"env_args": {"api_key": "k", "hf_token": "t", "max_new_tokens": 8}, "password": "p"}
    assert _without_secrets(settings) == {
        "env_args": {"api_key": "(left out)", "hf_token": "(left out)", "max_new_tokens": 8},
        "password": "(left out)",
    }


# somebody else's run


@pytest.fixture
def theirs(runs, tmp_path):
    """A copy of the run with adapters, to be made hostile; with where its newest checkpoint is."""
    run = Path(shutil.copytree(runs / "lora", tmp_path / "theirs"))
    return run, run / "checkpoints" / "step_000002"


@pytest.fixture
def private(tmp_path):
    """A folder of mine that looks like a model."""
    folder = tmp_path / "private"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "diary.txt").write_text("dear diary")
    (folder / "model.safetensors").write_bytes(b"mine")
    return folder


def nothing_left(tmp_path):
    return not [p for p in tmp_path.iterdir() if p.name.endswith("out")]


@pytest.mark.parametrize("relative", [False, True])
def test_no_folder_is_copied_because_an_adapter_names_it(
    theirs, private, tmp_path, monkeypatch, relative
):
    run, checkpoint = theirs
    monkeypatch.chdir(tmp_path)
    for path in checkpoint.glob("*/adapter_config.json"):
        named = "private" if relative else str(private)
        config = {**json.loads(path.read_text()), "base_model_name_or_path": named}
        path.write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match="Folders that only the run names are not opened"):
        export_run(run, tmp_path / "out")
    assert nothing_left(tmp_path)


@pytest.mark.parametrize("base", ["../private", "~/private", "a/b/c", "a b", "a\nb", "", 7, None])
def test_a_base_that_is_no_id_of_the_hub(theirs, tmp_path, base):
    run, checkpoint = theirs
    for path in checkpoint.glob("*/adapter_config.json"):
        config = {**json.loads(path.read_text()), "base_model_name_or_path": base}
        path.write_text(json.dumps(config))
    with pytest.raises(CheckpointError, match=r"not a hub id|does not say what its base is"):
        export_run(run, tmp_path / "out")
    assert nothing_left(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "checkpoints/step_000002/planner_1/vocab.txt",
        "checkpoints/step_000002/planner_1/notes",
        "checkpoints/step_000002/planner_1",
        "checkpoints/step_000002",
        "checkpoints",
        "config.json",
        "before.json",
    ],
)
def test_no_link_is_copied_or_read(theirs, private, small_model, tmp_path, name):
    run, _ = theirs
    path = run / name
    if path.is_dir():
        path.rename(tmp_path / "moved")
        path.symlink_to(tmp_path / "moved")  # so that only the link is amiss
    else:
        path.unlink(missing_ok=True)
        path.symlink_to(
            private / "diary.txt" if name.endswith("notes") else private / "config.json"
        )
    with pytest.raises(CheckpointError, match="is a link"):
        export_run(run, tmp_path / "out", base=small_model)
    assert nothing_left(tmp_path)


def test_only_files_of_a_model_are_copied(theirs, small_model, tmp_path):
    run, checkpoint = theirs
    for name in ("modeling_evil.py", ".git-credentials", "pytorch_model.bin", "id_rsa"):
        (checkpoint / "planner_1" / name).write_text("x")
    (checkpoint / "planner_1" / "more").mkdir()
    (checkpoint / "planner_1" / "more" / "config.json").write_text("{}")
    with pytest.warns(
        UserWarning, match="not exported, because no model file has such a name: '.git-credentials'"
    ):
        done = export_run(run, tmp_path / "out", base=small_model)
    outcome = {path.name for path in done.policies["planner_1"].iterdir()}
    assert outcome == {
        *("adapter_config.json", "adapter_model.safetensors"),
        *("tokenizer.json", "tokenizer_config.json"),
    }


@pytest.mark.parametrize("name", ['x"\nimport os #', "a`b", "a\nb", "[a](http:b)", ".hidden"])
def test_a_policys_name_is_no_code_and_no_markdown(theirs, small_model, tmp_path, name):
    run, checkpoint = theirs
    (checkpoint / "planner_1").rename(checkpoint / name)
    with pytest.raises(CheckpointError, match="has a policy with the name"):
        export_run(run, tmp_path / "out", base=small_model)


CODE = "1.0)\nimport os; os.system('id')\n#"


@pytest.mark.parametrize(
    ("file", "change"),
    [
        ("config.json", {"temperature": CODE}),
        ("config.json", {"top_k": CODE}),
        ("config.json", {"max_new_tokens": CODE}),
        ("config.json", {"seed": CODE}),
        ("config.json", {"env_args": None}),
        ("config.json", {"agent_args": []}),
        ("after.json", {"mean_return": 3}),
        ("after.json", {"success_ci95": ["a", "b"]}),
    ],
)
def test_settings_and_numbers_of_another_form(theirs, small_model, tmp_path, file, change):
    run, _ = theirs
    outcome = json.loads((run / file).read_text())
    (run / file).write_text(json.dumps({**outcome, **change}))
    with pytest.raises(CheckpointError, match=r"of another form|whole number|must be a mapping"):
        export_run(run, tmp_path / "out", base=small_model)
    assert nothing_left(tmp_path)


def test_words_of_a_run_are_no_markdown(theirs, small_model, tmp_path):
    run, _ = theirs
    config = json.loads((run / "config.json").read_text())
    lure = "x`\n\n# Log in [here](https://evil.org)\n<img src=1>"
    changed = {**config, "env": lure, "learner": lure, "others": lure, "system": "/" + "x" * 5000}
    (run / "config.json").write_text(json.dumps(changed))
    done = export_run(run, tmp_path / "out", base=small_model)
    card = (done.folder / "README.md").read_text()
    text, settings = card.split("## Settings of the run")
    assert "\n# Log in" not in text
    assert "](https" not in text.split("---", 2)[2]
    assert "<img" not in text.split("---", 2)[2]
    assert json.loads(settings.split("```json")[1].split("```")[0])["env"] == lure


def test_a_run_that_says_it_started_from_itself(theirs, small_model, tmp_path):
    run, _ = theirs
    config = json.loads((run / "config.json").read_text())
    changed = {**config, "max_new_tokens": None, "model": str(run)}
    (run / "config.json").write_text(json.dumps(changed))
    with pytest.raises(CheckpointError, match="names the run itself as its starting model"):
        export_run(run, tmp_path / "out", base=small_model)


def test_a_base_that_is_given_must_be_one(runs, private, tmp_path):
    with pytest.raises(ConfigError, match="has no adapters: leave out --base"):
        export_run(runs / "shared", tmp_path / "out", base=private)
    with pytest.raises(CheckpointError, match="holds no model with weights"):
        export_run(runs / "lora", tmp_path / "out", base=tmp_path)
    assert nothing_left(tmp_path)


# the hub


class Stub:
    """Stands for ``HfApi``; keeps the calls."""

    def __init__(self):
        self.calls: list[tuple[str, object, dict[str, object]]] = []
        self.error: Exception | None = None

    def create_repo(self, repo_id, **options):
        self.calls.append(("create_repo", repo_id, options))
        return f"https://huggingface.co/{repo_id}"

    def upload_folder(self, *, repo_id, **options):
        if self.error is not None:
            raise self.error
        self.calls.append(("upload_folder", repo_id, options))


@pytest.fixture
def hub(monkeypatch):
    api = Stub()
    monkeypatch.setattr("huggingface_hub.HfApi", lambda: api)
    return api


@pytest.mark.parametrize("private", [True, False])
def test_push_makes_the_repository_and_uploads_the_folder(runs, tmp_path, hub, private):
    done = export_run(runs / "shared", tmp_path / "out")
    assert push_to_hub(done.folder, "me/pair", private=private) == (
        "https://huggingface.co/me/pair"
    )
    assert hub.calls == [
        ("create_repo", "me/pair", {"private": private, "exist_ok": True}),
        (
            "upload_folder",
            "me/pair",
            {"folder_path": str(done.folder), "commit_message": "out, exported by llmzoo"},
        ),
    ]


def test_a_new_repository_is_private_unless_told(runs, tmp_path, hub):
    push_to_hub(export_run(runs / "shared", tmp_path / "out").folder, "me/pair")
    assert hub.calls[0][2]["private"] is True


@pytest.mark.usefixtures("hub")
def test_a_token_is_never_written(runs, tmp_path, small_model, monkeypatch, capsys):
    secret = "hf_abcdefghijklmnopqrstuvwxyz012345"
    monkeypatch.setenv("HF_TOKEN", secret)
    done = export_run(runs / "lora", tmp_path / "out", base=small_model)
    push_to_hub(done.folder, "me/pair")
    assert all(secret.encode() not in p.read_bytes() for p in tmp_path.rglob("*") if p.is_file())
    assert secret not in "".join(capsys.readouterr())


def test_what_the_hub_refuses_is_told(runs, tmp_path, hub):
    done = export_run(runs / "shared", tmp_path / "out")
    hub.error = LocalTokenNotFoundError("no token")
    with pytest.raises(ConfigError, match=r"me/pair was not pushed: no token.*hf auth login"):
        push_to_hub(done.folder, "me/pair")
    with pytest.raises(ConfigError, match="is no export"):
        push_to_hub(tmp_path, "me/pair")


def test_a_password_in_an_address_is_left_out():
    settings = {"env_args": {"url": "https://me:pass@word@host/v1", "mail": "a@b.org"}}
    assert _without_secrets(settings) == {"env_args": {"url": "https://host/v1", "mail": "a@b.org"}}
