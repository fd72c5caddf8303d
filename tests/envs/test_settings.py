"""What environments check of their arguments."""

from __future__ import annotations

import pytest

from llmzoo.envs.settings import one_of
from llmzoo.errors import ConfigError


def test_one_of_the_known_values():
    one_of("level", None, (None, "easy", "hard"))
    one_of("level", "hard", (None, "easy", "hard"))
    with pytest.raises(ConfigError, match=r"^level must be one of None, easy, hard; got 'soft'$"):
        one_of("level", "soft", (None, "easy", "hard"))
    with pytest.raises(ConfigError, match=r"^level must be one of easy; got \[\]$"):
        one_of("level", [], ("easy",))
