"""One base model with a LoRA adapter for each policy (Hu et al., arXiv 2106.09685), through peft.

The policies share the base's weights, which never change. When peft activates an adapter, it
switches ``requires_grad`` off for all others. Autograd drops the gradient of a weight that no longer
requires one in the backward pass, so a loss over two adapters would silently train only the last one.
Here, switching adapters preserves these flags.

Several adapters share one decoding step on a GPU: :mod:`.static_rows` samples with it, :mod:`.llama_body`
multiplies with the adapters' weights, and
:meth:`llmzoo.policies.transformers.TransformersPolicy.respond_jointly` collects their requests.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.utils.peft_utils import find_adapter_config_file

from llmzoo.distributed.sharding import build_unsharded, full_tensor
from llmzoo.errors import CheckpointError, ConfigError, require_extra
from llmzoo.files import read_json_object
from llmzoo.models.loading import TINY_FOLDER, check_model_files, load_causal_model, resolve_source
from llmzoo.models.model_catalog import catalog_name
from llmzoo.names import check_names

DEFAULTS = {"r": 16, "lora_alpha": 32, "lora_dropout": 0.0, "target_modules": "all-linear"}
# families whose kernels read some weights themselves, so that peft refuses adapters of them
_FUSED_FAMILIES = ("mamba", "mamba2", "falcon_mamba", "falcon_h1", "nemotron_h")
_RESERVED_OPTIONS = {
    "task_type",
    "peft_type",
    "inference_mode",
    "base_model_name_or_path",
    "revision",
} | {*("auto_mapping", "peft_version")}
_CONFIG, _WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def _peft() -> ModuleType:
    with require_extra("a LoRA adapter", "train"):
        import peft
    return peft


@contextmanager
def _ignore_peft_warning() -> Iterator[None]:
    """peft asks transformers in a way that transformers warns of; a user can do nothing about it."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is_gradient_checkpointing", FutureWarning)
        yield


def add_adapters(
    base: Any, name: str, names: Sequence[str], *, seed: int, options: dict[str, Any]
) -> tuple[Any, dict[str, str]]:
    """A ``PeftModel`` on ``base`` with an adapter for each of ``names``, and each one's name in peft.

    ``name``: of the base, for errors. ``options``: of ``peft.LoraConfig``.
    """
    config = _lora_config(options, base.config.model_type)
    if is_peft(base):
        raise ConfigError(
            f"{name} has an adapter already: start from the bare model, and put a saved adapter "
            "into each policy with load_weights"
        )
    if not names or len(set(names)) < len(names):
        raise ConfigError(f"adapters need names of their own, got {list(names)}")
    adapters = {name: _adapter_name(name) for name in names}
    with torch.random.fork_rng(_random_devices(base)), _ignore_peft_warning():
        torch.manual_seed(seed)
        first, *others = adapters.values()
        model = _peft().get_peft_model(base, config, adapter_name=first)
        for adapter in others:
            model.add_adapter(adapter, copy.deepcopy(config))
    for adapter in others:
        model.set_requires_grad(adapter, True)
    return model.eval(), adapters


def _lora_config(options: dict[str, Any], family: str) -> Any:
    peft = _peft()
    known = {field.name for field in fields(peft.LoraConfig) if field.init} - _RESERVED_OPTIONS
    check_names("LoRA option", options, known)
    if options.get("init_lora_weights", True) not in (True, "gaussian"):
        raise ConfigError(
            "init_lora_weights is True or 'gaussian': others change the base, which the policies "
            "share, or start away from it"
        )
    for name, allowed in (("bias", "none"), ("layer_replication", None)):
        if options.get(name, allowed) != allowed:
            raise ConfigError(f"{name}={options[name]!r} changes the base, which policies share")
    excluded = {"exclude_modules": ["out_proj", "conv1d"]} if family in _FUSED_FAMILIES else {}
    return peft.LoraConfig(**{**DEFAULTS, **excluded, **options}, task_type="CAUSAL_LM")


