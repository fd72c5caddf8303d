"""A decoding step with fixed shapes and fixed tensor addresses, so that a CUDA graph can replay it.

Shapes: B places for prompts of at most P tokens, and for each prompt R rows of at most C new
tokens. Row r of the prompt at place b uses slot b R + r, of S = B R slots. With several adapters,
each has an equal share of the places. L layers; A query heads, G of them for each of kv key-value
heads; D the size of a head; V vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from llmzoo.models.cuda_graphs import capture_cuda_graph
from llmzoo.models.llama_body import LlamaBody
from llmzoo.models.sampling import sample_tokens
from llmzoo.models.sampling_settings import Sampling

_MIN_PROMPT_TOKENS, _MIN_NEW_TOKENS = 64, 32


@dataclass(frozen=True, slots=True)
class StepShape:
    """The sizes of a step, rounded up so that a few steps serve many calls."""

    prompts: int  # B
    rows: int  # R
    prompt_tokens: int  # P
    new_tokens: int  # C
    adapters: int

    @classmethod
    def for_call(
        cls,
        counts: Sequence[int],
        lengths: Sequence[int],
        new_tokens: int,
        adapter_of: Sequence[int],
        adapters: int,
    ) -> StepShape:
        """Powers of two that hold ``counts[b]`` rows after a prompt of ``lengths[b]`` tokens.

        ``adapter_of[b]``: the number of the prompt's adapter, of ``adapters``.
        """
        prompts_per_adapter = max(Counter(adapter_of).values())
        return cls(
            adapters * _next_power_of_two(prompts_per_adapter),
            _next_power_of_two(max(counts)),
            max(_MIN_PROMPT_TOKENS, _next_power_of_two(max(lengths))),
            max(_MIN_NEW_TOKENS, _next_power_of_two(new_tokens)),
            adapters,
        )

    def places(self, adapter_of: Sequence[int]) -> list[int]:
        """A place for each prompt, given the number of its adapter."""
        places_per_adapter, used = self.prompts // self.adapters, Counter[int]()
        places = []
        for adapter in adapter_of:
            places.append(adapter * places_per_adapter + used[adapter])
            used[adapter] += 1
        return places

    @property
    def slots(self) -> int:
        return self.prompts * self.rows

    @property
    def cached_tokens(self) -> int:
        """The number of tokens that the key-value caches hold."""
        return self.slots * self.new_tokens + self.prompts * self.prompt_tokens


def _next_power_of_two(number: int) -> int:
    """The next power of two."""
    return int(1 << (number - 1).bit_length())


class StaticStep:
    """Samples a token for every slot into ``samples``. Only the device counts the tokens.

    A slot attends to its prompt and to its own tokens. Unused slots and finished rows continue too;
    their tokens are ignored. ``newest`` [1], on the device: the index of the newest token,
    whose keys and values are not cached yet. ``samples`` [C, 2, S]: tokens and log-probabilities,
    float64. ``uniforms`` [C, S]: the noise of each token. ``cache_bytes``: size of the caches.
    """

    def __init__(
        self,
        body: LlamaBody,
        shape: StepShape,
        sampling: Sampling,
        *,
        greedy: bool,
        device: torch.device,
    ):
        self.shape, self._body = shape, body
        self._sampling, self._greedy = sampling, greedy
        b, r, p, c = shape.prompts, shape.rows, shape.prompt_tokens, shape.new_tokens
        layers, kv, d = body.layers, body.kv_heads, body.head_size
        zeros = partial(torch.zeros, dtype=body.dtype, device=device)
        zeros_long = partial(torch.zeros, dtype=torch.long, device=device)
        zeros_double = partial(torch.zeros, dtype=torch.float64, device=device)
        self.newest = zeros_long(1)
        self._token = zeros_long(shape.slots)
        self._prompt_lengths = zeros_long(shape.slots)
        self.samples = zeros_double(c, 2, shape.slots)
        self.uniforms = zeros_double(c, shape.slots)
        self._mask = zeros(b, 1, 1, p + c)  # added to scores: -inf where there is no token
        self._prompt_keys = zeros(layers, b, kv, d, p)
        self._prompt_values = zeros(layers, b, kv, p, d)
        self._keys = zeros(layers, b, kv, r, c, d)
        self._values = zeros(layers, b, kv, r, c, d)
        caches = self._prompt_keys, self._prompt_values, self._keys, self._values
        self.cache_bytes = sum(cache.numel() * cache.element_size() for cache in caches)
        self._cos, self._sin = body.rotation(torch.arange(p + c, device=device))
        self._device = device
        self._graph = capture_cuda_graph(self._step, device)

    @property
    def is_captured(self) -> bool:
        """Whether the step is a CUDA graph."""
        return self._graph is not None

    def run(self) -> None:
        """Read the newest token of every slot, and sample the next one."""
        if self._graph is None:
            self._step()
        else:
            self._graph()

    def reset(self, lengths: Mapping[int, int], newest: int = 0) -> None:
        """Start with new prompts; :meth:`load_prompts` or :meth:`copy_rows` follows.

        ``lengths``: by place. ``newest``: the tokens of each row that :meth:`copy_rows` copies.
        """
        p = self.shape.prompt_tokens
        sizes = torch.zeros(self.shape.prompts, dtype=torch.long)
        sizes[[*lengths]] = torch.tensor([*lengths.values()])
        hidden = torch.arange(p + self.shape.new_tokens) >= sizes.unsqueeze(1)
        hidden[:, p:] = True
        hidden[:, p : p + newest] = False
        mask = torch.zeros(hidden.shape).masked_fill(hidden, float("-inf"))
        self._mask.copy_(mask.view(self._mask.shape))
        self._prompt_lengths.copy_(sizes.repeat_interleave(self.shape.rows))
        self.newest.fill_(newest)
        # a masked entry has weight 0, but 0 times a NaN of an earlier call is NaN
        for cache in (self._prompt_keys, self._prompt_values, self._keys, self._values):
            cache.zero_()

    def load_prompts(self, places: Tensor, prefixes: Mapping[int, tuple[Tensor, Tensor]]) -> None:
        """Copy prompts to ``places`` [B']: a layer's keys [B', kv, D, P'], values [B', kv, P', D]."""
        for layer, (keys, values) in prefixes.items():
            width = min(keys.shape[-1], self.shape.prompt_tokens)
            self._prompt_keys[layer, ..., :width][places] = keys[..., :width]
            self._prompt_values[layer, :, :, :width][places] = values[:, :, :width]

    def sample(self, logits: Tensor) -> None:
        """Sample token number ``newest`` of every slot from ``logits`` [S, V]."""
        noise = None if self._greedy else self.uniforms.index_select(0, self.newest).squeeze(0)
        sampled = sample_tokens(logits, self._sampling, noise)
        self._token.copy_(sampled[0])
        self.samples.index_copy_(0, self.newest, sampled.unsqueeze(0))

    def _step(self) -> None:
        self._mask.index_fill_(3, self.newest + self.shape.prompt_tokens, 0.0)
        positions = self._prompt_lengths + self.newest
        rotation = self._cos.index_select(0, positions), self._sin.index_select(0, positions)
        # the body casts by itself: autocast would cache casts whose memory belongs to the graph
        with torch.autocast(self._device.type, enabled=False):
            states = self._body.states(self._token, rotation, self._attend)
            logits = self._body.logits(states)
        self.newest.add_(1)
        self.sample(logits)

    def _attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Outputs [S, A * D] of scaled queries [S, A, D] on new keys and values [S, kv, D]."""
        b, r, c = self.shape.prompts, self.shape.rows, self.shape.new_tokens
        kv, d = key.shape[1:]
        g = query.shape[1] // kv
        for cache, new in ((self._keys, key), (self._values, value)):
            new = new.reshape(b, r, kv, d).transpose(1, 2).unsqueeze(3)
            cache[layer].index_copy_(3, self.newest, new)

        query = query.reshape(b, r, kv, g, d).transpose(1, 2).reshape(b * kv, r * g, d)
        prompt_scores = torch.bmm(
            query, self._prompt_keys[layer].flatten(0, 1)
        )  # [B * kv, R * G, P]
        own_keys = self._keys[layer].flatten(0, 2)
        own_scores = torch.bmm(
            query.reshape(-1, g, d), own_keys.transpose(1, 2)
        )  # [B * kv * R, G, C]
        scores = torch.cat(
            [prompt_scores.view(b, kv, r * g, -1), own_scores.view(b, kv, r * g, c)], dim=-1
        )
        weights = (scores + self._mask).softmax(dim=-1, dtype=torch.float32).to(value.dtype)
        prompt_weights, own_weights = weights.flatten(0, 1).split(
            [self.shape.prompt_tokens, c], dim=-1
        )
        prompt_values = self._prompt_values[layer].flatten(0, 1)
        out = torch.bmm(prompt_weights, prompt_values).view(-1, g, d)
        own_values = self._values[layer].flatten(0, 2)
        out = torch.baddbmm(out, own_weights.reshape(-1, g, c), own_values)
        return out.view(b, kv, r, g * d).transpose(1, 2).reshape(b * r, kv * g * d)

    def copy_rows(
        self,
        other: StaticStep,
        slots: Tensor,
        other_slots: Tensor,
        places: Tensor,
        other_places: Tensor,
        count: int,
    ) -> None:
        """Copy rows and prompts of ``other``: rows from ``other_slots`` [N] to ``slots`` [N].

        The prompts go from ``other_places`` [B'] to ``places`` [B']. Each row has ``count`` cached
        tokens and the newest one.
        """
        rows = (slots // self.shape.rows, slots % self.shape.rows)
        other_rows = (other_slots // other.shape.rows, other_slots % other.shape.rows)
        p = self.shape.prompt_tokens
        for layer in range(self._body.layers):
            self._prompt_keys[layer, places] = other._prompt_keys[layer, other_places, ..., :p]
            self._prompt_values[layer, places] = other._prompt_values[layer, other_places, :, :p]
            for own, old in ((self._keys, other._keys), (self._values, other._values)):
                copied = old[layer].transpose(1, 2)[other_rows][:, :, :count]  # [N, kv, count, D]
                own[layer].transpose(1, 2)[(*rows, slice(None), slice(count))] = copied
        self._token.index_copy_(0, slots, other._token.index_select(0, other_slots))
        self.uniforms.index_copy_(1, slots, other.uniforms.index_select(1, other_slots))
