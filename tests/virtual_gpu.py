"""A virtual GPU: tensors that say they are on ``cuda:0`` and compute on the CPU.

A test can so check, without a GPU, that no operation mixes devices and how often the host reads the
device. What it cannot show: speed, memory, streams, kernels of CUDA and their rounding. Autocast
casts by the CPU's list of operations.

Tensors are wrapper subclasses (torch.utils._python_dispatch). Every operation runs on the CPU
tensors inside, after :meth:`VirtualGPU._check` has looked where its arguments are.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._higher_order_ops.flex_attention import flex_attention, math_attention
from torch.nn.attention import flex_attention as eager
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map, tree_unflatten

import llmzoo

CUDA = torch.device("cuda", 0)
_PACKAGE = str(Path(llmzoo.__file__).parent)
_FACTORIES = (torch.tensor, torch.as_tensor, torch.asarray)
_MOVES = (Tensor.to, Tensor.cpu, Tensor.cuda, Tensor.type_as)

# operations whose result, or whose size, the host must know
_WAITS = ("nonzero", "masked_select", "_unique", "unique_", "equal", "_local_scalar_dense")
# operations that take no scalar from the other device
_STRICT = (
    "cat",
    "stack",
    "mm",
    "bmm",
    "addmm",
    "gather",
    "index_select",
    "index_add_",
    "embedding",
)
_CASTS = ("_to_copy", "to")


class OnGPU(Tensor):
    """A tensor on the virtual device; ``inside`` is the CPU tensor that holds its numbers."""

    inside: Tensor

    @staticmethod
    def __new__(cls, inside: Tensor) -> OnGPU:
        wrapper = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            inside.size(),
            strides=inside.stride(),
            storage_offset=inside.storage_offset(),
            dtype=inside.dtype,
            device="cpu",  # for torch's C++ parts, which have no CUDA here
        )
        wrapper.inside = inside
        return wrapper

    @property
    def device(self) -> torch.device:
        return CUDA

    @property
    def is_cuda(self) -> bool:
        return True

    @property
    def is_cpu(self) -> bool:
        return False

    def get_device(self) -> int:
        return 0

    def __repr__(self) -> str:
        return f"OnGPU({self.inside!r})"

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return VirtualGPU.current().run(func, args, kwargs or {})

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.tolist:
            VirtualGPU.current().read()
            return args[0].inside.tolist()
        if func is Tensor.numpy:
            raise TypeError(
                "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the "
                "tensor to host memory first."
            )
        if func is Tensor.untyped_storage:  # tells tied weights apart from others
            return args[0].inside.untyped_storage()
        if func is Tensor.data_ptr:
            return args[0].inside.data_ptr()
        if func is flex_attention:  # unfused: all scores, then the mask; autograd sees each step
            with _Functions():
                return math_attention(*args, **(kwargs or {}))
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


class VirtualGPU:
    """Counts what passes between host and device, by the line of llmzoo that asked for it.

    ``reads``: the host waits for numbers of the device. ``writes``: copies to the device. ``sent``: copies
    to the host that it does not wait for; until it waits for an event after them, they hold nonsense.
    ``generator``: the device's own random numbers, at first seeded like no other.
    """

    _current: VirtualGPU | None = None

    def __init__(self) -> None:
        self.reads: Counter[str] = Counter()
        self.writes: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self.under_way: list[Callable[[], Any]] = []
        self.generator = torch.Generator()
        self.generator.seed()

    @classmethod
    def current(cls) -> VirtualGPU:
        assert cls._current is not None, (
            "a tensor of a virtual GPU is used outside of virtual_gpu()"
        )
        return cls._current

    def read(self) -> None:
        self.reads[_place()] += 1

    def run(self, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        """Run an operation of torch on the CPU, and put what belongs to the device there."""
        name = func._schema.name.removeprefix("aten::")
        if name == "is_pinned":
            return False
        if name == "_pin_memory":
            return args[0]
        flat, spec = tree_flatten((args, kwargs))
        # torch's C++ parts ask for a new tensor beside one of ours, whose device they do not know
        placed = [] if name.startswith("new_") else [x for x in flat if isinstance(x, torch.device)]
        on_gpu = self._check(name, args, kwargs, flat, placed[0] if placed else None)
        plain = [_inside(x) for x in flat]
        call = partial(self._random, func) if on_gpu and _is_random(func) else func
        plain_args, plain_kwargs = tree_unflatten(plain, spec)
        result = call(*plain_args, **plain_kwargs)
        if func._schema.is_mutable:  # give back the very argument that was changed
            own = {id(x): y for x, y in zip(plain, flat, strict=True) if isinstance(x, Tensor)}
            return tree_map(lambda x: own.get(id(x), _wrapped(x) if on_gpu else x), result)
        if not on_gpu:
            return result
        return _wrapped(result) if isinstance(result, Tensor) else tree_map(_wrapped, result)

    def _check(
        self, name: str, args: Any, kwargs: Any, flat: list[Any], placed: torch.device | None
    ) -> bool:
        """Whether the result is on the device. Counts copies, and raises where a GPU would."""
        if name in _CASTS:  # what moves a tensor is :class:`_Move`
            return isinstance(args[0], OnGPU)
        if name == "copy_":
            if isinstance(args[0], OnGPU) is not isinstance(args[1], OnGPU):
                self.count_copy(isinstance(args[1], OnGPU))
            return isinstance(args[0], OnGPU)
        if placed is not None:
            return placed.type == "cuda"
        if not any(isinstance(x, OnGPU) for x in flat):
            return False
        if name.startswith(_WAITS) or (
            name == "repeat_interleave" and kwargs.get("output_size") is None
        ):
            self.read()
        if name in ("index", "index_put_", "index_put", "_index_put_impl_"):
            self._check_index(name, args)
            return True
        for x in flat:
            if isinstance(x, Tensor) and not isinstance(x, OnGPU) and (x.dim() or name in _STRICT):
                raise _mixed(name)
        return True

    def _check_index(self, name: str, args: Any) -> None:
        """Positions may lie on the host, which costs a copy; a mask there or here costs a read."""
        values = args[2] if name != "index" else None
        if not isinstance(args[0], OnGPU):
            raise _mixed(name)
        if isinstance(values, Tensor) and not isinstance(values, OnGPU) and values.dim():
            raise _mixed(name)
        for index in args[1]:
            if isinstance(index, Tensor) and not isinstance(index, OnGPU):
                self.writes[_place()] += 1
            elif isinstance(index, Tensor) and index.dtype is torch.bool:
                fills = values is not None and values.numel() == 1  # without asking how many
                self.reads[_place()] += not fills

    def count_copy(self, to_host: bool) -> None:
        (self.reads if to_host else self.writes)[_place()] += 1

    def _random(self, func: Any, *args: Any, **kwargs: Any) -> Any:
        """Random numbers of the device come from its own generator, never from the CPU's."""
        if kwargs.get("generator") is not None:
            raise RuntimeError("Expected a 'cuda' device type for generator but found 'cpu'")
        before = torch.default_generator.get_state()
        torch.default_generator.set_state(self.generator.get_state())
        try:
            return func(*args, **kwargs)
        finally:
            self.generator.set_state(torch.default_generator.get_state())
            torch.default_generator.set_state(before)


