"""A decoding step of fixed shapes, whose tensors stay where they are: a CUDA graph can repeat it.

Shapes: B places for prompts of at most P tokens, R rows of each, which have room for C tokens of their
own. Row r of the prompt at place b has the slot b R + r of S = B R. With several adapters, each has an
equal share of the places. L layers; A query heads, G of them for each of kv key-value heads, D the size
of a head; V vocabulary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from llmzoo.models.cuda_graphs import capture_cuda_graph
from llmzoo.models.llama_body import LlamaBody
from llmzoo.models.sampling import sample_tokens
from llmzoo.models.sampling_settings import Sampling

_LEAST_PROMPT, _LEAST_ROOM = 64, 32  # tokens


@dataclass(frozen=True, slots=True)
class StepShape:
    """Sizes that many calls share: rounded up, so that few steps serve them all."""

    prompts: int  # B
    rows: int  # R
    prompt: int  # P
    room: int  # C
    adapters: int

    @classmethod
    def for_call(
        cls,
        counts: Sequence[int],
        lengths: Sequence[int],
        room: int,
        adapter_of: Sequence[int],
        adapters: int,
    ) -> StepShape:
        """For ``counts[b]`` rows after a prompt of ``lengths[b]`` tokens: the next powers of two.

        ``adapter_of[b]``: which of the ``adapters`` the prompt has.
        """
        share = max(Counter(adapter_of).values())
        return cls(
            adapters * _next_power_of_two(share),
            _next_power_of_two(max(counts)),
            max(_LEAST_PROMPT, _next_power_of_two(max(lengths))),
            max(_LEAST_ROOM, _next_power_of_two(room)),
            adapters,
        )

    def places(self, adapter_of: Sequence[int]) -> list[int]:
        """A place for each prompt, given the number of its adapter."""
        share, used = self.prompts // self.adapters, Counter[int]()
        places = []
        for adapter in adapter_of:
            places.append(adapter * share + used[adapter])
            used[adapter] += 1
        return places

    @property
    def slots(self) -> int:
        return self.prompts * self.rows

    @property
    def tokens(self) -> int:
        """How many have keys and values."""
        return self.slots * self.room + self.prompts * self.prompt


def _next_power_of_two(number: int) -> int:
    """The next power of two."""
    return int(1 << (number - 1).bit_length())


class StaticStep:
    """Samples a token for every slot, and writes it to ``found``. Only the device knows how many it has.

    A slot attends to its prompt and to its own tokens. Slots without a row, and rows that have ended,
    go on as well, and what they are given is not read. ``last`` [1]: the number of the newest token,
    whose keys and values are not there yet. ``found`` [C, 2, S]: tokens and log-probabilities, float64.
    ``uniforms`` [C, S]: the noise of each token. ``size``: bytes of the keys and values.
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
        like = torch.empty(0, dtype=body.dtype, device=device)
        self._sampling, self._greedy = sampling, greedy
        b, r, p, c = shape.prompts, shape.rows, shape.prompt, shape.room
        layers, kv, d = body.layers, body.kv_heads, body.head_size
        whole = like.new_zeros(0, dtype=torch.long)
        exact = like.new_zeros(0, dtype=torch.float64)
        self.last = whole.new_zeros(1)
        self._token = whole.new_zeros(shape.slots)
        self._starts = whole.new_zeros(shape.slots)
        self.found = exact.new_zeros(c, 2, shape.slots)
        self.uniforms = exact.new_zeros(c, shape.slots)
        self._mask = like.new_zeros(b, 1, 1, p + c)  # added to scores: -inf where nothing is
        self._prompt_keys = like.new_zeros(layers, b, kv, d, p)
        self._prompt_values = like.new_zeros(layers, b, kv, p, d)
        self._keys = like.new_zeros(layers, b, kv, r, c, d)
        self._values = like.new_zeros(layers, b, kv, r, c, d)
        caches = self._prompt_keys, self._prompt_values, self._keys, self._values
        self.size = sum(each.numel() * each.element_size() for each in caches)
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

    def begin(self, lengths: Mapping[int, int], last: int = 0) -> None:
        """Begin with other prompts. ``lengths``: by place; :meth:`read` or :meth:`take` follows.

        ``last``: how many tokens the rows have whose keys and values :meth:`take` brings.
        """
        p = self.shape.prompt
        sizes = torch.zeros(self.shape.prompts, dtype=torch.long)
        sizes[[*lengths]] = torch.tensor([*lengths.values()])
        hidden = torch.arange(p + self.shape.room) >= sizes.unsqueeze(1)
        hidden[:, p:] = True
        hidden[:, p : p + last] = False
        mask = torch.zeros(hidden.shape).masked_fill(hidden, float("-inf"))
        self._mask.copy_(mask.view(self._mask.shape))
        self._starts.copy_(sizes.repeat_interleave(self.shape.rows))
        self.last.fill_(last)
        # what is masked counts 0 times, but 0 times the NaN of an earlier call would be NaN
        for kept in (self._prompt_keys, self._prompt_values, self._keys, self._values):
            kept.zero_()

    def read(self, places: Tensor, prefixes: Mapping[int, tuple[Tensor, Tensor]]) -> None:
        """Read the prompts at ``places`` [B']: of each layer, keys [B', kv, D, P'] and values [B', kv, P', D]."""
        for layer, (keys, values) in prefixes.items():
            width = min(keys.shape[-1], self.shape.prompt)
            self._prompt_keys[layer, ..., :width][places] = keys[..., :width]
            self._prompt_values[layer, :, :, :width][places] = values[:, :, :width]

    def sample(self, logits: Tensor) -> None:
        """Sample the token number ``last`` of every slot from ``logits`` [S, V]."""
        noise = None if self._greedy else self.uniforms.index_select(0, self.last).squeeze(0)
        sampled = sample_tokens(logits, self._sampling, noise)
        self._token.copy_(sampled[0])
        self.found.index_copy_(0, self.last, sampled.unsqueeze(0))

    def _step(self) -> None:
        self._mask.index_fill_(3, self.last + self.shape.prompt, 0.0)
        positions = self._starts + self.last
        rotation = self._cos.index_select(0, positions), self._sin.index_select(0, positions)
        # the body casts by itself: autocast would keep what it casts, which belongs to the graph
        with torch.autocast(self._device.type, enabled=False):
            states = self._body.states(self._token, rotation, self._attend)
            logits = self._body.logits(states)
        self.last.add_(1)
        self.sample(logits)

    def _attend(self, layer: int, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """Outputs [S, A * D] of scaled queries [S, A, D] on keys and values [S, kv, D]."""
        b, r, c = self.shape.prompts, self.shape.rows, self.shape.room
        kv, d = key.shape[1:]
        g = query.shape[1] // kv
        for kept, new in ((self._keys, key), (self._values, value)):
            new = new.reshape(b, r, kv, d).transpose(1, 2).unsqueeze(3)
            kept[layer].index_copy_(3, self.last, new)

        query = query.reshape(b, r, kv, g, d).transpose(1, 2).reshape(b * kv, r * g, d)
        far = torch.bmm(query, self._prompt_keys[layer].flatten(0, 1))  # [B * kv, R * G, P]
        own_keys = self._keys[layer].flatten(0, 2)
        near = torch.bmm(query.reshape(-1, g, d), own_keys.transpose(1, 2))  # [B * kv * R, G, C]
        scores = torch.cat([far.view(b, kv, r * g, -1), near.view(b, kv, r * g, c)], dim=-1)
        weights = (scores + self._mask).softmax(dim=-1, dtype=torch.float32).to(value.dtype)
        far, near = weights.flatten(0, 1).split([self.shape.prompt, c], dim=-1)
        out = torch.bmm(far, self._prompt_values[layer].flatten(0, 1)).view(-1, g, d)
        own_values = self._values[layer].flatten(0, 2)
        out = torch.baddbmm(out, near.reshape(-1, g, c), own_values)
        return out.view(b, kv, r, g * d).transpose(1, 2).reshape(b * r, kv * g * d)

    def take(
        self,
        other: StaticStep,
        slots: Tensor,
        others: Tensor,
        places: Tensor,
        others_places: Tensor,
        count: int,
    ) -> None:
        """Take rows of ``other``, from its slots ``others`` [N] to these ``slots`` [N], with ``count`` tokens
        of their own and the newest one. Their prompts come from ``others_places`` [B'] to ``places`` [B']."""
        here, there = self.shape, other.shape
        rows = (slots // here.rows, slots % here.rows)
        others_rows = (others // there.rows, others % there.rows)
        p = here.prompt
        for layer in range(self._body.layers):
            self._prompt_keys[layer, places] = other._prompt_keys[layer, others_places, ..., :p]
            self._prompt_values[layer, places] = other._prompt_values[layer, others_places, :, :p]
            for own, old in ((self._keys, other._keys), (self._values, other._values)):
                taken = old[layer].transpose(1, 2)[others_rows][:, :, :count]  # [N, kv, count, D]
                own[layer].transpose(1, 2)[(*rows, slice(None), slice(count))] = taken
        self._token.index_copy_(0, slots, other._token.index_select(0, others))
        self.uniforms.index_copy_(1, slots, other.uniforms.index_select(1, others))
