"""The file tools: an episode's folder in memory, out of which no path leads."""

from __future__ import annotations

import os
import time

import pytest

from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.file_tools import (
    MAX_BYTES,
    MAX_FILES,
    files_tools,
    load_folder,
    make_folder,
    normalize_path,
    write_file,
)
from llmzoo.envs.tools.toolbox import MAX_REPLY_CHARS, Toolbox, make_toolbox
from llmzoo.errors import ConfigError


def play(states, *calls, box=None):
    """The replies to calls, one after another, and the states after them."""
    box = box or make_toolbox(["files"])
    replies = []
    for name, arguments in calls:
        reply, states = box.call(ToolCall(name, arguments), states)
        replies.append(reply)
    return replies, states


def test_write_read_list_delete():
    replies, states = play(
        {"files": {}},
        ("list_files", {}),
        ("write_file", {"path": "notes/a.txt", "content": "one\ntwo\n"}),
        ("write_file", {"path": "b.txt", "content": "three"}),
        ("read_file", {"path": "./notes//x/../a.txt"}),
        ("read_file", {"path": "notes/a.txt", "first_line": 2}),
        ("list_files", {}),
        ("list_files", {"folder": "notes/"}),
        ("write_file", {"path": "b.txt", "content": "four"}),
        ("delete_file", {"path": "notes/a.txt"}),
    )
    assert [reply.error for reply in replies] == [None] * 9
    assert [reply.text for reply in replies] == [
        "The folder is empty.",
        "Wrote 8 characters to notes/a.txt.",
        "Wrote 5 characters to b.txt.",
        "one\ntwo\n",
        "two\n",
        "b.txt (5 characters)\nnotes/a.txt (8 characters)",
        "notes/a.txt (8 characters)",
        "Wrote 4 characters to b.txt.",
        "Deleted notes/a.txt.",
    ]
    assert states["files"] == {"b.txt": "four"}


def test_the_folder_of_a_fork_is_its_own():
    start = {"files": make_folder({"a.txt": "1"})}
    _, left = play(start, ("write_file", {"path": "a.txt", "content": "2"}))
    _, right = play(start, ("delete_file", {"path": "a.txt"}))
    assert (start["files"], left["files"], right["files"]) == ({"a.txt": "1"}, {"a.txt": "2"}, {})


@pytest.mark.parametrize(
    "path",
    [
        *("/etc/passwd", "//etc/passwd", "~/.ssh/id_rsa", "~root/x", "..", "../x", "a/../../x"),
        *("a/b/../../../x", "./../x", "a/./../../a/x", "..\\x", "a\\..\\..\\x", "C:\\x"),
        *("a\0b", "\0", "a\nb", "a\x1b[2J", "\ud800", "x" * 101, "a/" * 101 + "b", "x" * 20_000),
        *("../" * 6_000, "a/../" * 4_000 + ".."),
    ],
)
@pytest.mark.parametrize("name", ["read_file", "write_file", "delete_file", "list_files"])
def test_paths_that_lead_out_are_refused(path, name, no_collector):
    key = "folder" if name == "list_files" else "path"
    arguments = {key: path, **({"content": "x"} if name == "write_file" else {})}
    start = {"files": {"a.txt": "1"}}
    started = time.process_time()
    (reply,), states = play(start, (name, arguments))
    assert time.process_time() - started < 0.1
    assert reply.error
    assert len(reply.text) < 400
    reply.text.encode()
    assert states["files"] == {"a.txt": "1"}


