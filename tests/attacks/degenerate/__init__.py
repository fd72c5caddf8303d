"""Policies that do not do the task, played beside the noisy expert and the expert.

    python -m tests.attacks.degenerate --tasks 20

A reward that pays one of them more than the noisy expert teaches it.
"""
