"""One process of the app: started, watched, and started again when it has died or no longer answers."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).parents[1]
ADDRESS = "127.0.0.1"  # only the proxy comes here
ANSWER_SECONDS = 2.0
DEAF_SECONDS = 60.0  # so long without one answer: it hangs
LONG_LIFE_SECONDS = 30.0  # a process that lived as long had started well
DEATHS = 5  # so many short lives in a row: starting again does not help


class KeepsDyingError(Exception):
    """A process ends again and again soon after its start."""


def free_port() -> int:
    with socket.socket() as one:
        one.bind((ADDRESS, 0))
        return int(one.getsockname()[1])


def answers(url: str) -> bool:
    """Whether this address answers with success, soon."""
    try:
        with urllib.request.urlopen(url, timeout=ANSWER_SECONDS):
            return True
    except OSError:
        return False


class AppProcess:
    """A Streamlit server on a port that stays its own when it is started again."""

    def __init__(self, temporary: Path, processes: int = 1) -> None:
        """Args: temporary: the folder for its temporary files, which outlives it; processes: that share the machine"""
        self.place = f"{ADDRESS}:{free_port()}"
        self._environment = os.environ | {"TMPDIR": str(temporary), "WALKTHROUGH_PROCESSES": str(processes)}
        self._short_lives = 0
        self._start()

    def _start(self) -> None:
        port = self.place.partition(":")[2]
        options = ("--server.headless=true", f"--server.address={ADDRESS}", f"--server.port={port}")
        self.process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", "app.py", *options],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # says where it is, which is not where visitors go; errors are seen
        )
        self._started = self._heard = time.monotonic()

    @property
    def ready(self) -> bool:
        """Whether it has made its first visit.

        Raises: KeepsDyingError if it has ended
        """
        if self.process.poll() is not None:
            raise KeepsDyingError("A process of the app ended before it was ready.")
        return answers(f"http://{self.place}/ready")

    def look_after(self) -> None:
        """Start it again if it has died, or if it has not answered for long.

        Raises: KeepsDyingError
        """
        if self.process.poll() is None:
            if answers(f"http://{self.place}/_stcore/health"):
                self._heard = time.monotonic()
                return
            if time.monotonic() - self._heard < DEAF_SECONDS:
                return
            self.process.kill()
            self.process.wait()
        lived = time.monotonic() - self._started
        self._short_lives = self._short_lives + 1 if lived < LONG_LIFE_SECONDS else 0
        if self._short_lives >= DEATHS:
            raise KeepsDyingError(f"A process of the app ended {DEATHS} times, each time soon after its start.")
        print(f"A process of the app has ended ({self.process.returncode}); it is started again.", flush=True)
        self._start()

    def end(self) -> None:
        """Ask it to end. `wait` waits for it."""
        self.process.terminate()

    def wait(self, seconds: float = 10.0) -> None:
        """Wait until it has ended, and end it the hard way if it does not."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
