"""A bundle may come from anybody: whatever it holds gives a clear error, and never reads another file."""

from __future__ import annotations

import gzip
import json
import os
import shutil

import pytest
from bundle_files import edit_manifest, failed_checks, forge, read_content

import llmzoo
from llmzoo import files
from llmzoo.cli import main
from llmzoo.errors import CheckpointError
from llmzoo.evaluation.bundles import layout
from llmzoo.evaluation.bundles.layout import read_bundle
from llmzoo.evaluation.bundles.stored import check_tasks
from llmzoo.evaluation.bundles.verify import verify_bundle
from llmzoo.evaluation.bundles.write import write_bundle


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle")
    llmzoo.evaluate("sudoku_v0", "noisy_expert", tasks=3, out=folder / "evaluation")
    return write_bundle(folder / "bundle", {"only": folder / "evaluation"}, title="honest")


@pytest.fixture
def copied(bundle, tmp_path):
    return shutil.copytree(bundle, tmp_path / "copied")


def write_rows(bundle, rows):
    with gzip.open(bundle / "only" / "episodes.jsonl.gz", "wt") as file:
        file.writelines(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    "name",
    ["../bundle", "/etc", "only/../only", "", ".", "..", "a\0b", ".hidden", 3, None, ["only"]],
)
def test_names_that_are_paths(bundle, tmp_path, name):
    hostile = edit_manifest(bundle, tmp_path / "hostile", lambda m: m.update(evaluations=[name]))
    with pytest.raises(CheckpointError, match="is no path"):
        verify_bundle(hostile)


@pytest.mark.parametrize("file", ["config.json", "episodes.jsonl.gz", "result.json"])
def test_links_are_refused(copied, tmp_path, file):
    secret = tmp_path / "secret"
    secret.write_text('{"key": "private"}')
    (copied / "only" / file).unlink()
    (copied / "only" / file).symlink_to(secret)
    with pytest.raises(CheckpointError, match="is a link") as refused:
        verify_bundle(copied)
    assert "private" not in str(refused.value)


def test_pipes_and_linked_folders_are_refused(copied, tmp_path):
    os.mkfifo(copied / "only" / "pipe")
    with pytest.raises(CheckpointError, match="no plain file"):
        verify_bundle(copied)
    (copied / "only" / "pipe").unlink()
    (copied / "linked").symlink_to(tmp_path)
    with pytest.raises(CheckpointError, match="is a link"):
        verify_bundle(copied)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("not JSON", "is not JSON"),
        ("[]", "must be a JSON object"),
        ('{"success": NaN}', "NaN is not a number"),
        ('{"success": -Infinity}', "-Infinity is not a number"),
        ("[" * 100_000, "is not JSON"),
        ("\ud800".encode("utf-8", "surrogatepass"), "is not JSON"),
    ],
)
def test_results_that_are_not_plain_objects(copied, text, reason):
    data = text if isinstance(text, bytes) else text.encode()
    (copied / "only" / "result.json").write_bytes(data)
    with pytest.raises(CheckpointError, match=reason):
        verify_bundle(copied)


def test_large_files_are_not_read(copied, monkeypatch):
    monkeypatch.setattr(files, "MAX_JSON_BYTES", 1000)
    with pytest.raises(CheckpointError, match="larger than 1,000 bytes"):
        verify_bundle(copied)


def test_episodes_that_expand_to_more_than_the_bound_are_not_read(copied, monkeypatch):
    monkeypatch.setattr(layout, "MAX_BUNDLE_BYTES", 2**20)
    with gzip.open(copied / "only" / "episodes.jsonl.gz", "wb") as file:
        file.write(b" " * 2**24)
    with pytest.raises(CheckpointError, match="not read further"):
        verify_bundle(copied)


