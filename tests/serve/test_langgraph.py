"""Agents of a LangGraph graph that an endpoint answers: the example, with tools and with seeds."""

from __future__ import annotations

import runpy
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_models
from endpoint_servers import LONG, serving

from llmzoo.policies import load
from llmzoo.policies.transformers import TransformersPolicy

pytest.importorskip("langchain_openai")
pytest.importorskip("langgraph")
pytest.importorskip("uvicorn")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "adapters" / "langgraph_agents.py"


@pytest.fixture(scope="module")
def play():
    """``play(served, models, seed)`` runs the example's graph and returns its messages."""
    make_graph = runpy.run_path(str(EXAMPLE))["make_graph"]

    def call(served, models, seed, prompt="What is 17 + 25?"):
        options = {"api_key": served.token, "max_retries": 0, "timeout": LONG}
        graph = make_graph(served.url, models, seed, **options)
        return graph.invoke({"messages": [("user", prompt)]})["messages"]

    return call


class Scripted(TransformersPolicy):
    """Writes ``text``, or the prompt that it reads."""

    text: str | None = None

    def _completion(self, prompt, row, sampling, request):
        made = super()._completion(prompt, row, sampling, request)
        return replace(made, text=str(request.observation) if self.text is None else self.text)


def scripted(text=None):
    model = tiny_models.model(max_position_embeddings=1024)
    policy = Scripted(model, tiny_models.tokenizer())
    policy.text = text
    return policy


def test_equal_seeds_give_equal_messages(play):
    with serving({"tiny": load("tiny")}) as served:
        first, again, other = (
            [message.content for message in play(served, ["tiny", "tiny"], seed)]
            for seed in (1, 1, 2)
        )
    assert len(first) == 3
    assert first == again
    assert first != other


def test_a_call_of_a_tool_is_run_and_its_result_is_read(play):
    call = '<tool_call>{"name": "add", "arguments": {"x": 17, "y": 25}}</tool_call>'
    with serving({"first": scripted(call), "second": scripted()}) as served:
        question, called, result, answer = play(served, ["first", "second"], seed=1)
    assert question.content == "What is 17 + 25?"
    assert [(c["name"], c["args"]) for c in called.tool_calls] == [("add", {"x": 17, "y": 25})]
    assert (result.type, result.content) == ("tool", "42")
    assert result.tool_call_id == called.tool_calls[0]["id"]
    assert answer.content.startswith("[user]\nWhat is 17 + 25?")
    assert answer.content.endswith("[tool]\n42")  # the endpoint passed the whole conversation on


@pytest.mark.parametrize(
    "text", ["<tool_call>{add 17}</tool_call>", '<tool_call>{"name": 5}</tool_call>', "42"]
)
def test_a_text_that_calls_no_tool_goes_to_the_second_agent(play, text):
    with serving({"first": scripted(text), "second": scripted()}) as served:
        _, said, answer = play(served, ["first", "second"], seed=1)
    assert (said.content, said.tool_calls) == (text, [])
    assert answer.content.endswith(f"[assistant]\n{text}")
