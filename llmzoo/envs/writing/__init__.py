"""Writing: two authors of one text."""
