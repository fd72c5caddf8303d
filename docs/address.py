"""The public address of the repository, if setup.cfg names one, and links that need it."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_GITHUB = "https://github.com/"
_LINK = re.compile(r"(!?\[[^]]*\])\((?!https?://|#)([^)\s]+)\)")  # to a file of the repository


def source_address(file: Path = ROOT / "setup.cfg") -> str | None:
    """``Source`` of ``project_urls`` in setup.cfg, without a slash at the end; None if there is none."""
    config = ConfigParser()
    config.read(file)
    lines = config.get("metadata", "project_urls", fallback="").splitlines()
    urls = {name.strip(): url.strip() for name, _, url in (line.partition("=") for line in lines)}
    return urls["Source"].rstrip("/") if "Source" in urls else None


def colab_link(name: str, source: str) -> str:
    """The address at which Colab opens a notebook. ``name``: its path in the repository.

    Raises ValueError if ``source`` is not on GitHub, the only host that Colab opens notebooks of.
    """
    if not source.startswith(_GITHUB):
        raise ValueError(f"Colab opens notebooks of {_GITHUB}OWNER/NAME, not of {source}")
    return (
        f"https://colab.research.google.com/github/{source.removeprefix(_GITHUB)}/blob/main/{name}"
    )


def absolute_links(text: str, source: str) -> str:
    """Markdown whose links to files of the repository work everywhere, as on PyPI."""

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found[1].startswith("!") else "blob"
        return f"{found[1]}({source}/{kind}/main/{found[2]})"

    return _LINK.sub(link, text)