def _adapter_name(name: str) -> str:
    """An adapter's name in peft, which no other part of its weights' names may equal."""
    if "." in name:
        raise ConfigError(f"an adapter's name must not hold a dot, got {name!r}")
    return f"agent_{name}"


def _random_devices(model: Any) -> list[torch.device]:
    """The devices, besides the CPU, whose random state changes when a model's weights are drawn."""
    return [model.device] if model.device.type == "cuda" else []


def is_peft(model: nn.Module) -> bool:
    """Whether a policy's model is a ``peft.PeftModel``, not a plain transformers model."""
    return not isinstance(model, PreTrainedModel)


def activate(model: Any, adapter: str) -> None:
    """Make ``adapter`` the one that the ``PeftModel`` computes with."""
    if model.active_adapter != adapter:
        with _preserve_requires_grad(model):
            model.set_adapter(adapter)


def is_mergeable(projection: Any, adapter: str | None = None) -> bool:
    """Whether a layer is linear, and an adapter only adds a product of two matrices to it.

    ``adapter``: its name; None, here and below: those that are active.
    """
    if type(projection) is nn.Linear:
        return True
    if not hasattr(projection, "base_layer") or type(projection) is not _peft().tuners.lora.Linear:
        return False
    return type(projection.base_layer) is nn.Linear and not any(
        name in projection.lora_variant or projection.lora_bias.get(name)
        for name in (projection.active_adapters if adapter is None else [adapter])
    )


def merged_weight(projection: Any, adapter: str | None = None) -> Tensor:
    """The matrix that a mergeable layer multiplies with; without an adapter its own parameter."""
    if type(projection) is nn.Linear:
        return projection.weight
    weight: Tensor = projection.base_layer.weight
    for name in _active_adapter_names(projection, adapter):
        weight = weight + projection.get_delta_weight(name)
    return weight


def _active_adapter_names(projection: Any, adapter: str | None) -> list[str]:
    """The adapters that a layer of peft adds to its base."""
    if projection.disable_adapters or projection.merged:
        return []
    names = projection.active_adapters if adapter is None else [adapter]
    return [name for name in names if name in projection.lora_A]


