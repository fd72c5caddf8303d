"""Updates: from what was played to changed weights, with all the state that this takes."""
