"""Fixtures of the browser tests: an app served on a free port, one Chromium, pages that must stay offline."""

import itertools
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
from playwright.sync_api import Browser, BrowserContext, Error, Page, Request, ViewportSize, expect, sync_playwright

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
    # A page is opened often and used for a second: what makes hot code faster costs more than it gains, 10% of all.
    "--js-flags=--no-opt --no-maglev",
    # Nothing leaves this machine: no other name or address is found.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
PATIENCE_MS = 120_000  # a busy machine is no defect
START_SECONDS = 180
KEPT = "local_storage,indexeddb,cache_storage,service_workers"  # what a browser keeps for a place, beside cookies
VIEWPORT: ViewportSize = {"width": 1280, "height": 720}
LOCAL = {"127.0.0.1", "localhost", ""}  # "" is the host of blob: and data:


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("browser"):
            # A shared machine can stand still for longer than anybody waits. So a test may be tried once more; the
            # summary then names it. One that fails twice has failed; so has a run with many (tests/conftest.py).
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


@pytest.fixture(scope="module")
def url(serve: Callable[..., str]) -> str:
    """Of the app; a module that drives another script has a fixture of its own."""
    return serve(ROOT / "app.py")


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


class Tab:
    """A tab of a browser that one visitor after another finds as a new one does: nothing stored, no past.

    A new tab would compile the whole of Streamlit again, half the work of opening a page. So a tab is kept, unless a
    test has put something into its pages that would stay.
    """

    TRACES = ("once", "add_init_script", "expose_function", "expose_binding", "route")
    TESTS = 40  # so many share one tab: its process grows

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self._page: Page | None = None
        self._left = 0  # tests that may still have it
        self._places: set[str] = set()
        self._listeners: list[tuple[Any, Any]] = []

    @contextmanager
    def alone(
        self,
        color_scheme: Literal["light", "dark"] = "light",
        viewport: ViewportSize = VIEWPORT,
        reduced_motion: Literal["reduce", "no-preference"] = "no-preference",
    ) -> Iterator[Page]:
        """The tab for one test. Whatever other tabs the test opens are closed."""
        page = self._page or self._fresh()
        page.set_viewport_size(viewport)
        page.emulate_media(color_scheme=color_scheme, reduced_motion=reduced_motion)
        with watched(self.context):
            try:
                yield page
            finally:
                self._leave(page)

    def _fresh(self) -> Page:
        page = self.context.new_page()
        page.on("framenavigated", lambda frame: self._places.add("{0.scheme}://{0.netloc}".format(urlsplit(frame.url))))
        self._left = self.TESTS
        for name in self.TRACES:
            setattr(page, name, self._last(getattr(page, name)))
        on = page.on

        def listen(event: Any, listener: Any) -> None:
            self._listeners.append((event, listener))
            on(event, listener)

        page.on = listen
        return page

    def _last(self, act: Callable[..., Any]) -> Callable[..., Any]:
        """What leaves a trace in the tab: no other test gets it."""

        def leaves_a_trace(*given: Any, **named: Any) -> Any:
            self._left = 0
            return act(*given, **named)

        return leaves_a_trace

    def _leave(self, page: Page) -> None:
        """Leave all pages, then clear what is stored: until then an answer may come, with its cookie."""
        for event, listener in self._listeners:
            page.remove_listener(event, listener)
        self._listeners.clear()
        places = {place for place in self._places if place.startswith("http")}
        self._places.clear()
        self._left -= 1
        self._page = page if self._left > 0 and len(places) == 1 and not page.is_closed() else None
        if self._page:
            try:  # for a page of no place, or of another, Chromium starts a new process
                page.goto(f"{places.copy().pop()}/_stcore/health")
            except Error:  # the server is gone
                self._page = None
        now = self._page or self.context.new_page()
        for other in self.context.pages:
            if other is not now:
                other.close()
        self.context.clear_cookies()
        session = self.context.new_cdp_session(now)
        for place in places:
            session.send("Storage.clearDataForOrigin", {"origin": place, "storageTypes": KEPT})
        if self._page:
            now.evaluate("() => sessionStorage.clear()")  # the tab's own, which no type of KEPT names
            session.send("Page.resetNavigationHistory")
            session.detach()
        else:
            now.close()


@pytest.fixture(scope="session")
def shared_tabs(browser: Browser) -> Iterator[Callable[[], Iterator[Tab]]]:
    """What the nth visitors of all tests have in common: files that were read, and compiled, once. Nothing else."""
    tabs: list[Tab] = []

    def each() -> Iterator[Tab]:
        for n in itertools.count():
            if n == len(tabs):
                tabs.append(Tab(patient(browser, viewport=VIEWPORT)))
            yield tabs[n]

    yield each
    for tab in tabs:
        tab.context.close()


# What can be set on a shared tab; for anything else a visitor gets a context of their own.
OF_A_PAGE = {"color_scheme", "viewport", "reduced_motion"}


@pytest.fixture
def new_page(browser: Browser, shared_tabs: Callable[[], Iterator[Tab]]) -> Iterator[Callable[..., Page]]:
    """new_page(**context_options) → a page of a visitor of its own, offline as `page` is."""
    tabs = shared_tabs()
    with ExitStack() as stack:

        def start(**options: object) -> Page:
            if options.keys() <= OF_A_PAGE:
                return stack.enter_context(next(tabs).alone(**options))  # type: ignore[arg-type]
            return stack.enter_context(offline(browser, **options)).new_page()

        yield start


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A page of 1280×720, in the light theme, that must not ask for anything outside this machine."""
    return new_page(color_scheme="light")
