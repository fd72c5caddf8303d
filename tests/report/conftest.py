"""A headless browser for the tests of pages; they are skipped where none is installed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        result = next(filter(None, map(shutil.which, BROWSERS)), None)
        own = Path(playwright.chromium.executable_path)
        if result is None and not own.exists():
            pytest.skip(f"no browser: none of {', '.join(BROWSERS)}, nor playwright's own")
        launched = playwright.chromium.launch(
            executable_path=result or str(own), args=["--no-sandbox"]
        )
        yield launched
        launched.close()


@pytest.fixture
def opened(browser) -> Iterator[Callable]:
    """``opened(path, "#episodes")`` is a tab with the page, once its script has done its work.

    When the test is over, no tab may have complained on its console, asked anything of a network,
    or shown a dialogue.
    """
    complaints: list[str] = []
    contexts = []

    def watched(page):
        page.on("console", lambda m: complaints.append(m.text) if m.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda d: (complaints.append(f"dialog {d.message}"), d.dismiss()))
        page.on(
            "request",
            lambda r: None if r.url.startswith(("file:", "data:")) else complaints.append(r.url),
        )
        return page

    def open_(path: Path, address: str = "", **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        contexts.append(context)
        page = watched(context.new_page())
        page.goto(path.resolve().as_uri() + address)
        page.wait_for_selector("html[data-ready]", state="attached", timeout=20_000)
        return page

    yield open_
    for context in contexts:
        context.close()
    assert complaints == []
