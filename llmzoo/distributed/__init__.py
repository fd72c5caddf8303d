"""The processes of a run: which rank this is, and how a model is divided among ranks."""
