"""Search over the shipped corpus, a user's folder, and an engine over HTTP."""

from __future__ import annotations

import json
import re
import runpy
import socket
import sys
import threading
import time
from collections import Counter
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from each_record import for_each

from llmzoo.envs.tools import search
from llmzoo.envs.tools.corpus import FILE, articles
from llmzoo.envs.tools.search import BM25Index, Document, http_search_tools, search_tools
from llmzoo.envs.tools.toolbox import MAX_REPLY_CHARS
from llmzoo.errors import ConfigError, MissingExtraError

SCRIPTS = Path(__file__).parents[3] / "scripts" / "corpus"


def titles(text: str) -> list[str]:
    return re.findall(r"^\[\d+\] (.*)$", text, re.MULTILINE)


# The shipped corpus


def test_the_corpus_is_large_and_its_titles_are_unique():
    result = articles()
    assert len(result) >= 150
    assert len({article.title for article in result}) == len(result)
    assert [article.title for article in result] == sorted(article.title for article in result)
    assert min(Counter(article.kind for article in result).values()) >= 8
    assert len({article.text for article in result}) == len(result)


@for_each(articles(), lambda article: article.title)
def test_an_article_says_its_facts_word_for_word(article):
    assert 60 <= len(article.text.split()) <= 120
    for name, fact in article.facts.items():
        assert isinstance(fact, str | int), name
        assert re.search(rf"(?<!\w){re.escape(str(fact))}(?!\w)", article.text), name
    # and no numbers beside them: each number says one thing
    numbers = [fact for fact in article.facts.values() if isinstance(fact, int)]
    assert sorted(map(int, re.findall(r"\d+", article.text))) == sorted(numbers)
    assert len(set(numbers)) == len(numbers)


def test_a_kind_has_the_same_facts_in_every_article():
    keys: dict[str, set[tuple[str, ...]]] = {}
    for article in articles():
        keys.setdefault(article.kind, set()).add(tuple(article.facts))
    assert all(len(several) == 1 for several in keys.values())


RELATIONS = {
    ("island", "capital"): "town",
    ("town", "island"): "island",
    ("bridge", "from"): "town",
    ("bridge", "to"): "town",
    ("bridge", "architect"): "person",
    ("ferry", "from"): "town",
    ("ferry", "to"): "town",
    ("museum", "town"): "town",
    ("river", "island"): "island",
    ("river", "mouth"): "town",
    ("festival", "town"): "town",
    ("company", "town"): "town",
    ("company", "founder"): "person",
    ("person", "birthplace"): "town",
    ("species", "island"): "island",
    ("species", "discoverer"): "person",
    ("lighthouse", "town"): "town",
    ("lighthouse", "island"): "island",
}


def test_names_lead_to_articles_of_the_right_kind():
    by_title = {article.title: article for article in articles()}
    for article in articles():
        for name, fact in article.facts.items():
            if (article.kind, name) in RELATIONS:
                assert by_title[str(fact)].kind == RELATIONS[article.kind, name]


def test_the_facts_agree_with_each_other():
    by_title = {article.title: article.facts for article in articles()}
    for article in articles():
        facts = article.facts
        if article.kind == "island":
            towns = [a.facts for a in articles() if a.facts.get("island") == article.title]
            assert sum(int(t.get("population", 0)) for t in towns) < facts["population"]
            assert by_title[facts["capital"]]["island"] == article.title
        if article.kind == "bridge":
            assert by_title[facts["from"]]["island"] == by_title[facts["to"]]["island"]
        if article.kind == "ferry":
            assert by_title[facts["from"]]["island"] != by_title[facts["to"]]["island"]
        if article.kind in ("lighthouse", "river"):
            town = facts["town" if article.kind == "lighthouse" else "mouth"]
            assert by_title[town]["island"] == facts["island"]
        maker, year = {
            "bridge": ("architect", "opened"),
            "company": ("founder", "founded"),
            "species": ("discoverer", "discovered"),
        }.get(article.kind, (None, None))
        if maker:
            person = by_title[facts[maker]]
            assert person["born"] + 20 < facts[year] < person["died"]


def test_the_shipped_file_is_what_the_recipe_writes(monkeypatch):
    monkeypatch.syspath_prepend(SCRIPTS)
    recipe = runpy.run_path(str(SCRIPTS / "recipe.py"))
    assert FILE.read_text("utf-8").splitlines() == recipe["lines"]()


