"""The estimates of docs/results/large_models.md are what examples/benchmark/scaling.py prints."""

from __future__ import annotations

import sys

import pytest
from pages import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def scaling():
    """The module, which counts each model's weights once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "examples" / "benchmark"))
        import scaling as module

        count, known = module.weights, {}

        def weights(config=module.MODEL, rank=16):
            key = id(config), rank
            if key not in known:
                known[key] = count(config, rank)
            return known[key]

        patch.setattr(module, "weights", weights)
        yield module


def test_the_page_shows_the_counted_memory(scaling, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["scaling.py"])
    scaling.main()
    page = (ROOT / "docs" / "results" / "large_models.md").read_text()
    printed = capsys.readouterr().out
    lines = printed.partition("\n\n")[0].splitlines()  # memory; tables of seconds follow
    assert len(lines) == 3
    assert [line for line in lines if line not in page] == []


def test_counts_that_can_be_worked_out_by_hand(scaling):
    batch = scaling.Batch(gpus=2, episodes_per_step=3, agents=2, k=4, turns=5, prompt=10, answer=7)
    assert batch.groups == 3 * 2 * 5
    assert batch.sampled_completions == 30 * 4 * 7
    assert batch.read == 30 * (10 + 4 * 7)
    assert scaling.cache_bytes() == 2 * 2 * 28 * 4 * 128
    base, adapter = scaling.weights()
    # 28 layers: four projections of attention and three of the MLP, norms, biases; two embeddings
    q, kv, m, v = 3584, 512, 18944, 152064
    layer = 2 * q * q + 2 * q * kv + 3 * q * m + 2 * q + q + 2 * kv
    assert base == 28 * layer + 2 * v * q + q
    assert adapter == 28 * 16 * (2 * 2 * q + 2 * (q + kv) + 3 * (q + m))
    seconds = scaling.update_seconds(batch, base, scaling.Assumed(), adapters=True)
    assert seconds == 4 * base * batch.read / 2 / (989e12 * 0.4)
    more = scaling.costs(scaling.Batch(episodes_per_step=4096))["sampling_seconds"]
    assert (
        1.9 < more / scaling.costs(scaling.Batch(episodes_per_step=2048))["sampling_seconds"] < 2.1
    )


def test_the_estimates_of_the_configurations_for_models_of_the_hub(scaling):
    page = (ROOT / "docs" / "results" / "large_models.md").read_text()
    assert [line for line in scaling.configurations().splitlines() if line not in page] == []
    # as their cards on the hub count them: 0.49 and 1.7 billion
    counted = {name: scaling.weights(config)[0] for name, config in scaling.SMALL_MODELS.items()}
    assert counted == {"Qwen/Qwen2.5-0.5B-Instruct": 494_032_768, "Qwen/Qwen3-1.7B": 1_720_574_976}
