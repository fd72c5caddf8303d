"""Results that others can check: bundles of evaluations, their claims, and what verifies them.

:mod:`.layout` says what a bundle is and reads one, :mod:`.write` makes one, :mod:`.claims` has the numbers
that it claims, and :mod:`.verify` runs the checks: :mod:`.stored` of what is stored, :mod:`.source` of the
code that played, :mod:`.judging` of the episodes, and :mod:`.replay` of the policies.
"""
