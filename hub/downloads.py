"""Fetching a model from the Hugging Face Hub: what it would take first, then, if the visitor still wants it, its files.

Only files that are read here are fetched, one after the other, config.json last: a folder without it is no model, so
nobody meets a model that is half there. Each file counts only if it has the digest that the Hub gave with the size.
Requests carry no token of the operator, and the Hub's own cache, which lies elsewhere, is neither read nor filled.
"""

import errno
import hashlib
import re
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, get_session, hf_hub_url
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, HFValidationError, RepositoryNotFoundError

from hub.folders import ModelError, Settings, folder_of, free_memory
from hub.hugging_face import kind_of

# Of the top folder: configuration, vocabularies and the weights that transformers looks for. No code, no pickle.
FILE = re.compile(r"\w[\w.-]{0,199}\.(json|txt|model|spm)|model(-\d{5}-of-\d{5})?\.safetensors", re.ASCII)
SPARE_BYTES = 10**9  # of the disk, left to everything else
TIMEOUT_SECONDS = 10  # without a sign of life
POLL_SECONDS = 0.3


@dataclass(frozen=True)
class RemoteFile:
    """digest: SHA-256 for a large file, git's SHA-1 for any other, as the Hub gives them"""

    name: str
    size: int
    digest: str


@dataclass(frozen=True)
class Offer:
    """What a visitor is asked to confirm: these files of this revision, and no others, are then fetched."""

    name: str
    revision: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def look_up(name: str, settings: Settings) -> Offer:
    """Ask the Hub for a model; nothing is fetched.

    Raises: ModelError if downloads are off, there is no such model or no internet, or it could not be opened here
    """
    if not settings.downloads:
        raise ModelError("Downloads are switched off on this server; choose one of the models that are there.")
    folder_of(name, settings.root)  # a name that is none, or leads out of the root, ends here
    try:
        info = HfApi(token=False).model_info(name, files_metadata=True, timeout=TIMEOUT_SECONDS)
    except HFValidationError as error:
        raise ModelError(f"{name!r} is no name of a model on the Hugging Face Hub.") from error
    except GatedRepoError as error:
        raise _gated(name) from error
    except RepositoryNotFoundError as error:
        raise ModelError(f"The Hugging Face Hub has no model {name!r} that is open to everyone.") from error
    except HfHubHTTPError as error:
        raise ModelError(f"The Hugging Face Hub answers with error {error.response.status_code}.") from error
    except Exception as error:  # whatever the network raises: no route, no name, time out, a proxy's refusal
        raise ModelError("The Hugging Face Hub cannot be reached; is there internet?") from error
    if info.gated:  # of such a model the Hub tells the size to everyone, and refuses the files
        raise _gated(name)
    files = tuple(
        RemoteFile(file.rfilename, file.size or 0, file.lfs.sha256 if file.lfs else file.blob_id or "")
        for file in info.siblings or []
        if FILE.fullmatch(file.rfilename)
    )
    weights = [file for file in files if file.name.endswith(".safetensors")]
    if not weights:
        raise ModelError(f"The model {name!r} offers no safetensors, and nothing else is read.")
    if all(file.name != "config.json" for file in files):
        raise ModelError(f"The model {name!r} has no config.json, so it cannot be opened.")
    if info.config and "model_type" in info.config:
        kind_of(info.config)
    needed = 4 * info.safetensors.total if info.safetensors else sum(file.size for file in weights)
    if needed > (free := free_memory()):
        raise ModelError(
            f"The model would need {needed / 1e9:.1f} GB of memory and {free / 1e9:.1f} GB are free; "
            "choose a smaller one."
        )
    offer = Offer(name, info.sha or "main", files)
    _check_disk(offer, settings.root)
    return offer


def _gated(name: str) -> ModelError:
    return ModelError(f"The model {name!r} asks its users to sign in; choose one that does not.")


