"""The file system: directories and files of one user. It is simulated; nothing touches the disk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from llmzoo.envs.tools.bfcl_multi_turn.apis.base import API, Padding

MAX_WALK = 20_000  # entries that one search may visit: copied directories share their contents

_FORBIDDEN = '|/\\?%*:"><'  # in the name of a file or directory
_UNITS = ("B", "KB", "MB", "GB", "TB")


class File(NamedTuple):
    name: str
    content: str


class Directory(NamedTuple):
    """``parent``: the number of a node, None for the root. ``table``: the number of its table of entries,
    which it may share with a directory that was moved."""

    name: str
    parent: int | None
    table: int


Node = File | Directory


class GorillaFileSystem(API):
    """Nodes are numbered. A copy shares the files of the original, as in BFCL: ``cp`` of a directory copies
    its table of entries, not what they stand for."""

    about = "A simple file system with a current directory."

    def __init__(self, config: Mapping[str, Any], padding: Padding | None = None):
        super().__init__(config, padding)
        self._nodes: list[Node] = []
        self._tables: list[dict[str, int]] = []
        name, entries = "/", None
        if "root" in config:
            name = next(iter(config["root"]))
            entries = config["root"][name]["contents"]
        self._root = self._new_directory(name, None)
        if entries is not None:
            self._load(self._root, entries)
        self._current = self._root

    def __deepcopy__(self, memo: dict[int, Any]) -> GorillaFileSystem:
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        copied._nodes = list(self._nodes)
        copied._tables = [dict(table) for table in self._tables]
        return copied

    def _state_differences(self, truth: API) -> list[str]:
        assert isinstance(truth, GorillaFileSystem)
        todo, seen = [(self._root, truth._root)], set()
        while todo:
            pair = todo.pop()
            if pair in seen:
                continue
            seen.add(pair)
            mine, other = self._nodes[pair[0]], truth._nodes[pair[1]]
            if type(mine) is not type(other) or mine.name != other.name:
                return ["root"]
            if isinstance(mine, File) and isinstance(other, File):
                if mine.content != other.content:
                    return ["root"]
            elif isinstance(mine, Directory) and isinstance(other, Directory):
                here, there = self._tables[mine.table], truth._tables[other.table]
                if here.keys() != there.keys():
                    return ["root"]
                todo += [(node, there[name]) for name, node in here.items()]
        return []

    def _load(self, root: int, entries: Mapping[str, Any]) -> None:
        todo = [(root, entries)]
        while todo:
            directory, entries = todo.pop()
            table = self._table(directory)
            inner = []
            for name, entry in entries.items():
                if entry["type"] == "directory":
                    table[name] = self._new_directory(name, directory)
                    inner.append((table[name], entry["contents"]))
                elif entry["type"] == "file":
                    content = entry["content"]
                    if self._padding is not None and name not in self._padding["FILES_TAIL_USED"]:
                        content += self._padding["FILE_CONTENT_EXTENSION"]
                    table[name] = self._new(File(name, content))
            if self._padding is not None and not inner:
                for name in self._padding["POPULATE_FILE_EXTENSION"]:
                    self._add_file(directory, name, "")
            todo += inner

    def _new(self, node: Node) -> int:
        self._nodes.append(node)
        return len(self._nodes) - 1

    def _new_directory(self, name: str, parent: int | None) -> int:
        self._tables.append({})
        return self._new(Directory(name, parent, len(self._tables) - 1))

    def _table(self, directory: int) -> dict[str, int]:
        node = self._nodes[directory]
        assert isinstance(node, Directory)
        return self._tables[node.table]

    def _here(self) -> dict[str, int]:
        return self._table(self._current)

    def _add_file(self, directory: int, name: str, content: str) -> None:
        table = self._table(directory)
        if name in table:
            where = self._nodes[directory].name
            raise ValueError(f"File '{name}' already exists in directory '{where}'.")
        table[name] = self._new(File(name, content))

    def _add_directory(self, directory: int, name: str) -> int:
        table = self._table(directory)
        if name in table:
            where = self._nodes[directory].name
            raise ValueError(f"Directory '{name}' already exists in directory '{where}'.")
        table[name] = self._new_directory(name, directory)
        return table[name]

    def _file(self, name: str) -> File | None:
        """The file of this name in the current directory; None if there is none."""
        number = self._here().get(name)
        node = None if number is None else self._nodes[number]
        return node if isinstance(node, File) else None

    def _find_directory(self, path: str) -> int | None:
        """The directory at a path; None if there is none."""
        if path == ".":
            return self._current
        if path == "/":
            return self._root
        names = path.strip("/").split("/")
        at = self._root if path.startswith("/") else self._current
        for name in names:
            if name == ".":
                continue
            number = self._table(at).get(name)
            if number is None or not isinstance(self._nodes[number], Directory):
                return None
            at = number
        return at

    def _walk(self, directory: int, path: str) -> Iterator[tuple[str, str, Node]]:
        """Path, name in its table, and node of everything below a directory, depth first."""
        steps = 0
        todo = [(f"{path}/{name}", name, node) for name, node in self._table(directory).items()]
        todo.reverse()
        while todo:
            steps += 1
            if steps > MAX_WALK:
                raise RecursionError("maximum recursion depth exceeded")
            path, name, number = todo.pop()
            node = self._nodes[number]
            yield path, name, node
            if isinstance(node, Directory):
                inner = self._table(number).items()
                todo += reversed([(f"{path}/{name}", name, each) for name, each in inner])

    def pwd(self) -> Any:
        """Tell the path of the current directory."""
        names: list[str] = []
        at: int | None = self._current
        while at is not None:
            node = self._nodes[at]
            assert isinstance(node, Directory)
            names.append(node.name)
            at = node.parent
        return {"current_working_directory": "/" + "/".join(reversed(names))}

    def ls(self, a: bool = False) -> Any:
        """List the current directory.

        a: Whether to list hidden entries too, whose names begin with a dot.
        """
        names = list(self._here())
        if not a:
            names = [name for name in names if not name.startswith(".")]
        return {"current_directory_content": names}

    def cd(self, folder: str) -> Any:
        """Go into a directory of the current one, or back to the one above it.

        folder: Name of the directory, ".." for the one above, "/" for the root. One level at a time;
        """
        folder = folder.rstrip("/") or "/"
        if folder not in {".", "..", "/"} and "/" in folder:
            return {
                "error": f"cd: {folder}: Unsupported path. Only one folder level at a time is supported."
            }
        if folder == "..":
            node = self._nodes[self._current]
            assert isinstance(node, Directory)
            if node.parent is None:
                return {"error": "Current directory is already the root. Cannot go back."}
            self._current = node.parent
            return {}
        found = self._find_directory(folder)
        if found is None:
            return {"error": f"cd: '{folder}': No such file or directory"}
        self._current = found
        return {"current_working_directory": self._nodes[found].name}

    def mkdir(self, dir_name: str) -> Any:
        """Make a directory in the current directory.

        dir_name: Name of the new directory, not a path.
        """
        if not _is_valid_name(dir_name):
            return {"error": f"mkdir: cannot create directory '{dir_name}': Invalid character"}
        if dir_name in self._here():
            return {"error": f"mkdir: cannot create directory '{dir_name}': File exists"}
        self._add_directory(self._current, dir_name)
        return None

    def touch(self, file_name: str) -> Any:
        """Make an empty file in the current directory.

        file_name: Name of the new file, with any extension; not a path.
        """
        if not _is_valid_name(file_name):
            return {"error": f"touch: cannot touch '{file_name}': Invalid character"}
        if file_name in self._here():
            return {"error": f"touch: cannot touch '{file_name}': File exists"}
        self._add_file(self._current, file_name, "")
        return None

    def echo(self, content: str, file_name: str | None = None) -> Any:
        """Replace what a file holds by a text, or show the text if no file is named.

        content: The text.
        file_name: Name of an existing file in the current directory.
        """
        if file_name is None:
            return {"terminal_output": content}
        if not _is_valid_name(file_name):
            return {"error": f"echo: cannot write to '{file_name}': Invalid character"}
        if not file_name:
            return {"terminal_output": content}
        if file_name not in self._here():
            return {"error": f"echo: cannot write to '{file_name}': No such file"}
        number = self._here()[file_name]
        node = self._nodes[number]
        if not isinstance(node, File):
            raise AttributeError("'Directory' object has no attribute '_write'")
        self._nodes[number] = File(node.name, content)
        return None

    def cat(self, file_name: str) -> Any:
        """Show what a file holds.

        file_name: Name of a file in the current directory, not a path.
        """
        if not _is_valid_name(file_name):
            return {"error": f"cat: '{file_name}': Invalid character"}
        if file_name not in self._here():
            return {"error": f"cat: '{file_name}': No such file or directory"}
        file = self._file(file_name)
        if file is None:
            return {"error": f"cat: '{file_name}': Is a directory"}
        return {"file_content": file.content}

    def find(self, path: str = ".", name: str | None = None) -> Any:
        """Search a directory and all directories below it for files and directories by name.

        path: The directory in which to begin; "." is the current one.
        name: Text that the name must contain. Without it everything is listed.
        """
        start = self._current if path is None else self._find_directory(path)
        if start is None:
            return {"error": f"find: '{path}': No such file or directory"}
        found = [
            where
            for where, entry, _ in self._walk(start, path.rstrip("/"))
            if name is None or name in entry
        ]
        return {"matches": found}

    def wc(self, file_name: str, mode: str = "l") -> Any:
        """Count the lines, words or characters of a file.

        file_name: Name of a file in the current directory.
        mode: What to count: "l" lines, "w" words, "c" characters.
        """
        if mode not in ["l", "w", "c"]:
            return {"error": f"wc: invalid mode '{mode}'"}
        file = self._file(file_name)
        if file is None:
            return {"error": f"wc: {file_name}: No such file or directory"}
        if mode == "l":
            return {"count": len(file.content.splitlines()), "type": "lines"}
        if mode == "w":
            return {"count": len(file.content.split()), "type": "words"}
        return {"count": len(file.content), "type": "characters"}

    def sort(self, file_name: str) -> Any:
        """Show the lines of a file in sorted order. The file stays as it is.

        file_name: Name of a file in the current directory.
        """
        file = self._file(file_name)
        if file is None:
            return {"error": f"sort: {file_name}: No such file or directory"}
        return {"sorted_content": "\n".join(sorted(file.content.splitlines()))}

    def grep(self, file_name: str, pattern: str) -> Any:
        """Show the lines of a file that contain a text.

        file_name: Name of a file in the current directory, not a path.
        pattern: The text to look for, letter by letter.
        """
        file = self._file(file_name)
        if file is None:
            return {"error": f"grep: {file_name}: No such file or directory"}
        return {"matching_lines": [line for line in file.content.splitlines() if pattern in line]}

    def du(self, human_readable: bool = False) -> Any:
        """Add up the sizes of all files in the current directory and below it.

        human_readable: Whether to give the size in a fitting unit (KB, MB, ...) and not in bytes.
        """
        size: float = sum(
            len(node.content.encode("utf-8"))
            for _, _, node in self._walk(self._current, "")
            if isinstance(node, File)
        )
        if not human_readable:
            return {"disk_usage": f"{size} bytes"}
        for unit in _UNITS:
            if size < 1024:
                return {"disk_usage": f"{size:.2f} {unit}"}
            size /= 1024
        return {"disk_usage": f"{size:.2f} PB"}

    def tail(self, file_name: str, lines: int = 10) -> Any:
        """Show the last lines of a file.

        file_name: Name of a file in the current directory, not a path.
        lines: How many lines.
        """
        file = self._file(file_name)
        if file is None:
            return {"error": f"tail: {file_name}: No such file or directory"}
        content = file.content.splitlines()
        if lines > len(content):
            lines = len(content)
        return {"last_lines": "\n".join(content[-lines:])}

    def diff(self, file_name1: str, file_name2: str) -> Any:
        """Show where two files differ, comparing the first line with the first line and so on.

        file_name1: Name of a file in the current directory.
        file_name2: Name of another file in the current directory.
        """
        first, second = self._file(file_name1), self._file(file_name2)
        if first is None or second is None:
            return {"error": f"diff: {file_name1} or {file_name2}: No such file or directory"}
        pairs = zip(first.content.splitlines(), second.content.splitlines(), strict=False)
        return {"diff_lines": "\n".join(f"- {old}\n+ {new}" for old, new in pairs if old != new)}

    def mv(self, source: str, destination: str) -> Any:
        """Move a file or directory into a directory, or give it another name.

        source: Name of a file or directory in the current directory.
        destination: Name of a directory in the current directory, or the new name. Not a path.
        """
        problem, item, folder = self._resolve_placement("mv", "move", source, destination)
        if problem is not None:
            return problem
        here = self._here()
        if folder is None:
            here.pop(source)
            self._place(self._current, destination, item)
            return {"result": f"'{source}' moved to '{destination}'"}
        if source in self._table(folder):
            return {"error": f"mv: cannot move '{source}' to '{destination}/{source}': File exists"}
        here.pop(source)
        self._place(folder, source, item)
        return {"result": f"'{source}' moved to '{destination}/{source}'"}

    def rm(self, file_name: str) -> Any:
        """Remove a file, or a directory with all that is in it.

        file_name: Name of a file or directory in the current directory.
        """
        if file_name not in self._here():
            return {"error": f"rm: cannot remove '{file_name}': No such file or directory"}
        self._here().pop(file_name)
        return {"result": f"'{file_name}' removed"}

    def rmdir(self, dir_name: str) -> Any:
        """Remove an empty directory.

        dir_name: Name of a directory in the current directory.
        """
        if dir_name not in self._here():
            return {"error": f"rmdir: cannot remove '{dir_name}': No such file or directory"}
        number = self._here()[dir_name]
        if isinstance(self._nodes[number], File):
            return {"error": f"rmdir: cannot remove '{dir_name}': Not a directory"}
        if self._table(number):
            return {"error": f"rmdir: cannot remove '{dir_name}': Directory not empty"}
        self._here().pop(dir_name)
        return {"result": f"'{dir_name}' removed"}

    def cp(self, source: str, destination: str) -> Any:
        """Copy a file or directory into a directory, or under another name.

        source: Name of a file or directory in the current directory.
        destination: Name of a directory in the current directory, or the name of the copy. Not a path.
        """
        problem, item, folder = self._resolve_placement("cp", "copy", source, destination)
        if problem is not None:
            return problem
        if folder is None:
            self._place(self._current, destination, item, share=False)
            return {"result": f"'{source}' copied to '{destination}'"}
        self._place(folder, source, item, share=False)
        return {"result": f"'{source}' copied to '{destination}/{source}'"}

    def _resolve_placement(
        self, command: str, verb: str, source: str, destination: str
    ) -> tuple[dict[str, str] | None, Node, int | None]:
        """What is wrong with a move or a copy (None if nothing), what it places, and the directory into which
        (None: the current one, under the name of the destination)."""
        here = self._here()
        nothing = File("", "")
        if source not in here:
            wrong = f"{command}: cannot {verb} '{source}': No such file or directory"
            return {"error": wrong}, nothing, None
        item = self._nodes[here[source]]
        if "/" in destination:
            wrong = f"{command}: path not allowed in destination. Provide only a file or directory name."
            return {"error": wrong}, nothing, None
        if destination not in here:
            return None, item, None
        if isinstance(self._nodes[here[destination]], File):
            wrong = f"{command}: cannot {verb} '{source}' to '{destination}': Not a directory"
            return {"error": wrong}, nothing, None
        return None, item, here[destination]

    def _place(self, directory: int, name: str, item: Node, *, share: bool = True) -> None:
        """Place a file, or a directory. ``share``: it has the same table of entries as the original."""
        if isinstance(item, File):
            self._add_file(directory, name, item.content)
            return
        number = self._add_directory(directory, name)
        table = item.table
        if not share:
            self._tables.append(dict(self._tables[table]))
            table = len(self._tables) - 1
        self._nodes[number] = Directory(name, directory, table)


def _is_valid_name(name: str) -> bool:
    return not any(character in name for character in _FORBIDDEN)
