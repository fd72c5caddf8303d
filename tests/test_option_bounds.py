"""Bounds of options: what is within them, and how a value out of them is refused."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from llmzoo.bounds import check_bounds
from llmzoo.errors import ConfigError


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        ("at least 1", (1, 1.5, 7, None), (0, 0.99, -1, math.nan)),
        ("above 0", (1e-9, 3, None), (0, 0.0, -2, math.nan)),
        ("in [0, 1]", (0, 0.5, 1, None), (-0.01, 1.01, math.nan)),
        ("in [0, 1)", (0, 0.999), (1, 1.0, -0.01, math.nan)),
        ("in (0, 1]", (0.001, 1), (0, 0.0, 1.01, math.nan)),
    ],
)
def test_a_bound_includes_its_ends_as_it_says(bound, inside, outside):
    for value in inside:
        check_bounds(SimpleNamespace(rate=value), rate=bound)
    for value in outside:
        with pytest.raises(ConfigError) as error:
            check_bounds(SimpleNamespace(rate=value), rate=bound)
        assert str(error.value) == f"rate must be {bound}, got {value}"


def test_the_first_option_out_of_its_bound_is_named():
    options = SimpleNamespace(one=1, two=-2, three=-3)
    with pytest.raises(ConfigError, match="two must be at least 0, got -2"):
        check_bounds(options, one="at least 0", two="at least 0", three="at least 0")
