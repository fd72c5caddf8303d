"""A graph of two agents in LangGraph, played by models that llmzoo serves.

    pip install langgraph langchain-openai
    llmzoo serve runs/magrpo                    # in another terminal; or tiny, for both agents
    OPENAI_API_KEY=TOKEN python examples/adapters/langgraph_agents.py --models proposer_0 planner_1

The first agent may call a tool. Its message, and the tool's result, are what the second agent reads. Equal
seeds give equal messages. The embedded model calls no tools, so expect two short texts. See
docs/serving_policies.md; langgraph_program.py trains such a graph.
"""

import argparse

from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def add(x: int, y: int) -> int:
    """Add two whole numbers."""
    return x + y


def make_graph(base_url, models, seed, **options):
    """A compiled graph of two agents. ``models``: the name of each; ``options``: of ``ChatOpenAI``."""
    first, second = (
        ChatOpenAI(model=model, base_url=base_url, seed=seed, max_tokens=32, **options)
        for model in models
    )

    def propose(state):
        return {"messages": [first.bind_tools([add]).invoke(state["messages"])]}

    def answer(state):
        return {"messages": [second.invoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("propose", propose)
    builder.add_node("tools", ToolNode([add]))
    builder.add_node("answer", answer)
    builder.add_edge(START, "propose")
    # to the tools if the message calls one, otherwise to the second agent
    builder.add_conditional_edges(
        "propose", tools_condition, {"tools": "tools", "__end__": "answer"}
    )
    builder.add_edge("tools", "answer")
    return builder.compile()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--base_url", default="http://127.0.0.1:8000/v1")
    parser.add_argument("--models", nargs=2, default=["tiny", "tiny"])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--prompt", default="What is 17 + 25?")
    args = parser.parse_args()
    graph = make_graph(args.base_url, args.models, args.seed)
    for message in graph.invoke({"messages": [HumanMessage(args.prompt)]})["messages"]:
        message.pretty_print()
