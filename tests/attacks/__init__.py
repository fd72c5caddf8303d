"""The table of the attacks of llmzoo.sandbox.attacks, with the tools of others for comparison.

`python -m tests.attacks` prints it; `python -m tests.attacks --help` says what can be chosen.
"""
