"""The options of every learner, as dataclasses that can be imported without torch."""
