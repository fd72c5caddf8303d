"""A decoding step in few operations.

A decoding step of a small model spends most of its time on the framework's overhead for some two
hundred small operations per layer, and so does one of a larger model on a GPU. Here a Llama layer takes
half of them: projections of the same input are one product, the query's weights include the scale of
the scores, and the products add the residuals themselves. Adapters are added to the copies of the
weights, so they cost nothing in a step. In half precision the sum would round a young adapter away;
there its factors are products of their own. Several adapters are one step: their weights are stacked,
and each adapter multiplies its share of the tokens.

Shapes: N tokens, the first N/S of them for the first of S adapters, and so on; H hidden size, A query
heads, D the size of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from llmzoo.models.cpu_products import PackedLinear, can_pack, can_pack_weight, prefers_onednn
from llmzoo.models.lora import factored_weight, is_mergeable, merged_weight
from llmzoo.models.precision import FULL_PRECISION

_FAMILIES = frozenset({"llama", "mistral", "qwen2", "qwen3", "smollm3"})
# weights; on a CPU a larger model gains little, and the copies of its weights are large; packed ones gain much
_MAX_CPU_WEIGHTS, _MAX_PACKED_WEIGHTS = 2**26, 2**29

# layer, scaled queries [N, A, D], keys and values of fewer heads -> outputs [N, A * D]
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
Adapter = str | None  # its name; None: the model as it computes


class _LinearProduct:
    """h @ weight.T + bias, for h [N, I], and what an adapter of rank r adds that is not merged."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None, *factors: Tensor):
        """``weight`` [O, I]; ``bias`` [O]; ``factors``: none, or an adapter's [I, r] and [r, O].

        Of S adapters: ``weight`` [S, O, I], or ``factors`` [S, I, r] and [S, r, O].
        """
        self._weight, self._columns = weight, weight.mT
        self._bias, self._factors = bias, factors
        self._packed: PackedLinear | None = None

    def pack(self) -> None:
        """Multiply by packed weights from now on, if that is faster. They can no longer be changed."""
        if can_pack_weight(self._weight):
            self._packed = PackedLinear(self._weight, self._bias)
            del self._weight, self._columns

    @classmethod
    def stack(cls, products: Sequence[_LinearProduct]) -> _LinearProduct:
        """The products of several adapters of one model."""
        first = products[0]
        if len(products) == 1:
            return first
        if first._weight.dtype in FULL_PRECISION:
            return cls(torch.stack([each._weight for each in products]), first._bias)
        rank = max(each._rank for each in products)
        if not rank:
            return first
        downs, ups = zip(*(each._pad_factors(rank) for each in products), strict=True)
        return cls(first._weight, first._bias, torch.stack(downs), torch.stack(ups))

    def __call__(self, h: Tensor) -> Tensor:
        if self._packed is not None:
            product = self._packed(h)
        elif self._weight.ndim == 2:
            product = F.linear(h, self._weight, self._bias)
        else:
            product = _matmul(h, self._columns)
            if self._bias is not None:
                product.add_(self._bias)
        return self._add_adapter(product, h)

    def add_to(self, x: Tensor, h: Tensor) -> Tensor:
        """``x`` [N, O] and the product, without a bias; under autocast in the format of ``x``."""
        if self._packed is not None:
            total = self._packed.add_to(x, h)
        else:
            total = _add_matmul(x, h, self._columns)
        return self._add_adapter(total, h)

    def _add_adapter(self, product: Tensor, h: Tensor) -> Tensor:
        if not self._factors:
            return product
        down, up = self._factors
        return _add_matmul(product, _matmul(h, down), up)

    @property
    def _rank(self) -> int:
        return self._factors[0].shape[1] if self._factors else 0

    def _pad_factors(self, rank: int) -> tuple[Tensor, Tensor]:
        """The factors with zeros up to a rank: [I, rank] and [rank, O]."""
        outputs, inputs = self._weight.shape
        down, up = self._weight.new_zeros(inputs, rank), self._weight.new_zeros(rank, outputs)
        if self._factors:
            down[:, : self._rank], up[: self._rank] = self._factors
        return down, up

    def clone(self) -> _LinearProduct:
        bias = None if self._bias is None else self._bias.clone()
        return _LinearProduct(self._weight.clone(), bias, *(each.clone() for each in self._factors))

    def copy_(self, other: _LinearProduct) -> None:
        self._weight.copy_(other._weight)
        if self._bias is not None and other._bias is not None:
            self._bias.copy_(other._bias)
        for old, new in zip(self._factors, other._factors, strict=True):
            old.copy_(new)


