"""A small model's decoding step in few operations.

On a CPU, a decoding step of a model with a few million weights spends most of its time on the
framework's overhead for some two hundred small operations per layer. Here a Llama layer takes about
forty: projections of the same input are one product, the query's weights include the scale of the
scores, and the products add the residuals themselves.

Shapes: N tokens, H hidden size, A query heads, D the size of a head.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

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
    linear = [
        projection
        for layer in model.get_decoder().layers
        for projection in (*layer.self_attn.children(), *layer.mlp.children())
        if projection is not layer.mlp.act_fn
    ]
    plain = all(type(projection) is nn.Linear for projection in linear)
    added = [layer.self_attn.o_proj for layer in model.get_decoder().layers]
    added += [layer.mlp.down_proj for layer in model.get_decoder().layers]
    return (
        plain
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
    weights = [at.q_proj.weight * at.scaling, at.k_proj.weight, at.v_proj.weight]
    biases = None
    if at.q_proj.bias is not None:
        biases = torch.cat([at.q_proj.bias * at.scaling, at.k_proj.bias, at.v_proj.bias])
    return _Layer(
        norm=layer.input_layernorm.weight,
        qkv=torch.cat(weights),
        qkv_bias=biases,
        out=at.o_proj.weight.T,
        mlp_norm=layer.post_attention_layernorm.weight,
        gate_up=torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]),
        down=mlp.down_proj.weight.T,
        act=mlp.act_fn,
    )
