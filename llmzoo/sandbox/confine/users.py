"""The users that root becomes to run what it does not trust."""

from __future__ import annotations

FIRST_PRIVATE_USER = 1_879_048_192  # far above the ids that machines assign


def maps_other_users() -> bool:
    """Whether this user namespace maps other users, so that the process can become one of them."""
    with open("/proc/self/uid_map") as file:
        lines = file.read().splitlines()
    return len(lines) > 1 or int(lines[0].split()[2]) > 1
