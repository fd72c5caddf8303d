"""Tools: a model calls them and reads what they return."""
