"""The rows that TRL's trainer draws: each names a task, and TRL repeats it for its group."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llmzoo.errors import ConfigError, MissingExtraError


def dataset(seeds: Iterable[int], *, decisions: int | None = None, instructions: str = "") -> Any:
    """A ``datasets.Dataset`` with the columns ``prompt`` and ``seed``, a row for each task.

    The seed fixes the task, and so all K samples that TRL makes of a row share it. For
    ``environment_factory``, leave ``decisions`` out: TRL hands the seed to the seat, and appends
    what the seat reads to ``prompt``, which is one user message with ``instructions``.

    For ``rollout_func``, ``decisions`` is how many places of an episode are trained, in order of
    play and counted over the seats that learn: sudoku with two seats and up to four rounds has 8.
    Each is a row, numbered in the column ``decision``. TRL hands a ``rollout_func`` nothing but the
    prompts, so both numbers also stand in the prompt's message, as ``"seed"`` and ``"decision"``;
    its text is not read by the model, which reads what its seat observes.
    """
    try:
        from datasets import Dataset
    except ModuleNotFoundError as error:
        raise MissingExtraError("TRL's dataset", "train", error.name) from error
    seeds = [int(seed) for seed in seeds]
    if not seeds:
        raise ConfigError("a dataset needs at least one seed")
    message = {"role": "user", "content": instructions}
    if decisions is None:
        return Dataset.from_list([{"prompt": [message], "seed": seed} for seed in seeds])
    if decisions < 1:
        raise ConfigError(f"decisions is at least 1, got {decisions}")
    if instructions:
        raise ConfigError("the model reads what its seat observes: instructions mean nothing")
    places = [{"seed": seed, "decision": place} for seed in seeds for place in range(decisions)]
    return Dataset.from_list([{"prompt": [{**message, **place}], **place} for place in places])
