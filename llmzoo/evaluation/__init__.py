"""Evaluation of policies: collected episodes, statistics, leagues, exploitability."""
