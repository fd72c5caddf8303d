"""The source of the site: the pages of docs/, and whatever of the repository they link to.

Pages are written for GitHub, where a link may lead to any file. In the site a Markdown file outside
docs/ is a page under ``repository/``, any other file a page that shows it, and a folder a page that
lists it. So the site is whole without a network, and needs no address of the repository.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path, PurePosixPath

import api
from navigation import BELOW, FOLDERS, SECTIONS

SITE = Path(__file__).resolve().parent
DOCS = SITE.parent
ROOT = DOCS.parent

_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_LINE_LINK = re.compile(r"\[([^\]\s]+)\]\(([^)\s#]+)#L(\d+)\)")
_FENCE = re.compile(r"^(`{3,})[^\n]*\n.*?^\1$", re.MULTILINE | re.DOTALL)
_LANGUAGES = {".py": "python", ".yaml": "yaml", ".toml": "toml", ".cff": "yaml", ".json": "json"}


def stage(folder: Path) -> None:
    """Write the source of the site into ``folder``; what is there already and equal is left alone."""
    found = {name.relative_to(DOCS).as_posix(): name for name in sorted(DOCS.rglob("*.md"))}
    texts: dict[str, str] = {}
    outside: list[Path] = []  # linked files that are not in docs/, in the order of their discovery
    for place, source in found.items():
        texts[place] = _page(place, source, outside)
    for source in outside:  # grows while it is read
        texts[_place(source)] = _shown(source, outside)
    texts |= api.pages()
    _navigate(texts)
    _write(folder, texts)


def _page(place: str, source: Path, outside: list[Path]) -> str:
    """A Markdown file with its links as they are in the site; new files they lead to in ``outside``."""

    def leading_to(target: Path) -> str:
        if _is_shown(target) and target not in outside:
            outside.append(target)
        return os.path.relpath(_place(target), PurePosixPath(place).parent)

    def to_line(link: re.Match[str]) -> str:
        """HTML, since Markdown knows no anchors of lines; conf.py gives them to shown files."""
        page = PurePosixPath(leading_to((source.parent / link[2]).resolve())).with_suffix(".html")
        return f'<a href="{page}#L-{link[3]}">{link[1]}</a>'

    def there(link: re.Match[str]) -> str:
        if "://" in link[2] or link[2].startswith("mailto:"):
            return link[0]
        target = (source.parent / link[2]).resolve()
        if not target.exists():
            return link[0]  # Sphinx says so
        return f"{link[1]}{leading_to(target)}{link[3] or ''}{link[4]}"

    def placed(prose: str) -> str:
        return _LINK.sub(there, _LINE_LINK.sub(to_line, prose))

    text, parts, end = source.read_text(), [], 0
    for fence in _FENCE.finditer(text):
        parts += [placed(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, placed(text[end:])])


def _shown(source: Path, outside: list[Path]) -> str:
    """The page of something outside docs/."""
    name = source.relative_to(ROOT).as_posix()
    orphan = "" if _place(source).removesuffix(".md") in _named() else "---\norphan: true\n---\n\n"
    if source.suffix == ".md":
        return orphan + _page(_place(source), source, outside)
    if source.is_dir():
        files = [f for f in sorted(source.rglob("*")) if f.suffix in {".py", ".yaml", ".md"}]
        outside += [file for file in files if file not in outside]
        here = PurePosixPath(_place(source)).parent
        lines = [
            f"- [`{file.relative_to(source).as_posix()}`]({os.path.relpath(_place(file), here)})"
            for file in files
        ]
        return f"{orphan}# {name}\n\nFiles of the folder `{name}`.\n\n" + "\n".join(lines) + "\n"
    language = _LANGUAGES.get(source.suffix, "text")
    return f"{orphan}# `{name}`\n\n`````{language}\n{source.read_text().rstrip()}\n`````\n"


def _is_shown(target: Path) -> bool:
    """Whether the site has a page that shows this file or folder.

    Pages and pictures need none, and notebooks are downloaded.
    """
    page = target.is_relative_to(DOCS) and target.suffix in {".md", ".ipynb"}
    return not page and not target.is_relative_to(DOCS / "images")


def _place(source: Path) -> str:
    """Where a file of the repository is in the site's source."""
    if not _is_shown(source):
        return source.relative_to(DOCS).as_posix()
    name = f"repository/{source.relative_to(ROOT).as_posix()}"
    return name if source.suffix == ".md" else f"{name}.md"


def _named() -> set[str]:
    return {page for pages in SECTIONS.values() for page in pages}


def _navigate(texts: dict[str, str]) -> None:
    """Add the navigation to the front page and to the first pages of the folders."""
    for caption, pages in SECTIONS.items():
        texts["index.md"] += _tree(pages, caption)
    for folder in FOLDERS:
        first = next(name for name in texts if name.startswith(f"{folder}/index."))
        others = sorted(
            PurePosixPath(name).stem
            for name in texts
            if PurePosixPath(name).parent.as_posix() == folder and name != first
        )
        if first.endswith(".rst"):
            texts[first] += (
                "\n.. toctree::\n   :hidden:\n   :titlesonly:\n\n   " + "\n   ".join(others) + "\n"
            )
        else:
            texts[first] += _tree(others)
    for page, below in BELOW.items():
        texts[f"{page}.md"] += _tree([f"/{name}" for name in below])


def _tree(pages: list[str], caption: str = "") -> str:
    said = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n:titlesonly:\n{said}\n" + "\n".join(pages) + "\n```\n"


def _write(folder: Path, texts: dict[str, str]) -> None:
    """Files that are equal keep their time, so that Sphinx reads only what has changed."""
    for old in [path for path in folder.rglob("*") if path.suffix in {".md", ".rst"}]:
        if old.relative_to(folder).as_posix() not in texts:
            old.unlink()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
    for picture in (DOCS / "images").iterdir():
        (folder / "images").mkdir(exist_ok=True)
        shutil.copy2(picture, folder / "images" / picture.name)
    for notebook in DOCS.rglob("*.ipynb"):
        shutil.copy2(notebook, folder / notebook.relative_to(DOCS))
    shutil.copytree(SITE / "static", folder / "static", dirs_exist_ok=True)
    shutil.copy2(SITE / "conf.py", folder / "conf.py")
