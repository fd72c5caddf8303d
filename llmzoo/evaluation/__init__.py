"""Measuring policies: episodes and their records, evaluation, statistics, leagues, exploitability."""
