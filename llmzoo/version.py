"""The version of llmzoo, which other files read from here."""

__version__ = "0.2.0"
