"""Several processes in one run: who they are, and how a model is divided among them."""
