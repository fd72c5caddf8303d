"""Evaluations as logs of Inspect: its own reader where it is installed, and what stands in the file."""

from __future__ import annotations

import json

import pytest

import llmzoo
from llmzoo.errors import ConfigError
from llmzoo.export.inspect_log import export_evaluation


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    folder = tmp_path_factory.mktemp("evals") / "e"
    llmzoo.evaluate(
        "math_v0", "noisy_expert", tasks=3, samples=2, out=folder, env_args={"max_turns": 2}
    )
    return folder


def test_what_stands_in_the_log(kept, tmp_path):
    log = json.loads(export_evaluation(kept, tmp_path / "log.json").read_text())
    episodes = llmzoo.load_episodes(kept)
    assert (log["version"], log["status"]) == (2, "success")
    assert log["eval"]["model"] == "noisy_expert"
    assert log["eval"]["dataset"]["samples"] == 3
    assert log["eval"]["config"] == {"epochs": 2}
    success = sum(episode.success for episode in episodes) / 6
    assert log["results"]["scores"][0]["metrics"]["accuracy"]["value"] == pytest.approx(success)
    assert [sample["epoch"] for sample in log["samples"]] == [1, 2] * 3
    for sample, episode in zip(log["samples"], episodes, strict=True):
        assert sample["scores"]["success"]["value"] == episode.success
        assert sample["scores"]["return"]["value"] == dict(episode.totals)
        said = [m for m in sample["messages"] if m["role"] == "assistant"]
        assert [m["content"] for m in said] == [d.completion.text for d in episode.decisions]
        assert [m["metadata"]["agent"] for m in said] == [d.agent for d in episode.decisions]
        assert sample["input"] == episode.decisions[0].observation


def test_inspect_reads_it(kept, tmp_path):
    reader = pytest.importorskip("inspect_ai.log")
    log = reader.read_eval_log(str(export_evaluation(kept, tmp_path / "log.json")))
    assert log.status == "success"
    assert len(log.samples) == 6


def test_what_is_refused(kept, tmp_path):
    with pytest.raises(ConfigError, match=r"ends in \.json"):
        export_evaluation(kept, tmp_path / "log.eval")
    (tmp_path / "log.json").write_text("")
    with pytest.raises(ConfigError, match="exists"):
        export_evaluation(kept, tmp_path / "log.json")
    result = (kept / "result.json").read_text()
    (kept / "result.json").unlink()
    with pytest.raises(ConfigError, match="was cut off"):
        export_evaluation(kept, tmp_path / "other.json")
    (kept / "result.json").write_text(result)