@dataclass(frozen=True, slots=True)
class _Layer:
    norm: Tensor
    qkv: _LinearProduct  # to [(A + 2 kv) * D], with the query's part scaled unless it is normalized
    qk_norm: Tensor | None  # [A + kv, D], with the query's part scaled
    rotates: bool
    out: _LinearProduct
    mlp_norm: Tensor
    gate_up: _LinearProduct
    down: _LinearProduct
    act: Callable[[Tensor], Tensor]

    def products(self) -> tuple[_LinearProduct, ...]:
        return self.qkv, self.out, self.gate_up, self.down


def is_faster_on_cpu(model: Any) -> bool:
    """Whether a LlamaBody is faster on a CPU: the model is supported, small, and in full precision."""
    max_weights = _MAX_PACKED_WEIGHTS if prefers_onednn() else _MAX_CPU_WEIGHTS
    return (
        is_supported(model)
        and not torch.is_autocast_enabled(model.device.type)
        and model.num_parameters() <= max_weights
        and all(weights.dtype in FULL_PRECISION for weights in model.parameters())
    )


def is_supported(model: Any, adapter: Adapter = None) -> bool:
    """Whether a model is of a supported family, unmodified except for adapters, with weights in one format."""
    if model.config.model_type not in _FAMILIES:
        return False
    layers = model.get_decoder().layers
    linear = [
        projection
        for layer in layers
        for projection in (*layer.self_attn.children(), *layer.mlp.children())
        if projection is not layer.mlp.act_fn and projection not in _qk_norms(layer.self_attn)
    ]
    head = model.get_output_embeddings()
    if torch.is_autocast_enabled(model.device.type) and type(head) is not nn.Linear:
        return False  # its weights are copied too
    added = [layer.self_attn.o_proj for layer in layers]
    added += [layer.mlp.down_proj for layer in layers]
    return (
        all(is_mergeable(projection, adapter) for projection in linear)
        and all(projection.bias is None for projection in added)
        and len({weights.dtype for weights in model.parameters()}) == 1
    )


def is_shared(model: Any, adapters: Sequence[str]) -> bool:
    """Whether adapters change nothing but a supported model's matrices, so that they can share a step."""
    body = model.get_decoder()
    norms = [body.norm]
    for layer in body.layers:
        norms += [layer.input_layernorm, layer.post_attention_layernorm]
        norms += _qk_norms(layer.self_attn)
    return (
        type(model.get_input_embeddings()) is nn.Embedding
        and type(model.get_output_embeddings()) is nn.Linear
        and not any(type(norm).__module__.startswith("peft.") for norm in norms)
        and all(is_supported(model, adapter) for adapter in adapters)
    )


def cache_bytes(model: Any) -> int:
    """The size of a token's keys and values in a step of a supported model."""
    body, device = model.get_decoder(), model.device.type
    attn = body.layers[0].self_attn
    casts = torch.is_autocast_enabled(device)
    dtype = torch.get_autocast_dtype(device) if casts else body.norm.weight.dtype
    return int(2 * len(body.layers) * attn.k_proj.out_features * dtype.itemsize)


