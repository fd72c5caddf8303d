"""An export on the Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

from llmzoo.errors import ConfigError, require_extra


def push_to_hub(folder: str | Path, repo_id: str, *, private: bool = True) -> str:
    """Upload an export to a model repository, which is created if needed; returns its address.

    Log in with ``hf auth login`` or set ``HF_TOKEN``: huggingface_hub reads the token, and none
    passes through here. ``private``: create the repository as private.

    Raises :class:`ConfigError` if the folder is not an export or the hub refuses.
    """
    folder = Path(folder)
    if not (folder / "README.md").is_file():
        raise ConfigError(f"{folder} is no export: it has no README.md")
    with require_extra("the hub", "train"):
        from huggingface_hub import HfApi
        from huggingface_hub.errors import (
            HfHubHTTPError,
            HFValidationError,
            LocalTokenNotFoundError,
        )
    hub = HfApi()
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
