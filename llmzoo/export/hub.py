"""An export on the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from llmzoo.errors import ConfigError, MissingExtraError


class Api(Protocol):
    """What is used of ``huggingface_hub.HfApi``."""

    def create_repo(self, repo_id: str, *, private: bool, exist_ok: bool) -> Any: ...

    def upload_folder(self, *, repo_id: str, folder_path: str, commit_message: str) -> Any: ...


def push_to_hub(
    folder: str | Path, repo_id: str, *, private: bool = True, api: Api | None = None
) -> str:
    """Upload an export into a model repository, which is made where it is not there; returns its
    address.

    Who is logged in is huggingface_hub's business (``hf auth login``, or ``HF_TOKEN``): no token
    passes through here. ``private``: of a repository that is made now. ``api``: in place of
    ``huggingface_hub.HfApi()``.

    Raises :class:`ConfigError` for a folder that is no export, and where the hub refuses.
    """
    folder = Path(folder)
    if not (folder / "README.md").is_file():
        raise ConfigError(f"{folder} is no export: it has no README.md")
    try:
        from huggingface_hub import HfApi
        from huggingface_hub.errors import (
            HfHubHTTPError,
            HFValidationError,
            LocalTokenNotFoundError,
        )
    except ModuleNotFoundError as error:
        raise MissingExtraError("the hub", "train", error.name) from error
    hub: Any = HfApi() if api is None else api
    try:
        address = hub.create_repo(repo_id, private=private, exist_ok=True)
        hub.upload_folder(
            repo_id=repo_id,
            folder_path=str(folder),
            commit_message=f"{folder.name}, exported by llmzoo",
        )
    except (HfHubHTTPError, HFValidationError, LocalTokenNotFoundError, OSError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(
            f"{repo_id} was not pushed: {reason}. The export is in {folder}; "
            "hf auth login, or the variable HF_TOKEN, says who you are"
        ) from error
    return str(address)
