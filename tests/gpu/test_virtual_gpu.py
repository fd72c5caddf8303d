"""The virtual GPU itself: what fails on a GPU fails on it, and what a GPU must be asked is counted."""

import copy

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn
from virtual_gpu import CUDA, OnGPU, virtual_gpu


@pytest.fixture
def gpu():
    with virtual_gpu() as gpu:
        yield gpu


MIXED = {
    "sum": lambda there, here: there + here,
    "in place": lambda there, here: there.add_(here),
    "product": lambda there, here: there @ here,
    "join": lambda there, here: torch.cat([there, here]),
    "join of scalars": lambda there, here: torch.stack([there[0], here[0]]),
    "where": lambda there, here: torch.where(here > 0, there, there),
    "values of an index": lambda there, here: there.__setitem__(slice(2), here[:2] * there[:2]),
    "index of the host by the device": lambda there, here: here[there.long()],
    "layer": lambda there, here: nn.Linear(3, 2)(there),
    "result": lambda there, here: torch.add(here, 1, out=there),
}


@pytest.mark.parametrize("operation", MIXED)
def test_devices_do_not_mix(gpu, operation):
    there, here = torch.ones(3, device="cuda"), torch.ones(3)
    with pytest.raises(RuntimeError, match="same device"):
        MIXED[operation](there, here)


def test_numbers_of_the_host_and_host_indices_are_allowed(gpu):
    there = torch.arange(3.0, device="cuda")
    assert (there + torch.tensor(1.0)).tolist() == [1.0, 2.0, 3.0]
    assert there[torch.tensor([2, 0])].tolist() == [2.0, 0.0]
    there[torch.tensor([True, False, True])] = 5.0
    assert there.tolist() == [5.0, 1.0, 5.0]


def test_a_device_tensor_has_no_numpy_array(gpu):
    with pytest.raises(TypeError, match="host memory"):
        torch.ones(2, device="cuda").numpy()
    assert torch.ones(2, device="cuda").cpu().numpy().tolist() == [1.0, 1.0]


READS = {
    "item": (lambda x: x[0].item(), 1),
    "float": (lambda x: float(x[0]), 1),
    "condition": (lambda x: bool(x.any()), 1),
    "list": (lambda x: x.tolist(), 1),
    "copy": (lambda x: x.cpu(), 1),
    "copy into": (lambda x: torch.empty(3).copy_(x), 1),
    "comparison": (lambda x: torch.equal(x, x), 1),
    "mask": (lambda x: x[x > 1], 1),
    "nonzero": (lambda x: x.nonzero(), 1),
    "unique": (lambda x: x.unique(), 1),
    "repeats": (lambda x: x.repeat_interleave(x.long()), 1),
    "repeats of known size": (lambda x: x.repeat_interleave(x.long(), output_size=3), 0),
    "masked fill": (lambda x: x.__setitem__(x > 1, 0.0), 0),
    "sum": (lambda x: (x + 1).sum(), 0),
    "type": (lambda x: x.to(torch.float64), 0),
    "nowhere": (lambda x: x.to("cuda"), 0),
}


@pytest.mark.parametrize("operation", READS)
def test_reads_are_counted(gpu, operation):
    call, count = READS[operation]
    call(torch.arange(3.0, device="cuda"))
    assert gpu.reads.total() == count


def test_copies_to_the_device_are_counted(gpu):
    torch.ones(2, device="cuda")
    assert gpu.writes.total() == 0  # made there
    torch.tensor([1.0], device="cuda")
    torch.ones(2).to("cuda")
    torch.ones(2).cuda()
    assert gpu.writes.total() == 3


def test_places_are_lines_of_the_package(gpu):
    from llmzoo.learners.value_estimation import explained_variance

    explained_variance(torch.arange(3.0, device="cuda"), torch.zeros(3, device="cuda"))
    assert gpu.reads.total() == 2
    assert all(place.startswith("learners/value_estimation.py:") for place in gpu.reads)


def test_operations_in_place_and_views(gpu):
    x = torch.zeros(2, 3, device="cuda")
    same = x.add_(1)
    assert same is x
    x[0].mul_(2)
    x.select(1, 0).copy_(torch.tensor([7.0, 8.0]))
    assert x.tolist() == [[7.0, 2.0, 2.0], [8.0, 1.0, 1.0]]
    assert x.flatten().is_cuda
    assert x.T.device == CUDA


def test_gradients_stay_on_the_device_and_cross_with_copies(gpu):
    here = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    there = here.to("cuda")
    weight = torch.tensor([2.0, 2.0, 2.0], device="cuda", requires_grad=True)
    table = torch.ones(4, 3, device="cuda", requires_grad=True)
    ((there * weight)[:2].sum() + table[torch.tensor([1, 1])].sum()).cpu().backward()
    assert here.grad.tolist() == [2.0, 2.0, 0.0]
    assert not here.grad.is_cuda
    assert weight.grad.is_cuda
    assert weight.grad.tolist() == [1.0, 2.0, 0.0]
    assert table.grad.sum(1).tolist() == [0.0, 6.0, 0.0, 0.0]


def test_random_numbers_of_the_device_are_its_own(gpu):
    before = torch.get_rng_state()
    first = torch.rand(4, device="cuda")
    assert torch.equal(torch.get_rng_state(), before)
    with pytest.raises(RuntimeError, match="generator"):
        torch.zeros(4, device="cuda").uniform_(generator=torch.Generator())
    torch.manual_seed(3)
    one = torch.rand(4, device="cuda")
    torch.manual_seed(3)
    assert torch.equal(one, torch.rand(4, device="cuda"))
    with torch.random.fork_rng([CUDA]):
        inside = torch.rand(4, device="cuda")
    assert torch.equal(inside, torch.rand(4, device="cuda"))
    assert not torch.equal(first, one)


def test_models_move_with_ties_copies_and_files(gpu, tmp_path):
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    with torch.no_grad():
        expected = model(torch.ones(1, 2))
    model.to("cuda")
    assert model[1].weight is model[0].weight
    assert all(isinstance(weight, OnGPU) for weight in model.parameters())
    twin = copy.deepcopy(model)
    torch.optim.AdamW(model.parameters(), fused=True).zero_grad()
    with torch.no_grad():
        model[0].weight.zero_()
    assert torch.equal(twin(torch.ones(1, 2, device="cuda")).cpu(), expected)
    save_file({"w": twin[0].weight}, tmp_path / "w.safetensors")
    assert torch.equal(load_file(tmp_path / "w.safetensors")["w"], twin[0].weight.cpu())


def test_autocast_of_the_device(gpu):
    layer = nn.Linear(2, 2).to("cuda")
    with torch.autocast("cuda", torch.bfloat16):
        assert torch.is_autocast_enabled("cuda")
        assert layer(torch.ones(1, 2, device="cuda")).dtype == torch.bfloat16
    assert layer(torch.ones(1, 2, device="cuda")).dtype == torch.float32


def test_other_threads_see_the_device(gpu):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(lambda: torch.tensor([2.0], device="cuda") * 2).result().tolist() == [4]


def test_nothing_is_left_behind():
    with virtual_gpu():
        assert torch.cuda.is_available()
    assert torch.cuda.is_available() == (
        torch.version.cuda is not None and torch.cuda.device_count() > 0
    )
    assert not torch.is_autocast_enabled("cpu")
    assert not torch.__future__.get_swap_module_params_on_conversion()
