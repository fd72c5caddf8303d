"""Asks a confined program and judges its answers."""
