"""Messages that ``make stubs`` writes from ``llmzoo/serve/protos``."""
