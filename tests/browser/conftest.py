"""Fixtures of the browser tests: an app served on a free port, one Chromium, pages that must stay offline."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE_MS = 20_000  # a busy machine is no defect
LOCAL = {"127.0.0.1", "localhost", ""}  # "" is the host of blob: and data:


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


@contextmanager
def served(script: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[str]:
    """Serve a Streamlit script until the block ends; its address, without a slash at the end.

    Raises: RuntimeError with the server's output if it is not healthy within 60 s
    """
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        *(sys.executable, "-m", "streamlit", "run", str(script)),
        *("--server.port", str(port), "--server.address", "127.0.0.1", "--server.headless", "true"),
        *("--browser.gatherUsageStats", "false", "--server.fileWatcherType", "none", *options),
    ]
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, **(env or {})}
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT) as server,
    ):
        try:
            deadline = time.monotonic() + 60
            while True:
                with suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                    if answer.status == 200:
                        break
                if server.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise RuntimeError(f"{script.name} did not start:\n{log.read()}")
                time.sleep(0.1)
            yield url
        finally:
            server.terminate()
            try:
                server.wait(timeout=10)
            except subprocess.TimeoutExpired:
                server.kill()


@pytest.fixture(scope="session")
def serve() -> Iterator[Callable[..., str]]:
    """serve(script, *streamlit_options) → its address. Each script is started once and lives until the last test."""
    with ExitStack() as stack:
        urls: dict[tuple[object, ...], str] = {}

        def start(script: Path | str, *options: str) -> str:
            place = (Path(script).resolve(), *options)
            if place not in urls:
                urls[place] = stack.enter_context(served(Path(script), *options))
            return urls[place]

        yield start


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One quiet headless Chromium for all tests."""
    if CHROMIUM is None:
        pytest.fail("No Chromium found: install it, or name one in the environment variable CHROMIUM.")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@contextmanager
def offline(browser: Browser, **options: object) -> Iterator[BrowserContext]:
    """A browser context in which every request that leaves this machine is stopped; any such request fails the test."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 720}, **options})  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    left: list[str] = []

    def stop(route: Route) -> None:
        if (urlsplit(route.request.url).hostname or "") in LOCAL:
            route.continue_()
        else:
            left.append(route.request.url)
            route.abort()

    context.route("**/*", stop)
    try:
        yield context
    finally:
        context.close()
    assert not left, f"The page asked for {len(left)} addresses outside this machine: {left[:10]}"


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """new_page(**context_options) → a page of its own context, offline as `page` is."""
    with ExitStack() as stack:

        def start(**options: object) -> Page:
            return stack.enter_context(offline(browser, **options)).new_page()

        yield start


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page of 1280×720, in the light theme, that must not ask for anything outside this machine."""
    return new_page(color_scheme="light")
