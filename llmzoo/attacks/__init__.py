"""Searches a reward for what reinforcement learning would exploit: returns without success.

:mod:`.pieces` has what an attack is made of, :mod:`.evolution` varies attacks, :mod:`.playing` plays
them, :mod:`.criterion` decides what is an alarm, :mod:`.learning` trains the embedded model, and
:mod:`.search` puts them together.

To add an attack, add a text or a frame to ``FIXED_TEXTS`` or ``FRAMES`` of :mod:`.evolution`, or an attack to its
``first_attacks``. Escapes from the sandbox are in :mod:`llmzoo.sandbox.attacks`.
"""
