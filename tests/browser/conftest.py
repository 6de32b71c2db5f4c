"""Fixtures of the browser tests: an app served on a free port, one Chromium, pages that must stay offline."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize, expect, sync_playwright

from tests.ports import free_port

ROOT = Path(__file__).parents[2]
WATCH = Path(__file__).with_name("watch.js")
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
    # Nothing leaves this machine: no other name or address is found.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
PATIENCE_MS = 60_000  # a busy machine is no defect
START_SECONDS = 180
KEPT = "local_storage,indexeddb,cache_storage,service_workers"  # what a browser keeps for a place, beside cookies
VIEWPORT: ViewportSize = {"width": 1280, "height": 720}
LOCAL = {"127.0.0.1", "localhost", ""}  # "" is the host of blob: and data:


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("browser"):
            # A shared machine can stand still for longer than anybody waits. So a test may be tried once more; the
            # summary then names it. One that fails twice has failed.
            item.add_marker(pytest.mark.flaky(reruns=1))


@contextmanager
def served(script: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[str]:
    """Serve a Streamlit script until the block ends; its address, without a slash at the end.

    Raises: RuntimeError with the server's output if it ends, or is not healthy in time
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
            deadline = time.monotonic() + START_SECONDS
            while True:
                with suppress(OSError), urllib.request.urlopen(f"{url}/_stcore/health", timeout=10) as answer:
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


def patient(browser: Browser, **options: Any) -> BrowserContext:
    """A browser context whose pages may take their time, and say what they wait for: see `settled`."""
    context = browser.new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(path=WATCH)
    return context


@contextmanager
def offline(browser: Browser, **options: object) -> Iterator[BrowserContext]:
    """A browser context in which no request leaves this machine (see FLAGS); one that would fails the test.

    Requests are watched, not held up: a browser that has to ask for each keeps nothing it has read, and reads the whole
    of Streamlit again for every page.
    """
    context = patient(browser, **{"viewport": VIEWPORT, **options})
    with watched(context):
        try:
            yield context
        finally:
            context.close()


@contextmanager
def watched(context: BrowserContext) -> Iterator[None]:
    """Fails at the end of the block if a page has asked for an address outside this machine."""
    left: list[str] = []

    def note(request: Request) -> None:
        if (urlsplit(request.url).hostname or "") not in LOCAL:
            left.append(request.url)

    context.on("request", note)
    try:
        yield
    finally:
        context.remove_listener("request", note)
    assert not left, f"The page asked for {len(left)} addresses outside this machine: {left[:10]}"


@pytest.fixture(scope="session")
def shared_context(browser: Browser) -> Iterator[BrowserContext]:
    """What the first pages of all tests have in common: files that were read once. Nothing else, see `alone_in`."""
    context = patient(browser, viewport=VIEWPORT)
    yield context
    context.close()


@contextmanager
def alone_in(
    context: BrowserContext,
    color_scheme: Literal["light", "dark"] = "light",
    viewport: ViewportSize = VIEWPORT,
    reduced_motion: Literal["reduce", "no-preference"] = "no-preference",
) -> Iterator[Page]:
    """A page that finds the context as a new visitor does, and leaves it so: no page, no cookie, nothing stored."""
    # An answer may come, with its cookie, after the page that asked for it was closed and its cookies were cleared.
    for left in context.pages:
        left.close()
    context.clear_cookies()
    page = context.new_page()
    page.set_viewport_size(viewport)
    page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
    places: set[str] = set()
    page.on("framenavigated", lambda frame: places.add("{0.scheme}://{0.netloc}".format(urlsplit(frame.url))))
    try:
        with watched(context):
            try:
                yield page
            finally:
                for each in context.pages:
                    each.close()
    finally:
        context.clear_cookies()
        forget(context, {place for place in places if place.startswith("http")})


def forget(context: BrowserContext, places: set[str]) -> None:
    """Clear what was stored at these places."""
    page = context.new_page()
    session = context.new_cdp_session(page)
    for place in places:
        session.send("Storage.clearDataForOrigin", {"origin": place, "storageTypes": KEPT})
    page.close()


# What can be set on a page of the shared context; for anything else a visitor gets a context of their own.
OF_A_PAGE = {"color_scheme", "viewport", "reduced_motion"}


@pytest.fixture
def new_page(browser: Browser, shared_context: BrowserContext) -> Iterator[Callable[..., Page]]:
    """new_page(**context_options) → a page of a visitor of its own, offline as `page` is."""
    with ExitStack() as stack:
        free = True

        def start(**options: object) -> Page:
            nonlocal free
            if free and options.keys() <= OF_A_PAGE:
                free = False
                return stack.enter_context(alone_in(shared_context, **options))  # type: ignore[arg-type]
            return stack.enter_context(offline(browser, **options)).new_page()

        yield start


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page of 1280×720, in the light theme, that must not ask for anything outside this machine."""
    return new_page(color_scheme="light")