@pytest.mark.parametrize("words", ["{title}", "{title} {kind}", "{kind} {title} population"])
def test_every_article_is_among_the_first_three_for_its_title(words):
    (tool,) = search_tools()
    missed = [
        article.title
        for article in articles()
        if article.title
        not in titles(
            tool.call({"query": words.format(title=article.title, kind=article.kind)}).text
        )
    ]
    assert missed == []


# Ranking


def test_ranking_by_rarity_and_ties_by_title():
    index = BM25Index(
        [
            Document("c", "red apple"),
            Document("b", "red apple"),
            Document("a", "red pear"),
            Document("d", "green plum and red plum"),
        ]
    )
    assert [d.title for d in index.find("APPLE", 3)] == ["b", "c"]
    assert [d.title for d in index.find("pear apple", 4)] == ["a", "b", "c"]
    assert [d.title for d in index.find("plum", 4)] == ["d"]
    assert [d.title for d in index.find("red pear", 1)] == ["a"]
    assert index.find("orange", 3) == []
    assert index.find("", 3) == []


def test_the_same_query_gives_the_same_reply():
    (one,), (two,) = search_tools(), search_tools()
    for query in ("bridge", "town island harbour", "the"):
        assert one.call({"query": query, "k": 10}) == two.call({"query": query, "k": 10})


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"query": "x", "k": 0}, "k must be from 1 to 10, got 0"),
        ({"query": "x", "k": 11}, "k must be from 1 to 10, got 11"),
        ({"query": "x", "k": -(10**30)}, "k must be from 1 to 10"),
        ({"query": "x", "k": "3"}, "argument 'k'"),
        ({"query": 3}, "argument 'query'"),
        ({}, "argument 'query' is missing"),
        ({"query": "x" * 20_000}, "the query is longer than 500 characters"),
    ],
)
def test_bad_searches_are_errors(arguments, error):
    (tool,) = search_tools()
    assert error in tool.call(arguments).error


def test_nothing_found_is_said_and_is_no_error():
    (tool,) = search_tools()
    for query in ("", "zzzzz", "!?", "😀", "\u0000"):
        reply = tool.call({"query": query})
        assert reply.text == "Nothing was found. Try other words."
        assert reply.error is None


def test_the_number_of_results_is_k():
    (tool,) = search_tools()
    assert len(titles(tool.call({"query": "island"}).text)) == 3
    reply = tool.call({"query": "island", "k": 10})
    assert len(reply.text) <= MAX_REPLY_CHARS + 30


# A user's corpus


def test_a_folder_of_texts(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "tea.md").write_text("# Tea\n\nSteep it for four minutes.")
    (tmp_path / "coffee.txt").write_text("Grind the beans.")
    (tmp_path / "more.jsonl").write_text(
        json.dumps({"title": "Cocoa", "text": "Stir the milk."}) + "\n\n"
    )
    (tmp_path / "image.png").write_bytes(b"\x89PNG")
    (tool,) = search_tools(tmp_path)
    assert tool.call({"query": "steep"}).text == (
        "[1] deep/tea.md\n# Tea\n\nSteep it for four minutes."
    )
    assert titles(tool.call({"query": "beans milk"}).text) == ["Cocoa", "coffee.txt"]


def test_a_long_text_is_searched_in_passages(tmp_path):
    paragraphs = [f"{'filler ' * 60}word{n}" for n in range(10)]
    (tmp_path / "long.txt").write_text("\n\n".join(paragraphs))
    (tool,) = search_tools(tmp_path)
    text = tool.call({"query": "word7"}).text
    assert titles(text) == ["long.txt (4)"]  # two paragraphs of 425 characters a passage
    assert "word6" in text
    assert "word8" not in text


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b"{", r"a\.jsonl:1"),
        ("a.jsonl", b'{"title": "x", "text": "y"}\n[1]', r"a\.jsonl:2: not an object"),
        ("a.jsonl", b'{"title": "x"}', "field 'text' is missing"),
        ("a.txt", b"\xff", "cannot be read"),
        ("a.txt", b"", "holds no .txt"),
        ("a.png", b"x", "holds no .txt"),
    ],
)
def test_a_bad_corpus_says_why(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ConfigError, match=message):
        search_tools(tmp_path)
    with pytest.raises(ConfigError, match="is not a folder"):
        search_tools(tmp_path / name)


def test_an_index_needs_a_word():
    for documents in ([], [Document("!", "?")]):
        with pytest.raises(ConfigError, match="at least one text with a word"):
            BM25Index(documents)


def test_missing_bm25s_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "bm25s", None)
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[tools\]"):
        BM25Index([Document("a", "b")])


