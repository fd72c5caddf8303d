"""The infos of several environments in Gymnasium's vector form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_INT64 = np.iinfo(np.int64)


def batched(infos: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """One dictionary of arrays, each ``[len(infos)]``; None: the environment has nothing to say.

    For every key the array ``_key`` (bool) tells which environments have it; the others show 0,
    False or None. Dictionaries are batched key by key. Numbers become numbers of one kind: a value
    is never cut to the kind of its neighbour's, as in Gymnasium's own form, where the first
    environment decides. All else, text too, stands in an array of objects, at its full length.
    """
    keys = dict.fromkeys(key for info in infos if info is not None for key in info)
    together: dict[str, Any] = {}
    for key in keys:
        has = np.array([info is not None and key in info for info in infos])
        values = [info[key] for info in infos if info is not None and key in info]
        if key != "final_obs" and all(isinstance(value, dict) for value in values):
            together[key] = batched([info.get(key) if info is not None else None for info in infos])
        else:
            together[key] = _column(values, has)
        together[f"_{key}"] = has
    return together


def _column(values: Sequence[Any], has: NDArray[np.bool_]) -> NDArray[Any]:
    if all(isinstance(value, bool | np.bool_) for value in values):
        column = np.zeros(len(has), dtype=np.bool_)
    elif any(isinstance(value, bool | np.bool_) for value in values):
        column = np.full(len(has), None, dtype=object)
    elif all(_is_int64(value) for value in values):
        column = np.zeros(len(has), dtype=np.int64)
    elif all(isinstance(value, float | np.floating) or _is_int64(value) for value in values):
        column = np.zeros(len(has), dtype=np.float64)
    elif _same_arrays(values):
        column = np.zeros((len(has), *values[0].shape), dtype=values[0].dtype)
    else:
        column = np.full(len(has), None, dtype=object)
    for index, value in zip(np.flatnonzero(has), values, strict=True):
        column[index] = value
    return column


def _is_int64(value: Any) -> bool:
    return isinstance(value, int | np.integer) and _INT64.min <= int(value) <= _INT64.max


def _same_arrays(values: Sequence[Any]) -> bool:
    """Whether these are arrays of one shape and kind, and not of text, whose width would differ."""
    first = values[0]
    return all(
        isinstance(value, np.ndarray)
        and value.shape == first.shape
        and value.dtype == first.dtype
        and value.dtype.kind not in "SUO"
        for value in values
    )
