"""The folder of a run: its lock, its settings, its metrics and its checkpoints."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from llmzoo import files
from llmzoo.distributed import ranks
from llmzoo.errors import CheckpointError
from llmzoo.learners import learner_config
from llmzoo.policies.base import default_max_new_tokens
from llmzoo.policies.run_models import CHECKPOINTS, is_run, list_checkpoints

# settings of where and how the work is done, which do not change results
PLACEMENT = ("engine", "engine_args", "device", "parallel", "cpu_offload")
# settings that a resumed run may change: its length, the above, and what is recorded
CHANGEABLE_ON_RESUME = ("steps", *PLACEMENT, "record_every", "record_tasks", "trust_remote_code")
LOCK = ".lock"
_FOLDERS = (CHECKPOINTS, "tensorboard")
_FILES = (
    *("config.json", "before.json", "after.json", "metrics.jsonl", "played.jsonl"),
    *("provenance.json", "curve.png", "report.html"),
)


def check_new_folder(run: Path) -> None:
    """Raise :class:`CheckpointError` if this folder cannot hold a new run. Nothing is written.

    This check runs before models are loaded; :func:`locked` and :func:`write_or_check_config` check again.
    """
    if (run / "config.json").exists():
        raise CheckpointError(f"{run} already holds a run: resume it, or choose another folder")
    why = files.unwritable_reason(run)
    if why:
        raise CheckpointError(f"{why}: choose another folder for the run")


@contextmanager
def locked(run: Path, *, resume: bool) -> Iterator[None]:
    """Lock a run folder for this process; create the folder if it is new.

    Partly written files of a killed run are removed. The system releases the lock when the process
    ends. Raises :class:`CheckpointError` if another process holds the lock, if the folder contains a
    link or device, or if there is no run to resume.
    """
    if resume and not (run / "config.json").exists():
        raise CheckpointError(f"{run} contains no run to resume")
    try:
        run.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise CheckpointError(f"{run} is not a folder: choose another folder for the run") from None
    except FileNotFoundError:  # a file system such as /proc, which claims to be writable
        raise CheckpointError(
            f"{run} cannot be created: choose another folder for the run"
        ) from None
    _check_files(run)
    with files.open_for_append(run / LOCK) as lock:
        _acquire_lock(run, lock.fileno())
        for path in _leftovers(run):
            files.remove(path)
        yield


def _check_files(run: Path) -> None:
    for name in (*_FILES, LOCK):
        if os.path.lexists(run / name):
            files.check_plain_file(run / name)
    for name in _FOLDERS:
        if os.path.lexists(run / name):
            files.check_folder(run / name)
    for checkpoint in list_checkpoints(run / CHECKPOINTS):
        files.check_tree(checkpoint)


def _acquire_lock(run: Path, descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = (run / LOCK).read_text() or "another process"
        raise CheckpointError(
            f"{run} is in use by {holder}: wait until it ends, or stop it"
        ) from None
    except OSError as error:  # some network file systems have no locks
        warnings.warn(
            f"{run} cannot be locked ({error.strerror}): make sure that no other process writes to it",
            stacklevel=2,
        )
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()}".encode())


def _leftovers(run: Path) -> list[Path]:
    """Partly written files of a killed run. Only names that llmzoo uses are listed."""
    return [
        *(path for path in run.glob(f"{files.TEMPORARY_PREFIX}*") if not path.is_dir()),
        *(run / CHECKPOINTS).glob(f"{files.TEMPORARY_PREFIX}*"),
    ]


def write_or_check_config(run: Path, config: Mapping[str, Any], *, resume: bool) -> None:
    """Write ``config.json`` of a new run, or check that a resumed run has the same settings.

    Only the settings in ``CHANGEABLE_ON_RESUME`` may differ. Raises :class:`CheckpointError` if a new
    run would overwrite another, if there is no run to resume, or if its settings differ.
    """
    path = run / "config.json"
    text = json.dumps(config, indent=2, default=str) + "\n"
    if not resume:
        check_new_folder(run)
        run.mkdir(parents=True, exist_ok=True)
        files.write(path, text)
        return
    check_unchanged(run, config)
    files.write(path, text)


def as_json(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings in the form of ``config.json``."""
    return dict(json.loads(json.dumps(dict(settings), default=str)))


def changed_settings(
    saved: Mapping[str, Any], wanted: Mapping[str, Any], *, without: Collection[str]
) -> list[str]:
    """The settings that differ, except for those in ``without``; both in JSON form."""
    return [name for name in wanted if name not in without and saved.get(name) != wanted[name]]


