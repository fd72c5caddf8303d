"""A GPU without enough memory: the error names the setting to lower, and the value it names fits."""

import re
import warnings

import pytest
import torch
from tiny_models import group, policy
from transformers import LlamaConfig, LlamaForCausalLM

from llmzoo.engine.local import LocalEngine
from llmzoo.errors import MaxRowsWarning, OutOfMemoryError
from llmzoo.learners import learner_class
from llmzoo.models import attention, memory
from llmzoo.models.memory import microbatch_tokens
from llmzoo.models.sampling import Sampling
from llmzoo.policies.base import PolicyRequest
from llmzoo.records import Batch

MESSAGE = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB"


@pytest.fixture
def room(monkeypatch):
    """A GPU on which a forward pass of more than this many tokens does not fit."""
    plain = attention.run_with_layout

    def limit(tokens):
        def run(model, ids, positions, layout, **options):
            if len(ids) > tokens:
                raise torch.OutOfMemoryError(MESSAGE)
            return plain(model, ids, positions, layout, **options)

        monkeypatch.setattr(attention, "run_with_layout", run)

    return limit


def a_group(first):
    return group([(20 + first, 21, 0), (22, 23, 0)], (1.0, 0.0), prompt=(first, 6, 7), node=first)


BATCH = Batch(groups=tuple(map(a_group, range(8))))  # 8 groups of 3 + 2 * 3 tokens


def update(name, **options):
    cls = learner_class(name)
    player = policy()
    engine = LocalEngine(
        cls(cls.Config(**options)), {"policy": player}, {"a_0": player}, total_steps=2
    )
    return engine.update(BATCH, seed=0)


@pytest.mark.parametrize(
    ("name", "setting"), [("magrpo", "microbatch_tokens"), ("dpo", "microbatch_rows")]
)
def test_an_update_names_how_much_to_read_at_once(name, setting, room):
    everything = update(name)
    room(40)
    with pytest.raises(OutOfMemoryError, match=rf"Set {setting} to \d+ or less") as caught:
        update(name)
    assert "the GPU's memory" in str(caught.value)
    assert "2.00 GiB" in str(caught.value)
    assert isinstance(caught.value.__cause__, torch.OutOfMemoryError)
    value = int(re.search(r"to (\d+) or less", str(caught.value))[1])
    assert value == {"magrpo": 36, "dpo": 4}[name]  # half of 72 tokens, half of 8 pairs
    less = update(name, **{setting: value})
    assert less["loss"] == pytest.approx(everything["loss"], rel=1e-4, abs=1e-6)


def test_sampling_takes_fewer_microbatch_rows(room):
    """And stays at what fits; the completions are the same."""
    # prompts that begin differently: they share nothing
    asked = [
        PolicyRequest(agent="a_0", observation=f"{n} up up up", env=None, noise=n) for n in range(4)
    ]
    settings = Sampling(max_new_tokens=5)
    player = policy(sampling=settings)
    wanted = player.respond(asked, 2)
    room(max(8, sum(len(player.encode(request.observation)) for request in asked) // 2))
    player = policy(sampling=settings)
    with pytest.warns(MaxRowsWarning, match="8 rows .* max_rows is 4 from now on"):
        found = player.respond(asked, 2)
    assert [[c.ids for c in answers] for answers in found] == [
        [c.ids for c in answers] for answers in wanted
    ]
    assert player.max_rows == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        player.respond(asked, 2)


def test_answers_that_are_complete_are_not_sampled_again(monkeypatch):
    """Memory that ends in the middle of a pass is an error: some completions were handed on already."""

    def sample(model, prompts, *args, on_finished, **options):
        on_finished(0, [])
        raise torch.OutOfMemoryError(MESSAGE)

    monkeypatch.setattr("llmzoo.policies.sampling_passes.sample", sample)
    asked = [PolicyRequest(agent="a_0", observation=f"up {n}", env=None) for n in range(4)]
    with pytest.raises(OutOfMemoryError, match="Set max_rows to 4 or less"):
        policy().respond(asked, 2)


def test_nothing_smaller_than_one(room):
    room(1)
    with pytest.raises(OutOfMemoryError, match="max_rows cannot be lower"):
        policy().respond([PolicyRequest(agent="a_0", observation="up 1", env=None)])


def test_the_memory_of_a_cpu_is_another_error(monkeypatch):
    def run(*given):
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(attention, "run_with_layout", run)
    with pytest.raises(RuntimeError, match="DefaultCPUAllocator"):
        policy().respond([PolicyRequest(agent="a_0", observation="up 1", env=None)])


@pytest.fixture
def fresh_room():
    memory._activation_bytes.cache_clear()
    yield
    memory._activation_bytes.cache_clear()


@pytest.mark.parametrize(
    ("free", "room"),
    [
        (None, 4e9),
        (64e9, 4e9),
        (16e9, 4e9),  # a quarter of it
        (15e9, 2.0**31),  # the power of two below 3.75e9
        (2.0**31, 2.0**29),
    ],
)
def test_activations_follow_the_free_memory(free, room, monkeypatch, fresh_room):
    monkeypatch.setattr(memory, "free_memory", lambda: free)
    assert memory._activation_bytes() == room


def test_free_memory_is_that_of_the_machine_or_of_its_control_group(tmp_path, monkeypatch):
    meminfo = tmp_path / "meminfo"
    monkeypatch.setattr(memory, "_MEMINFO", meminfo)
    monkeypatch.setattr(memory, "_CGROUP", tmp_path)
    assert memory.free_memory() is None
    meminfo.write_text("MemTotal:  100 kB\nMemAvailable:   30 kB\n")
    assert memory.free_memory() == 30 * 1024
    (tmp_path / "memory.current").write_text("5000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.free_memory() == 30 * 1024
    (tmp_path / "memory.max").write_text("7000\n")
    assert memory.free_memory() == 2000


@pytest.mark.parametrize(
    ("sizes", "recompute", "tokens"),
    [
        ((4, 128, 384), False, 32_768),  # 4 * (12 * 128 + 4 * 384) * 4 bytes: 81,380 would fit
        ((30, 576, 1536), False, 2_553),  # 30 * (12 * 576 + 4 * 1536) * 4 bytes = 1.57 MB a token
        ((30, 576, 1536), True, 32_768),  # 30 * 576 and one layer: 0.12 MB
    ],
)
def test_an_update_reads_what_four_gigabytes_hold(
    sizes, recompute, tokens, monkeypatch, fresh_room
):
    monkeypatch.setattr(memory, "free_memory", lambda: None)
    layers, hidden, inner = sizes
    config = LlamaConfig(
        num_hidden_layers=layers, hidden_size=hidden, intermediate_size=inner, vocab_size=8
    )
    small = LlamaForCausalLM(
        LlamaConfig(num_hidden_layers=1, hidden_size=8, num_attention_heads=1, vocab_size=8)
    )
    small.config = config  # the sizes are read from here
    assert microbatch_tokens(small, recompute=recompute) == tokens
