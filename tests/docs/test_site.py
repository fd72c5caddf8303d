"""The documentation site: built with warnings as errors, whole, and without anything from elsewhere."""

from __future__ import annotations

import importlib
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytest.importorskip("sphinx", reason="the site needs the extra 'docs'")
pytestmark = pytest.mark.long("builds the documentation site: a minute and a half")

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("source", "src"), ("iframe", "src")}


class Page(HTMLParser):
    """The anchors of a page, where it leads, and what it loads."""

    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = {""}
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.sidebar: set[str] = set()
        self._tree = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.anchors.add(found.get("id") or "")
        if tag == "div" and (self._tree or "sidebar-tree" in (found.get("class") or "")):
            self._tree += 1
        for name in ("href", "src"):
            if found.get(name):
                self.links.add(found[name])
                if (tag, name) in LOADED:
                    self.loads.add(found[name])
                if self._tree:
                    self.sidebar.add(found[name])

    def handle_endtag(self, tag):
        if tag == "div" and self._tree:
            self._tree -= 1


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built as ``make docs`` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, str(DOCS / "_site" / "build.py"), str(folder / "html")]
    done = subprocess.run(
        [*command, "--work", str(folder / "work")], capture_output=True, text=True, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    return {path: Page(path.read_text()) for path in site.rglob("*.html")}


def test_every_page_of_docs_is_in_the_navigation(site, pages):
    front = pages[site / "index.html"]
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS).with_suffix(".html").as_posix()
        assert name == "index.html" or name in front.sidebar, name


def test_every_link_and_anchor_leads_somewhere(site, pages):
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            assert target.exists(), f"{path.relative_to(site)}: {link}"
            if target in pages:
                assert unquote(parts.fragment) in pages[target].anchors, f"{path}: {link}"


def test_nothing_is_loaded_from_elsewhere(site, pages):
    for path, page in pages.items():
        foreign = [link for link in page.loads if "//" in link]
        assert not foreign, f"{path.relative_to(site)} loads {foreign}"
    for sheet in site.rglob("*.css"):
        text = sheet.read_text()
        assert not re.findall(r"url\(\s*['\"]?(?:https?:)?//|@import", text), sheet
    assert (site / "searchindex.js").stat().st_size > 10_000  # the search is in the browser


def test_the_reference_has_every_public_name(site, pages):
    sys.path.insert(0, str(DOCS / "_site"))
    try:
        api = importlib.import_module("api")
    finally:
        sys.path.remove(str(DOCS / "_site"))
    import llmzoo

    front = pages[site / "api" / "index.html"]
    for name in set(llmzoo.__all__) - {"__version__"}:
        assert f"llmzoo.{name}" in front.anchors
    for title, (_, _, modules) in api.PAGES.items():
        page = pages[site / "api" / f"{title}.html"]
        for module in modules:
            for name in api.public_names(module):
                assert f"{module}.{name}" in page.anchors, f"{module}.{name}"


def test_a_warning_fails_the_build(tmp_path):
    faults = {
        "[a](#nowhere)": "nowhere",
        "[a](absent.md)": "absent.md",
        "```{eval-rst}\n.. autofunction:: llmzoo.no_such\n```": "no_such",
    }
    text = "\n\n".join(faults)
    shutil.copytree(DOCS / "_site" / "static", tmp_path / "source" / "static")
    (tmp_path / "source" / "conf.py").write_text((DOCS / "_site" / "conf.py").read_text())
    (tmp_path / "source" / "index.md").write_text(f"# One\n\n{text}\n")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; import build; "
        "sys.exit(build.sphinx(build.options(Path(sys.argv[2]) / 'trees') + sys.argv[3:]))"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            DOCS / "_site",
            tmp_path,
            tmp_path / "source",
            tmp_path / "html",
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    for said in faults.values():
        assert said in done.stderr