class _Operations(TorchDispatchMode):
    """Operations without a tensor of the device among their arguments, which may make one."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return VirtualGPU.current().run(func, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """Calls in which torch's C++ parts would look at devices before any operation is seen."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in _MOVES:
            return _moved(func, *args, **kwargs)
        if "device" in kwargs:
            kwargs = {**kwargs, "device": _numbered(kwargs["device"])}
        if func in _FACTORIES and kwargs.get("device") == CUDA and not isinstance(args[0], OnGPU):
            VirtualGPU.current().writes[_place()] += 1
            grad = kwargs.pop("requires_grad", False)
            return OnGPU(func(*args, **{**kwargs, "device": "cpu"})).requires_grad_(grad)
        return func(*args, **kwargs)


def _moved(func: Any, tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """What :meth:`torch.Tensor.to` and its short forms return."""
    if func is Tensor.cpu or func is Tensor.cuda:
        args = (CUDA if func is Tensor.cuda else "cpu",)
    elif args and isinstance(args[0], Tensor):
        args = (args[0].device, args[0].dtype)
    device, dtype, waits_not, *_ = torch._C._nn._parse_to(*args, **kwargs)
    result = tensor if dtype is None else Tensor.to(tensor, dtype)
    if waits_not and isinstance(result, OnGPU) and device is not None and device.type == "cpu":
        return _sent(result)
    if device is None or device.type == result.device.type:
        return result.clone() if kwargs.get("copy") and result is tensor else result
    moved: Tensor = _Move.apply(result)
    return moved


def _sent(tensor: OnGPU) -> Tensor:
    """The numbers of the device, which arrive with the next event that the host waits for."""
    gpu, arriving = VirtualGPU.current(), tensor.inside.clone()
    gpu.sent[_place()] += 1
    here = torch.full_like(arriving, 99)
    gpu.under_way.append(partial(here.copy_, arriving))
    return here


class _Event:
    def __init__(self, **_: Any) -> None:
        self._before: list[Callable[[], Any]] = []

    def record(self, stream: Any = None) -> None:
        gpu = VirtualGPU.current()
        self._before, gpu.under_way = gpu.under_way, []

    def synchronize(self) -> None:
        for arrives in self._before:
            arrives()


class _Move(torch.autograd.Function):
    """A copy on the other device. Its gradient goes back to where the tensor came from."""

    @staticmethod
    def forward(ctx: Any, tensor: Tensor) -> Tensor:
        VirtualGPU.current().count_copy(isinstance(tensor, OnGPU))
        return tensor.inside.clone() if isinstance(tensor, OnGPU) else OnGPU(tensor.clone())

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return _Move.apply(grad)


@contextmanager
def virtual_gpu() -> Iterator[VirtualGPU]:
    """Within this context torch finds one GPU. Yields it."""
    gpu = VirtualGPU()
    is_enabled, init = torch.is_autocast_enabled, torch.autocast.__init__

    def autocast(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        init(self, "cpu", *args, **kwargs)

    def casts(*device: str) -> bool:
        return is_enabled("cpu")

    run = threading.Thread.run

    def run_there(thread: threading.Thread) -> None:
        with _Functions(), _Operations():  # modes belong to a thread
            run(thread)

    def seed(number: int) -> None:
        gpu.generator.manual_seed(number)

    fakes: dict[str, Callable[..., Any]] = {
        "_lazy_init": lambda: None,
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda device: None,
        "synchronize": lambda *device: None,
        "empty_cache": lambda: None,
        "reset_peak_memory_stats": lambda: None,
        "max_memory_allocated": lambda: 0,
        "is_bf16_supported": lambda *emulated: True,
        "get_device_properties": lambda device: SimpleNamespace(name="virtual", total_memory=2**33),
        "get_per_process_memory_fraction": lambda device: 1.0,
        "set_per_process_memory_fraction": lambda fraction: None,
        "manual_seed_all": seed,
        "Event": _Event,
        "current_stream": lambda *device: None,
        "get_rng_state": lambda *device: gpu.generator.get_state(),
        "set_rng_state": lambda state, *device: gpu.generator.set_state(state),
    }
    with ExitStack() as stack:
        for name, fake in fakes.items():
            stack.enter_context(mock.patch.object(torch.cuda, name, fake))
        stack.enter_context(mock.patch.object(torch.autocast, "__init__", autocast))
        stack.enter_context(mock.patch.object(torch, "is_autocast_enabled", casts))
        stack.enter_context(mock.patch.object(VirtualGPU, "_current", gpu))
        before = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)  # tied weights stay tied
        stack.callback(torch.__future__.set_swap_module_params_on_conversion, before)
        # what is compiled on a GPU runs as it is written
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(mock.patch.object(eager, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True))
        stack.enter_context(mock.patch.object(threading.Thread, "run", run_there))
        stack.enter_context(_Functions())
        stack.enter_context(_Operations())
        yield gpu


def _place() -> str:
    """The line of llmzoo that is running, such as ``models/decode.py:93``."""
    frame = sys._getframe(1)
    while frame is not None:
        path = frame.f_code.co_filename
        if path.startswith(_PACKAGE):
            return f"{Path(path).relative_to(_PACKAGE).as_posix()}:{frame.f_lineno}"
        frame = frame.f_back  # type: ignore[assignment]
    return "outside"


def _mixed(func: Any) -> RuntimeError:
    return RuntimeError(
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
        f"and cpu! ({func}, at {_place()})"
    )


def _is_random(func: Any) -> bool:
    return torch.Tag.nondeterministic_seeded in func.tags


def _numbered(value: Any) -> Any:
    """``cuda`` is the first GPU."""
    if isinstance(value, (str, torch.device)) and str(value) == "cuda":
        return CUDA
    if isinstance(value, str) and value == "cuda:0":
        return CUDA
    return value


def _inside(value: Any) -> Any:
    if isinstance(value, torch.device):
        return torch.device("cpu")
    return value.inside if isinstance(value, OnGPU) else value


def _wrapped(value: Any) -> Any:
    return OnGPU(value) if isinstance(value, Tensor) and not isinstance(value, OnGPU) else value