class LlamaBody:
    """A model's layers, with copies of their current weights.

    Under autocast the copies of matrices are in its format, ``dtype``, and what the layers add up stays in
    that of the weights.
    """

    def __init__(self, model: Any, adapters: Sequence[Adapter] = (None,), *, owned: bool = False):
        """``adapters``: several must have a model that they :func:`share <is_shared>`. ``owned``: copy every
        matrix, so that :meth:`refresh` can write to the copies; by default some are the model's own."""
        body = model.get_decoder()
        device = model.device.type
        self.dtype: torch.dtype = body.norm.weight.dtype
        self._casts = torch.is_autocast_enabled(device)
        if self._casts:
            self.dtype = torch.get_autocast_dtype(device)
        self._output = model.get_output_embeddings()
        self._head = self._output.weight.to(self.dtype) if self._casts else None
        self._packed_head: PackedLinear | None = None
        self._body, self._embed, self._rotary = body, body.embed_tokens, body.rotary_emb
        self._adapters = adapters
        self._layers = [_copy_layer(layer, self.dtype, adapters) for layer in body.layers]
        if owned:
            self._layers = [
                replace(each, out=each.out.clone(), down=each.down.clone()) for each in self._layers
            ]
        else:
            self._pack()
        self._norm, self._eps = body.norm.weight, body.norm.variance_epsilon
        self.head_size = body.layers[0].self_attn.head_dim
        self.heads = body.layers[0].self_attn.q_proj.out_features // self.head_size
        self.kv_heads = body.layers[0].self_attn.k_proj.out_features // self.head_size
        self.layers = len(self._layers)

    def refresh(self) -> None:
        """Copy the model's current weights again, to where the copies are; they must be owned."""
        for old, layer in zip(self._layers, self._body.layers, strict=True):
            new = _copy_layer(layer, self.dtype, self._adapters)
            for product, new_product in zip(old.products(), new.products(), strict=True):
                product.copy_(new_product)
            if old.qk_norm is not None and new.qk_norm is not None:
                old.qk_norm.copy_(new.qk_norm)
        if self._head is not None:
            self._head.copy_(self._output.weight)

    def _pack(self) -> None:
        for layer in self._layers:
            for product in layer.products():
                product.pack()
        head = self._output
        if can_pack(head):
            self._packed_head = PackedLinear(head.weight, head.bias)

    def logits(self, states: Tensor) -> Tensor:
        """Of the next tokens [N, V], from the last hidden states [N, H]."""
        if self._packed_head is not None:
            return self._packed_head(states)
        if self._head is None:
            logits: Tensor = self._output(states)
            return logits
        return F.linear(states.to(self.dtype), self._head, self._output.bias)

    def rotation(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """The cosines and sines [N, D] that turn queries and keys at ``positions`` [N]."""
        cos, sin = self._rotary(self._norm, positions.unsqueeze(0))
        return cos[0], sin[0]

    def states(self, tokens: Tensor, rotation: tuple[Tensor, Tensor], attend: Attend) -> Tensor:
        """The last hidden states [N, H] of tokens [N] at positions with this ``rotation``."""
        x: Tensor = self._embed(tokens)
        to = self.dtype
        n, size, d = *x.shape, self.head_size
        cos, sin = (each.unsqueeze(1) for each in rotation)  # [N, 1, D]
        low, high = sin.chunk(2, dim=-1)
        kv = self.kv_heads
        for number, layer in enumerate(self._layers):
            h = F.rms_norm(x, (size,), layer.norm, self._eps).to(to)
            qkv = layer.qkv(h).view(n, -1, d)
            rotated, value = qkv.split([self.heads + kv, kv], dim=1)
            if layer.qk_norm is not None:
                rotated = F.rms_norm(rotated, (d,), None, self._eps) * layer.qk_norm
            if layer.rotates:
                rotated = _rotate(rotated.to(cos.dtype), cos, low, high)
            query, key = rotated.to(to).split([self.heads, kv], dim=1)
            x = layer.out.add_to(x, attend(number, query, key, value))
            h = F.rms_norm(x, (size,), layer.mlp_norm, self._eps).to(to)
            gate, up = layer.gate_up(h).chunk(2, dim=-1)
            x = layer.down.add_to(x, layer.act(gate).mul_(up))
        return F.rms_norm(x, (size,), self._norm, self._eps)


def _matmul(h: Tensor, weights: Tensor) -> Tensor:
    """h @ weights: [N, I] and [I, O], or [S, I, O] of S adapters."""
    if weights.ndim == 2:
        return h @ weights
    return torch.bmm(h.unflatten(0, (len(weights), -1)), weights).flatten(0, 1)


def _add_matmul(x: Tensor, h: Tensor, weights: Tensor) -> Tensor:
    """x + h @ weights; under autocast in the format of ``x``."""
    if x.dtype != h.dtype:
        return x + _matmul(h, weights)
    if weights.ndim == 2:
        return torch.addmm(x, h, weights)
    x, h = (each.unflatten(0, (len(weights), -1)) for each in (x, h))
    return torch.baddbmm(x, h, weights).flatten(0, 1)


def _rotate(x: Tensor, cos: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Rotary positions: x cos + (-second half, first half) sin, [N, heads, D]."""
    rotated = x * cos
    first, second = x.chunk(2, dim=-1)
    into_first, into_second = rotated.chunk(2, dim=-1)
    into_first.addcmul_(second, low, value=-1)
    into_second.addcmul_(first, high)
    return rotated


def _qk_norms(attention: Any) -> list[Any]:
    """The norms of queries and keys; empty for a family without them."""
    return [attention.q_norm, attention.k_norm] if hasattr(attention, "q_norm") else []


def _copy_layer(layer: Any, dtype: torch.dtype, adapters: Sequence[Adapter]) -> _Layer:
    attn, mlp = layer.self_attn, layer.mlp
    norms = [norm.weight for norm in _qk_norms(attn)]
    scaling = 1.0 if norms else attn.scaling
    qk_norm = None
    if norms:
        heads = [
            attn.q_proj.out_features // attn.head_dim,
            attn.k_proj.out_features // attn.head_dim,
        ]
        expanded_norms = [norm.expand(count, -1) for norm, count in zip(norms, heads, strict=True)]
        qk_norm = torch.cat([expanded_norms[0] * attn.scaling, expanded_norms[1]])
    return _Layer(
        norm=layer.input_layernorm.weight,
        qkv=_make_product([attn.q_proj, attn.k_proj, attn.v_proj], dtype, adapters, scaling),
        qk_norm=qk_norm,
        rotates=bool(getattr(attn, "use_rope", True)),
        out=_make_product([attn.o_proj], dtype, adapters),
        mlp_norm=layer.post_attention_layernorm.weight,
        gate_up=_make_product([mlp.gate_proj, mlp.up_proj], dtype, adapters),
        down=_make_product([mlp.down_proj], dtype, adapters),
        act=mlp.act_fn,
    )


def _make_product(
    projections: Sequence[Any],
    dtype: torch.dtype,
    adapters: Sequence[Adapter],
    scaling: float = 1.0,
) -> _LinearProduct:
    """The product of several projections of the same input, the first one scaled."""
    scales = [scaling] + [1.0] * (len(projections) - 1)
    biases = [each.bias for each in projections]
    bias = None if biases[0] is None else _concatenate(biases, scales).to(dtype)

    def with_adapter(adapter: Adapter) -> _LinearProduct:
        if dtype in FULL_PRECISION:
            merged = [merged_weight(each, adapter) for each in projections]
            return _LinearProduct(_concatenate(merged, scales), bias)
        factored = [factored_weight(each, adapter) for each in projections]
        weights, downs, ups = zip(*factored, strict=True)
        factors = torch.cat(downs).T, torch.block_diag(*map(mul, ups, scales)).T
        used = [each.contiguous().to(dtype) for each in factors if each.numel()]
        return _LinearProduct(_concatenate(weights, scales).to(dtype), bias, *used)

    return _LinearProduct.stack([with_adapter(adapter) for adapter in adapters])


def _concatenate(tensors: Sequence[Tensor], scales: Sequence[float]) -> Tensor:
    """All in one; a single one is not copied."""
    scaled = [t if scale == 1.0 else t * scale for t, scale in zip(tensors, scales, strict=True)]
    return scaled[0] if len(scaled) == 1 else torch.cat(scaled)
