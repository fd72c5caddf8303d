"""What samples for the policies of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from llmzoo.errors import ConfigError
from llmzoo.parallel import ranks
from llmzoo.policies.base import Policy
from llmzoo.policies.sampler import Sampler
from llmzoo.policies.vllm import give_samplers, sampler_config
from llmzoo.policies.vllm.config import is_server
from llmzoo.training.seats.opening import Learning, learning_among


def _own(sampler: str) -> str:
    """Of the addresses of several servers the one for this rank."""
    addresses = sampler.split(",")
    if ranks.world() > 1 and not is_server(sampler):
        raise ConfigError("sampler='vllm' is for one process: give each a vLLM server of its own")
    if len(addresses) != ranks.world() and (is_server(sampler) or len(addresses) > 1):
        raise ConfigError(
            f"{len(addresses)} addresses of samplers for {ranks.world()} processes: give each a vLLM "
            "server of its own, sampler=http://HOST:PORT,http://HOST:PORT"
        )
    return addresses[ranks.rank()]


@contextmanager
def sampling_from(
    sampler: str, args: Mapping[str, Any], learning: Learning, seats: Mapping[str, Policy]
) -> Iterator[list[Sampler]]:
    """Within this context the policies that learn sample there, and so do those on their models.

    Gives the samplers of the policies that learn, to be told when the weights change.

    ``sampler``: ``"transformers"`` (the policies' own models), ``"vllm"`` (in this process) or the
    address of a vLLM server, with several ranks one for each, between commas; ``args`` are the fields of :class:`llmzoo.policies.vllm.VllmArgs` or
    :class:`llmzoo.policies.vllm.ServerArgs`. It starts with the weights as they are now.

    Raises :class:`ConfigError` for what cannot be had together, and
    :class:`llmzoo.policies.sampler.SamplerError` for a server that cannot be reached.
    """
    config = sampler_config(sampler, args)
    if config is None:
        yield []
        return
    models = {id(policy.model) for policy in learning.values()}
    there = [p for p in learning_among(seats).values() if id(p.model) in models]
    try:
        give_samplers(there, _own(sampler), config)
        yield [policy.sampler for policy in learning.values() if policy.sampler is not None]
    finally:
        for policy in there:
            if policy.sampler is not None:
                policy.sampler.close()
                policy.sampler = None
