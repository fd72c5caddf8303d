"""The folder of an evaluation: every episode is saved as soon as it ends.

    config.json      the settings: environment, policies, tasks, seed
    episodes.jsonl   one line for each episode; once all have ended, in the order of tasks and samples
    result.json      the evaluation, once all have ended

An evaluation that was killed resumes from these files. Episodes are played in chunks of many at
once, and the number of episodes in a chunk can change a model's completions by rounding. So an
interrupted chunk is played again as a whole, unless that would repeat billed calls of a server:
then its finished episodes are kept.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, TextIO

from llmzoo import files
from llmzoo.records import Episode
from llmzoo.records.episode_rows import (
    EPISODES_FILE,
    SampleKey,
    read_lines,
    read_rows,
    sample_key,
    to_episode,
    to_row,
)
from llmzoo.runs import run_folder

RESULT_FILE = "result.json"


class EpisodeFolder:
    """The episodes that an evaluation has saved so far; see :func:`open_episode_folder`."""

    def __init__(self, folder: Path, file: TextIO, *, replay_interrupted: bool):
        self._folder, self._file, self._replay_interrupted = folder, file, replay_interrupted
        self._rows = {
            sample_key(row): row for row in read_rows(folder) if not _has_failed_call(row)
        }
        self._write_lock = Lock()  # episodes of slow environments end in other threads

    def load_chunk(self, keys: Sequence[SampleKey]) -> dict[SampleKey, Episode]:
        """The saved episodes of a chunk.

        For a completed chunk these are all. For an interrupted one they are none if interrupted chunks
        are replayed, and otherwise those that had ended.
        """
        saved = [key for key in keys if key in self._rows]
        if self._replay_interrupted and len(saved) < len(keys):
            return {}
        return {key: to_episode(self._rows[key]) for key in saved}

    @property
    def ids(self) -> Collection[str]:
        """The ids of the episodes that earlier calls saved."""
        return {str(row["id"]) for row in self._rows.values()}

    @property
    def next_task(self) -> int:
        """One more than the highest task number that earlier calls saved; 0 if they saved none."""
        return 1 + max((task for task, _ in self._rows), default=-1)

    def add(self, key: SampleKey, episode: Episode, id: str) -> None:
        """Save an episode that has ended; it is on disk when this returns."""
        line = files.dump_json(to_row(episode, key, id)) + "\n"
        with self._write_lock:
            self._file.write(line)
            self._file.flush()

    def finish(self, result: Mapping[str, Any]) -> None:
        """Sort the saved episodes, and write the result."""
        path = self._folder / EPISODES_FILE
        # if an episode was played again, its last line counts
        lines = {sample_key(json.loads(line)): line for line in read_lines(path)}
        files.write(path, b"".join(lines[key] for key in sorted(lines)))
        files.write(self._folder / RESULT_FILE, json.dumps(result, indent=2) + "\n")


def _has_failed_call(row: Mapping[str, Any]) -> bool:
    """Whether the call of an endpoint failed in this episode, which is then played again."""
    return any(decision["completion"].get("failure") for decision in row["decisions"])


@contextmanager
def open_episode_folder(
    folder: Path, config: Mapping[str, Any], *, resume: bool, replay_interrupted: bool
) -> Iterator[EpisodeFolder]:
    """The folder of an evaluation, locked for this process.

    ``replay_interrupted``: play interrupted chunks again as a whole.

    Raises :class:`llmzoo.errors.CheckpointError` if the folder contains another evaluation or, with
    ``resume``, none or one with other settings.
    """
    with run_folder.locked(folder, resume=resume):
        run_folder.write_or_check_config(folder, config, resume=resume)
        # a killed process may have left an incomplete last line
        files.write(folder / EPISODES_FILE, b"".join(read_lines(folder / EPISODES_FILE)))
        files.remove(folder / RESULT_FILE)
        with files.open_for_append(folder / EPISODES_FILE) as file:
            yield EpisodeFolder(folder, file, replay_interrupted=replay_interrupted)