def factored_weight(projection: Any, adapter: str | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The base's matrix [O, I] of a mergeable layer, and the factors [r, I] and [O, r] of what is added to it.

    r is 0 without an adapter, and the sum of the ranks of several. The last one includes the scaling.
    """
    weight, down, up = projection.weight, [], []
    if type(projection) is not nn.Linear:
        weight = projection.base_layer.weight
        for name in _active_adapter_names(projection, adapter):
            down.append(projection.lora_A[name].weight)
            up.append(projection.lora_B[name].weight * projection.scaling[name])
    return (
        weight,
        torch.cat([weight.new_zeros(0, weight.shape[1]), *down]),
        torch.cat([weight.new_zeros(weight.shape[0], 0), *up], dim=1),
    )


@contextmanager
def without_adapters(model: Any) -> Iterator[None]:
    """Within this context the ``PeftModel`` computes without any adapter."""
    layers = model.base_model  # model.disable_adapter would first inspect every layer
    with _preserve_requires_grad(model):
        layers.disable_adapter_layers()
        try:
            yield
        finally:
            layers.enable_adapter_layers()


@contextmanager
def _preserve_requires_grad(model: nn.Module) -> Iterator[None]:
    flags = [(parameter, parameter.requires_grad) for parameter in model.parameters()]
    try:
        yield
    finally:
        for parameter, flag in flags:
            parameter.requires_grad_(flag)


def adapter_parameters(model: nn.Module, adapter: str) -> dict[str, nn.Parameter]:
    """The adapter's parameters by name: those with the adapter as a part of their dotted name."""
    return {n: p for n, p in model.named_parameters() if adapter in n.split(".")}


def base_parameters(model: Any) -> list[nn.Parameter]:
    """The parameters of a model, without those of its adapters."""
    adapters = set(model.peft_config) if is_peft(model) else set()
    return [p for n, p in model.named_parameters() if not adapters.intersection(n.split("."))]


def parameter_count(model: Any) -> int:
    """The size of a model, without its adapters."""
    return sum(p.numel() for p in base_parameters(model))


def has_no_effect(model: Any, adapter: str) -> bool:
    """Whether the bare base is the same, as with an adapter that was not trained yet."""
    own = adapter_parameters(model, adapter)
    # if one factor is zero, the product is; of adapters with other parameters it is not known
    factors = ("lora_A", "lora_B", "lora_embedding_A", "lora_embedding_B")
    plain = all(any(part in factors for part in name.split(".")) for name in own)
    zero = ("lora_B", "lora_embedding_A")
    switches = [p for n, p in own.items() if any(part in zero for part in n.split("."))]
    return plain and not bool(torch.stack([p.any() for p in switches]).any())  # a single read


def add_frozen_copy(model: Any, adapter: str) -> str:
    """Copy the adapter's current weights to a new frozen adapter, and return that one's name."""
    own = adapter_parameters(model, adapter)
    copy_name = f"{adapter}_start{len(model.peft_config)}"
    with _preserve_requires_grad(model), torch.random.fork_rng(_random_devices(model)):
        model.add_adapter(copy_name, copy.deepcopy(model.peft_config[adapter]))
    copies = adapter_parameters(model, copy_name)
    with torch.no_grad():
        for name, parameter in own.items():
            parameter_copy = copies[
                ".".join(copy_name if p == adapter else p for p in name.split("."))
            ]
            parameter_copy.copy_(parameter)
            parameter_copy.requires_grad_(False)
    model.eval()
    return copy_name


def add_saved_adapter(model: Any, folder: str) -> str:
    """Add a saved adapter to the ``PeftModel``, frozen, and return its name there.

    Raises :class:`ConfigError` or :class:`CheckpointError` for a folder that does not fit the model.
    """
    config = _peft().PeftConfig.from_pretrained(folder)
    _check_ranks(folder, config.to_dict())
    name = f"saved{len(model.peft_config)}"
    with _preserve_requires_grad(model), torch.random.fork_rng(_random_devices(model)):
        model.add_adapter(name, config)
    load_into_adapter(model, name, Path(folder))
    for parameter in adapter_parameters(model, name).values():
        parameter.requires_grad_(False)
    model.eval()
    return name


def is_based_on(model: Any, name: str) -> bool:
    """Whether ``name`` is the base of this ``PeftModel``, or a local folder with an adapter of it."""
    own = model.get_base_model().name_or_path
    if not is_adapter(name):
        return _is_same_path(resolve_source(name), own)
    saved = read_json_object(Path(name) / _CONFIG) or {}
    base = _resolve_base(saved.get("base_model_name_or_path"))
    return bool(base) and _is_same_path(str(base), own)


def _is_same_path(one: str, other: str) -> bool:
    return one == other or (
        os.path.isdir(one) and os.path.isdir(other) and os.path.samefile(one, other)
    )


def base_weights(model: Any) -> dict[str, Tensor]:
    """A model's weights without its adapters, under the names of the bare model.

    Weights that are divided over ranks are collected; all ranks call this.
    """
    base = model.get_base_model() if is_peft(model) else model
    adapters = set(model.peft_config) if is_peft(model) else set()
    named = ((name.split("."), tensor) for name, tensor in base.state_dict().items())
    return {
        ".".join(part for part in parts if part != "base_layer"): full_tensor(tensor)
        for parts, tensor in named
        if not adapters.intersection(parts)
    }


def unsharded_copy(model: Any, adapter: str | None) -> Any:
    """An undivided copy of a ``PeftModel`` with a divided base, with only this adapter (None: any)."""
    base, chosen = model.get_base_model(), adapter or next(iter(model.peft_config))
    plain = build_unsharded(base)
    plain.load_state_dict(base_weights(model))
    config = copy.deepcopy(model.peft_config[chosen])
    adapted = _peft().get_peft_model(plain, config, adapter_name=chosen)
    copies = adapter_parameters(adapted, chosen)
    with torch.no_grad():
        for name, parameter in adapter_parameters(model, chosen).items():
            copies[name].copy_(parameter)
    return adapted


def save_adapter(model: Any, adapter: str, folder: Path) -> None:
    """Write a plain peft folder with the adapter and, in its configuration, the base's name."""
    peft = _peft()
    # the base's embedding is frozen and saved with the base, not with each adapter
    weights = peft.get_peft_model_state_dict(
        model, adapter_name=adapter, save_embedding_layers=False
    )
    config = copy.deepcopy(model.peft_config[adapter])
    config.inference_mode = True
    base = model.get_base_model().name_or_path
    config.base_model_name_or_path = catalog_name(base) or base or None
    for name, value in vars(config).items():
        if isinstance(value, set):  # the order of a set differs between processes
            setattr(config, name, sorted(value))
    folder.mkdir(parents=True, exist_ok=True)
    save_file(
        {name: tensor.contiguous() for name, tensor in weights.items()},
        folder / _WEIGHTS,
        metadata={"format": "pt"},
    )
    config.save_pretrained(str(folder))


def load_into_adapter(model: Any, adapter: str, folder: Path) -> None:
    """Load a saved adapter's weights into an adapter of the same shape, in place.

    Raises :class:`CheckpointError` if they are missing or do not fit.
    """
    if not (folder / _WEIGHTS).is_file():
        raise CheckpointError(f"{folder} holds no adapter (there is no {_WEIGHTS} in it)")
    peft = _peft()
    saved = load_file(folder / _WEIGHTS)
    own = peft.get_peft_model_state_dict(model, adapter_name=adapter, save_embedding_layers=False)
    if {n: t.shape for n, t in saved.items()} != {n: t.shape for n, t in own.items()}:
        raise CheckpointError(f"{folder} holds an adapter of another shape, or of another base")
    peft.set_peft_model_state_dict(model, saved, adapter_name=adapter)


def is_adapter(name: str) -> bool:
    """Whether a folder or hub id holds a peft adapter rather than a model."""
    return find_adapter_config_file(resolve_source(name)) is not None


def load_adapter(
    name: str, base: str | None, dtype: Any, *, trust_remote_code: bool = False
) -> tuple[Any, str]:
    """A model with a saved adapter, ready for further training, and the source of its base.

    ``base``: folder or id of the base, if not the one that the adapter names. Raises
    :class:`ConfigError` if neither is given.
    """
    peft = _peft()
    config = peft.PeftConfig.from_pretrained(name)
    _check_ranks(name, config.to_dict())
    source = base or _resolve_base(config.base_model_name_or_path)
    if not source:
        raise ConfigError(f"the adapter {name} does not say what its base is: give base=...")
    if source != name:
        check_model_files(source)
    model = load_causal_model(source, dtype, trust_remote_code=trust_remote_code)
    with _ignore_peft_warning():
        adapted = peft.PeftModel.from_pretrained(
            model,
            name,
            adapter_name=_adapter_name("policy"),
            is_trainable=True,
            use_safetensors=True,
        )
    return adapted, source


def _check_ranks(name: str, config: Mapping[str, Any]) -> None:
    """Raise :class:`ConfigError` for ranks larger than the weights in a folder.

    peft would allocate layers of any rank before it reads the weights.
    """
    path = Path(name) / _WEIGHTS
    if not path.is_file():  # on the hub
        return
    with safe_open(str(path), framework="pt") as weights:
        shapes = [weights.get_slice(key).get_shape() for key in weights.keys()]  # noqa: SIM118
    largest = max((size for shape in shapes for size in shape), default=0)
    ranks = [config.get("r"), *(config.get("rank_pattern") or {}).values()]
    for rank in ranks:
        if isinstance(rank, int) and rank > largest:
            raise ConfigError(
                f"the adapter {name} says rank {rank}, and its weights have no such size"
            )


def _resolve_base(recorded: str | None) -> str | None:
    """The source of the base. The embedded model is found in this package, wherever it is installed,
    and a fetched model, which adapters name by its short name, in this user's cache."""
    if recorded and Path(recorded).parts[-4:] == TINY_FOLDER.parts[-4:]:
        return str(TINY_FOLDER)
    return resolve_source(recorded) if recorded else None
