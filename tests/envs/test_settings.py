"""What environments check of their arguments."""

from __future__ import annotations

import pytest

from llmzoo.envs.argument_checks import check_choice
from llmzoo.errors import ConfigError


def test_one_of_the_known_values():
    check_choice("level", None, (None, "easy", "hard"))
    check_choice("level", "hard", (None, "easy", "hard"))
    with pytest.raises(ConfigError, match=r"^level must be one of None, easy, hard; got 'soft'$"):
        check_choice("level", "soft", (None, "easy", "hard"))
    with pytest.raises(ConfigError, match=r"^level must be one of easy; got \[\]$"):
        check_choice("level", [], ("easy",))
