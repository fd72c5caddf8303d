"""Policies that do not do the task, played beside the amateur and the expert.

    python -m tests.attacks.degenerate --tasks 20

A reward that pays one of them more than the amateur teaches it.
"""
