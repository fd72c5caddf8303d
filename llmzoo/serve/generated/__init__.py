"""Messages and stubs that ``make stubs`` writes from ``llmzoo/serve/protos``."""
