"""A small model's decoding step in few operations.

On a CPU, a decoding step of a model with a few million weights spends most of its time on the
framework's overhead for some two hundred small operations per layer. Here a Llama layer takes about
forty: projections of the same input are one product, the query's weights include the scale of the
scores, and the products add the residuals themselves. Adapters are added to the copies of the
weights, so they cost nothing in a step.

Shapes: N tokens, H hidden size, A query heads, D the size of a head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from llmzoo.policies.lora import is_mergeable, merged_weight
from llmzoo.policies.precision import FULL

_FAMILIES = frozenset({"llama", "mistral", "qwen2"})
_MOST = 2**26  # weights; larger models gain little, and the copies of their projections are large

# layer, scaled queries [N, A, D], keys and values of fewer heads -> outputs [N, A * D]
Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, slots=True)
class _Layer:
    norm: Tensor
    qkv: Tensor  # [(A + 2 kv) * D, H], with the query's part scaled
    qkv_bias: Tensor | None
    out: Tensor  # [A * D, H]
    mlp_norm: Tensor
    gate_up: Tensor  # [2 * M, H]
    down: Tensor  # [M, H]
    act: Callable[[Tensor], Tensor]


def fits(model: Any) -> bool:
    """Whether a model is small, of a supported family, unmodified, and not in half precision."""
    if model.config.model_type not in _FAMILIES or model.num_parameters() > _MOST:
        return False
    if torch.is_autocast_enabled(model.device.type):
        return False
    layers = model.get_decoder().layers
    linear = [
        projection
        for layer in layers
        for projection in (*layer.self_attn.children(), *layer.mlp.children())
        if projection is not layer.mlp.act_fn
    ]
    added = [layer.self_attn.o_proj for layer in layers]
    added += [layer.mlp.down_proj for layer in layers]
    return (
        all(map(is_mergeable, linear))
        and all(projection.bias is None for projection in added)
        and all(weights.dtype in FULL for weights in model.parameters())
    )


class LeanBody:
    """A model's layers, with copies of their current weights."""

    def __init__(self, model: Any):
        body = model.get_decoder()
        self._embed, self._rotary = body.embed_tokens, body.rotary_emb
        self._layers = [_layer(layer) for layer in body.layers]
        self._norm, self._eps = body.norm.weight, body.norm.variance_epsilon
        self._head_size = body.layers[0].self_attn.head_dim
        self._heads = body.layers[0].self_attn.q_proj.out_features // self._head_size

    def states(self, tokens: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """The last hidden states [N, H] of tokens [N] at ``positions`` [N]."""
        x: Tensor = self._embed(tokens)
        n, size, d = *x.shape, self._head_size
        cos, sin = self._rotary(x, positions.unsqueeze(0))
        cos = cos[0].unsqueeze(1)  # [N, 1, D]
        low, high = sin[0].unsqueeze(1).chunk(2, dim=-1)
        for number, layer in enumerate(self._layers):
            h = F.rms_norm(x, (size,), layer.norm, self._eps)
            qkv = F.linear(h, layer.qkv, layer.qkv_bias).view(n, -1, d)
            kv = (qkv.shape[1] - self._heads) // 2
            turned, value = qkv.split([self._heads + kv, kv], dim=1)
            query, key = _rotated(turned, cos, low, high).split([self._heads, kv], dim=1)
            x = torch.addmm(x, attend(number, query, key, value), layer.out)
            h = F.rms_norm(x, (size,), layer.mlp_norm, self._eps)
            gate, up = F.linear(h, layer.gate_up).chunk(2, dim=-1)
            x = torch.addmm(x, layer.act(gate).mul_(up), layer.down)
        return F.rms_norm(x, (size,), self._norm, self._eps)


def _rotated(x: Tensor, cos: Tensor, low: Tensor, high: Tensor) -> Tensor:
    """Rotary positions: x cos + (-second half, first half) sin, [N, heads, D]."""
    turned = x * cos
    first, second = x.chunk(2, dim=-1)
    into_first, into_second = turned.chunk(2, dim=-1)
    into_first.addcmul_(second, low, value=-1)
    into_second.addcmul_(first, high)
    return turned


def _layer(layer: Any) -> _Layer:
    at, mlp = layer.self_attn, layer.mlp
    weights = [
        merged_weight(at.q_proj) * at.scaling,
        merged_weight(at.k_proj),
        merged_weight(at.v_proj),
    ]
    biases = None
    if at.q_proj.bias is not None:
        biases = torch.cat([at.q_proj.bias * at.scaling, at.k_proj.bias, at.v_proj.bias])
    return _Layer(
        norm=layer.input_layernorm.weight,
        qkv=torch.cat(weights),
        qkv_bias=biases,
        out=merged_weight(at.o_proj).T,
        mlp_norm=layer.post_attention_layernorm.weight,
        gate_up=torch.cat([merged_weight(mlp.gate_proj), merged_weight(mlp.up_proj)]),
        down=merged_weight(mlp.down_proj).T,
        act=mlp.act_fn,
    )
