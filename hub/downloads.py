"""Download a model from the Hugging Face Hub: first look up its size, then, if the visitor agrees, fetch its files.

Only files that this app reads are fetched, one after the other, config.json last. A folder without config.json is not
a model, so nobody opens one that is only half there. A file is accepted only if its digest is the one that the Hub
gave. No request carries the operator's token. Nothing outside the folder of models is read or written.

Why the bytes are not fetched by `huggingface_hub.snapshot_download`: release 2.4 compares sizes, not digests, throws
away what has come when a connection breaks for good, and reads on when a file is longer than promised.
"""

import errno
import fcntl
import hashlib
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from huggingface_hub import HfApi, get_session, hf_hub_url
from huggingface_hub.errors import GatedRepoError, HfHubHTTPError, HFValidationError, RepositoryNotFoundError

from hub.local_models import ModelError, Settings, folder_of, free_memory

# In the top folder: configuration, vocabularies and the weights that transformers looks for. No code, no pickle.
FILE = re.compile(r"\w[\w.-]{0,199}\.(json|txt|model|spm)|model(-\d{5}-of-\d{5})?\.safetensors", re.ASCII)
SPARE_BYTES = 10**9  # of the disk that stay free
TIMEOUT_SECONDS = 10  # without an answer
POLL_SECONDS = 0.3
BROKE = "The connection broke; try again, and the download goes on where it stopped."
_CLOSED = "The app may not write into its folder of models: tell whoever runs it."
OF_THE_DISK = {errno.ENOSPC: "The server's disk is full.", errno.EROFS: _CLOSED, errno.EACCES: _CLOSED}


@dataclass(frozen=True)
class RemoteFile:
    """A file on the Hub. digest: SHA-256 of a large file, git's SHA-1 of any other, as the Hub gives them."""

    name: str
    size: int
    digest: str


