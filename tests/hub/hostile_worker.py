"""What `hub.worker` is to the fork server, but it first does what the sentence says: nothing good."""

import ctypes
import mmap
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import hub.hugging_face
import hub.reading
from hub import worker
from hub.local_models import ModelError

_read, _load = hub.reading.read, hub.hugging_face.load


def stay() -> None:
    """Busy, deaf to whatever could end it from within."""
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    while True:
        pass


def stop() -> None:
    """Asleep, and deaf."""
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    time.sleep(1000)


WISHES: dict[str, Callable[[str], Any]] = {
    "write": lambda path: Path(path).write_text("bad"),
    "remove": lambda path: Path(path).unlink(),
    "socket": lambda path: socket.create_connection(("127.0.0.1", 80), 1),
    "fork": lambda path: os.fork(),
    "program": lambda path: subprocess.run(["/bin/sh", "-c", f"echo bad > {path}"], check=True),
    "kill": lambda path: os.kill(os.getppid(), signal.SIGKILL),
    "keys": lambda path: " ".join(sorted(name for name in os.environ if name.startswith(("A_", "HF_", "WALK")))),
    "thread": lambda path: threading.Thread(target=stop).start(),
    "share": lambda path: mmap.mmap(-1, 2**20),
    "abort": lambda path: os.abort(),
    "crash": lambda path: ctypes.string_at(0),
    "stay": lambda path: stay(),
    "stop": lambda path: stop(),
    "babble": lambda path: APP.send_bytes(b'{"kind": "Reading"}'),
    "flood": lambda path: APP.send_bytes(bytes(2**27)),
}
APP: Connection


def read(opened: Any, sentence: str, hidden: int | None = None) -> Any:
    wish, _, path = sentence.partition(" ")
    if wish in WISHES:
        try:
            answer = WISHES[wish](path)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        raise ModelError(str(answer))
    return _read(opened, sentence, hidden)


def load(name: str, *rest: Any) -> Any:
    if name == "endless":
        stay()
    return _load(name, *rest)


def warm_up() -> None:
    worker.warm_up()
    if "PYTHON_IS_DARWIN" in os.environ:
        sys.platform = "darwin"
    hub.reading.read, hub.hugging_face.load = read, load


def serve(app: Connection) -> None:
    global APP
    APP = app
    worker.serve(app)
