"""Tests of llmzoo.attacks: environments with a planted fault each, and honest ones."""
