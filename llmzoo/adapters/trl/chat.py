"""A chat form for models that know none: whatever they write is an answer."""

from __future__ import annotations

import copy
import re
from typing import Any

from llmzoo.adapters.trl.seat import _OVER

# calls of ``answer`` are the text alone; TRL asks of a template that it shows any other call in full
_TEMPLATE = """\
{%- for message in messages -%}
{%- if message.role == 'assistant' -%}
{%- if message.tool_calls -%}
{%- for call in message.tool_calls -%}
{%- set function = call.function -%}
{%- if function.name == 'answer' and function.arguments.text is string -%}
{{- function.arguments.text -}}
{%- else -%}
{{- function.name + '(' + function.arguments | tojson + ')' -}}
{%- endif -%}
{%- endfor -%}
{%- else -%}
{{- message.content -}}
{%- endif -%}
{{- eos_token -}}
{%- else -%}
{{- message.content -}}
{%- endif -%}
{%- endfor -%}"""


def plain_chat(tokenizer: Any) -> Any:
    """A copy of a tokenizer with a chat template for models without one, such as ``"tiny"``.

    A prompt is the observation and nothing else, which is what such a model reads in ``llmzoo
    train`` too; each answer ends with the end-of-sequence token, and the next observation follows
    it. TRL's loop goes on with calls of tools: so every text that the model writes is read as a
    call of ``answer``, but for one after the end of the episode.

    For :func:`llmzoo.adapters.trl.environment_factory`; ``rollout_func`` needs no chat template.
    """
    found = copy.deepcopy(tokenizer)
    found.chat_template = _TEMPLATE
    end = {"close_pattern": re.escape(found.eos_token), "content": "text"}
    exact = {**end, "content_args": {"strip": False}}
    call = {"type": "function", "function": {"name": "answer", "arguments": {"text": "{content}"}}}
    found.response_template = {
        "defaults": {"role": "assistant", "content": ""},
        # nothing before the answer belongs to it, but for the words that the episode is over
        "start_anchor_pattern": rf"\Z(?<!{_OVER}: (?:no )?success\.)|(?={_OVER}: (?:no )?success\.\Z)",
        "fields": {
            "content": {"open_pattern": rf"{_OVER}: (?:no )?success\.", **exact},
            "tool_calls": {**exact, "repeats": True, "transform": call},
        },
    }
    return found
