"""What a run is made of: its folder, its checkpoints, and the policies that its agents play with."""
