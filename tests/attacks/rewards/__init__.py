"""Attempts to be paid without doing the task: what each scores, beside what honest play scores.

A family is a module here with a function ``attacks()`` that yields :class:`.scored.Scored` rows.
"""