@pytest.mark.parametrize(
    ("path", "plain"),
    [
        ("a", "a"),
        ("./a//b/", "a/b"),
        ("a/../b", "b"),
        ("a/b/../../c", "c"),
        ("", ""),
        (".", ""),
        ("a/..", ""),
        ("...", "..."),
        ("..a/b", "..a/b"),
        ("été/ß.txt", "été/ß.txt"),
        ("a b", "a b"),
    ],
)
def test_paths_that_stay_inside(path, plain):
    assert normalize_path(path) == plain


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("read_file", {"path": "b.txt"}, "there is no file 'b.txt'; files: a.txt, d/e.txt"),
        ("read_file", {"path": "d"}, "'d' is a folder, not a file"),
        ("read_file", {"path": "."}, "'.' names no file"),
        ("read_file", {"path": "a.txt/"}, "'a.txt/' names no file"),
        ("read_file", {"path": "a.txt", "first_line": 0}, "first_line must be from 1 to 2, got 0"),
        ("read_file", {"path": "a.txt", "first_line": 3}, "first_line must be from 1 to 2, got 3"),
        ("write_file", {"path": "", "content": "x"}, "'' names no file"),
        ("write_file", {"path": "d", "content": "x"}, "'d' is a folder"),
        ("write_file", {"path": "a.txt/b", "content": "x"}, "'a.txt' is a file, not a folder"),
        (
            "write_file",
            {"path": "b", "content": "x" * (MAX_BYTES + 1)},
            "the files would take more",
        ),
        ("write_file", {"path": "b", "content": "é" * (MAX_BYTES // 2)}, "the files would take mo"),
        ("write_file", {"path": "b", "content": 3}, "argument 'content'"),
        ("delete_file", {"path": "b.txt"}, "there is no file"),
        ("list_files", {"folder": "x"}, "there is no folder 'x'"),
        ("list_files", {"folder": "a.txt"}, "'a.txt' is a file, not a folder"),
    ],
)
def test_errors_leave_the_folder_as_it_was(name, arguments, error):
    start = {"files": make_folder({"a.txt": "1\n2", "d/e.txt": "3"})}
    (reply,), states = play(start, (name, arguments))
    assert error in reply.error
    assert states == start


def test_the_number_of_files_is_limited():
    full = make_folder({f"{n}.txt": "" for n in range(MAX_FILES)})
    assert "room for 100 files" in write_file.call({"path": "new", "content": ""}, full).error
    assert write_file.call({"path": "5.txt", "content": "x"}, full).error is None


def test_a_long_file_is_read_in_parts():
    # other marks that end a line elsewhere are characters like any other
    text = "".join(f"line {n}\u2028of many\x0blines\r\n" for n in range(1, 1001))
    state = {"files": make_folder({"long.txt": text})}
    read, first = "", 1
    for _ in range(20):
        (reply,), _ = play(state, ("read_file", {"path": "long.txt", "first_line": first}))
        assert len(reply.text) <= MAX_REPLY_CHARS
        part, _, more = reply.text.rpartition("[line ")
        if not part:
            read += reply.text
            break
        read += part
        first = int(more.removesuffix(" follows]"))
    assert read == text


def test_a_single_long_line_is_cut():
    state = {"files": make_folder({"a": "x" * 10_000 + "\nend", "b": "y" * 10_000})}
    (a, b, rest), _ = play(
        state,
        ("read_file", {"path": "a"}),
        ("read_file", {"path": "b"}),
        ("read_file", {"path": "a", "first_line": 2}),
    )
    assert a.text.endswith("x\n[line 2 follows]")
    assert b.text.endswith("y\n[the line is cut]")
    assert rest.text == "end"


@pytest.mark.parametrize(
    "files",
    [
        {"../x": ""},
        {"/x": ""},
        {"": ""},
        {"a": "", "./a": ""},
        {"a": "", "a/b": ""},
        {"a/b": "", "a": ""},
        {f"{n}": "" for n in range(MAX_FILES + 1)},
        {"a": "x" * (MAX_BYTES + 1)},
    ],
)
def test_a_bad_initial_folder_is_a_mistake_of_the_programmer(files):
    with pytest.raises(ConfigError, match="files"):
        make_folder(files)


def test_a_folder_on_disk_is_copied(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.txt").write_text("one")
    (tmp_path / "sub" / "b.csv").write_text("x,y\n")
    (tmp_path / "link.txt").symlink_to("sub/b.csv")
    (tmp_path / "linked").symlink_to("sub")
    expected = {"a.txt": "one", "link.txt": "x,y\n", "sub/b.csv": "x,y\n"}
    assert load_folder(tmp_path) == expected
    box = Toolbox(files_tools(tmp_path))
    states = box.start()
    assert states["files"] == expected
    play(states, ("write_file", {"path": "a.txt", "content": "two"}), box=box)
    assert (tmp_path / "a.txt").read_text() == "one"


@pytest.mark.parametrize("kind", ["file", "folder", "dangling", "up", "chain"])
def test_links_that_lead_out_of_a_folder_on_disk_are_refused(tmp_path, kind):
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "a.txt").write_text("one")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "s.txt").write_text("secret")
    link = inside / "link"
    if kind == "chain":
        (inside / "second").symlink_to(tmp_path / "secret" / "s.txt")
    targets = {
        "file": tmp_path / "secret" / "s.txt",
        "folder": tmp_path / "secret",
        "dangling": tmp_path / "absent",
        "up": "..",
        "chain": "second",
    }
    link.symlink_to(targets[kind])
    with pytest.raises(ConfigError, match="leads out of"):
        files_tools(inside)


def test_what_on_disk_is_no_text_is_refused(tmp_path):
    (tmp_path / "a.bin").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match=r"a\.bin.*cannot be read as text"):
        load_folder(tmp_path)
    (tmp_path / "a.bin").unlink()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigError, match="neither a file nor a folder"):
        load_folder(tmp_path)
    (tmp_path / "pipe").unlink()
    (tmp_path / "large.txt").write_text("x" * (MAX_BYTES + 1))
    with pytest.raises(ConfigError, match="holds more than"):
        load_folder(tmp_path)
    with pytest.raises(ConfigError, match="is not a folder"):
        load_folder(tmp_path / "large.txt")


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(ConfigError, match="files: 'a'"):
        files_tools(tmp_path)


def test_half_a_character_is_refused_at_the_start():
    with pytest.raises(ConfigError, match=r"'a\.txt' holds half a character"):
        files_tools({"a.txt": "\ud800"})
