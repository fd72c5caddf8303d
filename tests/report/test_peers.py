"""Other people's packages beside ours: their environments and their processes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).resolve().parents[2] / "examples" / "benchmark"
WORKER = f"""
import os, sys
sys.path.insert(0, {str(BENCHMARK / "workers")!r})
from serving import serve

def answer(do, **rest):
    if do == "die":
        raise SystemExit("no more of this")
    print("a library talks")
    os.system("echo so does a program")
    return {{"rest": rest, "arguments": sys.argv[1:], "mood": os.environ.get("MOOD")}}

print("and at its start")
serve(answer)
"""


@pytest.fixture
def peers(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(BENCHMARK))
    import peers

    monkeypatch.setattr(peers, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(peers, "CONSTRAINTS", tmp_path / "constraints.txt")
    (tmp_path / "constraints.txt").write_text("six==1.17.0\n")
    monkeypatch.setattr(peers, "REQUIREMENTS", {"none": (), "missing": ("llmzoo-no-such==1.0",)})
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    return peers


@pytest.fixture
def peer(peers, monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "interpreter", lambda name: Path(sys.executable))
    (tmp_path / "worker.py").write_text(WORKER)
    with peers.Peer("toy", tmp_path / "worker.py", "--fast", env={"MOOD": "good"}) as result:
        yield result


def test_answers_are_not_disturbed_by_what_is_printed(peer):
    for text in ("plain", "two\nlines", "ünïcode 漢"):
        result = peer.ask(do="tell", text=text)
        assert result == {"rest": {"text": text}, "arguments": ["--fast"], "mood": "good"}


def test_a_process_that_ends_is_named_with_its_last_words(peers, peer):
    with pytest.raises(
        peers.PeerDied, match=r"toy ended with exit status 1:[\s\S]*no more of this"
    ):
        peer.ask(do="die")
    with pytest.raises(peers.PeerDied, match="toy was closed, or has ended before"):
        peer.ask(do="tell")


def test_a_process_that_never_serves_has_ended(peers, monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "interpreter", lambda name: Path(sys.executable))
    (tmp_path / "loud.py").write_text("print('hello')\n")
    with (
        peers.Peer("toy", tmp_path / "loud.py") as loud,
        pytest.raises(peers.PeerDied, match="exit status 0"),
    ):
        loud.ask()


@pytest.mark.slow
def test_what_cannot_be_installed_is_absent_and_leaves_nothing(peers):
    with pytest.raises(peers.PeerAbsent, match=r"missing cannot be installed: .*llmzoo-no-such"):
        peers.interpreter("missing")
    assert list(peers.CACHE.iterdir()) == []


@pytest.mark.slow
def test_an_environment_is_made_once_for_its_pins(peers, tmp_path):
    peers.REQUIREMENTS["none"] = ("pip",)
    (peers.CACHE / "none-making-old").mkdir(parents=True)  # left by a run that was cut off
    first = peers.interpreter("none")
    assert first.exists()
    made = first.parent.stat().st_mtime_ns
    assert peers.interpreter("none") == first
    assert first.parent.stat().st_mtime_ns == made
    (tmp_path / "constraints.txt").write_text("six==1.16.0\n")
    second = peers.interpreter("none")
    assert second != first
    assert second.exists()
