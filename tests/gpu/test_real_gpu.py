"""On a GPU of CUDA, which is skipped without one: runs are near those of the CPU.

Sampling noise is drawn on the CPU, so both sample the same tokens; what differs is rounding.
"""

import copy
import warnings
from pathlib import Path

import pytest
import torch
from test_gpu_runs import HEADS, trained, untimed
from tiny_models import group, model, tokenizer

from llmzoo.errors import OutOfMemoryError
from llmzoo.learners import list_learners
from llmzoo.models.sampling import Sampling
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.transformers import TransformersPolicy

pytestmark = [
    pytest.mark.long("needs a CUDA device"),
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU of CUDA"),
]

STEP = 1e-3  # of AdamW, whose first steps divide a gradient by its own size


def assert_near(found: dict, wanted: dict) -> None:
    """Weights after a step: hardly any is half a step away, where a tiny gradient has another sign."""
    apart = torch.cat([(found[key] - wanted[key]).abs().flatten() for key in wanted])
    assert (apart > STEP / 2).double().mean() < 0.01
    assert apart.mean() < STEP / 50


@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
@pytest.mark.parametrize("name", list_learners())
def test_a_step_of_every_learner(name, lora, tmp_path):
    """The teacher of ``opd`` has heads of 8 numbers, which flex attention does not read."""
    wanted, weights = trained(name, tmp_path / "cpu", "cpu", lora=lora)
    found, others = trained(name, tmp_path / "gpu", "cuda", lora=lora)
    assert untimed(found.before) == untimed(wanted.before)
    assert_near(others, weights)


@pytest.mark.parametrize("name", ["magrpo", "ippo"])
def test_a_run_resumes(name, tmp_path):
    _, whole = trained(name, tmp_path / "whole", "cuda", steps=3)
    trained(name, tmp_path / "run", "cuda")
    _, resumed = trained(name, tmp_path / "run", "cuda", steps=3, resume=True)
    assert_near(resumed, whole)


@pytest.mark.parametrize(
    ("precision", "apart"), [("float32", 1e-4), ("bf16", 0.1), ("bf16_autocast", 0.1)]
)
def test_cuda_graphs_sample_what_the_decoder_samples(precision, apart):
    """No warning that a step could not be captured; in float32 the same tokens."""
    player = TransformersPolicy(
        model().to("cuda"), tokenizer(), sampling=Sampling(max_new_tokens=40), precision=precision
    )
    requests = [
        PolicyRequest(agent="a_0", observation=text, env=None, noise=n)
        for n, text in enumerate("ab")
    ]

    def answers(cuda_graphs):
        player.cuda_graphs = cuda_graphs
        return [each for given in player.respond(requests, 8) for each in given]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found, again = answers(True), answers(True)
    assert [each.ids for each in found] == [each.ids for each in again]
    differences = []
    for ours, theirs in zip(found, answers(False), strict=True):
        for at, pair in enumerate(zip(ours.logprobs, theirs.logprobs, strict=False)):
            if ours.ids[: at + 1] != theirs.ids[: at + 1]:
                break
            differences.append(abs(pair[0] - pair[1]))
    assert len(differences) > len(found)
    assert sum(differences) / len(differences) < apart
    if precision == "float32":
        assert len(differences) == sum(len(each.ids) for each in found)


@pytest.mark.parametrize(
    ("precision", "apart", "cosine"),
    [("float32", 1e-4, 0.99999), ("bf16_autocast", 0.1, 0.98), ("bf16", 0.1, 0.98)],
)
def test_flex_attention_equals_the_dense_path(precision, apart, cosine):
    """Forward and backward, of groups long enough for several blocks of 128 tokens."""
    torch.manual_seed(0)
    groups = [
        group(
            [tuple(torch.randint(5, 25, (size,)).tolist()) for size in (40, 17, 60)],
            [1.0, 0.0, 0.5],
            agent="writer_0",
            prompt=tuple(torch.randint(5, 25, (100 + 37 * n,)).tolist()),
        )
        for n in range(3)
    ]
    made = model(max_position_embeddings=512, **HEADS)
    found = []
    for device in ("cpu", "cuda"):
        player = TransformersPolicy(
            copy.deepcopy(made).to(device), tokenizer(), precision=precision
        )
        now = player.likelihood(groups)
        now.logprobs.sum().backward()
        gradient = torch.cat([p.grad.float().flatten().cpu() for p in player.parameters()])
        found.append((now.logprobs.detach().cpu(), gradient))
    (wanted, slope), (ours, other) = found
    torch.testing.assert_close(ours, wanted, rtol=apart, atol=apart)
    assert torch.nn.functional.cosine_similarity(slope, other, dim=0) > cosine


@pytest.mark.filterwarnings("ignore::llmzoo.errors.MaxRowsWarning")
def test_memory_that_does_not_reach_names_the_setting(tmp_path: Path):
    """In sampling or in the update, whichever comes first."""
    free = torch.cuda.memory_allocated() + 8 * 2**20
    torch.cuda.set_per_process_memory_fraction(
        free / torch.cuda.get_device_properties(0).total_memory
    )
    try:
        with pytest.raises(OutOfMemoryError, match=r"max_rows|microbatch_tokens"):
            trained(
                "grpo",
                tmp_path / "run",
                "cuda",
                sizes={**HEADS, "intermediate_size": 4096},
                episodes_per_step=64,
            )
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
