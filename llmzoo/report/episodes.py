"""The episodes of ``played.jsonl``, packed for the page.

Thousands of episodes are tens of megabytes of text. The page contains them compressed, in chunks of
:data:`CHUNK_CHARS` characters that the browser unpacks when needed, and an index with one row per episode
for the list and its filters.
"""

from __future__ import annotations

import base64
import gzip
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from llmzoo.errors import CheckpointError, ConfigError
from llmzoo.files import iter_bounded_lines, open_plain_file

CHUNK_CHARS = 400_000  # characters of JSON in a chunk


@dataclass(slots=True)
class RecordedEpisodes:
    """``played.jsonl`` of one run, read as it grows.

    ``index`` has one row per episode, in the order of the file; the texts are in ``chunks``.
    ``unreadable`` counts the lines that are not episodes.
    """

    path: Path
    index: list[dict[str, Any]] = field(default_factory=list)
    chunks: list[str] = field(default_factory=list)  # gzip in base64, all of them full
    unreadable: int = 0
    _read: int = 0  # bytes
    _inode: int = -1
    _open: list[str] = field(default_factory=list)  # bodies of the chunk that is not full yet
    _length: int = 0  # of them, in characters

    def update(self) -> None:
        """Read what was added since the last call; everything if the file was replaced."""
        try:
            with open_plain_file(self.path) as file:
                self._update(file)
        except FileNotFoundError:
            self._start_over(-1)
        except CheckpointError as error:
            raise ConfigError(str(error)) from error

    def all_chunks(self) -> list[str]:
        """The full chunks and the one that is not full yet."""
        return [*self.chunks, *([gzip_base64(_join(self._open))] if self._open else [])]

    def _update(self, file: BinaryIO) -> None:
        state = os.fstat(file.fileno())
        if state.st_ino != self._inode or state.st_size < self._read:
            self._start_over(state.st_ino)
        file.seek(self._read)
        for line in iter_bounded_lines(file, self.path):
            if not line.endswith(b"\n"):  # still being written
                break
            self._read += len(line)
            if line.strip():
                self._add(line)

    def _start_over(self, inode: int) -> None:
        self.index, self.chunks, self._open = [], [], []
        self.unreadable = self._read = self._length = 0
        self._inode = inode

    def _add(self, line: bytes) -> None:
        try:
            record = json.loads(line)
            row, body = index_row(record), compact_json(episode_body(record))
        except (
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ):
            # of another shape
            self.unreadable += 1
            return
        self.index.append({**row, "chunk": len(self.chunks), "place": len(self._open)})
        self._open.append(body)
        self._length += len(body)
        if self._length >= CHUNK_CHARS:
            self.chunks.append(gzip_base64(_join(self._open)))
            self._open, self._length = [], 0


def index_row(record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an episode that the list and its filters use."""
    turns = record["turns"]
    answers = [answer for turn in turns for answer in turn["answers"]]
    return {
        "step": int(record["step"]),
        "seed": str(record["seed"]),  # JavaScript's numbers are too short for some
        "success": json_number(record["success"]),
        "returns": {str(agent): json_number(value) for agent, value in record["returns"].items()},
        "acted": list(dict.fromkeys(str(turn["agent"]) for turn in turns)),
        "turns": len(turns),
        "answers": len(answers),
        "errors": sum(bool(answer.get("error")) for answer in answers),
        "truncated": sum(bool(answer.get("truncated")) for answer in answers),
    }


def episode_body(record: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an episode that the page shows when it is selected."""
    return {
        "endings": [
            {
                "success": bool(ending["success"]),
                "totals": {str(k): json_number(v) for k, v in ending["totals"].items()},
                "decisions": ending.get("decisions"),
            }
            for ending in record.get("endings", [])
        ],
        "turns": [
            {
                "agent": str(turn["agent"]),
                "turn": int(turn["turn"]),
                "path": node_path(turn.get("path")),
                "prompt": str(turn["prompt"]),
                "answers": [_answer_body(answer) for answer in turn["answers"]],
            }
            for turn in record["turns"]
        ],
    }


def _answer_body(answer: Mapping[str, Any]) -> dict[str, Any]:
    reply, error, sampled = answer.get("reply"), answer.get("error"), answer.get("sampled")
    return {
        "text": str(answer["text"]),
        "sampled": None if sampled is None else str(sampled),
        "return": json_number(answer.get("return")),
        "advantage": json_number(answer.get("advantage")),
        "tokens": answer.get("tokens"),
        "truncated": bool(answer.get("truncated")),
        "error": None if not error else str(error),
        "parts": {
            str(k): json_number(v) for k, v in (answer.get("reward_components") or {}).items()
        },
        "reply": None if reply is None else str(reply),
        "board": _board_body(answer.get("board")),
    }


def _board_body(board: Any) -> dict[str, Any] | None:
    """A board of :meth:`llmzoo.envs.drawing.Board.to_dict` as rows of [symbol, kind]; None without one."""
    if board is None:
        return None
    cells = [(str(symbol), str(kind)) for symbol, kind in board["cells"]]
    rows = [[cells[int(number)] for number in row] for row in board["rows"]]
    return {"rows": rows, "block": board["block"] and int(board["block"])} if any(rows) else None


def node_path(path: Any) -> str:
    """A turn's path in the tree as a short text; ``""`` at the root."""
    if isinstance(path, Sequence) and not isinstance(path, str):
        return "·".join(filter(None, map(node_path, path)))
    return "" if path is None else str(path)


def json_number(value: Any) -> float | int | str | None:
    """A number for JSON; ``"nan"`` and ``"inf"`` as texts."""
    if value is None:
        return None
    return value if math.isfinite(value) else str(value)


def compact_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def gzip_base64(text: str) -> str:
    """gzip, in base64. Halves of surrogate pairs, which UTF-8 cannot hold, go as JSON's escapes."""
    data = gzip.compress(text.encode("utf-8", "backslashreplace"), compresslevel=6, mtime=0)
    return base64.b64encode(data).decode("ascii")


def pack_index(files: Sequence[RecordedEpisodes]) -> str:
    """The index rows of all runs as columns; ``chunk`` is numbered over all runs."""
    columns: dict[str, list[Any]] = {"run": []}
    first = 0
    for run, played in enumerate(files):
        for row in played.index:
            columns["run"].append(run)
            for name, value in row.items():
                columns.setdefault(name, []).append(value + first if name == "chunk" else value)
        first += len(played.all_chunks())
    return gzip_base64(compact_json(columns))


def file_stamp(path: Path) -> tuple[int, int, int]:
    """A value that changes with the file; zeros without a file."""
    try:
        state = os.stat(path)
    except FileNotFoundError:
        return 0, 0, 0
    return state.st_ino, state.st_size, state.st_mtime_ns


def _join(bodies: Sequence[str]) -> str:
    return f"[{','.join(bodies)}]"
