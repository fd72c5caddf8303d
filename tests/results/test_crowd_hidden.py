"""The study of the hidden profile: the share of the gap that is closed, and models that read episodes."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def examples(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "results"))


def test_the_gap_is_closed_by_half_if_talk_lies_half_way():
    """Worked out: all tasks and runs of an arm are equal, so resampling changes nothing: (0.5 - 0.25) / 0.5."""
    from crowd_hidden import closed_interval

    split, silent, whole = ([[value] * 4] * 3 for value in (0.5, 0.25, 0.75))
    assert closed_interval(split, silent, whole) == pytest.approx((0.5, 0.5))


def test_the_interval_of_the_gap_covers_runs():
    """One run of talk closes all of the gap and one nothing: a resample has both in half of all cases."""
    from crowd_hidden import closed_interval

    low, high = closed_interval([[1.0] * 4, [0.0] * 4], [[0.0] * 4] * 2, [[1.0] * 4] * 2)
    assert (low, high) == (0.0, 1.0)


def test_tables_of_a_study_name_the_share_and_the_conditions():
    from crowd_hidden import tables

    def run(arm: str, solved: str, greedy: str) -> dict:
        def measured(marks: str) -> dict:
            paid = {f"member_{i}": [float(mark) for mark in marks] for i in range(2)}
            return {
                "solved": marks,
                "success": marks.count("1") / len(marks),
                "greedy": {"solved": greedy, "success": greedy.count("1") / len(greedy)},
                "returns": paid,
            }

        before = {
            **measured("0000"),
            "lower_temperatures": {"0.3": {"success": 0.5, "solved": "10"}},
        }
        also = {"no_talk": {"solved": "1000"}} if arm.startswith("split") else {}
        row = {"task": "pair", "arm": arm, "seed": 0, "before": before, "also": also}
        return {**row, "after": measured(solved)}

    found = tables(
        [
            run("split", "1110", "1110"),
            run("silent", "1000", "1100"),
            run("whole", "1111", "1111"),
        ]
    )
    gaps = [line.split(" | ") for line in found["hidden profile gap"].splitlines()[2:]]
    # (75 - 25) / (100 - 25), (75 - 50) / (100 - 50)
    assert [line[4].split(" [")[0] for line in gaps] == ["67%", "50%", "67%"]
    assert [line[5].split(" [")[0] for line in gaps] == ["50%", "50%", "50%"]  # (75 - 50) / 50
    assert [line[1:4] for line in gaps[:2]] == [
        ["25.0", "75.0", "100.0"],
        ["50.0", "75.0", "100.0"],
    ]
    split = found["hidden profile"].splitlines()[2].split(" | ")
    assert [cell.split(" [")[0] for cell in split[1:4]] == ["1", "0.0% → 75.0%", "75.0% → 75.0%"]
    assert split[5] == "50.0%, 100.0% |"  # of the first two tasks the trained pair solves both
    conditions = found["hidden profile conditions"].splitlines()[2:]
    assert [line.split(" | ")[0] for line in conditions] == ["| as trained", "| no talk"]
    assert conditions[1].split(" | ")[1].startswith("25.0%")


def test_a_reader_reads_all_votes_and_one_message_in_four(tmp_path):
    """Four episodes of two members: a vote of each, and in the first one a message of each too."""
    from reader_model import read_texts
    from study import read, train_model

    from llmzoo.policies import load

    models = read("models", quick=True)
    train_model(models["profile_random"], tmp_path)
    policy = load(str(tmp_path))
    reader = models["profile_reader"]["reader"]
    texts = [
        tuple(map(policy.tokenizer.decode, text))
        for text in read_texts(policy, reader["env"], reader["env_args"], range(4))
    ]
    assert sum(prompt.endswith("\nsay ") for prompt, _ in texts) == 2
    assert sum(prompt.endswith("\nvote ") for prompt, _ in texts) == 8
    for prompt, completion in texts:
        assert "<|pad|>" not in prompt + completion  # every word has a token
        assert completion.endswith("<|end|>")
        assert len(completion) == len("A<|end|>") or prompt.endswith("say ")


def test_the_loss_of_a_text_counts_each_completion_once_more():
    """Five tokens, of which the model expects 4 with chance 1/2 and the others with 1/8. Of five tokens that have
    one before them, 4 is one, and it is one of two completions."""
    import torch
    from reader_model import text_loss

    def model(input_ids, attention_mask):
        chances = torch.tensor([1 / 8, 1 / 8, 1 / 8, 1 / 8, 1 / 2])
        return SimpleNamespace(logits=chances.log().expand(*input_ids.shape, 5))

    loss = text_loss(model, [((1, 2, 3), (4,)), ((1,), (2, 0))])
    everything = (math.log(2) + 4 * math.log(8)) / 5
    completions = (math.log(2) + math.log(8)) / 2
    assert loss.item() == pytest.approx(everything + completions)
