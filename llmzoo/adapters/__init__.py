"""Other people's things in our trainer, and ours inside other people's tools.

``discrete_to_text`` turns an environment with numbered actions into one that speaks text; ready-made
ones are ``llmzoo.adapters.classic:tic_tac_toe`` and ``llmzoo.adapters.classic:connect_four``.
"""

from llmzoo.adapters.discrete import DiscreteText, discrete_to_text

__all__ = ["DiscreteText", "discrete_to_text"]
