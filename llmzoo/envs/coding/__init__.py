"""Tasks whose answers are programs: they are read as text, run in the sandbox, and judged by tests."""