def without_self_play_defaults(
    saved: Mapping[str, Any], wanted: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The saved settings, without the self-play defaults that llmzoo added to ``learner_args``.

    ``wanted``: settings as the user gives them. If its ``learner_args`` plus the defaults are the saved ones,
    both mean the same run.
    """
    options = getattr(learner_config(wanted["learner"]), "self_play", {})
    if saved.get("learner_args") == {**options, **wanted["learner_args"]}:
        return {**saved, "learner_args": wanted["learner_args"]}
    return saved


def check_unchanged(run: Path, config: Mapping[str, Any]) -> None:
    """Raise :class:`CheckpointError` unless the run has these settings, except for those in
    ``CHANGEABLE_ON_RESUME``."""
    saved = read_config(run)
    if saved is None:
        raise CheckpointError(f"{run} contains no run to resume")
    now = as_json(config)
    if changed := changed_settings(saved, now, without=CHANGEABLE_ON_RESUME):
        raise CheckpointError(
            f"{run} was started with other settings: "
            + ", ".join(f"{k}={saved.get(k)!r} (now {now[k]!r})" for k in changed)
        )


def keep_lines(path: Path, wanted: Callable[[dict[str, Any]], bool]) -> None:
    """Rewrite a file of JSON lines with only the wanted rows, without a truncated last line.

    Lines that are not rows are appended to ``NAME.unreadable``, with a warning.
    """
    if not os.path.lexists(path):
        return
    unreadable = []
    with files.atomic_writer(path) as saved:
        for line in files.iter_lines(path):
            row = parse_row(line)
            if row is None:
                unreadable.append(line)
            elif wanted(row):
                saved.write(line)
        if unreadable:
            aside = path.with_name(f"{path.name}.unreadable")
            with files.open_for_append(aside) as file:
                file.buffer.write(b"".join(unreadable))
            warnings.warn(
                f"{len(unreadable)} lines of {path} cannot be read; they are now in {aside}",
                stacklevel=2,
            )


def parse_row(line: bytes) -> dict[str, Any] | None:
    """The row in a line of metrics or recorded episodes; None if the line is not a row."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and type(row.get("step")) is int else None


def flatten(
    values: Mapping[str, Any], separator: str, prefix: str = ""
) -> Iterator[tuple[str, Any]]:
    """Nested mappings as pairs: ``{"a": {"b": 1}}`` gives ``("a/b", 1)`` with the ``separator`` ``/``.

    An empty mapping gives nothing.
    """
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flatten(value, separator, f"{prefix}{name}{separator}")
        else:
            yield f"{prefix}{name}", value


def read_metrics(run: Path, kind: str) -> list[dict[str, Any]]:
    """The readable rows of one kind, ``train`` or ``eval``, in ``metrics.jsonl``."""
    rows = filter(None, map(parse_row, files.iter_lines(run / "metrics.jsonl", keep_all=True)))
    return [row for row in rows if row.get("kind") == kind]


def read_evaluation(run: Path, name: str) -> dict[str, Any]:
    """The evaluation ``before`` or ``after`` a run; raises :class:`CheckpointError` if missing."""
    saved = files.read_json_object(run / f"{name}.json")
    if saved is None:
        raise CheckpointError(f"{run} has no {name}.json")
    return saved


def load_or_compute(path: Path, measure: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The result of ``measure``, saved to a file that a resumed run reads instead.

    All ranks must call this together.
    """
    saved = ranks.broadcast(files.read_json_object(path))
    if saved is not None:
        return dict(saved)
    result = measure()
    if ranks.rank() == 0:
        files.write(path, json.dumps(result, indent=2) + "\n")
    return result


_MAPPINGS = ("env_args", "learner_args", "agent_args", "engine_args", "sampler_args")


def read_config(run: Path) -> dict[str, Any] | None:
    """The settings in a run's ``config.json``; None without the file."""
    settings = files.read_json_object(run / "config.json")
    if settings is None:
        return None
    mappings = {name: settings[name] for name in _MAPPINGS if name in settings}
    if isinstance(settings.get("agent_args"), dict):
        mappings |= {f"agent_args of {agent}": own for agent, own in settings["agent_args"].items()}
    for name, value in mappings.items():
        if not isinstance(value, dict):
            where = run / "config.json"
            raise CheckpointError(f"{where}: {name!r} must be a mapping, got {value!r:.80}")
    return settings


def require_config(run: str | Path, *needed: str) -> dict[str, Any]:
    """The configuration of a run; raises :class:`CheckpointError` if it lacks a setting in ``needed``."""
    config = read_config(Path(run))
    if config is None:
        raise CheckpointError(f"{run} has no config.json")
    absent = [name for name in needed if name not in config]
    if absent:
        raise CheckpointError(f"the config.json of {run} lacks {', '.join(absent)}")
    return config


def read_chat_settings(run: str | Path) -> dict[str, Any]:
    """The fields of ``Chat`` in a run's configuration. Runs of earlier versions have none."""
    config = require_config(run)
    return {name: config.get(name) for name in ("system", "chat_template_args", "thought_end")}


def max_new_tokens_for(name: str | Path) -> int:
    """The default of ``max_new_tokens`` for a model or a run."""
    seen: set[Path] = set()
    while is_run(name):
        config = require_config(name)
        given = config.get("max_new_tokens")
        if given:
            return _check_max_new_tokens(name, given)
        seen.add(Path(name).resolve())
        name = str(config.get("model"))
        if Path(name).resolve() in seen:
            raise CheckpointError(
                f"the config.json of {name} names the run itself as its starting model"
            )
    return default_max_new_tokens(str(name))


def _check_max_new_tokens(run: str | Path, given: Any) -> int:
    if type(given) is not int or given < 1:
        raise CheckpointError(
            f"{run}: max_new_tokens must be a whole number of at least 1, got {given!r}"
        )
    return int(given)