def _check_disk(offer: Offer, root: Path) -> None:
    """Raises: ModelError if the disk has no room for a model beside those that are on their way"""
    there = next(path for path in (root.absolute(), *root.absolute().parents) if path.exists())
    coming = sum(other.offer.size - other.arrived for other in list(_on_their_way.values()))
    free = max(0, shutil.disk_usage(there).free - SPARE_BYTES - coming)
    if offer.size > free:
        raise ModelError(
            f"The model takes {offer.size / 1e9:.1f} GB and the disk has {free / 1e9:.1f} GB to spare; "
            "choose a smaller one."
        )


def fetch(offer: Offer, settings: Settings, progress: Callable[[float], None]) -> Path:
    """Fetch what was offered into the folder of models, telling how far it has come (0 to 1).

    A model that is on its way already is watched, not fetched twice. Whoever stops watching does not stop it.

    Raises: ModelError if it fails; what has come stays and is not fetched again
    """
    folder = settings.root / offer.name
    with _lock:
        if (fetching := _on_their_way.get(folder)) is None:
            _check_disk(offer, settings.root)
            fetching = _on_their_way[folder] = _Fetching(offer, folder)
            fetching.start()
    while fetching.is_alive():
        progress(min(1.0, fetching.arrived / max(1, fetching.offer.size)))
        fetching.join(POLL_SECONDS)
    if fetching.failed:
        raise ModelError(fetching.failed)
    progress(1.0)
    return folder


def on_its_way(name: str, settings: Settings) -> bool:
    """Whether somebody is having this model fetched right now."""
    return settings.root / name in _on_their_way


class _Fetching(threading.Thread):
    """Fetches one model, whoever watches. arrived: bytes so far; failed: why it failed, for the visitor."""

    def __init__(self, offer: Offer, folder: Path) -> None:
        super().__init__(daemon=True)
        self.offer = offer
        self.folder = folder
        self.arrived = 0
        self.failed = ""

    def run(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for file in sorted(self.offer.files, key=lambda file: file.name == "config.json"):
                self._fetch(file)
        except ModelError as error:
            self.failed = str(error)
        except Exception as error:  # of the network or of the disk
            full = isinstance(error, OSError) and error.errno == errno.ENOSPC
            self.failed = (
                "The server's disk is full."
                if full
                else "The download broke off; try again, it goes on where it stopped."
            )
        finally:
            with _lock:
                del _on_their_way[self.folder]

    def _fetch(self, file: RemoteFile) -> None:
        path, part = self.folder / file.name, self.folder / f"{file.name}.part"
        if path.is_file() and _digest(path, file) == file.digest:
            self.arrived += file.size
            return
        here = part.stat().st_size if part.is_file() else 0
        self.arrived += here
        if here < file.size:
            self._go_on(file, part, here)
        part.touch()  # of an empty file nothing comes
        if _digest(part, file) != file.digest:
            part.unlink()
            raise ModelError(f"{file.name} did not come as the Hugging Face Hub had promised it; try again.")
        part.replace(path)

    def _go_on(self, file: RemoteFile, part: Path, here: int) -> None:
        """Fetch a file from the byte on that is still missing; at most one piece beyond the promised size."""
        url = hf_hub_url(self.offer.name, file.name, revision=self.offer.revision)
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={here}-"} if here else {})
        with (
            get_session().stream("GET", url, headers=headers, timeout=TIMEOUT_SECONDS) as answer,
            part.open("ab") as out,
        ):
            if not answer.is_success:
                raise ModelError(f"The Hugging Face Hub refuses {file.name}, with error {answer.status_code}.")
            if answer.status_code != 206:  # the whole file, not the rest that was asked for
                out.truncate(0)
                self.arrived -= here
                here = 0
            for piece in answer.iter_bytes():
                out.write(piece)
                here += len(piece)
                self.arrived += len(piece)
                if here > file.size:
                    return


_on_their_way: dict[Path, _Fetching] = {}
_lock = threading.Lock()


def _digest(path: Path, file: RemoteFile) -> str:
    """The digest of what has come, of the same kind as the one of the file on the Hub."""
    git = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    begun = hashlib.sha256() if len(file.digest) == 64 else git
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: begun).hexdigest()
