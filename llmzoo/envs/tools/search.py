"""The search tool: BM25 over the shipped corpus or a user's folder, or another engine over HTTP.

The shipped corpus describes an invented archipelago, so no model knows its facts without a search.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from llmzoo.envs.sources import BadField, get_field
from llmzoo.envs.text import truncate
from llmzoo.envs.tools import bounded_http
from llmzoo.envs.tools.corpus import articles
from llmzoo.envs.tools.toolbox import Tool, ToolError, tool
from llmzoo.errors import ConfigError, require_extra

MAX_RESULTS = 10
MAX_QUERY_CHARS = 500
MAX_SHOWN_CHARS = 1_000  # of one result
PASSAGE_CHARS = 1_000  # longer texts of a user's corpus are searched in passages of about this size
HTTP_TIMEOUT_S = 10.0
MAX_HTTP_BYTES = 1_000_000

_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Document:
    title: str
    text: str


SearchFunction = Callable[[str, int], Sequence[Document]]


class BM25Index:
    """Documents that are ranked by BM25 (Robertson & Zaragoza, 2009; bm25s, arXiv:2407.03618).

    Words are compared without case. Documents with equal scores are sorted by title.
    """

    def __init__(self, documents: Sequence[Document]):
        with require_extra("the search tool", "tools"):
            import bm25s
        self._documents = sorted(documents, key=lambda document: document.title)
        # the title counts twice: a text's subject outweighs what it mentions
        words = [_words(f"{each.title} {each.title} {each.text}") for each in self._documents]
        if not any(words):
            raise ConfigError("a corpus needs at least one text with a word in it")
        self._vocabulary = {word for text in words for word in text}
        self._scores = bm25s.BM25()
        self._scores.index(words, show_progress=False)

    def find(self, query: str, k: int) -> list[Document]:
        """The best ``k`` documents that share a word with ``query``, best first."""
        known = [word for word in _words(query) if word in self._vocabulary]
        if not known:
            return []
        scores = self._scores.get_scores(known)
        # documents are in the order of titles, and a stable sort keeps it
        ranked = sorted(range(len(scores)), key=lambda i: -float(scores[i]))
        return [self._documents[i] for i in ranked[:k] if scores[i] > 0]


def search_tools(corpus: str | Path | None = None) -> tuple[Tool, ...]:
    """``search`` over a folder of .txt, .md and .jsonl files, by default over the shipped corpus."""
    index = _load_shipped() if corpus is None else BM25Index(load_documents(corpus))
    return (_search_tool(index.find),)


def http_search_tools(url: str) -> tuple[Tool, ...]:
    """``search`` with another engine: GET ``url?q=...&k=...`` returns ``[{"title", "text"}, ...]``.

    If the engine fails or takes longer than 10 s, the model reads an error.
    """
    if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
        raise ConfigError(f"a search engine has an http or https address, got {url!r}")
    return (_search_tool(lambda query, k: _query_engine(url, query, k)),)


def load_documents(corpus: str | Path) -> list[Document]:
    """The texts of a folder: each .txt or .md file, titled by its path, and each line ``{"title",
    "text"}`` of a .jsonl file. Long texts are cut into passages."""
    root = Path(corpus)
    if not root.is_dir():
        raise ConfigError(f"corpus {str(corpus)!r} is not a folder")
    passages = []
    for path in sorted(root.rglob("*")):
        if path.suffix in (".txt", ".md", ".jsonl") and path.is_file():
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise ConfigError(f"corpus: {path} cannot be read: {error}") from error
            name = path.relative_to(root).as_posix()
            records = _records(path, text) if path.suffix == ".jsonl" else [Document(name, text)]
            passages += [passage for record in records for passage in _passages(record)]
    if not passages:
        raise ConfigError(f"corpus {str(corpus)!r} holds no .txt, .md or .jsonl file with text")
    return passages


@cache
def _load_shipped() -> BM25Index:
    return BM25Index([Document(article.title, article.text) for article in articles()])


def _search_tool(find: SearchFunction) -> Tool:
    @tool
    def search(query: str, k: int = 3) -> str:
        """Search a collection of texts and read the best matches.

        Args:
            query: a few words that the text should hold
            k: how many texts to read, from 1 to 10
        """
        if not 1 <= k <= MAX_RESULTS:
            raise ToolError(f"k must be from 1 to {MAX_RESULTS}, got {k}")
        if len(query) > MAX_QUERY_CHARS:
            raise ToolError(f"the query is longer than {MAX_QUERY_CHARS} characters")
        matches = find(query, k)
        if not matches:
            return "Nothing was found. Try other words."
        return "\n\n".join(
            f"[{n}] {each.title}\n{truncate(each.text, MAX_SHOWN_CHARS)}"
            for n, each in enumerate(matches, 1)
        )

    return search


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _records(path: Path, text: str) -> Iterator[Document]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield _document(json.loads(line))
        except ValueError as error:
            raise ConfigError(f"corpus: {path}:{number}: {error}") from error


def _document(record: Any) -> Document:
    if not isinstance(record, dict):
        raise ValueError("not an object with title and text")
    return Document(get_field(record, "title", str), get_field(record, "text", str))


def _passages(document: Document) -> Iterator[Document]:
    """``document``, cut between paragraphs if it is long."""
    parts = [""]
    for paragraph in document.text.split("\n\n"):
        if parts[-1] and len(parts[-1]) + len(paragraph) > PASSAGE_CHARS:
            parts.append("")
        parts[-1] = f"{parts[-1]}\n\n{paragraph}".strip()
    for number, part in enumerate(parts, start=1):
        if part:
            yield Document(document.title + f" ({number})" * (len(parts) > 1), part)


def _query_engine(url: str, query: str, k: int) -> list[Document]:
    mark = "&" if urllib.parse.urlsplit(url).query else "?"
    address = f"{url}{mark}{urllib.parse.urlencode({'q': query, 'k': k})}"
    try:
        body = bounded_http.get(address, seconds=HTTP_TIMEOUT_S, most_bytes=MAX_HTTP_BYTES)
        records = json.loads(body)
        if not isinstance(records, list):
            raise ValueError("not a list")
        return [_document(record) for record in records[:k]]
    except bounded_http.ResponseTooLong as error:
        raise ToolError("the search engine's answer is too long") from error
    except TimeoutError as error:
        raise ToolError("the search engine takes too long") from error
    except urllib.error.HTTPError as error:
        raise ToolError(f"the search engine answers with the status {error.code}") from error
    except OSError as error:
        raise ToolError("the search engine cannot be reached") from error
    except (BadField, ValueError, RecursionError) as error:
        raise ToolError("the search engine's answer cannot be read") from error
