"""Sandboxes, one of each kind for all tests of a process: no test changes them."""

from __future__ import annotations

import pytest
from sandboxes import at

from llmzoo.sandbox import Sandbox


@pytest.fixture(scope="module", params=[3, 2, 1])
def box(request: pytest.FixtureRequest) -> Sandbox:
    """A sandbox of each level, or a skip with the machine's reason."""
    return at(request.param)


@pytest.fixture
def strongest() -> Sandbox:
    """A sandbox of the strongest level that the machine offers."""
    return at()
