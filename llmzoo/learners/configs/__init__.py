"""The options of every learner, as dataclasses that are read without importing torch."""
