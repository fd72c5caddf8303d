"""What the coding environments share in judging programs."""

from __future__ import annotations

import pytest

import llmzoo
from llmzoo.errors import ConfigError, UnknownNameError


@pytest.mark.parametrize("id", llmzoo.list_envs("coding"))
def test_every_environment_takes_a_time_limit(id):
    offline = llmzoo.spec(id).offline
    llmzoo.make(id, time_limit=1.5, **offline)
    with pytest.raises(ConfigError, match="time_limit must be positive, got 0"):
        llmzoo.make(id, time_limit=0, **offline)
    with pytest.raises(UnknownNameError, match=r"unknown .*'timeout'"):
        llmzoo.make(id, timeout=1.5, **offline)