# Another engine


@pytest.fixture(scope="module")
def engine():
    """The address of a search engine whose answer depends on the query."""
    late = threading.Event()

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self):
            asked = parse_qs(urlsplit(self.path).query)
            query = asked["q"][0]
            records = [{"title": f"T{n}", "text": f"about {query}"} for n in range(9)]
            bodies = {
                "html": b"<html>",
                "object": b"{}",
                "records": b"[1]",
                "fields": b'[{"title": 3}]',
                "deep": b"[" * 100_000,
                "long": b" " * (search.MAX_HTTP_BYTES + 1),
                "bytes": b"\xff\xfe\xfd",
            }
            if query == "slow":
                late.wait(20.0)
            with suppress(OSError):  # a client that waits no longer
                self.send_response(500 if query == "fails" else 200)
                self.end_headers()
                while query == "drops" and not late.wait(0.05):  # each in time, all together not
                    self.wfile.write(b" ")
                self.wfile.write(bodies.get(query, json.dumps(records).encode()))

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/find"
    late.set()
    server.shutdown()
    server.server_close()


def test_an_engine_over_http_is_asked(engine):
    (tool,) = http_search_tools(engine)
    assert tool.call({"query": "tea & cake?", "k": 2}).text == (
        "[1] T0\nabout tea & cake?\n\n[2] T1\nabout tea & cake?"
    )
    (tool,) = http_search_tools(engine + "?lang=en")
    assert titles(tool.call({"query": "é"}).text) == ["T0", "T1", "T2"]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("fails", "answers with the status 500"),
        ("slow", "takes too long"),
        ("drops", "takes too long"),
        ("long", "is too long"),
        *((query, "cannot be read") for query in ("html", "object", "records", "fields", "deep")),
        ("bytes", "cannot be read"),
    ],
)
def test_an_engine_that_fails_is_an_error(engine, monkeypatch, query, error):
    if error == "takes too long":
        monkeypatch.setattr(search, "HTTP_TIMEOUT_S", 0.2)
    (tool,) = http_search_tools(engine)
    assert error in tool.call({"query": query}).error


def test_an_engine_out_of_reach():
    (tool,) = http_search_tools("http://127.0.0.1:9/")
    assert tool.call({"query": "x"}).error == "the search engine cannot be reached"
    for url in ("file:///etc/passwd", "ftp://x", "localhost:80"):
        with pytest.raises(ConfigError, match="http or https"):
            http_search_tools(url)


@contextmanager
def raw(serve):
    """A port where ``serve(socket)`` answers each connection; the url."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            while True:
                try:
                    taken, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(taken,), daemon=True).start()

        def answer(taken):
            with taken, suppress(OSError):
                taken.recv(65536)
                serve(taken)

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            listener.shutdown(socket.SHUT_RDWR)


def drip(first, piece):
    def serve(taken):
        taken.sendall(first)
        while True:  # until the other side closes the connection
            time.sleep(0.05)
            taken.sendall(piece)

    return serve


@pytest.mark.parametrize(
    "serve",
    [
        drip(b"HTTP/1.1 ", b"2"),
        drip(b"HTTP/1.1 200 OK\r\nx: ", b"y"),
        drip(b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        drip(b"HTTP/1.1 200 OK\r\n\r\n", b" "),
        lambda taken: taken.recv(1),
    ],
    ids=["status", "headers", "continue", "body", "silent"],
)
def test_an_engine_that_drips_is_given_up_in_time(monkeypatch, serve):
    monkeypatch.setattr(search, "HTTP_TIMEOUT_S", 0.2)
    with raw(serve) as url:
        (tool,) = http_search_tools(url)
        began = time.monotonic()
        assert tool.call({"query": "x"}).error == "the search engine takes too long"
        assert time.monotonic() - began < 10  # it drips for ever


@pytest.mark.parametrize("where", ["file:///etc/passwd", "ftp://127.0.0.1:9/x", "OTHER", "/again"])
def test_an_engine_that_sends_elsewhere_is_not_followed(where):
    asked = []
    with raw(asked.append) as other:
        position = other if where == "OTHER" else where
        reply = f"HTTP/1.1 302 Found\r\nlocation: {position}\r\ncontent-length: 0\r\n\r\n".encode()
        with raw(lambda taken: taken.sendall(reply)) as url:
            (tool,) = http_search_tools(url)
            assert (
                tool.call({"query": "x"}).error == "the search engine answers with the status 302"
            )
    assert asked == []
