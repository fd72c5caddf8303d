"""One test of all records of a data file, which names the record that fails."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def for_each(
    records: Iterable[T], name: Callable[[T], str]
) -> Callable[[Callable[[T], None]], Callable[[], None]]:
    """Make a check of one record the test of every record. A failure begins with ``name(record)``."""

    def decorate(check: Callable[[T], None]) -> Callable[[], None]:
        def test() -> None:
            for record in records:
                try:
                    check(record)
                except Exception as error:
                    raise AssertionError(f"{name(record)}: {error}") from error

        test.__doc__ = check.__doc__
        return test

    return decorate
