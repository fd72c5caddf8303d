"""Environments of other projects in our trainer, and ours in other projects' tools.

``discrete_to_text`` turns an environment with numbered actions into a text environment. Ready-made
ones are ``llmzoo.adapters.classic:tic_tac_toe`` and ``llmzoo.adapters.classic:connect_four``.
"""

from llmzoo.adapters.discrete import DiscreteText, discrete_to_text

__all__ = ["DiscreteText", "discrete_to_text"]
