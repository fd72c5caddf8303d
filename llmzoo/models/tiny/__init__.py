"""The embedded model: about 0.85 million parameters, trained by this project on its own players.

``scripts/tiny.py`` rebuilds ``weights/`` from scratch. The model reads terse prompts and plays the
games of this suite poorly: a noisy expert wrote three of four answers in its training data. It is meant
to be trained further.
"""
