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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from llmzoo import registry
from llmzoo.envs.base import TextEnv
from llmzoo.envs.drawing.board import BoardInText
from llmzoo.errors import CheckpointError, ConfigError, LlmzooError
from llmzoo.files import iter_bounded_lines, open_plain_file

CHUNK_CHARS = 400_000  # characters of JSON in a chunk
# a text whole, or cut where it shows boards: {"text": as it is written, "board": rows of cells}
Segments = str | list[str | dict[str, Any]]
SplitFn = Callable[[str], Segments]


@dataclass(slots=True)
class RecordedEpisodes:
    """``played.jsonl`` of one run, read as it grows.

    ``draw`` turns a prompt into what the page shows (:func:`make_board_splitter`). ``index`` has one row per
    episode, in the order of the file; the texts are in ``chunks``. ``unreadable`` counts the lines
    that are not episodes.
    """

    path: Path
    draw: SplitFn
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
            row, body = index_row(record), compact_json(episode_body(record, self.draw))
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


def episode_body(record: Mapping[str, Any], draw: SplitFn) -> dict[str, Any]:
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
                "prompt": draw(str(turn["prompt"])),
                "answers": [_answer_body(answer, draw) for answer in turn["answers"]],
            }
            for turn in record["turns"]
        ],
    }


def _answer_body(answer: Mapping[str, Any], draw: SplitFn) -> dict[str, Any]:
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
        "reply": None if reply is None else draw(str(reply)),
    }


def make_board_splitter(env_id: str) -> Callable[[str], Segments]:
    """A function that splits texts of this environment at the boards that they show.

    Only registered environments are used. A run folder cannot make the report import a
    ``module:name`` or call a server; texts of such environments stay whole.
    """
    cls = env_class(env_id)
    if cls is None:
        return _keep_whole
    return lambda text: split_at_boards(text, cls.find_boards(text))


def split_at_boards(text: str, sightings: Sequence[BoardInText]) -> Segments:
    """``text`` split at its boards; the whole text if it has none."""
    segments: list[str | dict[str, Any]] = []
    at = 0
    for seen in sorted(sightings, key=lambda seen: seen.start):
        if seen.start < at:  # within a board that is drawn already
            continue
        segments += [text[at : seen.start]] if seen.start > at else []
        board = seen.board.to_dict()
        rows = [[[cell["symbol"], cell["kind"]] for cell in row] for row in board["rows"]]
        drawn = {"rows": rows, "block": board["block"], "shows": seen.shows}
        segments.append({"text": text[seen.start : seen.end], "board": drawn})
        at = seen.end
    if not segments:
        return text
    return [*segments, text[at:]] if at < len(text) else segments


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


def env_class(env_id: str) -> type[TextEnv] | None:
    """The class of a registered environment; None for code and for what is absent here."""
    if registry.is_remote(env_id) or registry.imports_code(env_id):
        return None
    try:
        spec = registry.spec(env_id)
        env = registry.make(env_id, **spec.offline).unwrapped
    except (LlmzooError, OSError):  # unknown here, or what it needs is absent
        return None
    return type(env) if isinstance(env, TextEnv) else None


def _keep_whole(text: str) -> Segments:
    return text
