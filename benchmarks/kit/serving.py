"""A Streamlit server of our own on a free port, and a Chromium that asks the internet for nothing."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
APP = ROOT / "app.py"
EMPTY_PAGE = Path(__file__).parent / "empty_page.py"
WITHOUT_UVLOOP = (
    "import sys; sys.modules['uvloop'] = None; from streamlit.web.cli import main; main(prog_name='streamlit')"
)
CHROMIUM_FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


@dataclass(frozen=True)
class Server:
    """A running server: its address, its process, and the file its output goes to."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def stream(self) -> str:
        """The address of the WebSocket that a page talks to."""
        return self.url.replace("http", "ws", 1) + "/_stcore/stream"

    @property
    def memory_mb(self) -> float:
        """Resident memory of the server's process, in units of 10⁶ bytes."""
        return float(psutil.Process(self.process.pid).memory_info().rss) / 1e6

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2):
                return True
        except OSError:
            return False


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


@contextmanager
def serve(script: Path = APP, wait_seconds: float = 120, as_it_comes: bool | None = None) -> Iterator[Server]:
    """Run `streamlit run SCRIPT` until the block ends.

    The empty page is the yardstick, so it runs on Streamlit as it comes: with its own settings, which search for
    garbage after every run, and without uvloop, which it does not bring. With what the app has, an empty page answers
    in a third of the time.

    Args:   wait_seconds: how long it may take to answer; 0: do not wait for it
            as_it_comes: without the app's settings and loop; if not given, for the empty page alone
    Raises: RuntimeError, with the server's output, if it stops or does not answer
    """
    port = free_port()
    plain = (script == EMPTY_PAGE) if as_it_comes is None else as_it_comes
    command = [sys.executable, *(("-c", WITHOUT_UVLOOP) if plain else ("-m", "streamlit")), "run", str(script)]
    if plain:
        command += ["--runner.postScriptGC=true", "--runner.fastReruns=true"]
    command += ["--server.headless=true", "--server.address=127.0.0.1", f"--server.port={port}"]
    with _running(command, port, wait_seconds, 10) as server:
        yield server


@contextmanager
def serve_many(processes: int, wait_seconds: float = 180) -> Iterator[Server]:
    """Run `python -m serving` until the block ends. Its `process` looks after those of the app.

    Raises: RuntimeError, with its output, if it stops or does not answer
    """
    port = free_port()
    command = [sys.executable, "-m", "serving", "--address", "127.0.0.1"]
    command += ["--port", str(port), "--processes", str(processes)]
    with _running(command, port, wait_seconds, 60) as server:
        yield server


@contextmanager
def _running(command: list[str], port: int, wait_seconds: float, end_seconds: float) -> Iterator[Server]:
    """Run this command, which serves at a port, until the block ends. end_seconds: that it has to end by itself"""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.txt"
        with log.open("wb") as out:
            process = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        server = Server(f"http://127.0.0.1:{port}", process, log)
        try:
            if wait_seconds:
                _wait_for(server, wait_seconds)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(end_seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(server: Server, seconds: float) -> None:
    """Raises: RuntimeError, with the server's output, if it stops or does not answer"""
    end = time.monotonic() + seconds
    while not server.answers():
        if server.process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"The server did not start:\n{server.log.read_text(errors='replace')}")
        time.sleep(0.1)


def chromium_path() -> str:
    """The browser: what CHROMIUM names, else the first one found.

    Raises: RuntimeError if there is none
    """
    names = (os.environ.get("CHROMIUM"), "chromium", "chromium-browser", "google-chrome", "chromium-headless-shell")
    found = next((path for path in map(shutil.which, filter(None, names)) if path), None)
    if not found:
        raise RuntimeError("No Chromium found: install one, or name it in the environment variable CHROMIUM.")
    return found


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=CHROMIUM_FLAGS)
        try:
            yield browser
        finally:
            browser.close()
