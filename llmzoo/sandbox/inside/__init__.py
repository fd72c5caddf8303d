"""What runs inside: the zygote and its children. Nothing here imports the rest of llmzoo."""
