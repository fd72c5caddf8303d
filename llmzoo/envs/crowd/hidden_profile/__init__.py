"""A group chooses the best of several places, and what all know favours a wrong one."""
