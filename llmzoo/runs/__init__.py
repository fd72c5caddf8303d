"""The components of a run: its folder, its checkpoints, and the policies of its agents."""
