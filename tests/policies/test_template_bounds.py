"""Chat templates that would never end, or would fill the memory."""

import sys
import time

import pytest
from chat_models import CHATML, tokenizer

from llmzoo.errors import ConfigError
from llmzoo.policies import template_bounds
from llmzoo.policies.prompts import PromptFormatter
from llmzoo.policies.settings import Chat

ENDLESS = (
    "{% for a in range(99999) %}{% for b in range(99999) %}{% set c = b %}{% endfor %}{% endfor %}"
)
HOSTILE = {
    "loops": (ENDLESS, "runs for more than"),
    "recursion": ("{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "fails with RecursionError"),
    "long": ("{% for a in range(999) %}{{ 'x' * 100 }}{% endfor %}", "characters"),
    "doubling": (
        "{% set n = namespace(t='x') %}{% for a in range(24) %}{% set n.t = n.t ~ n.t %}"
        "{% endfor %}{{ n.t }}",
        "characters",
    ),
}


def prompts(template):
    return PromptFormatter(tokenizer(template), Chat(), "a_model")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_template_is_refused_when_the_model_is_loaded(monkeypatch, name):
    template, reason = HOSTILE[name]
    monkeypatch.setattr(template_bounds, "MAX_SECONDS", 0.2 if name == "loops" else 30.0)
    monkeypatch.setattr(template_bounds, "MAX_CHARACTERS", 10_000)
    started = time.monotonic()
    with pytest.raises(ConfigError, match=f"chat template of a_model .*{reason}"):
        prompts(template + CHATML)
    assert time.monotonic() - started < 20
    assert sys.gettrace() is None or "coverage" in sys.modules


def test_a_template_that_waits_for_a_prompt_is_refused_there(monkeypatch):
    made = prompts("{% if 'now' in messages[0].content %}" + ENDLESS + "{% endif %}" + CHATML)
    monkeypatch.setattr(template_bounds, "MAX_SECONDS", 0.2)
    assert made.encode("later")
    with pytest.raises(ConfigError, match=r"runs for more than 0\.2 seconds"):
        made.encode("now")


def test_a_text_that_grows_is_refused_before_it_fills_the_memory(monkeypatch):
    """2 ** 40 characters: no machine holds them."""
    monkeypatch.setattr(template_bounds, "_GRACE_S", 0.0)
    grow = "{% macro f(t, n) %}{% if n %}{{ f(t ~ t, n - 1) }}{% endif %}{% endmacro %}{{ f('x', 40) }}"
    with pytest.raises(ConfigError, match="characters"):
        prompts(grow + CHATML)