@dataclass(frozen=True)
class Offer:
    """What a visitor is asked to confirm: exactly these files of this revision are then fetched."""

    name: str
    revision: str
    files: tuple[RemoteFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def look_up(name: str, settings: Settings, freeable: int = 0) -> Offer:
    """Ask the Hub how large a model is. Nothing is fetched.

    Args:   freeable: bytes of memory that the app itself could free
    Raises: ModelError if downloads are off, the Hub has no such model or cannot be reached, or the app could not open
            the model
    """
    if not settings.downloads:
        raise ModelError("Downloads are switched off on this server; choose one of the models that are there.")
    folder_of(name, settings.root)  # raises if this is not a name, or leads out of the root
    try:
        info = HfApi(token=False).model_info(name, files_metadata=True, timeout=TIMEOUT_SECONDS)
    except HFValidationError as error:
        raise ModelError(f"{name!r} is not a name that a model on the Hugging Face Hub can have.") from error
    except GatedRepoError as error:
        raise _gated(name) from error
    except RepositoryNotFoundError as error:
        raise ModelError(f"The Hugging Face Hub has no model {name!r} that is open to everyone.") from error
    except HfHubHTTPError as error:
        raise ModelError(f"The Hugging Face Hub answered with error {error.response.status_code}.") from error
    except Exception as error:  # of the network: no route, unknown host, timeout, a proxy that refuses
        raise ModelError("The Hugging Face Hub cannot be reached; is there internet?") from error
    if info.gated:  # the Hub tells everyone the size of such a model, but refuses its files
        raise _gated(name)
    files = tuple(
        RemoteFile(file.rfilename, file.size or 0, file.lfs.sha256 if file.lfs else file.blob_id or "")
        for file in info.siblings or []
        if FILE.fullmatch(file.rfilename)
    )
    weights = [file for file in files if file.name.endswith(".safetensors")]
    if not weights:
        raise ModelError(f"The model {name!r} has no safetensors files, and the app reads weights from no others.")
    if all(file.name != "config.json" for file in files):
        raise ModelError(f"The model {name!r} has no config.json, so it cannot be opened.")
    if info.config and "model_type" in info.config:
        from hub.hugging_face import kind_of  # slow to import

        kind_of(info.config)
    needed = 4 * info.safetensors.total if info.safetensors else sum(file.size for file in weights)
    if needed > (free := free_memory() + freeable):
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
    """Raises: ModelError if the disk has no room for what is to come of a model, beside those that are being fetched"""
    existing = next(path for path in (root.absolute(), *root.absolute().parents) if path.exists())
    folder = root / offer.name
    others = [other for path, other in list(_running.items()) if path != folder]
    expected = sum(other.offer.size - other.arrived for other in others)
    free = max(0, shutil.disk_usage(existing).free - SPARE_BYTES - expected)
    needed = offer.size - _here(offer, folder)
    if needed > free:
        more = " more" if needed < offer.size else ""
        raise ModelError(
            f"The model takes {needed / 1e9:.1f} GB{more} and the disk has {free / 1e9:.1f} GB to spare; "
            "choose a smaller one."
        )


def _here(offer: Offer, folder: Path) -> int:
    """Bytes of a model that lie in its folder, from a download that ended or broke."""
    size = 0
    for file in offer.files:
        for path in (folder / file.name, folder / f"{file.name}.part"):
            with suppress(OSError):  # it is not there, or gets its last name just now
                size += min(file.size, path.stat().st_size)
                break
    return size


def fetch(offer: Offer, settings: Settings, progress: Callable[[float], None]) -> Path:
    """Fetch what was offered into the folder of models, and wait until it is there.

    A model that is already being fetched is not fetched twice. A visitor who leaves does not stop the download.

    Args:   progress: called again and again with the share that has arrived, 0 to 1
    Raises: ModelError if the download fails; what has arrived stays and is not fetched again
    """
    folder_of(offer.name, settings.root)  # the visitor may have taken long to confirm
    folder = settings.root / offer.name
    with _lock:
        if (download := _running.get(folder)) is None:
            _check_disk(offer, settings.root)
            download = _running[folder] = _Download(offer, folder)
            try:
                download.start()
            except RuntimeError as error:  # the system gives no more threads
                del _running[folder]
                raise ModelError("The server is too busy to fetch a model; try again in a moment.") from error
    while download.is_alive():
        progress(min(1.0, download.arrived / max(1, download.offer.size)))
        download.join(POLL_SECONDS)
    if download.failed:
        raise ModelError(download.failed)
    progress(1.0)
    return folder


def is_being_fetched(name: str, settings: Settings) -> bool:
    """Whether a download of this model is running, whoever asked for it."""
    return settings.root / name in _running


class _Download(threading.Thread):
    """Fetches one model. arrived: bytes so far; failed: why it failed, in words for the visitor."""

    def __init__(self, offer: Offer, folder: Path) -> None:
        super().__init__(daemon=True)
        self.offer = offer
        self.folder = folder
        self.arrived = 0
        self.failed = ""

    def run(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with _alone_in(self.folder):
                for file in sorted(self.offer.files, key=lambda file: file.name == "config.json"):
                    self._fetch(file)
        except ModelError as error:
            self.failed = str(error)
        except Exception as error:  # of the network or of the disk
            self.failed = OF_THE_DISK.get(getattr(error, "errno", None) or 0, BROKE)
        finally:
            with _lock:
                del _running[self.folder]

    def _fetch(self, file: RemoteFile) -> None:
        path, part = self.folder / file.name, self.folder / f"{file.name}.part"
        if path.is_file() and _digest(path, file) == file.digest:
            self.arrived += file.size
            return
        size = part.stat().st_size if part.is_file() else 0
        self.arrived += size
        if size < file.size:
            self._resume(file, part, size)
        part.touch()  # an empty file needs no request
        if _digest(part, file) != file.digest:
            part.unlink()
            raise ModelError(f"{file.name} is not the file that the Hugging Face Hub had promised; try again.")
        part.replace(path)

    def _resume(self, file: RemoteFile, part: Path, size: int) -> None:
        """Fetch what comes after the first `size` bytes of a file; stop if it is longer than promised."""
        url = hf_hub_url(self.offer.name, file.name, revision=self.offer.revision)
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={size}-"} if size else {})
        with (
            get_session().stream("GET", url, headers=headers, timeout=TIMEOUT_SECONDS) as answer,
            part.open("ab") as out,
        ):
            if not answer.is_success:
                raise ModelError(f"The Hugging Face Hub refuses {file.name} with error {answer.status_code}.")
            if answer.status_code != 206:  # this server sends the whole file again
                out.truncate(0)
                self.arrived -= size
                size = 0
            for chunk in answer.iter_bytes():
                out.write(chunk)
                size += len(chunk)
                self.arrived += len(chunk)
                if size > file.size:
                    return


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait for another process of the app that is fetching the same; then all is there."""
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


_running: dict[Path, _Download] = {}
_lock = threading.Lock()


def _digest(path: Path, file: RemoteFile) -> str:
    """Digest of a file that has arrived, of the kind that the Hub gave for it."""
    git = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    algorithm = hashlib.sha256() if len(file.digest) == 64 else git
    with path.open("rb") as content:
        return hashlib.file_digest(content, lambda: algorithm).hexdigest()
