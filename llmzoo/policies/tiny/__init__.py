"""The embedded model: about 0.85 million parameters, trained only by this project on its own players.

``recipe.py`` rebuilds it from nothing; ``weights/`` holds the result. It reads terse prompts and
plays the games of this suite, sloppily: three of four answers it has learned from were an
amateur's. It is there to be trained further, not to be good.
"""
