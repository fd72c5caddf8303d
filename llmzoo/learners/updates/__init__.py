"""Updates: they train on a batch, and hold all the state that this requires."""
