"""Records from the Hugging Face hub, or from its library's cache."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from urllib.parse import urlsplit

from llmzoo.envs.record_files import NamedRecord
from llmzoo.errors import ConfigError, require_extra

CONNECT_S = 3.0  # seconds to wait for the hub to accept a connection


def load_records(
    hub_id: str, hub_args: tuple[str, ...], hub_splits: tuple[str, ...] | None
) -> Iterator[NamedRecord]:
    """The records of a set, each with its name; raises ``ConfigError`` and ``MissingExtraError``."""
    with require_extra(f"the data set {hub_id}", "train"):
        import datasets
    try:
        with _datasets_offline_if_unreachable():
            splits = datasets.load_dataset(hub_id, *hub_args)
    except Exception as error:  # network, cache, schema: the library raises of every kind
        raise ConfigError(
            f"{hub_id} cannot be loaded from the hub ({type(error).__name__}: {error}); give "
            "source='sample' or a file"
        ) from error
    for split in hub_splits or sorted(splits):
        for number, record in enumerate(splits[split], start=1):
            yield f"{hub_id}[{split}]:{number}", record


def is_reachable() -> bool:
    """Whether the hub can be reached. If not, its library should read its cache only."""
    import huggingface_hub.constants as hub

    return not hub.HF_HUB_OFFLINE and _can_connect(hub.ENDPOINT)


@contextlib.contextmanager
def offline_if_unreachable() -> Iterator[None]:
    """Read the hub's cache only if the hub does not answer. Its library would retry for half a
    minute."""
    import huggingface_hub.constants as hub

    previous = hub.HF_HUB_OFFLINE
    hub.HF_HUB_OFFLINE = not is_reachable()
    try:
        yield
    finally:
        hub.HF_HUB_OFFLINE = previous


@contextlib.contextmanager
def _datasets_offline_if_unreachable() -> Iterator[None]:
    """The same for ``datasets``, which has a switch of its own."""
    import datasets
    import huggingface_hub.constants as hub

    with offline_if_unreachable():
        previous = datasets.config.HF_HUB_OFFLINE
        datasets.config.HF_HUB_OFFLINE = previous or hub.HF_HUB_OFFLINE
        try:
            yield
        finally:
            datasets.config.HF_HUB_OFFLINE = previous


def _can_connect(endpoint: str) -> bool:
    """Whether a connection to the hub can be opened. Behind a proxy this is assumed."""
    if any(name.lower() in ("https_proxy", "http_proxy", "all_proxy") for name in os.environ):
        return True
    address = urlsplit(endpoint)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=CONNECT_S).close()
    except OSError:
        return False
    return True
