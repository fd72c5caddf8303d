"""Our environments under the name by which verifiers finds them: the taskset ``llmzoo-verifiers``.

verifiers imports a taskset as a module of its own that stands in no package; what it is, and how it
is used, is said in :mod:`llmzoo.adapters.verifiers`.
"""

from llmzoo.adapters.verifiers import LlmzooEnv, LlmzooHarness, LlmzooTaskset

__all__ = ["LlmzooEnv", "LlmzooHarness", "LlmzooTaskset"]