def test_the_bound_counts_all_evaluations_of_a_bundle_together(copied, tmp_path, monkeypatch):
    with gzip.open(copied / "only" / "episodes.jsonl.gz") as file:
        monkeypatch.setattr(layout, "MAX_BUNDLE_BYTES", len(file.read()) * 3 // 2)
    read_bundle(copied)
    twice = edit_manifest(copied, tmp_path / "twice", lambda m: m["evaluations"].append("again"))
    shutil.copytree(twice / "only", twice / "again")
    with pytest.raises(CheckpointError, match=r"again.*more than .* bytes of episodes"):
        read_bundle(twice)


@pytest.mark.parametrize(
    "data",
    [b"", b"no gzip", gzip.compress(b"{}\n" * 9)[:-9], gzip.compress(b"")],
    ids=["empty", "no gzip", "cut off", "nothing inside"],  # compressed bytes hold the time
)
def test_episodes_that_are_cut_off(copied, data):
    (copied / "only" / "episodes.jsonl.gz").write_bytes(data)
    with pytest.raises(CheckpointError):
        verify_bundle(copied)


WRONG_VALUES = {
    "totals": {"planner_1": "many"},
    "seed": "0",
    "task": True,
    "success": "yes",
    "decisions": [{}],
    "info": [],
}


@pytest.mark.parametrize("name", WRONG_VALUES)
def test_episodes_with_values_of_another_type(copied, name):
    rows = read_content(copied / "only").rows
    write_rows(copied, [rows[0] | {name: WRONG_VALUES[name]}, *rows[1:]])
    reason = f"{name}|is not an episode: KeyError\\('completion'\\)"
    with pytest.raises(CheckpointError, match=reason):
        verify_bundle(copied)


def test_episodes_with_nan_and_huge_numbers(copied):
    rows = read_content(copied / "only").rows
    text = json.dumps(rows[0])
    for number in ("NaN", "1e999"):
        changed = text.replace('"reward": ', f'"reward": {number}, "other": ', 1)
        write_rows(copied, [changed + "\n", *rows[1:]])
        with pytest.raises(CheckpointError):
            verify_bundle(copied)


EDITS = {
    "a policy of another type": lambda c: c.config.update(policies={"planner_1": 3}),
    "no policies": lambda c: c.config.update(policies={}),
    "sampling of another type": lambda c: c.config["policies"].update(
        planner_1={"policy": "tiny", "sampling": {"temperature": "hot"}, "weights": "x", "chat": {}}
    ),
    "tasks without an end": lambda c: c.config.update(tasks="all"),
    "negative tasks": lambda c: [row.update(task=-1) for row in c.rows[:1]],
    "a task beyond the split": lambda c: [row.update(task=10**9) for row in c.rows[:1]],
    "no samples": lambda c: c.config.update(samples=0),
    "an unknown argument": lambda c: c.config.update(env_args={"no_such": 1}),
    "an argument of another type": lambda c: c.config.update(env_args={"max_turns": "many"}),
    "an unknown split": lambda c: c.config.update(split="mine"),
    "another agent": lambda c: [d.update(agent="nobody") for d in c.rows[0]["decisions"]],
    "a provenance of another type": lambda c: c.provenance.update(starts=[{"machine": 3}]),
    "a commit that is an option": lambda c: c.provenance.update(
        starts=[{"commit": "--output=x", "committed": True}]
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_settings_that_do_not_fit_are_found(bundle, tmp_path, name):
    """They are wrong, or not checked; the verification goes on to its end."""
    shutil.copytree(bundle, tmp_path / "hostile")
    from bundle_files import write_content

    content = read_content(tmp_path / "hostile" / "only")
    EDITS[name](content)
    write_content(tmp_path / "hostile" / "only", content)
    verification = verify_bundle(tmp_path / "hostile")
    assert "files" in {check.name for check in verification.wrong}
    assert {check.name for check in verification.checks} >= {
        "claims",
        "tasks",
        "episodes",
        "replay",
    }


def test_results_of_another_form_are_wrong(bundle, tmp_path):
    hostile = shutil.copytree(bundle, tmp_path / "hostile")
    (hostile / "only" / "result.json").write_text('{"solved": 3, "ids": {}}')
    assert {"files", "claims", "numbers"} <= failed_checks(hostile)


def test_a_folder_that_is_no_bundle(tmp_path, capsys):
    assert main(["eval", "verify", str(tmp_path)]) == 2
    assert "llmzoo eval bundle FOLDER --out BUNDLE" in capsys.readouterr().err
    assert main(["eval", "verify", str(tmp_path / "nowhere")]) == 2
    assert main(["verify", str(tmp_path)]) == 2
    assert "use llmzoo eval verify" in capsys.readouterr().err


def test_another_format_is_refused(bundle, tmp_path):
    later = edit_manifest(bundle, tmp_path / "later", lambda m: m.update(format=2))
    with pytest.raises(CheckpointError, match="bundles of format 1, got 2"):
        verify_bundle(later)


def test_programs_in_a_bundle_run_in_the_sandbox_only(tmp_path):
    """A completion that writes a file when it is judged cannot write it."""
    out = tmp_path / "evaluation"
    args = {"source": "sample"}
    llmzoo.evaluate("mbpp_v0", "noisy_expert", tasks=2, env_args=args, out=out)
    honest = write_bundle(tmp_path / "bundle", {"only": out}, title="programs")
    target = tmp_path / "written"

    def attack(content):
        for decision in content.rows[0]["decisions"]:
            text = f"open({str(target)!r}, 'w').write('x')"
            decision["completion"]["text"] = f"```python\n{text}\n```"

    assert "episodes" in failed_checks(forge(honest, tmp_path / "forged", attack))
    assert not target.exists()


def test_no_argument_imports_code_or_calls_a_server(tmp_path, monkeypatch):
    """Not as the name of an object either: an environment that expects a list reads the names."""
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'imported')!r}, 'w')\ntools = []\n")
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "evaluation"
    llmzoo.evaluate("tool_use_v0", "silent", tasks=1, env_args={"tools": ["calculator"]}, out=out)
    honest = write_bundle(tmp_path / "bundle", {"only": out}, title="tools")
    for number, tools in enumerate(({"evil:tools": 1}, {"calculator": 1, "evil:tools": 1})):
        forged = forge(
            honest,
            tmp_path / f"forged_{number}",
            lambda content, tools=tools: content.config.update(env_args={"tools": tools}),
        )
        (check,) = (c for c in verify_bundle(forged).checks if c.name == "episodes")
        assert "names code to import: evil:tools" in check.reason
        (check,) = (
            c
            for c in verify_bundle(forged, env_args={"tools": ["calculator"]}).checks
            if c.name == "episodes"
        )
        assert "the bundle was played with tools=" in check.reason
    assert not (tmp_path / "imported").exists()


