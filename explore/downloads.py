"""Fetching a model from the Hugging Face Hub: its size first, then, if the visitor still wants it, its files."""

import threading
from collections.abc import Callable
from pathlib import Path

from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

from explore.folders import NAME, ModelError, Settings

FILES = ["*.json", "*.txt", "*.model", "*.safetensors"]  # no code, no pickle
POLL_SECONDS = 0.3


def size_of(name: str, settings: Settings, api: HfApi | None = None) -> int:
    """Bytes that would be fetched.

    Raises: ModelError if downloads are off, there is no such model, it has no safetensors, or there is no internet
    """
    if not settings.downloads:
        raise ModelError("Downloads are switched off on this server; choose one of the models that are there.")
    if not NAME.fullmatch(name) or ".." in name:
        raise ModelError("This is no name of a model on the Hugging Face Hub.")
    try:
        files = (api or HfApi()).model_info(name, files_metadata=True, timeout=10).siblings or []
    except GatedRepoError as error:
        raise ModelError(f"The model {name!r} asks its users to sign in; choose one that does not.") from error
    except RepositoryNotFoundError as error:
        raise ModelError(f"The Hugging Face Hub has no model {name!r}.") from error
    except Exception as error:  # whatever the network raises: no route, no name, time out, a proxy's refusal
        raise ModelError("The Hugging Face Hub cannot be reached; is there internet?") from error
    sizes = {f.rfilename: f.size or 0 for f in files if any(Path(f.rfilename).match(pattern) for pattern in FILES)}
    if not any(file.endswith(".safetensors") for file in sizes):
        raise ModelError(f"The model {name!r} offers no safetensors, and nothing else is read.")
    return sum(sizes.values())


def fetch(name: str, settings: Settings, size: int, progress: Callable[[float], None]) -> Path:
    """Fetch a model into the folder of models, telling how far it has come (0 to 1).

    Raises: ModelError if it fails on the way; what has come stays and need not be fetched again
    """
    folder = settings.root / name
    failed: list[Exception] = []

    def run() -> None:
        try:
            snapshot_download(name, local_dir=folder, allow_patterns=FILES)
        except Exception as error:  # told to the visitor below
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_SECONDS)
        here = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        progress(min(1.0, here / max(size, 1)))
    if failed:
        raise ModelError("The download broke off; try again, it goes on where it stopped.") from failed[0]
    return folder
