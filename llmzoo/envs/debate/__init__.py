"""Debate: two sides argue before a judge."""