def test_a_judge_on_a_server_is_asked_only_if_the_user_names_it(tmp_path):
    out = tmp_path / "evaluation"
    llmzoo.evaluate("debate_v0", "silent", tasks=1, out=out)
    honest = write_bundle(tmp_path / "bundle", {"only": out}, title="debate")
    endpoint = {"model": "judge", "base_url": "http://127.0.0.1:9/v1"}
    args = {"judge": "endpoint", "endpoint": endpoint}
    forged = forge(
        honest, tmp_path / "forged", lambda content: content.config.update(env_args=args)
    )
    (check,) = (c for c in verify_bundle(forged).checks if c.name == "episodes")
    assert check.status == "not checked"
    assert "asks a server" in check.reason
    assert "--env.endpoint" in check.reason


AMBIGUOUS = {
    "a name twice": ('"policy": ', '"policy": "another", "policy": '),
    "a number beyond a float": ('"seed": 0', '"seed": 1' + "0" * 400),
    "an infinite number": ('"seed": 0', '"seed": 1e999'),
    "a setting that nothing reads": ('"seed": 0', '"seed": 0, "s\u0435ed": 7'),
}


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_files_that_readers_read_differently_are_refused(copied, name):
    path = copied / "only" / "config.json"
    text = path.read_text()
    assert AMBIGUOUS[name][0] in text
    path.write_text(text.replace(*AMBIGUOUS[name], 1))
    with pytest.raises(CheckpointError, match=r"config\.json"):
        verify_bundle(copied)


def test_an_infinite_claim_is_refused(copied):
    path = copied / "bundle.json"
    path.write_text(path.read_text().replace('"success": ', '"success": 1e999, "x": ', 1))
    with pytest.raises(CheckpointError, match="not a number"):
        verify_bundle(copied)


def test_a_reward_beyond_a_float_is_refused(copied):
    rows = read_content(copied / "only").rows
    rows[0]["totals"]["planner_1"] = 10**400
    write_rows(copied, rows)
    with pytest.raises(CheckpointError, match="line 1"):
        verify_bundle(copied)


@pytest.mark.parametrize("setting", ["tasks", "samples"])
def test_declaring_a_trillion_episodes_takes_no_memory(bundle, tmp_path, setting):
    forged = forge(bundle, tmp_path / "forged", lambda c: c.config.update({setting: 10**12}))
    (evaluation,) = read_bundle(forged).evaluations
    status, reason = check_tasks(evaluation)
    assert status == "wrong"
    assert "000000000000 episodes are declared and 3 are there" in reason


def test_folders_without_end_are_refused(copied, monkeypatch):
    monkeypatch.chdir(copied / "only")
    for _ in range(1200):
        os.mkdir("d")
        os.chdir("d")
    try:
        with pytest.raises(CheckpointError, match="without end"):
            verify_bundle(copied)
    finally:  # pytest cannot remove folders this deep
        for _ in range(1200):
            os.chdir("..")
            os.rmdir("d")


def test_a_title_moves_no_cursor(bundle, tmp_path, capsys):
    hostile = edit_manifest(bundle, tmp_path / "hostile", lambda m: m.update(title="\x1b[2J\ud800"))
    main(["eval", "verify", str(hostile), "--quiet", "--replay", "0"])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert r"\x1b[2J\ud800: " in out
