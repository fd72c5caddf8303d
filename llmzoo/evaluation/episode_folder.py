"""The folder of an evaluation: every episode is saved as soon as it ends.

    config.json      the settings: environment, policies, tasks, seed
    episodes.jsonl   one line for each episode; once all have ended, in the order of tasks and samples
    result.json      the evaluation, once all have ended

An evaluation that was killed resumes from these files. Episodes are played in rounds of many at
once, and the number of episodes in a round can change a model's completions by rounding. So an
interrupted round is played again as a whole, unless that would repeat billed calls of a server:
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

    def __init__(self, folder: Path, file: TextIO, *, replayed: bool):
        self._folder, self._file, self._replayed = folder, file, replayed
        self._rows = {
            sample_key(row): row for row in read_rows(folder) if not _has_failed_call(row)
        }
        self._writing = Lock()  # episodes of slow environments end in other threads

    def take(self, keys: Sequence[SampleKey]) -> dict[SampleKey, Episode]:
        """The saved episodes of a round: all of them if the round was completed. If it was interrupted: none
        if interrupted rounds are replayed, and otherwise those that had ended."""
        kept = [place for place in keys if place in self._rows]
        if self._replayed and len(kept) < len(keys):
            return {}
        return {place: to_episode(self._rows[place]) for place in kept}

    @property
    def ids(self) -> Collection[str]:
        """The ids of the episodes that earlier calls saved."""
        return {str(row["id"]) for row in self._rows.values()}

    @property
    def next_task(self) -> int:
        """The number after that of the last task that earlier calls saved."""
        return 1 + max((task for task, _ in self._rows), default=-1)

    def add(self, key: SampleKey, episode: Episode, id: str) -> None:
        """Save an episode that has ended; it is on disk when this returns."""
        line = files.dump_json(to_row(episode, key, id)) + "\n"
        with self._writing:
            self._file.write(line)
            self._file.flush()

    def finish(self, result: Mapping[str, Any]) -> None:
        """Sort the saved episodes, and write the result."""
        path = self._folder / EPISODES_FILE
        # if an episode was played again, its last line counts
        lines = {sample_key(json.loads(line)): line for line in read_lines(path)}
        files.write(path, b"".join(lines[place] for place in sorted(lines)))
        files.write(self._folder / RESULT_FILE, json.dumps(result, indent=2) + "\n")


def _has_failed_call(row: Mapping[str, Any]) -> bool:
    """Whether the call of an endpoint failed in this episode, which is then played again."""
    return any(decision["completion"].get("failure") for decision in row["decisions"])


@contextmanager
def open_episode_folder(
    folder: Path, config: Mapping[str, Any], *, resume: bool, replayed: bool
) -> Iterator[EpisodeFolder]:
    """The folder of an evaluation, locked for this process. ``replayed``: replay interrupted rounds.

    Raises :class:`llmzoo.errors.CheckpointError` if the folder contains another evaluation or, with
    ``resume``, none or one with other settings.
    """
    with run_folder.locked(folder, resume=resume):
        run_folder.prepare(folder, config, resume=resume)
        # a killed process may have left an incomplete last line
        files.write(folder / EPISODES_FILE, b"".join(read_lines(folder / EPISODES_FILE)))
        files.remove(folder / RESULT_FILE)
        with files.open_for_append(folder / EPISODES_FILE) as file:
            yield EpisodeFolder(folder, file, replayed=replayed)
