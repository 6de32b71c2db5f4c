"""Processes split off from a warm one, each with a pipe to the app: `python -m processes.fork_server MODULE FD`.

A fork server is a process that has imported what is slow to import. For each pipe that the app sends it, it splits off
(forks) a child, which starts at once and shares its memory. What a child breaks or fills up is its own.

Only Linux has the means for that. Elsewhere, on a Mac say, each child is a process started afresh, which imports what
it needs: `python -m processes.fork_server MODULE FD alone`. That takes seconds, and memory of its own.

MODULE has two functions: `warm_up()` imports what is slow, once; `serve(app)` does a child's work at one end of a pipe.
"""

import atexit
import contextlib
import gc
import importlib
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from processes.sandbox import harmless

ROOT = Path(__file__).parents[1]
# Only a process with one thread can be split safely.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}


START_SECONDS = 120  # in which a fork server has to be warm
WARM = b"warm"


def can_split() -> bool:
    """Whether this system can split off children of a warm process and end each by a handle of its own (a pidfd)."""
    return sys.platform.startswith("linux")


class Child(Connection):
    """The app's end of the pipe to a child, which can be ended whatever it is doing."""

    def __init__(self, pipe: int, process: "int | subprocess.Popen[bytes]") -> None:
        """Args: pipe: an open file; process: another (a pidfd), or where there is none, the process that was started;
        both are closed with this object
        """
        super().__init__(pipe)
        self._process: int | subprocess.Popen[bytes] | None = process
        self._lock = threading.Lock()  # so that no other process's number is taken for this one's

    def kill(self) -> None:
        """End the child, if it has not ended. From any thread."""
        with self._lock, contextlib.suppress(ProcessLookupError):
            if isinstance(self._process, int):
                signal.pidfd_send_signal(self._process, signal.SIGKILL)
            elif self._process is not None:
                self._process.kill()

    def close(self) -> None:
        super().close()
        with self._lock:
            process, self._process = self._process, None
        if isinstance(process, int):
            os.close(process)
        elif process is not None:  # who starts a process has to wait for its end
            process.kill()
            process.wait()

    def __del__(self) -> None:
        self.close()


def _when_warm(child: Child) -> Child:
    """A child that was started afresh, once it has imported what it needs. Raises: OSError if it does not get there"""
    with contextlib.suppress(EOFError, ConnectionResetError):
        if child.poll(START_SECONDS) and child.recv_bytes() == WARM:
            return child
    child.close()
    raise ChildProcessError("no process could be started")


class ForkServer:
    """The process that splits off children; started when it is first needed, and again if it has died."""

    def __init__(self, module: str, **environment: str) -> None:
        """Args: module: by its full name, with `warm_up` and `serve`; environment: of all its processes, beside what is
        harmless in the app's: its keys and its database's address reach none of them
        """
        self._module = module
        self._environment = environment
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None

    def split_off(self) -> Child:
        """A new child. Raises: OSError if no process can be started"""
        ours, theirs = socket.socketpair()
        if not can_split():
            with ours, theirs:
                return _when_warm(Child(ours.detach(), self._run(theirs, "alone")))
        with self._lock, ours, theirs:
            if self._process is None or self._control is None or self._process.poll() is not None:
                self._start()
            assert self._control is not None
            try:
                socket.send_fds(self._control, [b"fork"], [theirs.fileno()])
                _, handles, _, _ = socket.recv_fds(self._control, 16, 1)
            except OSError:
                self.stop()  # or the next one would get this answer
                raise
            if not handles:
                raise ChildProcessError("no process could be split off")
            return Child(ours.detach(), handles[0])

    def _start(self) -> None:
        if self._control is not None:
            self._control.close()
        self._control, theirs = socket.socketpair()
        self._control.settimeout(START_SECONDS)
        with theirs:
            self._process = self._run(theirs)
        atexit.register(self.stop)

    def _run(self, theirs: socket.socket, *how: str) -> "subprocess.Popen[bytes]":
        known = {name: value for name, value in os.environ.items() if harmless(name)}
        return subprocess.Popen(
            [sys.executable, "-m", "processes.fork_server", self._module, str(theirs.fileno()), *how],
            pass_fds=[theirs.fileno()],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            env={**known, **ONE_THREAD, **self._environment},
        )

    def stop(self) -> None:
        """End the fork server. Children end by themselves, when the app closes their pipes."""
        if self._process is not None and self._control is not None:
            self._control.close()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:  # it is still importing, or stuck
                self._process.kill()
                self._process.wait()
        self._process = self._control = None


def nurse(module_name: str, control: socket.socket) -> None:
    """Warm up, then split off a child for each pipe that arrives, until the app has gone."""
    module = importlib.import_module(module_name)
    module.warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # leaves no zombies
    gc.freeze()  # pages of memory that nobody writes to are shared with all children
    while True:
        message, pipes, _, _ = socket.recv_fds(control, 16, 1)
        if not message:
            return
        try:
            child = os.fork()
        except OSError:  # too many processes, or too little memory
            child = None
        if child == 0:
            control.close()
            module.serve(Connection(pipes[0]))
            os._exit(0)
        os.close(pipes[0])
        introduce(child, control)


def introduce(child: int | None, control: socket.socket) -> None:
    """Send the app a handle of a new child (a pidfd, which can never mean another process), or none."""
    try:
        handle = os.pidfd_open(child) if child is not None else None
    except ProcessLookupError:  # it has ended already
        handle = None
    if handle is None:
        control.sendall(b"none")
        return
    socket.send_fds(control, [b"here"], [handle])
    os.close(handle)


def limit_memory(more: int) -> None:
    """Let this process take so many bytes more; if memory runs out all the same, the system ends this process first.

    Only Linux counts memory so that it can be limited; elsewhere nothing happens.
    """
    if not sys.platform.startswith("linux"):
        return
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    taken = int(status["VmData"].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (taken + more, taken + more))
    Path("/proc/self/oom_score_adj").write_text("1000")


if __name__ == "__main__":
    name, pipe, *how = sys.argv[1:]
    if how:
        alone = importlib.import_module(name)
        alone.warm_up()
        app = Connection(int(pipe))
        app.send_bytes(WARM)
        alone.serve(app)
    else:
        nurse(name, socket.socket(fileno=int(pipe)))
