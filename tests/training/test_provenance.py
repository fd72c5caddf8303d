"""What a run folder says of its making."""

import json
import sys

from llmzoo.runs import provenance
from llmzoo.version import __version__


def test_each_start_is_recorded(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/llmzoo", "train", "--seed", "1 2"])
    provenance.record_start(tmp_path)
    monkeypatch.setattr(sys, "argv", ["llmzoo", "train", "--resume", "a"])
    provenance.record_start(tmp_path)
    first, second = json.loads((tmp_path / provenance.PROVENANCE_FILE).read_text())["starts"]
    assert first["command"] == "llmzoo train --seed '1 2'"
    assert second["command"] == "llmzoo train --resume a"
    assert first["llmzoo"] == __version__
    assert {"torch", "transformers", "pettingzoo"} <= set(first["packages"])
    assert first["machine"]["cores"] >= 1
    assert first["started"].endswith("+00:00")


def test_the_commit_is_that_of_the_repository(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "_ROOT", tmp_path)
    assert provenance.collect_provenance()["commit"] is None
    (tmp_path / ".git").mkdir()  # no repository
    assert provenance.collect_provenance()["commit"] is None
